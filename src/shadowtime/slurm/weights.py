"""Scheduling weights: in which order nodes are preferred (spec: slurm 11.3, 11.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from shadowtime.slurm.machine import Machine
    from shadowtime.types import Ints

PLAIN = 255
"""The low byte of a scheduling weight where no GPU is counted near."""


def base_weights(machine: Machine) -> Ints:
    """Scheduling weights as select_nodes() sets them: Weight * 256 + 255."""
    return np.array([node.weight * 256 + PLAIN for node in machine.nodes], np.int64)


def fresh_weights(machine: Machine) -> Ints:
    """Scheduling weights as a will-run test sets them."""
    return np.array([node.weight * 65536 + PLAIN for node in machine.nodes], np.int64)
