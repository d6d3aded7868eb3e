"""How a policy of a result folder is made again: its text, or its parts, and the code of its user.

A policy without code of a user's own is a text that ``--policy`` accepts. The code of others is in
the folder: the whole file for ``my.py:name``, and for functions of a script or a notebook a file
with their source and what they use of their module.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from shadowtime.errors import InputError, PolicyError, ShadowtimeError, UsageError
from shadowtime.policy import Policy, functions, grammar, order, parse_policy, values
from shadowtime.policy.files import ORIGIN, Origin, files_in, load_module, with_files
from shadowtime.policy.part import SLOTS, Part
from shadowtime.policy.written import Written
from shadowtime.study.sweep.keys import of_policy

CODE = "code"


@dataclass(frozen=True)
class Recipe:
    """What a folder stores about a policy."""

    content: dict[str, Any]
    """``policy`` (a text), ``slots``, or ``missing`` (why neither); ``functions`` and values."""
    files: dict[str, str] = field(default_factory=dict)
    """The code by its name in the folder."""


def recipe_of(policy: Any, name: str) -> Recipe:
    """The recipe of a policy; ``name`` is that of a file made for its functions.

    Examples
    --------
    >>> recipe_of(parse_policy("easy(reserve=4)"), "mine").content
    {'policy': 'easy(reserve=4)'}
    """
    used = _functions(policy)
    more = {"functions": used} if used else {}
    origin = getattr(policy, ORIGIN, None)
    try:
        if isinstance(origin, Origin):
            text, files = _moved(origin)
            return Recipe({"policy": text, **more}, files)
        for text in _texts(policy):
            if _same(policy, text):
                return Recipe({"policy": text, **more})
        if isinstance(policy, Policy):
            return _of_parts(policy, name, more)
        return Recipe({"missing": f"{type(policy).__name__} is an object of a Python program"})
    except (ShadowtimeError, OSError, ValueError) as error:
        return Recipe({"missing": " ".join(str(error).split()), **more})


def _functions(policy: Any) -> list[dict[str, Any]]:
    """The functions of a user in a policy with the values of their parameters."""
    if not isinstance(policy, Policy):
        return []
    return [
        {"slot": slot, "name": one.label, "values": _values(one)}
        for slot, part in policy.parts.items()
        for one in part.functions
        if not one.bundled
    ]


def _values(part: Written) -> dict[str, Any]:
    return {key: value for key, value in part.settings().items() if not callable(value)}


def _moved(origin: Origin) -> tuple[str, dict[str, str]]:
    """The text of a policy with its files in the folder, and these files."""
    files: dict[str, str] = {}
    places: dict[str, str] = {}
    for name, text in origin.files.items():
        free, number = f"{CODE}/{Path(name).name}", 1
        while free in files:
            number += 1
            free = f"{CODE}/{Path(name).stem}-{number}.py"
        places[name], files[free] = free, text
    return with_files(origin.text, places.__getitem__), files


def _texts(policy: Any) -> list[str]:
    texts = [str(getattr(policy, "name", ""))]
    if isinstance(policy, Policy):
        slots = ", ".join(f"{slot}={part}" for slot, part in policy.parts.items())
        texts.append(f"easy({slots})")
    return texts


def _same(policy: Any, text: str) -> bool:
    """Does a text give the same policy?"""
    if ".py:" in text or text.endswith(".toml"):
        return False
    try:
        return of_policy(parse_policy(text)) == of_policy(policy)
    except PolicyError:
        return False


def _of_parts(policy: Policy, name: str, more: dict[str, Any]) -> Recipe:
    """Slot by slot, with the source of functions that are not in a file of their own."""
    place = f"{CODE}/{name}.py"
    slots: dict[str, Any] = {}
    sources: dict[str, str] = {}
    for slot, part in policy.parts.items():
        written = [one for one in part.functions if not one.bundled]
        if written == [part]:
            for one in written:
                _collect(functions.plain(one.function), sources)
                for _, learner in (*one.learners, *one.timers):
                    _collect(functions.plain(learner), sources)
                slots[slot] = {"code": place, "name": one.label, "values": _values(one)}
        elif written:
            return Recipe({"missing": f"{slot}={part} joins functions of a Python program", **more})
        elif values.part_from(slot, grammar.parse_call(str(part))) == part:
            slots[slot] = str(part)
        else:
            return Recipe({"missing": f"{slot}={part} has no text that gives it again", **more})
    code = "\n\n".join(["import shadowtime as st", *sources.values()]) + "\n"
    return Recipe({"slots": slots, **more}, {place: code} if sources else {})


def _collect(function: Callable[..., Any], sources: dict[str, str]) -> None:
    """The source of a function, after that of what it uses of its module."""
    name = function.__name__
    if name in sources:
        return
    sources[name] = ""  # it may call itself
    try:
        text = inspect.cleandoc("\n" + inspect.getsource(function))
    except (OSError, TypeError):
        raise UsageError(f"the source of {name} is not available") from None
    if "def " not in text:
        raise UsageError(f"{name} is not a function with a name: write it with def")
    used = inspect.getclosurevars(function)
    for key, value in {**used.globals, **used.nonlocals}.items():
        if key in sources or value is function:
            continue
        if isinstance(value, ModuleType):
            sources[key] = f"import {value.__name__} as {key}"
        elif isinstance(value, bool | int | float | str):
            sources[key] = f"{key} = {value!r}"
        elif inspect.isfunction(functions.plain(value)):
            _collect(functions.plain(value), sources)
        else:
            raise UsageError(f"{name} uses {key}, which is no number, function or module")
    del sources[name]
    sources[name] = text


def policy_of(content: Mapping[str, Any], root: Path, *, run_code: bool, name: str) -> Any:
    """The policy of a recipe; code of the folder is run only if that is allowed."""
    if "policy" in content:
        text = str(content["policy"])
        if named := files_in(text):
            for file in named:
                _allow(file, root, run_code=run_code)
            text = with_files(text, lambda file: str(root / file))
        elif text.endswith(".toml"):
            raise InputError(f"{text} is no policy of a result", path=str(root / "result.json"))
        made = parse_policy(text)
    elif "slots" in content:
        parts: dict[str, Any] = {
            slot: _part(slot, one, root, run_code=run_code)
            for slot, one in content["slots"].items()
            if slot in SLOTS
        }
        made = Policy(name=name, **parts)
    else:
        why = content.get("missing", "it was written by an older version or by another command")
        raise UsageError(f"{root}: the policy {name} cannot be made again: {why}")
    return made.replace(name=name) if isinstance(made, Policy) else made


def _part(slot: str, content: Any, root: Path, *, run_code: bool) -> Part:
    if isinstance(content, str):
        return values.part_from(slot, grammar.parse_call(content))
    path = _allow(str(content["code"]), root, run_code=run_code)
    found = getattr(load_module(path), str(content["name"]), None)
    if found is None:
        raise InputError(f"has no function {content['name']}", path=str(path))
    part = found if isinstance(found, Part) else order.Custom(found)
    return part.with_values(**content["values"]) if content["values"] else part


def _allow(name: str, root: Path, *, run_code: bool) -> Path:
    """The path of a code file, if it is one of the folder's own and may be run."""
    path = root / name
    if Path(name).parts[:-1] != (CODE,) or path.is_symlink() or not path.is_file():
        raise InputError(f"{name} is no file of its folder {CODE}", path=str(root / "result.json"))
    if not run_code:
        raise UsageError(
            f"{path} is code that would run with your permissions: read it, and add --run-code if "
            "you trust it"
        )
    return path
