"""A policy's parts as the verifier carries them out; what it cannot follow, with the reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shadowtime.policy import estimate as estimates
from shadowtime.policy import order as orders
from shadowtime.policy.backfill import (
    AnyThatFits,
    Balanced,
    ByKey,
    ByTest,
    InOrder,
    LeastUsed,
    Never,
    NotWorse,
    Selected,
    ShortestFirst,
    Venture,
)
from shadowtime.policy.reserve import Chosen, Planned
from shadowtime.policy.written import Written
from shadowtime.verify.orders import KEYS, Key, weighted
from shadowtime.verify.slots import FORMULAS, Function, Functions, add_slowdown

if TYPE_CHECKING:
    from shadowtime.policy import Policy
    from shadowtime.workload import Workload


class NotFollowedError(Exception):
    """The verifier has no implementation of this: the reason, as the end of a sentence."""


BACKFILLS = {
    Never: "never",
    InOrder: "in-order",
    ByTest: "in-order",
    ByKey: "in-order",
    AnyThatFits: "any",
    ShortestFirst: "sjbf",
}


def backfill_of(policy: Policy) -> str:
    """How jobs overtake: never, in-order, any or sjbf."""
    for kind, name in BACKFILLS.items():
        if isinstance(policy.backfill, kind):
            return name
    raise NotFollowedError(f"backfill={policy.backfill} has no second implementation here")


def key_of(policy: Policy) -> Key:
    """The key of an order by numbers; that of arrival where a function gives the order."""
    part = policy.order
    if isinstance(part, orders.Weighted):
        return weighted(*part.weights)
    if isinstance(part, orders.Fcfs | orders.Custom):
        return KEYS["fcfs"]
    if isinstance(part, orders.Sjf | orders.Lxf):
        return KEYS[part.name]
    raise NotFollowedError(f"order={part} has no second implementation")


def functions_of(policy: Policy) -> Functions:
    """The catalogue's functions that the policy brings."""
    found: dict[str, Any] = {}
    slots = {orders.Custom: "order", ByKey: "key", Chosen: "reserve", Planned: "plan"}
    for part in policy.parts.values():
        if not isinstance(part, Written) or isinstance(part, Selected):
            continue
        slot = next((slot for kind, slot in slots.items() if isinstance(part, kind)), None)
        if slot is None or len(part.functions) > 1:
            raise NotFollowedError(f"{part.slot}={part} is a function of your own")
        found[slot] = formula(part)
        if part.learners:
            found["learn"] = {"end": add_slowdown}
            found["shared"] = True
    return Functions(**found)


def formula(part: Written) -> Function:
    """A function of the catalogue, written a second time; the user's own are not followed."""
    name = str(part).partition("(")[0]
    if not part.bundled or name not in FORMULAS:
        raise NotFollowedError(f"{part.slot}={part} is a function of your own")
    return FORMULAS[name](**part.settings())


def estimate_of(policy: Policy, workload: Workload) -> object:
    """What the world's estimates are made of (``world.Estimates``)."""
    part = policy.estimate
    if isinstance(part, estimates.Requested):
        return "requested"
    if isinstance(part, estimates.Actual | estimates.Last | estimates.LastTwo):
        return part.name
    if isinstance(part, estimates.Noisy):
        draw = np.random.default_rng(part.seed).uniform(-part.x, part.x, len(workload))
        return "noisy", np.maximum(1, np.rint(workload.effective_run * (1 + draw))).astype(
            int
        ).tolist()
    raise NotFollowedError(f"estimate={part} has no second implementation")


def weighing_of(policy: Policy) -> tuple[str, dict[str, str]]:
    """The name of BB, BL or IBB and its parameter."""
    part = policy.backfill
    if isinstance(part, Balanced):
        return "bb", {"per_pass": part.per_pass}
    if isinstance(part, LeastUsed):
        return "bl", {"per_pass": part.per_pass}
    assert isinstance(part, NotWorse), part
    return "ibb", {"threshold": part.threshold}


def ventures(policy: Policy) -> bool:
    """True if PV-EASY's second phase is part of the policy."""
    return isinstance(policy.backfill, Venture) and policy.backfill.venture
