"""Classes of jobs for drawings: by size, by run time, by user, all labels whether used or not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shadowtime.metrics.classes import SIZE_EDGES, TIME_EDGES
from shadowtime.report.numbers import DASH, number
from shadowtime.types import AnyArray, Ints

NOUNS = {"size": "processors", "runtime": "run time", "qos": "QOS", "gpus": "GPUs"}


def by_kind(kind: str) -> str:
    """The heading above the groups of a kind.

    Examples
    --------
    >>> by_kind("size"), by_kind("account")
    ('by processors', 'by account')
    """
    return f"by {NOUNS.get(kind, kind)}"


RUNTIME_LABELS = (
    "< 1 min",
    f"1{DASH}10 min",
    f"10{DASH}60 min",
    f"1{DASH}6 h",
    f"6{DASH}24 h",
    "≥ 24 h",
)

TOP_USERS = 8


def size_classes(procs: Ints) -> tuple[Ints, tuple[str, ...]]:
    """Class index of every job and the labels; classes above the largest job are omitted.

    Examples
    --------
    >>> index, labels = size_classes(np.array([1, 3, 16, 17]))
    >>> index.tolist(), [label.replace(DASH, " to ") for label in labels]
    ([0, 1, 2, 3], ['1', '2 to 4', '5 to 16', '17 to 64'])
    """
    index = np.searchsorted(SIZE_EDGES, procs, side="left")
    lows = (1, *(edge + 1 for edge in SIZE_EDGES))
    labels = [
        number(low) if low == high else f"{number(low)}{DASH}{number(high)}"
        for low, high in zip(lows, SIZE_EDGES, strict=False)
    ]
    labels.append(f"> {number(SIZE_EDGES[-1])}")
    used = int(index.max(initial=0)) + 1
    return index.astype(np.int64), tuple(labels[:used])


def runtime_classes(run: Ints) -> tuple[Ints, tuple[str, ...]]:
    """Class index of every job by its run time, and the labels.

    Examples
    --------
    >>> runtime_classes(np.array([59, 60, 90_000]))[0].tolist()
    [0, 1, 5]
    """
    return np.searchsorted(TIME_EDGES, run, side="right").astype(np.int64), RUNTIME_LABELS


def user_classes(
    user: Ints, work: AnyArray, *, top: int = TOP_USERS, known: Sequence[str] = ()
) -> tuple[Ints, tuple[str, ...]]:
    """The users with the most work one by one, all others as one class.

    ``known`` are the users' names by number, if the log has them.

    Examples
    --------
    >>> index, labels = user_classes(np.array([7, 7, 3, 9]), np.array([1, 1, 5, 1]), top=2)
    >>> index.tolist(), labels
    ([1, 1, 0, 2], ('user 3', 'user 7', 'others'))
    """
    names, of = np.unique(user, return_inverse=True)
    total = np.bincount(of, weights=work, minlength=len(names))
    rank = np.empty(len(names), np.int64)
    rank[np.lexsort((names, -total))] = np.arange(len(names))
    index = np.minimum(rank[of], top) if len(names) else of.astype(np.int64)
    order = names[np.argsort(rank, kind="stable")][:top]
    called = [
        (known[one] if one < len(known) else one) if one >= 0 else "unknown"
        for one in order.tolist()
    ]
    labels = [f"user {name}" for name in called]
    if len(names) > top:
        labels.append("others")
    return index.astype(np.int64), tuple(labels)
