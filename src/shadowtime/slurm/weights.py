"""Scheduling weights: in which order nodes are preferred (spec: slurm 11.3, 11.4)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shadowtime.slurm.machine import Hardware, Machine, bits
from shadowtime.types import Ints

PLAIN = 255
"""The low byte of a scheduling weight where no GPU is counted near."""


def base_weights(machine: Machine) -> Ints:
    """Scheduling weights as select_nodes() sets them: Weight * 256 + 255."""
    return np.array([node.weight * 256 + PLAIN for node in machine.nodes], np.int64)


def fresh_weights(machine: Machine) -> Ints:
    """Scheduling weights as a will-run test sets them: Weight * 65536."""
    return np.array([node.weight * 65536 for node in machine.nodes], np.int64)


def with_used_first(machine: Machine, weights: Ints, may_use: int, used: int) -> Ints:
    """The weights of a start under a limit on nodes: those that its group uses come first.

    Of the nodes of one kind that the job may use the others weigh one more, if the group uses any.
    spec: slurm 6.2.
    """
    kinds: dict[Hardware, list[int]] = {}
    for at in bits(may_use):
        kinds.setdefault(replace(machine.nodes[at], name=""), []).append(at)
    made = weights.copy()
    for places in kinds.values():
        others = [at for at in places if not used >> at & 1]
        if len(others) < len(places):
            made[others] += 1 + PLAIN
    return made
