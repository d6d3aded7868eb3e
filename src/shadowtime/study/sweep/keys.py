"""What a run's numbers depend on, as digests.

The key of a run is a digest of: the bytes of the log, how it is read and cleaned, the machine, the
policy (its parts with every parameter; the source of parts a user wrote), the load, the copy and
its seed, the window, the metrics, and the version of the engine's semantics. Names, folders, the
number of workers and where they run are not in it.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import pickle
from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from shadowtime.cluster import Cluster
from shadowtime.engine.semantics import SEMANTICS
from shadowtime.errors import InputError, UsageError
from shadowtime.policy import Policy, functions
from shadowtime.policy.files import ORIGIN, files_in, name_of_text
from shadowtime.policy.part import Part
from shadowtime.policy.written import Written
from shadowtime.workload import Workload

LENGTH = 32
"""Hexadecimal digits of a key: 128 bits, so that a collision is unlikely even at 10^9 runs."""


def digest(*parts: str | bytes) -> str:
    """One digest of several texts, each apart from the next.

    Examples
    --------
    >>> digest("a", "b") == digest("ab"), len(digest("a"))
    (False, 32)
    """
    total = hashlib.sha256()
    for part in parts:
        raw = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        total.update(len(raw).to_bytes(8, "big") + raw)
    return total.hexdigest()[:LENGTH]


def of_path(path: str | Path) -> str:
    """The digest of a file's bytes, or of every file below a folder with its name."""
    place = Path(path)
    if place.is_dir():
        files = sorted(one for one in place.rglob("*") if one.is_file())
        names = (one.relative_to(place).as_posix() for one in files)
        return digest(
            *(part for n, f in zip(names, files, strict=True) for part in (n, of_file(f)))
        )
    return of_file(place)


def of_file(path: Path) -> str:
    """The digest of a file's bytes, read piece by piece."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:LENGTH]
    except FileNotFoundError:
        hint = "Check the name and the folder."
        raise InputError("no such file", path=str(path), hint=hint) from None


def of_machine(text: str | None) -> str:
    """The digest of a machine as a user names it: the files behind the name, else the text."""
    if text is None:
        return "as the log says"
    place = Path(text)
    return of_path(place) if place.exists() else digest("machine", "".join(text.split()))


def of_workload(workload: Workload) -> str:
    """The digest of jobs that are in memory: every column, the machine and the requests.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> one = Workload.build(submit=[0], run=[5], procs=[1])
    >>> of_workload(one) == of_workload(one.replace(name="other", run=one.run + 0))
    True
    >>> of_workload(one) == of_workload(one.replace(run=one.run + 1))
    False
    """
    parts: list[str | bytes] = []
    for field in fields(workload):
        new = field.name in ("series", "follows")  # older keys stay valid
        later = new and not len(getattr(workload, field.name))
        if field.name not in ("name", "path", "cleaning", "header") and not later:
            parts += [field.name, *_content(getattr(workload, field.name))]
    return digest(*parts)


def _content(value: Any) -> Iterable[str | bytes]:
    if isinstance(value, np.ndarray) and value.dtype != object:
        return [value.dtype.str, str(value.shape), np.ascontiguousarray(value).tobytes()]
    if isinstance(value, dict):
        return [part for name in sorted(value) for part in (name, *_content(value[name]))]
    return [pickle.dumps(value, protocol=5)]


def of_policy(policy: Any, text: str | None = None) -> str:
    """The digest of what a policy does, whatever it is called.

    Two texts for the same parts have the same digest. The code of a part that a user wrote counts
    as its source: the whole file for ``my.py:name``, wherever it is in the text, else the source of
    the function or class.

    Examples
    --------
    >>> from shadowtime.policy import parse_policy
    >>> of_policy(parse_policy("easy(reserve=1)")) == of_policy(parse_policy("easy"))
    True
    >>> of_policy(parse_policy("easy(reserve=2)")) == of_policy(parse_policy("easy"))
    False
    """
    if text and (files := files_in(text)):
        return digest("file", name_of_text(text), *(of_file(Path(file)) for file in files))
    if isinstance(policy, Policy):
        parts = {slot: _part(part) for slot, part in policy.parts.items()}
        return digest("parts", json.dumps(parts, sort_keys=True))
    return digest("object", _source(type(policy)), _state(policy))


def _part(part: Part) -> list[Any]:
    """What a part is: its kind, its parameters, and of functions in it their source."""
    found: list[Any] = [
        type(part).__name__,
        {k: _setting(v) for k, v in part.settings().items()},
    ]
    if isinstance(part, Written):  # its parameters are the function's: the function is apart
        found.append([[one.name, _written(getattr(part, one.name))] for one in fields(part)])
    return found


def _written(value: Any) -> Any:
    """A field of a part that is a function: what it learns, whose memory, its test."""
    if isinstance(value, Part):
        return _part(value)
    if isinstance(value, tuple):
        return [_written(one) for one in value]
    return _setting(value)


def _setting(value: Any) -> Any:
    if callable(value):
        return _source(functions.plain(value))
    if isinstance(value, str) and len(value) < 4096 and Path(value).is_file():
        return of_file(Path(value))  # a table or a database that a part reads
    return value if isinstance(value, bool | int | float | str | None) else repr(value)


def _source(thing: Any) -> str:
    """The source of a function or class, and the numbers from outside that a function uses."""
    name = getattr(thing, "__name__", type(thing).__name__)
    try:
        text = inspect.getsource(thing)
    except (OSError, TypeError):
        raise UsageError(
            f"the source of {name} is not available, so its runs cannot be distinguished from "
            "those of another version: write it in a file and name it as my.py:name"
        ) from None
    if not inspect.isfunction(thing):
        return text
    used = inspect.getclosurevars(thing)
    outside = {**used.globals, **used.nonlocals}
    return text + repr(sorted((n, v) for n, v in outside.items() if isinstance(v, int | float)))


def _state(policy: Any) -> bytes:
    if hasattr(policy, "__dataclass_fields__"):
        state: Any = [(f.name, getattr(policy, f.name)) for f in fields(policy) if f.name != "name"]
    else:
        known = vars(policy).items() if hasattr(policy, "__dict__") else ()
        state = sorted(one for one in known if one[0] != ORIGIN)
    try:
        return pickle.dumps(state, protocol=5)
    except Exception as error:
        raise UsageError(
            f"{type(policy).__name__} contains values that cannot be serialised ({error}), so its "
            "runs have no key: use only numbers and strings, or name it as my.py:name"
        ) from None


def of_run(jobs: Workload, cluster: Cluster, policy: Any) -> str:
    """The digest of what a schedule depends on."""
    machine = digest(*canonical(cluster))
    return digest("schedule", str(SEMANTICS), of_workload(jobs), machine, of_policy(policy))


def canonical(value: Any) -> Iterator[str | bytes]:
    """A value as texts that are the same in every process: sets are sorted.

    Examples
    --------
    >>> list(canonical(frozenset({"b", "a"})))
    ['set', '2', "'a'", "'b'"]
    """
    if is_dataclass(value) and not isinstance(value, type):
        yield type(value).__name__
        for one in fields(value):
            if one.compare:
                yield one.name
                yield from canonical(getattr(value, one.name))
    elif isinstance(value, np.ndarray) and value.dtype != object:
        yield from (value.dtype.str, str(value.shape), np.ascontiguousarray(value).tobytes())
    elif isinstance(value, (set, frozenset)):
        yield from ("set", str(len(value)), *sorted(digest_text(one) for one in value))
    elif isinstance(value, dict) or hasattr(value, "items"):
        yield from ("dict", str(len(value)))
        for key, item in value.items():
            yield from canonical(key)
            yield from canonical(item)
    elif isinstance(value, (list, tuple)) or (
        isinstance(value, np.ndarray) and value.dtype == object
    ):
        yield from ("list", str(len(value)))
        for item in value:
            yield from canonical(item)
    else:
        yield repr(value)


def digest_text(value: Any) -> str:
    """One text for a member of a set."""
    parts = list(canonical(value))
    return parts[0] if len(parts) == 1 and isinstance(parts[0], str) else digest(*parts)
