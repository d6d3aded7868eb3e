"""A policy's parts as the verifier carries them out; what it cannot follow, with the reason.

Orders are by a key: the highest first, ties by (submit, id). spec: algorithms 1.4, 3.2. A key reads
R as the current estimate: it is handed the job with ``request`` = its estimate.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shadowtime.policy import Policy
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
from shadowtime.verify.slots import FORMULAS, Function, Functions, add_slowdown
from shadowtime.verify.world import Job, World

if TYPE_CHECKING:
    from shadowtime.workload import Workload


Key = Callable[[Job, int], float]


def weighted(wx: float, ww: float, wp: float) -> Key:
    """(W_x * sqrt((w + R) / R) + W_w * w) + W_p * P, hours, in this order of evaluation.

    spec: algorithms 3.2.
    """

    def key(job: Job, now: int) -> float:
        w = (now - job.submit) / 3600.0
        r = job.request / 3600.0
        return (wx * math.sqrt((w + r) / r) + ww * w) + wp * job.need[0]

    return key


def by_submit(job: Job, now: int) -> float:
    return -float(job.submit)


def by_estimate(job: Job, now: int) -> float:
    return -float(job.request)


def by_expansion(job: Job, now: int) -> float:
    return (now - job.submit + job.request) / job.request


KEYS: dict[str, Key] = {
    "fcfs": by_submit,
    "sjf": by_estimate,
    "lxf": by_expansion,
    "lxfw": weighted(1, 0.02, 0),
    "lxfwp": weighted(1, 0.02, 0.01),
    "lpf": weighted(0, 0, 1),
}


def in_order(world: World, key: Key) -> list[Job]:
    """Waiting jobs, highest key first, ties (submit, id); R in a key is the current estimate."""
    keys = {
        job.id: key(replace(job, request=world.estimate(job)), world.now) for job in world.waiting
    }
    return sorted(world.waiting, key=lambda job: (-keys[job.id], job.priority))


class NotFollowedError(Exception):
    """The verifier has no implementation of this: the reason, as the end of a sentence."""


BACKFILLS = {
    Never: "never",
    ShortestFirst: "sjbf",
    InOrder: "in-order",
    ByTest: "in-order",
    ByKey: "in-order",
    AnyThatFits: "any",
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
