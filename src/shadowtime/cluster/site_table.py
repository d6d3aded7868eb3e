"""Tables of a site's TOML: each key is read once, and unknown keys are rejected."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, cast, get_args

from shadowtime.cluster.site import Preempting
from shadowtime.errors import ClusterError
from shadowtime.slurmtext.fields import parse_memory
from shadowtime.slurmtext.hostlist import expand
from shadowtime.slurmtext.times import parse_limit

_MOST = 1 << 53


class Group:
    """One table; ``where`` names it in errors."""

    def __init__(self, content: object, where: str) -> None:
        if not isinstance(content, dict):
            raise ClusterError(f"{where}: this must be a table")
        self.content: Mapping[str, Any] = content
        self.where = where
        self.asked: set[str] = set()
        self.inner: list[Group] = []

    def get(self, key: str) -> Any:
        """The value of a key, None where it is missing."""
        self.asked.add(key)
        return self.content.get(key)

    def names(self) -> list[str]:
        """The keys of a table in which users choose them."""
        return list(self.content)

    def done(self) -> None:
        """Reject unknown keys."""
        reject_unknown(self.content, self.asked, self.where)
        for one in self.inner:
            one.done()

    def wrong(self, key: str, what: str) -> ClusterError:
        """The error for a value of the wrong kind."""
        return ClusterError(f"{self.where}: {key} must be {what}, not {self.content.get(key)!r}")

    def missing(self, key: str) -> ClusterError:
        """The error for a key that must be there; it may stand there under a similar name."""
        near = difflib.get_close_matches(key, [k for k in self.content if k not in self.asked], n=1)
        if near:
            return ClusterError(f"{self.where}: there is no key {near[0]!r}: did you mean {key}?")
        return ClusterError(f"{self.where}: {key} is missing")

    def table(self, key: str) -> Group:
        """A table below; an empty one where it is missing."""
        self.inner.append(Group(self.get(key) or {}, f"{self.where}, {key}"))
        return self.inner[-1]

    def text(self, key: str, *, needed: bool = False) -> str:
        """A text; empty where it is missing."""
        value = self.get(key)
        if isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        if value is None and not needed:
            return ""
        if value is None:
            raise self.missing(key)
        if not isinstance(value, str) or (needed and not value):
            raise self.wrong(key, "a text")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts."""
        value = self.get(key)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise self.wrong(key, 'a list like ["a", "b"]')
        return tuple(value)

    def whole(self, key: str, otherwise: int | None = None, *, low: int = 0) -> int:
        """A whole number."""
        value = self.get(key)
        if value is None and otherwise is not None:
            return otherwise
        if value is None:
            raise self.missing(key)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= _MOST:
            raise self.wrong(key, f"a whole number from {low}")
        return value

    def maybe(self, key: str) -> int | None:
        """A whole number, None where there is no bound."""
        return None if self.get(key) is None else self.whole(key)

    def wholes(self, key: str) -> tuple[int, ...]:
        """A list of whole numbers."""
        value = self.get(key)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(type(one) is int and one >= 0 for one in value):
            raise self.wrong(key, "a list of whole numbers")
        return tuple(value)

    def real(self, key: str, otherwise: float) -> float:
        """A number."""
        value = self.get(key)
        if value is None:
            return otherwise
        if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
            raise self.wrong(key, "a number")
        return float(value)

    def flag(self, key: str, otherwise: bool) -> bool:
        """true or false."""
        value = self.get(key)
        if value is None:
            return otherwise
        if not isinstance(value, bool):
            raise self.wrong(key, "true or false")
        return value

    def choice(self, key: str, choices: Iterable[str]) -> Any:
        """One of several words; None where it is missing."""
        value = self.get(key)
        if value is not None and value not in tuple(choices):
            raise self.wrong(key, f"one of {', '.join(choices)}")
        return value

    def preempt(self, key: str) -> Preempting | None:
        """How jobs are preempted."""
        return cast("Preempting | None", self.choice(key, get_args(Preempting)))

    def memory(self, key: str) -> int | None:
        """KB: a number, or a text with a unit."""
        value = self.get(key)
        if isinstance(value, str):
            try:
                return parse_memory(value)
            except ClusterError as error:
                raise ClusterError(f"{self.where}: {key}: {error}") from None
        return self.maybe(key)

    def span(self, key: str) -> int | None:
        """Seconds: a number, or a text as Slurm writes time limits."""
        value = self.get(key)
        if isinstance(value, str):
            try:
                return parse_limit(value)
            except ClusterError as error:
                raise ClusterError(f"{self.where}: {key}: {error}") from None
        return self.maybe(key)

    def moment(self, key: str) -> int | None:
        """Seconds since 1970: a number, or a date and time (UTC where it has no offset)."""
        value = self.get(key)
        if isinstance(value, str):
            try:
                value = datetime.fromisoformat(value)
            except ValueError:
                raise self.wrong(key, "a time like 2026-03-01T08:00:00Z") from None
        if isinstance(value, datetime):
            moment = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
            return int(moment.timestamp())
        if value is not None and type(value) is not int:
            raise self.wrong(key, "a time like 2026-03-01T08:00:00Z")
        return self.maybe(key)

    def hosts(self, key: str, every: tuple[str, ...]) -> tuple[str, ...]:
        """A host list; ALL means every node."""
        text = self.text(key)
        if text.strip().upper() == "ALL":
            return every
        try:
            found = tuple(expand(text))
        except ClusterError as error:
            raise ClusterError(f"{self.where}: {key}: {error}") from None
        known = set(every)
        for name in found:
            if name not in known:
                raise ClusterError(f"{self.where}: {key} names node {name}, which is not described")
        return found

    def amounts(self, key: str) -> dict[str, int]:
        """Whole numbers by resource; memory may have a unit."""
        table = self.table(key)
        return {
            name: (table.memory(name) or 0) if name == "memory" else table.whole(name)
            for name in table.names()
        }

    def weights(self, key: str) -> dict[str, float]:
        """Numbers by resource."""
        table = self.table(key)
        return {name: table.real(name, 0.0) for name in table.names()}

    def shares(self, key: str) -> int | None:
        """A number of shares; None for "parent"."""
        return None if self.get(key) == "parent" else self.whole(key, 1)


class Document(Group):
    """The whole file."""

    def __init__(self, content: object, path: str) -> None:
        super().__init__(content, path)

    def only(self, tables: Iterable[str]) -> None:
        """Reject tables of other names."""
        reject_unknown(self.content, tables, self.where)

    def table(self, key: str) -> Group:
        """A table of the file."""
        self.inner.append(Group(self.get(key) or {}, f"{self.where}: [{key}]"))
        return self.inner[-1]

    def groups(self, key: str) -> list[Group]:
        """The tables of ``[[key]]``."""
        value = self.get(key)
        if value is None:
            return []
        if not isinstance(value, list):
            raise ClusterError(f"{self.where}: write [[{key}]] with double brackets")
        found = []
        for number, one in enumerate(value, 1):
            label = one.get("name") or number if isinstance(one, dict) else number
            found.append(Group(one, f"{self.where}: {key} {label}"))
        if key == "nodes":  # errors name them by number: a wrong one may be the name
            found = [
                Group(one.content, f"{self.where}: nodes {n}") for n, one in enumerate(found, 1)
            ]
        self.inner += found
        return found


def reject_unknown(content: Mapping[str, Any], known: Iterable[str], where: str) -> None:
    """An error for the first key that is not known, with the nearest that are."""
    names = list(known)
    for key in content:
        if key not in names:
            near = difflib.get_close_matches(key, names, n=2, cutoff=0.6)
            hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(names)}"
            raise ClusterError(f"{where}: there is no key {key!r}: {hint}")
