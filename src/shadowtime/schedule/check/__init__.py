"""Proofs about a schedule, one idea per file. ``check`` makes all that can be made.

Nothing here knows how a schedule came about: it is judged by the trace, the machine and, where it
is known, the policy, so schedules from other simulators and recorded logs can be judged too. What
these determine is recomputed and compared; no column is taken at its word.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shadowtime.schedule.check.claims import CLAIMS
    from shadowtime.schedule.check.proofs import check
    from shadowtime.schedule.check.report import Proof, Report, Verdict

_LATER = {
    "CLAIMS": "claims",
    "Proof": "report",
    "Report": "report",
    "Verdict": "report",
    "check": "proofs",
}
"""Loaded when first asked for: a simulation states claims and proves none."""

__all__ = ["CLAIMS", "Proof", "Report", "Verdict", "check"]


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
