"""Proofs about a schedule, one idea per file. ``check`` makes all that can be made.

Nothing here knows how a schedule came about: it is judged by the trace, the machine and, where it
is known, the policy, so schedules from other simulators and recorded logs can be judged too. What
these determine is recomputed and compared; no column is taken at its word.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.later import later

if TYPE_CHECKING:
    from shadowtime.schedule.check.proofs import check as check
    from shadowtime.schedule.check.report import Proof as Proof
    from shadowtime.schedule.check.report import Report as Report
    from shadowtime.schedule.check.report import Verdict as Verdict
    from shadowtime.schedule.check.rules import CLAIMS as CLAIMS
else:
    __getattr__, __all__, __dir__ = later(__name__)
