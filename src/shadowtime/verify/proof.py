"""A schedule held against the one that the verifier follows: every column, pass by pass."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from shadowtime.cluster import Cluster
from shadowtime.cluster.site import Site
from shadowtime.schedule import Schedule
from shadowtime.schedule.check.report import Proof, not_proved, proved, violated
from shadowtime.schedule.match import match, take
from shadowtime.schedule.places import shares
from shadowtime.types import Reason
from shadowtime.verify.expected import Attempt, Expected, Followed
from shadowtime.verify.follow import follow
from shadowtime.verify.parts import NotFollowedError
from shadowtime.verify.world import NEVER
from shadowtime.workload import Workload
from shadowtime.workload.follows import as_submitted

FOLLOWS = "follows-policy"
COLUMNS = ("start", "end", "place", "reason", "kills", "killed", "promised", "blocked_at", "limit")


@dataclass(frozen=True, order=True)
class Difference:
    """A value that is not the policy's, and the pass in which it was decided."""

    at: int
    rank: int
    job: int
    what: str
    found: str
    expected: str

    def sentence(self, policy: str) -> str:
        """What differs, and from which pass on."""
        return (
            f"job {self.job} has {self.what} {self.found}, and {policy} gives {self.expected}; "
            f"the schedule departs from the policy in the pass at {self.at} s"
        )


def follows(
    schedule: Schedule,
    workload: Workload,
    machine: Cluster | Site,
    policy: Any,
    *,
    name: str = "",
    jobs: int | None = None,
) -> Proof:
    """Prove that a schedule is what a policy makes of a workload, by a second implementation.

    Parameters
    ----------
    name : what messages call the policy.
    jobs : how many jobs are followed at most; a longer log is followed until the next one comes.

    Examples
    --------
    >>> from shadowtime.cluster import Cluster
    >>> from shadowtime.policy import parse_policy
    >>> from shadowtime.schedule import Schedule
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(submit=[0, 1], run=[5, 5], procs=[3, 2], recorded_start=[0, 6])
    >>> late = Schedule.recorded(w).replace(missing=("reason", "kills", "killed"))
    >>> print(follows(late, w, Cluster.pool(4), parse_policy("easy")).detail)
    job 2 has start 6, and easy gives 5; the schedule departs from the policy in the pass at 5 s ...
    """
    name = name or str(getattr(policy, "name", None) or type(policy).__name__)
    found = match(schedule, workload)
    if not found.exact:
        return not_proved(FOLLOWS, "the jobs of the schedule are not those of the trace")
    if len(workload.follows):  # whether they came in time is proved for itself
        workload, order = as_submitted(found.workload, found.schedule.submit)
        found = match(take(found.schedule, order), workload)
    until = NEVER
    if jobs is not None and jobs < len(workload):
        until = int(workload.submit[jobs])
    try:
        made = follow(workload, machine, policy, until=until)
    except NotFollowedError as why:
        return not_proved(FOLLOWS, f"{name} was not followed: {why}; the other proofs were made")
    wrong = sorted(differences(found.schedule, workload, made))
    if wrong:
        rows = len({one.job for one in wrong})
        jobs_differ = "1 job differ" if rows == 1 else f"{rows:,} jobs differ"
        more = f" ({len(wrong):,} values of {jobs_differ})" if len(wrong) > 1 else ""
        return violated(FOLLOWS, wrong[0].sentence(name) + more)
    lacking = sorted(set(COLUMNS) - set(columns_of(found.schedule, made)))
    skipped = f"; not compared: {', '.join(lacking)}" if lacking else ""
    if until == NEVER:
        return proved(
            FOLLOWS,
            f"a second implementation of {name} makes the same {len(workload):,} rows in "
            f"{made.passes:,} passes{skipped}",
        )
    settled = sum(is_settled(row, until) for row in made.rows)
    return not_proved(
        FOLLOWS,
        f"the first {made.passes:,} passes of {name}, until {until} s, give the same values, "
        f"{settled:,} jobs in full; {len(workload) - settled:,} of {len(workload):,} jobs were not "
        f"followed to their end, for which only the other proofs were made{skipped}",
    )


def columns_of(schedule: Schedule, made: Followed) -> Iterator[str]:
    """The columns that schedule and policy both have."""
    for name in COLUMNS:
        column = getattr(schedule, name)
        if name == "place" and made.rows and made.rows[0].place is None:
            yield name  # a pool has none
        elif column is not None and name not in schedule.missing:
            yield name


def is_settled(row: Expected, until: int) -> bool:
    """True if nothing that comes later changes the row."""
    return until == NEVER or 0 <= row.end <= until


def differences(schedule: Schedule, workload: Workload, made: Followed) -> Iterator[Difference]:
    """Every value that is not the policy's; the rows are matched already."""
    names = list(columns_of(schedule, made))
    for at, row in enumerate(made.rows):
        expected = {name: getattr(row, name, int(workload.limit[at])) for name in names}
        found = {name: value_of(schedule, name, at) for name in names}
        for name in names if is_settled(row, made.until) else known_by(row, made.until, found):
            if not equal(name, found[name], expected[name]):
                yield Difference(
                    at=decided(name, row, found),
                    rank=COLUMNS.index(name),
                    job=row.job_id,
                    what=name,
                    found=shown(name, found[name]),
                    expected=shown(name, expected[name]),
                )
    yield from other_attempts(schedule, made)


def value_of(schedule: Schedule, name: str, row: int) -> Any:
    """A value of the schedule; a place as hosts with processors."""
    column = getattr(schedule, name)
    if name == "place":
        return None if column is None else shares(column[row])
    return int(column[row])


def known_by(row: Expected, until: int, found: dict[str, Any]) -> Iterator[str]:
    """The columns of an unfinished row that are decided before an instant, or contradict it."""
    same_runs = found.get("kills", 0) == row.kills
    if row.start >= 0 and same_runs:
        yield from (name for name in ("start", "place", "reason") if name in found)
    elif row.start < 0 and same_runs and 0 <= found["start"] < until:
        yield "start"
    if row.blocked_at >= 0 or 0 <= found.get("blocked_at", -1) < until:
        yield from (name for name in ("blocked_at",) if name in found)
    if row.promised >= 0 and "promised" in found:
        yield "promised"


def equal(name: str, found: Any, expected: Any) -> bool:
    """Equal values; of a place that names no processors only the hosts."""
    if name != "place" or expected is None:
        return bool(found == expected)
    if any(count is None for _, count in found):
        return sorted(host for host, _ in found) == sorted(host for host, _ in expected)
    return sorted(found) == sorted(expected)


def decided(name: str, row: Expected, found: dict[str, Any]) -> int:
    """The pass in which a value was decided, by the schedule or by the policy."""
    if name in ("start", "end", "blocked_at"):
        times = [value for value in (found[name], getattr(row, name)) if value >= 0]
        return min(times, default=0)
    if name == "promised" and row.promised_at >= 0:
        return row.promised_at
    return row.start if row.start >= 0 else max(0, int(found["start"]))


def shown(name: str, value: Any) -> str:
    """A value as messages show it."""
    if name == "place":
        words = [host if count is None else f"{host}:{count}" for host, count in value or ()]
        return " ".join(words) or "nowhere"
    if name == "reason" and value in list(Reason):
        return Reason(value).label
    return str(value)


def other_attempts(schedule: Schedule, made: Followed) -> Iterator[Difference]:
    """Runs of stopped jobs that only one of both has; nothing where they did not come along."""
    table = schedule.attempts
    if len(table) == 0 and bool((schedule.kills > 0).any()):
        return
    mine = sorted(
        Attempt(*(int(value) for value in row))
        for row in zip(table.job_id, table.start, table.end, table.killed, strict=True)
    )
    true = [one._replace(overhead=0, kept=0) for one in made.attempts]
    if made.until != NEVER:
        mine = [one for one in mine if one.killed and one.end < made.until]
        true = [one for one in true if one.killed and one.end < made.until]
    for one in sorted({*mine} ^ {*true}) or (mine[:1] if len(mine) != len(true) else []):
        has = "a run" if one in mine else "no run"
        run = f"{one.start} to {one.end} s"
        yield Difference(
            at=one.start,
            rank=len(COLUMNS),
            job=one.job_id,
            what=f"{has} from",
            found=run,
            expected="none" if one in mine else "it",
        )
    yield from other_work(schedule, made)


def other_work(schedule: Schedule, made: Followed) -> Iterator[Difference]:
    """What each run of a stopped job kept and spent, where the schedule says so."""
    table = schedule.attempts
    if table.kept is None or table.overhead is None:
        return
    true = {(one.job_id, one.start): one for one in made.attempts}
    for at in range(len(table)):
        run = true.get((int(table.job_id[at]), int(table.start[at])))
        for name in ("kept", "overhead"):
            expected = None if run is None else getattr(run, name)
            found = int(getattr(table, name)[at])
            if run is not None and expected is not None and found != expected:
                yield Difference(
                    at=run.end,
                    rank=len(COLUMNS),
                    job=run.job_id,
                    what=f"{name} in its run from {run.start} s",
                    found=str(found),
                    expected=str(expected),
                )
