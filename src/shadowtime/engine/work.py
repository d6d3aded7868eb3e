"""What happens to the work of stopped jobs: the policy's rule, in the registers of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.kernel import fields as f
from shadowtime.kernel.registers import OVERHEAD, SAVE_EVERY

if TYPE_CHECKING:
    from shadowtime.kernel.state import State
    from shadowtime.policy import Policy


def keep_work(state: State, policy: Policy) -> None:
    """Write into a fresh state when work is safe and what starting again costs."""
    state.reg[SAVE_EVERY] = policy.preempt.save_every
    state.reg[OVERHEAD] = policy.preempt.restart_s
    if policy.preempt.changes_runs:
        state.job[:, f.INITIAL] = state.job[:, f.ESTIMATE]
