"""A scheduler's query: how much bandwidth will a job of this tag use?

There is always an answer: without a record, or without a store, the job runs on exclusive nodes
(thesis, section 2.2), and the answer contains the reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from shadowtime.errors import ShadowtimeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from shadowtime.hperf.store import Store


class Prediction(NamedTuple):
    """MB/s per process by earlier records; exclusive nodes where there is none."""

    bandwidth: float
    exclusive: bool
    why: str


def predict(tag: str, opened: Callable[[], Store]) -> Prediction:
    """The demand of a job by its tag; never fails.

    Examples
    --------
    >>> from shadowtime.hperf import Record, open_store
    >>> store = open_store("sqlite://")
    >>> predict("cg", lambda: store)
    Prediction(bandwidth=0.0, exclusive=True, why='no record of cg yet')
    >>> _ = store.add([Record(tag="cg", bandwidth=240.0)])
    >>> predict("cg", lambda: store)
    Prediction(bandwidth=240.0, exclusive=False, why='mean of 1 record')
    """
    try:
        found = opened().average(tag)
    except ShadowtimeError as wrong:
        return Prediction(0.0, True, str(wrong))
    if found is None:
        return Prediction(0.0, True, f"no record of {tag[:40]} yet")
    plural = "" if found.records == 1 else "s"
    return Prediction(found.mean, False, f"mean of {found.records} record{plural}")
