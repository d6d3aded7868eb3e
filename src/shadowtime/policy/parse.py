"""Policies by name with parameters, from TOML, or from a Python file."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from shadowtime.errors import PolicyError, suggested
from shadowtime.plugins import POLICIES, plugins
from shadowtime.policy import files
from shadowtime.policy.backfill import ByKey
from shadowtime.policy.catalogue import catalogue_names, named
from shadowtime.policy.grammar import Call, parse_call
from shadowtime.policy.order import Custom
from shadowtime.policy.part import SLOTS, Part, show
from shadowtime.policy.policy import Policy
from shadowtime.policy.values import (
    WHERE,
    part_from,
    parts,
    refuse_faulty,
    with_settings,
    with_test,
)
from shadowtime.printable import shown

SCHEDULERS = {"slurm": "shadowtime.slurm.policy:SlurmPolicy"}
"""Whole schedulers by name: objects with ``simulate(workload, cluster)``, loaded on demand."""


def parse_policy(text: str) -> Any:
    """The policy that a text describes.

    Rules
    -----
    A catalogue name, optionally with parameters: ``easy(reserve=4, order=lxfw)``. A parameter is
    a slot (its value a part) or a parameter of one of the policy's own parts. Or a TOML file, or
    ``file.py:name``, where the name is a Policy, a part made by a decorator such as ``st.order``
    (its parameters behind it, ``file.py:name(weight=2)``), an object with ``decide``, or a function
    priority(wait, estimate, procs). A part in a file can also fill a slot:
    ``easy(order=file.py:name(weight=2), estimate=other.py:guess)``.

    Examples
    --------
    >>> print(parse_policy("easy(reserve=4, order=lxfw)").reserve)
    4
    >>> parse_policy("conservative(compress=no)").parameters["reserve"]
    'kept(compress=no)'
    """
    if text.endswith(".toml"):
        return from_toml(Path(text))
    if files.is_in_file(text):
        made = from_python(text)
    else:
        call, name = parse_call(text), files.name_of_text(text)
        if call.name in SCHEDULERS:
            return whole_scheduler(call, name=name)
        made = build(call, name=name)
    if files.files_in(text):
        with contextlib.suppress(AttributeError, TypeError):  # an object without room for it
            object.__setattr__(made, files.ORIGIN, files.Origin.of(text))
    return made


def whole_scheduler(call: Call, *, name: str) -> Any:
    """A scheduler with its own code; parameters are passed as texts."""
    module, _, made = SCHEDULERS[call.name].partition(":")
    for key, value in call.arguments.items():
        if value.arguments:
            raise PolicyError(f"{call.name}: {key} takes a plain value")
    texts = {key: value.name for key, value in call.arguments.items()}
    return getattr(importlib.import_module(module), made).of(texts, name=name)


def make_policy(text: Any, /, **parameters: Any) -> Any:
    """A policy by name, optionally with parameters.

    Rules
    -----
    ``text`` is what ``--policy`` accepts: a catalogue name, ``"easy(reserve=4)"``, a TOML file or
    ``"my.py:name"``. ``parameters`` are slots or parameters of the policy's own parts; a value is
    a plain value, a text such as ``"weighted(wait=0.1)"``, a part, or for ``order`` a function
    ``priority(wait, estimate, procs)``.

    Examples
    --------
    >>> import shadowtime as st
    >>> st.policy("easy", reserve=4).name
    'easy(reserve=4)'
    >>> st.policy("easi")
    Traceback (most recent call last):
    ...
    shadowtime.errors.PolicyError: unknown policy 'easi'. Did you mean easy...
    """
    given: dict[str, Part] = {}
    values: dict[str, Any] = {}
    for key, value in parameters.items():
        if key in SLOTS and isinstance(value, Part):
            given[key] = value
        elif key == "order" and callable(value):
            given[key] = Custom(value)
        else:
            values[key] = value
    named = ", ".join(f"{key}={show(value)}" for key, value in values.items())
    if isinstance(text, str):
        made = parse_policy(_with_more(text.rstrip(), named))
    else:
        calls = {key: parse_call(show(value)) for key, value in values.items()}
        if isinstance(text, Part):  # its own parameters are part of its name
            own = {key: calls.pop(key) for key in text.declared() if key in calls}
            text = with_settings(text, own)
            named = ", ".join(f"{key}={show(values[key])}" for key in calls)
        name = _name_of(text)
        made = as_policy(text, name=name)
        made = with_parameters(made, Call(name, calls), name=_with_more(name, named))
    if not given:
        return made
    if not isinstance(made, Policy):
        raise PolicyError(f"{_name_of(made)} is implemented by its own code and takes no parts")
    named = ", ".join(f"{slot}={part}" for slot, part in given.items())
    return made.replace(name=_with_more(made.name, named), **given)


def _with_more(name: str, more: str) -> str:
    """A policy text with more parameters behind those that it has."""
    if not more:
        return name
    return f"{name[:-1]}, {more})" if name.endswith(")") else f"{name}({more})"


def _name_of(thing: Any) -> str:
    """What a policy, a part or a function is called; a part's parameters are in its name."""
    if isinstance(thing, Part):
        return str(thing)
    return str(getattr(thing, "name", None) or getattr(thing, "__name__", type(thing).__name__))


def whole_schedulers() -> list[Any]:
    """Every scheduler with its own code, with its default parameters."""
    return [whole_scheduler(Call(name), name=name) for name in SCHEDULERS]


def added_policies() -> dict[str, Any]:
    """Policies of other packages, by name (entry points of the group ``shadowtime.policies``).

    Examples
    --------
    >>> sorted(added_policies()) == sorted(plugins(POLICIES))
    True
    """
    taken = {*catalogue_names(), *SCHEDULERS}
    made = {}
    for name, thing in plugins(POLICIES).items():
        if name in taken:
            raise PolicyError(
                f"an installed package adds the policy {name}, which is a name of the catalogue: "
                "rename or uninstall it"
            )
        policy = as_policy(thing, name=name)
        made[name] = policy.replace(name=name) if isinstance(policy, Policy) else policy
    return made


def with_parameters(made: Any, call: Call, *, name: str) -> Any:
    """A policy of another package with the parameters of a call."""
    if not call.arguments:
        return made
    if not isinstance(made, Policy):
        raise PolicyError(f"{call.name} is implemented by its own code and takes no parameters")
    return with_arguments(made, call.arguments).replace(name=name)


def build(call: Call, *, name: str) -> Any:
    """A catalogue policy with the parameters of a call."""
    base = named(call.name)
    if base is None:
        added = added_policies()
        if call.name not in added:
            names = [*catalogue_names(), *SCHEDULERS, *added]
            for slot, known in parts().items():
                if call.name in known:
                    raise PolicyError(
                        f"{call.name} is a part for the slot {slot}, not a policy: write, for "
                        f"example, easy({slot}={call.name})"
                    )
            raise PolicyError(f"unknown policy {call.name!r}. {suggested(call.name, names)}")
        return with_parameters(added[call.name], call, name=name)
    policy = with_arguments(base, call.arguments)
    return policy.replace(name=name, summary=_summary(base, policy))


def with_arguments(policy: Policy, arguments: dict[str, Call]) -> Policy:
    """A policy with other parts, and parameters of its own parts set."""
    own: dict[str, Call] = {}
    for key, value in arguments.items():
        if key in SLOTS:
            policy = policy.replace(**{key: part_from(key, value)})
        else:
            own[key] = value
    for key, value in own.items():
        slot = slot_with(policy, key)
        policy = policy.replace(**{slot: with_settings(getattr(policy, slot), {key: value})})
    return policy


def _summary(base: Policy, policy: Policy) -> str:
    """What the policy does: the summary of its base, unless parts of it were changed."""
    changed = [
        f"{slot}={part} ({part.summary})"
        for slot, part in policy.parts.items()
        if part != base.parts[slot]
    ]
    return f"{base.name} with {' and '.join(changed)}" if changed else base.summary


def slot_with(policy: Policy, key: str) -> str:
    """The slot whose part has a parameter of this name."""
    for slot, part in policy.parts.items():
        if key in part.declared():
            return slot
    settings = [name for part in policy.parts.values() for name in part.declared()]
    raise PolicyError(
        f"policy {policy.name} has no parameter {key!r}. {suggested(key, [*SLOTS, *settings])}"
    )


def from_toml(path: Path) -> Policy:
    """A policy from a TOML file: ``base``, an optional ``name``, and parameters as keys.

    Tables are nested parts: ``[order] part = "weighted"`` and its parameters.
    """
    import tomllib

    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise PolicyError(f"{path}: no such policy file") from None
    except (ValueError, RecursionError, OSError) as error:  # ValueError: not UTF-8, not TOML, ...
        raise PolicyError(f"{path}: not a readable TOML file: {error}") from None
    base = table.pop("base", None)
    if not isinstance(base, str):
        raise PolicyError(f'{path}: a policy file needs base = "NAME" of a catalogue policy')
    name = str(table.pop("name", path.stem))
    arguments = {
        key.replace("-", "_"): _toml_call(path, key, value) for key, value in table.items()
    }
    try:
        made: Policy = build(Call(base, arguments), name=name)
        return made
    except PolicyError as error:
        raise PolicyError(f"{path}: {error}") from None


def _toml_call(path: Path, key: str, value: Any) -> Call:
    if isinstance(value, dict):
        if "part" not in value:
            raise PolicyError(f'{path}: the table [{key}] needs part = "NAME"')
        return Call(
            str(value["part"]),
            {k: _toml_call(path, k, v) for k, v in value.items() if k != "part"},
        )
    if isinstance(value, str):
        if files.MARK in value:
            raise PolicyError(
                f"{path}: {key} = {shown(value)} names Python code, and a policy file executes "
                f"none: use --policy 'easy({key}={value})'"
            )
        return parse_call(value)
    try:
        return Call(show(value))
    except ValueError:
        raise PolicyError(f"{path}: {key} is {shown(value)}") from None


def from_python(text: str) -> Any:
    """A policy, a part, a deciding object or an order function from ``file.py:name``.

    Parameters may follow the name of a policy or a part, as in ``my.py:f1(weight=2)``.
    """
    file = files.files_in(text)[0]
    written = text[len(file) + 1 :]
    call = parse_call(written) if "(" in written else Call(written)
    thing = files.load(file, call.name)
    try:
        if isinstance(thing, ByKey) and WHERE in call.arguments:
            thing = with_test(thing, call.arguments.pop(WHERE))
        made = as_policy(thing, name=call.name)
        return with_parameters(made, call, name=files.name_of_text(text))
    except PolicyError as error:
        raise PolicyError(f"{file}: {error}") from None


def as_policy(thing: Any, *, name: str) -> Any:
    """A Policy or deciding object unchanged; a function becomes the order of EASY."""
    made = _as_policy(thing, name=name)
    if isinstance(made, Policy):
        for part in made.parts.values():
            refuse_faulty(part)
    return made


def _as_policy(thing: Any, *, name: str) -> Any:
    if isinstance(thing, type) and hasattr(thing, "decide"):
        return thing()
    if isinstance(thing, Policy) or hasattr(thing, "decide") or hasattr(thing, "simulate"):
        return thing
    if isinstance(thing, Part):
        summary = f"EASY with {thing.slot}={thing}"
        return Policy(name=name, summary=summary, **{thing.slot: thing})  # type: ignore[arg-type]
    if isinstance(thing, Callable):  # type: ignore[arg-type]
        return Policy(name=name, order=Custom(thing), summary="EASY with an order of your own")
    raise PolicyError(
        f"{name} must be a Policy, a part, an object with decide(snapshot), or a function "
        f"priority(wait, estimate, procs), not {type(thing).__name__}"
    )
