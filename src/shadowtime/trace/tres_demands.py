"""What jobs ask for besides processors, as columns made when somebody asks for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.types import UNKNOWN
from shadowtime.workload.raw import MAX_AMOUNT

if TYPE_CHECKING:
    from shadowtime.types import Ints


class TresDemands(Mapping[str, "Ints"]):
    """Amounts of whole jobs by resource: some given ones, and any that Slurm's TRES lists name.

    A site may define as many resources as it likes, so a column is made only when it is looked at.
    A job whose list does not name a resource asks for none of it; a job without a list is unknown.

    Examples
    --------
    >>> lists = [{"cpu": 4, "license/matlab": 2}, {"cpu": 1}, {}]
    >>> demands = TresDemands(lists, np.array([0, 1, 1, 2]), memory=np.array([10, 20, 20, 30]))
    >>> sorted(demands), demands["license/matlab"].tolist()
    (['license/matlab', 'memory'], [2, 0, 0, -1])
    """

    def __init__(self, lists: Sequence[Mapping[str, int]], index: Ints, **given: Ints) -> None:
        """``lists`` are the distinct ones, ``index`` the place of each job's."""
        self._lists, self._index, self._given = lists, index, given
        used, first = np.unique(index, return_index=True)
        in_order = (lists[at] for at in used[np.argsort(first)].tolist())
        # Names with a slash: cpu, mem, node, billing ... are counted elsewhere, or not at all.
        self._names = dict.fromkeys(name for one in in_order for name in one if "/" in name)

    def __getitem__(self, name: str) -> Ints:
        if name in self._given:
            return self._given[name]
        if name not in self._names:
            raise KeyError(name)
        amounts = (min(one.get(name, 0), MAX_AMOUNT) if one else UNKNOWN for one in self._lists)
        return np.fromiter(amounts, np.int64, len(self._lists))[self._index]

    def __iter__(self) -> Iterator[str]:
        yield from self._given
        yield from self._names

    def __len__(self) -> int:
        return len(self._given) + len(self._names)
