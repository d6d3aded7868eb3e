"""Usage and fair-share factors of the account tree: Fair Tree, or the classic formula."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shadowtime.cluster.site import Association
    from shadowtime.engine.priority.weights import Weights


@dataclass(slots=True, eq=False)
class Branch:
    """An association in the tree."""

    name: tuple[str, str]
    """Account and user; no user: the account itself."""
    shares: float
    usage: float
    parent: Branch | None = None
    children: list[Branch] = field(default_factory=list)
    level: float = 0.0
    factor: float = 0.0
    effective: float = 0.0
    """An account's part of all usage, with what flows down to it (classic formula)."""
    standing: float = 0.0
    """Its own priority as a part of the highest one."""


class Shares:
    """The tree of accounts with its decayed usage.

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
        self.root = Branch(("root", ""), 1, 0.0)
        self.branches: dict[tuple[str, str], Branch] = {("root", ""): self.root}
        self._grow(tuple(associations))
        self._homes: dict[str, Branch] = {}
        for (_, user), branch in self.branches.items():
            self._homes.setdefault(user, branch)
        self.last: float | None = None
        """The last tick."""
        self._note_accounts()
        self.rank()

    def _grow(self, associations: tuple[Association, ...]) -> None:
        highest = max([1, *(one.priority for one in associations)])
        for users in (False, True):
            for one in associations:
                if bool(one.user) != users or (one.account == "root" and not one.user):
                    continue
                name = (one.account, one.user)
                shares = 1.0 if one.shares is None else float(one.shares)
                standing = one.priority / highest
                self.branches[name] = Branch(name, shares, one.usage, standing=standing)
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
        self.root.usage = sum(one.usage for one in self.root.children)

    def find(self, account: str, user: str) -> Branch | None:
        """A user's association; where no account is named, the first that the user has."""
        found = self.branches.get((account, user))
        return self._homes.get(user) if found is None and user and not account else found

    def charge(self, branch: Branch | None, amount: float) -> None:
        """Add usage to a user and everything above."""
        while branch is not None:
            branch.usage += amount
            branch = branch.parent

    def fade_to(self, now: float) -> float:
        """What is left of one unit of usage since the last tick."""
        return float(self.weights.decay ** (now - (now if self.last is None else self.last)))

    def tick(self, now: float, running: Iterable[tuple[Branch | None, float, float]]) -> None:
        """Decay; charge (whom, billing, start) since the last tick or the start (spec: slurm 5.4).

        The parts of accounts in the classic formula are those before the charge (spec: slurm 5.7).
        """
        last = now if self.last is None else self.last
        fade = self.fade_to(now)
        for branch in self.branches.values():
            branch.usage *= fade
        self._note_accounts()
        for branch_of, billing, start in running:
            amount = billing * (max(0.0, now - max(last, start)) * fade)
            while branch_of is not None:  # as in charge(); there are many jobs
                branch_of.usage += amount
                branch_of = branch_of.parent
        self.last = now

    def unpaid(self, now: float, start: float) -> float:
        """Seconds of a job that ends now which no tick has charged (spec: slurm 5.5)."""
        return 0.0 if self.last is None else max(0.0, now - max(self.last, start))

    def rank(self) -> None:
        """The factors of all users from the usage as it is."""
        if self.weights.fair_tree:
            users = [one for one in self.branches.values() if one.name[1]]
            self._rank = self._users = self._shared = max(1, len(users))
            self._climb(self.root.children, tied=False)
        else:
            self._classic(self.root, 1.0, self.root.usage)

    def _climb(self, siblings: list[Branch], *, tied: bool) -> None:
        """Depth first by level_fs; equal ones share a rank, also across tied accounts.

        spec: slurm 5.6.
        """
        shares = sum(one.shares for one in siblings)
        used = sum(one.usage for one in siblings)
        for one in siblings:
            norm = one.shares / shares if shares else 0.0
            part = one.usage / used if used else 0.0
            one.level = (norm / part if part else float("inf")) if norm else 0.0
        order = sorted(siblings, key=lambda one: (-one.level, not one.name[1]))
        for at, one in enumerate(order):
            same = tied if at == 0 else one.level == order[at - 1].level
            if not one.name[1]:
                self._climb(one.children, tied=same)
                continue
            if not same:
                self._shared = self._rank
            one.factor = self._shared / self._users
            self._rank -= 1

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
            one.factor = 2 ** -(used / damped) if damped else 0.0
            self._classic(one, share, total)
