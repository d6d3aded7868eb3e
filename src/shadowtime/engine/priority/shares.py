"""Usage and fair-share factors of the account tree: Fair Tree, or the classic formula."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from shadowtime.types import Floats, Ints

if TYPE_CHECKING:
    from shadowtime.cluster.site import Association
    from shadowtime.engine.priority.weights import Weights


@dataclass(slots=True, eq=False)
class Branch:
    """An association in the tree."""

    name: tuple[str, str]
    """Account and user; no user: the account itself."""
    shares: float
    at: int
    """Its place in the tables of :class:`Shares`."""
    tree: Shares
    parent: Branch | None = None
    children: list[Branch] = field(default_factory=list)
    effective: float = 0.0
    """An account's part of all usage, with what flows down to it (classic formula)."""
    standing: float = 0.0
    """Its own priority as a part of the highest one."""

    @property
    def usage(self) -> float:
        """Decayed usage."""
        return float(self.tree.usage[self.at])

    @property
    def factor(self) -> float:
        """The fair-share factor."""
        return float(self.tree.factor[self.at])


class Shares:
    """The tree of accounts with its decayed usage.

    Usage and factors are columns by branch; the last row stands for jobs without one.

    Examples
    --------
    >>> from shadowtime.cluster.site import Association
    >>> from shadowtime.engine.priority.weights import Weights
    >>> users = (Association(account="a", user="u", usage=9.0), Association(account="a", user="v"))
    >>> made = Shares((Association(account="a"), *users), Weights())
    >>> made.find("a", "u").factor, made.find("", "v").factor
    (0.5, 1.0)
    """

    def __init__(self, associations: Iterable[Association], weights: Weights) -> None:
        self.weights = weights
        self.root = Branch(("root", ""), 1, 0, self)
        self.branches: dict[tuple[str, str], Branch] = {("root", ""): self.root}
        self._grow(tuple(associations))
        self._homes: dict[str, Branch] = {}
        self._places: dict[tuple[str, str], int] = {}
        for (_, user), branch in self.branches.items():
            self._homes.setdefault(user, branch)
        self.last: float | None = None
        """The last tick."""
        self._write_tree()
        self._note_accounts()
        self.rank()

    def _grow(self, associations: tuple[Association, ...]) -> None:
        highest = max([1, *(one.priority for one in associations)])
        usage = [0.0]
        for users in (False, True):
            for one in associations:
                if bool(one.user) != users or (one.account == "root" and not one.user):
                    continue
                name = (one.account, one.user)
                shares = 1.0 if one.shares is None else float(one.shares)
                at = self.branches[name].at if name in self.branches else len(usage)
                usage[at : at + 1] = [one.usage]
                standing = one.priority / highest
                self.branches[name] = Branch(name, shares, at, self, standing=standing)
        placed: set[tuple[str, str]] = set()
        for one in associations:
            name = (one.account, one.user)
            branch = self.branches.get(name)
            if branch is None or branch is self.root or name in placed:
                continue
            placed.add(name)  # a user's second association there differs by its partition alone
            above = (one.account, "") if one.user else (one.parent or "root", "")
            branch.parent = self.branches.get(above, self.root)
            branch.parent.children.append(branch)
        usage[0] = sum(usage[one.at] for one in self.root.children)
        self.usage: Floats = np.array([*usage, 0.0])
        self.factor: Floats = np.zeros(len(self.usage))

    def _write_tree(self) -> None:
        """The branches and their siblings as tables."""
        every = list(self.branches.values())
        chains = []
        for one in every:
            chain, above = [one.at], one.parent
            while above is not None:
                chain.append(above.at)
                above = above.parent
            chains.append(chain)
        nobody = len(every)
        depth = max(map(len, chains))
        self.chains: Ints = np.full((nobody + 1, depth), nobody, np.int64)
        """By branch: itself and everything above."""
        for chain in chains:
            self.chains[chain[0], : len(chain)] = chain
        by_place = sorted(every, key=lambda one: one.at)
        self._kids: Ints = np.array([one.at for up in by_place for one in up.children], np.int64)
        """Branches by the one above, in the order of its children."""
        self._above: Ints = np.array([up.at for up in by_place for _ in up.children], np.int64)
        self._first = np.searchsorted(self._above, np.arange(nobody + 1)).tolist()
        self._is_account = np.array([not one.name[1] for one in by_place], np.bool_)[self._kids]
        shares = np.array([one.shares for one in by_place])[self._kids]
        total = self._sums(shares)
        self._norm: Floats = np.divide(shares, total, out=np.zeros(len(shares)), where=total != 0)
        self.standing: Floats = np.array([*(one.standing for one in by_place), 0.0])
        self._accounts = int(self._is_account.sum())
        self._write_paths(by_place)

    def _write_paths(self, by_place: list[Branch]) -> None:
        """Where each user is found from the root down: its chain without the root, turned round."""
        counts = np.diff(np.append(self._first, len(self._kids)))
        self._firsts: Ints = np.array(self._first, np.int64)[counts > 0]
        """Places of first siblings."""
        users = [one for one in by_place if one.name[1] and one.parent is not None]
        self._paths: Ints = np.zeros((max(1, self.chains.shape[1] - 1), len(users)), np.int64)
        for column, one in enumerate(users):
            path, above = [], one
            while above.parent is not None:
                path.append(above.at)
                above = above.parent
            self._paths[: len(path), column] = path[::-1]
        self._user_rows: Ints = np.array([one.at for one in users], np.int64)

    def _sums(self, values: Floats) -> Floats:
        """For each of the siblings: the sum over all of them, added in their order."""
        found = np.bincount(self._above, weights=values, minlength=len(self.usage))
        return np.asarray(found, np.float64)[self._above]

    def find(self, account: str, user: str) -> Branch | None:
        """A user's association; where no account is named, the first that the user has."""
        found = self.branches.get((account, user))
        return self._homes.get(user) if found is None and user and not account else found

    def place(self, account: str, user: str) -> int:
        """As :meth:`find`: the row of the branch in the tables, -1 where there is none."""
        found = self._places.get((account, user))
        if found is None:
            branch = self.find(account, user)
            found = self._places[account, user] = -1 if branch is None else branch.at
        return found

    def charge(self, branch: Branch | None, amount: float) -> None:
        """Add usage to a user and everything above."""
        if branch is not None:
            self.usage[self.chains[branch.at]] += amount

    def fade_to(self, now: float) -> float:
        """What is left of one unit of usage since the last tick."""
        return float(self.weights.decay ** (now - (now if self.last is None else self.last)))

    def tick(
        self,
        now: float,
        whose: Sequence[int] | Ints,
        billing: Sequence[float] | Floats,
        start: Sequence[float] | Floats,
    ) -> None:
        """Decay; charge jobs since the last tick or their start (spec: slurm 5.4).

        ``whose`` are rows as :meth:`place` tells them, ``billing`` what a second costs. The parts
        of accounts in the classic formula are those before the charge (spec: slurm 5.7).
        """
        last = now if self.last is None else self.last
        self.usage *= self.fade_to(now)
        self._note_accounts()
        if len(whose):
            chains = self.chains[np.asarray(whose)]
            seconds = np.maximum(0.0, now - np.maximum(last, np.asarray(start, np.float64)))
            amount = np.asarray(billing, np.float64) * self.weights.charged(seconds)
            # One after the other, as Slurm adds them: sums of fractions depend on it.
            np.add.at(self.usage, chains.ravel(), np.repeat(amount, chains.shape[1]))
        self.last = now

    def unpaid(self, now: float, start: float) -> float:
        """As what a job is charged now for the time since the last tick (spec: slurm 5.4)."""
        since = now if self.last is None else max(self.last, start)
        return self.weights.charged(max(0.0, now - since))

    def rank(self) -> None:
        """The factors of all users from the usage as it is."""
        if not self.weights.fair_tree:
            self._classic(self.root, 1.0, self.root.usage)
            return
        usage = self.usage[self._kids]
        total, size = self._sums(usage), len(usage)
        part = np.divide(usage, total, out=np.zeros(size), where=total != 0)
        level = np.divide(self._norm, part, out=np.full(size, np.inf), where=part != 0)
        level[self._norm == 0] = 0.0
        order = np.lexsort((self._is_account, -level, self._above))
        self._climb(order, level[order])

    def _climb(self, order: Ints, levels: Floats) -> None:
        """Depth first by level_fs; equal ones share a rank, also across tied accounts.

        spec: slurm 5.6.

        ``order`` are the siblings of each account, best first.
        """
        found = np.zeros(len(self.usage), np.int64)
        """Places in this order, by branch."""
        found[self._kids[order]] = np.arange(len(order))
        same = np.zeros(len(order), np.bool_)
        same[1:] = levels[1:] == levels[:-1]
        same[self._firsts] = False
        parents = self._above[self._firsts]
        for _ in range(len(self._paths)):  # a first sibling is tied with others as its account is
            same[self._firsts] = np.where(parents == 0, False, same[found[parents]])
        one = np.lexsort(found[self._paths][::-1])
        rows = self._user_rows[one]
        place = np.arange(len(rows))
        first = np.maximum.accumulate(np.where(same[found[rows]], 0, place))
        users = max(1, len(order) - self._accounts)
        self.factor[rows] = (users - first) / users

    def _note_accounts(self) -> None:
        """Each account's part of all usage: its own, and its share of what its parent used."""
        total = self.root.usage

        def down(branch: Branch) -> None:
            shares = sum(one.shares for one in branch.children)
            for one in branch.children:
                if not one.name[1]:
                    own = one.usage / total if total else 0.0
                    one.effective = self._flowing(branch, one, own, shares)
                    down(one)

        if not self.weights.fair_tree:
            down(self.root)

    def _flowing(self, above: Branch, one: Branch, own: float, shares: float) -> float:
        """Its own part of the usage, and its share of the rest of the account above."""
        if above is self.root:
            return own
        return own + (above.effective - own) * (one.shares / shares if shares else 0.0)

    def _classic(self, branch: Branch, norm: float, total: float) -> None:
        """F = 2^-(U / S): usage flows down with the shares (spec: slurm 5.7)."""
        shares = sum(one.shares for one in branch.children)
        for one in branch.children:
            used = one.effective
            if one.name[1]:
                used = self._flowing(branch, one, one.usage / total if total else 0.0, shares)
            share = norm * (one.shares / shares if shares else 0.0)
            damped = share * self.weights.dampening
            self.factor[one.at] = 2 ** -(used / damped) if damped else 0.0
            self._classic(one, share, total)
