"""The named policies, one small file per paper."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from shadowtime.policy.policy import Policy
from shadowtime.policy.written import Written

NAMES: dict[str, tuple[str, ...]] = {
    "classic": (
        "fcfs", "greedy", "easy", "easy-sjbf", "easy++", "conservative", "dynamic-conservative",
    ),
    "class_partitioning": (
        "lxf", "lxfw", "lxfwp", "lpf", "sjf", "single-class", "part-l-sm", "part-l-a",
    ),
    "pv_easy": ("pv-easy", "easy-last"),
    "ibb": ("bb", "bl", "ibb"),
    "rua": ("rua",),
    "hperf": ("consres", "lessc", "hperf"),
    "tang": ("wfp3", "unicef"),
    "carastan_santos": ("f1", "f2", "f3", "f4"),
    "lelong": ("saf", "spt", "sqf", "saf-wait", "easy-saf"),
    "ward": ("relaxed",),
    "srinivasan": ("selective", "selective-adaptive", "priority-conservative"),
    "shmueli": ("los",),
    "talby": ("slack",),
}  # fmt: skip
"""The policies of each file: a run needs one, so the others are not loaded."""
WRITTEN = ("tang", "carastan_santos", "lelong", "ward", "srinivasan", "shmueli", "talby")
"""Papers whose parts are functions, as a user would write them."""


def catalogue() -> list[Policy]:
    """Every named policy.

    Examples
    --------
    >>> [policy.name for policy in catalogue()][:3]
    ['fcfs', 'greedy', 'easy']
    """
    return [policy for file in NAMES for policy in _file(file).POLICIES]


def named(name: str) -> Policy | None:
    """One policy of the catalogue; None if there is none of this name.

    Examples
    --------
    >>> named("los").paper[:8], named("lose")
    ('Shmueli ', None)
    """
    for file, names in NAMES.items():
        if name in names:
            found: Policy = _file(file).POLICIES[names.index(name)]
            return found
    return None


def catalogue_names() -> list[str]:
    """The names of all policies."""
    return [name for names in NAMES.values() for name in names]


def written_parts(slot: str) -> dict[str, Written]:
    """The functions of the papers that fill a slot, by name.

    Examples
    --------
    >>> list(written_parts("reserve"))
    ['relaxed', 'selective', 'adaptive']
    """
    parts = [part for file in WRITTEN for part in _file(file).PARTS if part.slot == slot]
    return {part.label.replace("_", "-"): part for part in parts}


def _file(name: str) -> Any:
    return import_module(f"{__name__}.{name}")
