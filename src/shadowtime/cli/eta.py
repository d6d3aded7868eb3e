"""shadowtime eta: when a waiting job of the live cluster will start, or one yet to be submitted."""

from __future__ import annotations

import time

from shadowtime.cli.common.outputs import print_json
from shadowtime.cli.live.slurm_poll import NOW, Poll
from shadowtime.errors import UsageError
from shadowtime.live.predicted import Eta, Row
from shadowtime.report.numbers import span


def eta(
    job: str | None = None, *, request: str | None = None, poll: Poll = NOW, json: bool = False
) -> None:
    """When the waiting JOB of a Slurm cluster will start: the median and a range of 80 %.

    If no loop runs, Slurm's own passes are simulated from the live state many times. Run times are
    drawn from what the users' jobs used of their limits before, and jobs like those of the past
    days are submitted. Where `live slurm --policy slurm` watches with the same state file, its
    last predictions are the answer for five minutes. Beside a loop, its policy continues from the
    live state.

    \b
    shadowtime eta 1234
    shadowtime eta 1234 --policy conservative
    shadowtime eta --request '-N 4 -t 6:00:00 -p gpu'

    Parameters
    ----------
    request : OPTIONS
        Instead of a job: options of sbatch, such as '-N4 -t 6:00:00 -p gpu', as if submitted now;
        alternatives that start earlier are listed.
    """
    if (job is None) == (request is None):
        raise UsageError("name a waiting job, or describe one with --request '-N 4 -t 1:00:00'")
    if request is not None:
        _show_request(request, poll, json=json)
    else:
        assert job is not None
        _show_job(job, poll, json=json)


def _show_job(job: str, poll: Poll, *, json: bool) -> None:
    last = poll.last_start(job)
    if last is not None:
        now, made, row = last
        policy, age = "slurm", now - made
    else:
        made, row, policy = _predicted(job, poll)
        now, age = made, 0
    if json:
        values = {"job": job, "now": now, "expected": row.eta.expected}
        values |= {"earliest": row.eta.earliest, "latest": row.eta.latest, "policy": policy}
        print_json(values | {"within_hour": row.eta.soon, "why": row.why, "age": age})
        return
    of_watch = f", as predicted {span(age)} ago" if last is not None else ""
    print(f"job {job} {_words(row.eta, now)}, under {policy}{of_watch}")
    if row.why:
        print(f"it waits because {row.why}")


def _predicted(job: str, poll: Poll) -> tuple[int, Row, str]:
    """A job's start from a poll of now, when that was, and under which policy."""
    from shadowtime.cli.live.slurm_status import look  # the answer of a watch loads no simulator

    found = look(poll)
    row = next((row for row in found.waiting if row.job == job), None)
    if row is None:
        if job in found.ineligible and found.policy == "slurm":
            raise UsageError(f"no start of job {job} is predicted: {found.ineligible[job]}")
        if job in found.ineligible:
            raise UsageError(f"the loop does not start job {job}: {found.ineligible[job]}")
        where = "in the queue" if found.policy == "slurm" else "at the gate"
        raise UsageError(f"no job {job} waits {where}: see `shadowtime live slurm status`")
    return found.now, row, found.policy


def _show_request(text: str, poll: Poll, *, json: bool) -> None:
    from shadowtime.cli.live.slurm_status import ask

    now, eta, found = ask(poll, text)
    if json:
        rows = [
            {"change": one.change, "expected": round(now + one.expected), "saved": one.saved}
            for one in found.alternatives
        ]
        values = {"request": text, "now": now, "expected": eta.expected, "earliest": eta.earliest}
        values |= {"latest": eta.latest, "within_hour": eta.soon, "alternatives": rows}
        print_json(values)
        return
    print(f"a job submitted now {_words(eta, now)}")
    for one in found.alternatives:
        print(f"with {one.change}: in {span(one.expected)}, {span(one.saved)} earlier")
    if not found.alternatives:
        print("no shorter limit, smaller size or other partition would start clearly earlier")


def _words(eta: Eta, now: int) -> str:
    expected, low, high = (max(0, at - now) for at in (eta.expected, eta.earliest, eta.latest))
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(eta.expected))
    words = f"is expected to start in {span(expected)} ({when}), "
    words += f"between {span(low)} and {span(high)} from now"
    return words if eta.soon is None else f"{words} (80 %), {eta.soon:.0%} within an hour"
