"""An experiment as a file: ``shadowtime whatif --save`` writes it, ``shadowtime run`` reads it."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from shadowtime.errors import InputError, UsageError, near
from shadowtime.study.site import stretches, trials
from shadowtime.study.site.changes import KINDS, Change
from shadowtime.study.site.options import Option
from shadowtime.workload import Workload

HEAD = "# A what-if on a site: shadowtime run THIS_FILE"


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A what-if by its inputs: the same file gives the same bytes.

    Rules
    -----
    ``site`` is a site's folder (or a log, with ``cluster`` for its machine); in a file, a path is
    relative to the file. ``baseline`` is the policy that the site runs.

    Examples
    --------
    >>> one = Experiment(site="site", changes=(Change("set", "bf_interval=60"),))
    >>> Experiment.parse(tomllib.loads(one.to_toml())) == one
    True
    """

    site: str
    changes: tuple[Change, ...] = ()
    options: tuple[Option, ...] = ()
    """Alternatives side by side, in place of changes."""
    prices: tuple[str, ...] = ()
    """Of a node-hour, beside options."""
    cluster: str = ""
    baseline: str = "slurm"
    phases: int = trials.PHASES
    shake: bool = False
    resample: bool = False
    feedback: bool = False
    quick: bool = False
    """Representative stretches of the log instead of all of it."""
    seed: int = 1
    tz: str = ""
    where: str = ""
    by: str = ""

    def __post_init__(self) -> None:
        if self.prices and not self.options:
            raise UsageError("--price compares the cost of options: give --option too")

    def repeats_on(self, jobs: Workload) -> trials.Repeats:
        """How it is repeated on a log."""
        usual = trials.Repeats(
            phases=self.phases, shake=self.shake, resample=self.resample, seed=self.seed
        )
        found = stretches.stretches_of(jobs) if self.quick else ()
        return replace(usual, stretches=found, phases=len(found)) if found else usual

    def to_toml(self, folder: str | os.PathLike[str] | None = None) -> str:
        """The file; paths are written relative to ``folder`` where one is given."""
        lines = [HEAD]
        for one in fields(self):
            value = getattr(self, one.name)
            if one.name in ("changes", "options") or (
                value == one.default and one.name != "phases"
            ):
                continue
            if one.name in ("site", "cluster") and folder is not None and os.path.exists(value):
                value = os.path.relpath(value, folder)
            lines.append(f"{one.name} = {_toml(value)}")
        for change in self.changes:
            lines += ["", "[[change]]", f"{change.kind} = {_toml(change.text)}"]
        for option in self.options:
            lines += ["", "[[option]]", f"name = {_toml(option.name)}"]
            for change in option.changes:
                lines += ["[[option.change]]", f"{change.kind} = {_toml(change.text)}"]
        return "\n".join(lines) + "\n"

    @staticmethod
    def parse(content: Mapping[str, Any], *, path: str = "the experiment") -> Experiment:
        """From the content of a file."""
        lists = ("changes", "options")
        names = {one.name: one for one in fields(Experiment) if one.name not in lists}
        given: dict[str, Any] = {}
        for key, value in content.items():
            if key in ("change", "option"):
                continue
            if key == "prices" and isinstance(value, list):
                value = tuple(str(one) for one in value)
            if key not in names:
                raise InputError(
                    f"there is no key {key!r}{near(key, [*names, 'change', 'option'])}", path=path
                )
            kind = _KIND.get(key, str)
            if type(value) is not kind:
                raise InputError(f"{key} must be a {_WORD[kind]}, not {value!r}", path=path)
            given[key] = value
        if not given.get("site"):
            raise InputError("the key site is missing", path=path, hint='Write site = "FOLDER".')
        changes = _changes(content.get("change", []), path)
        return Experiment(changes=changes, options=_options(content, path), **given)


_KIND: dict[str, type] = {
    "prices": tuple,
    "phases": int,
    "seed": int,
    "shake": bool,
    "resample": bool,
    "feedback": bool,
    "quick": bool,
}
_WORD: dict[type, str] = {tuple: "list", int: "whole number", bool: "true or false", str: "text"}


def _toml(value: Any) -> str:
    if isinstance(value, str | tuple):
        return json.dumps(value, ensure_ascii=False)
    return str(value).lower()


def _options(content: Mapping[str, Any], path: str) -> tuple[Option, ...]:
    listed = content.get("option", [])
    if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
        raise InputError("options are written as [[option]]", path=path)
    found = []
    for one in listed:
        if one.keys() != {"name", "change"} or not isinstance(one["name"], str):
            raise InputError(
                "an [[option]] has a name and one [[option.change]] or more", path=path
            )
        found.append(Option(name=one["name"], changes=_changes(one["change"], path)))
    return tuple(found)


def _changes(listed: Any, path: str) -> tuple[Change, ...]:
    if not isinstance(listed, list):
        raise InputError("changes are written as [[change]]", path=path)
    return tuple(_change(one, path) for one in listed)


def _change(table: Any, path: str) -> Change:
    if not isinstance(table, dict) or len(table) != 1:
        raise InputError('a [[change]] has one line, such as set = "bf_interval=60"', path=path)
    ((kind, text),) = table.items()
    if kind not in KINDS:
        raise InputError(f"there is no change {kind!r}{near(kind, KINDS)}", path=path)
    if not isinstance(text, str):
        raise InputError(f"{kind} must be a string, not {text!r}", path=path)
    try:
        return Change(kind, text)
    except UsageError as error:
        raise InputError(str(error), path=path) from None


def read_experiment(path: str | os.PathLike[str]) -> Experiment:
    """Read an experiment; its paths are taken from where the file is."""
    here = Path(path)
    try:
        content = tomllib.loads(here.read_text("utf-8"))
    except OSError as error:
        raise InputError(f"it cannot be read: {error.strerror}", path=str(path)) from None
    except (ValueError, RecursionError) as error:  # also numbers of thousands of digits
        raise InputError(f"this is not TOML: {error}", path=str(path)) from None
    found = Experiment.parse(content, path=str(path))
    places = {name: _from(here.parent, getattr(found, name)) for name in ("site", "cluster")}
    return Experiment(**{**{one.name: getattr(found, one.name) for one in fields(found)}, **places})


def _from(folder: Path, text: str) -> str:
    beside = folder / text
    # os.path: a text that is too long for a name is none, and no error.
    return str(beside) if text and os.path.exists(beside) else text
