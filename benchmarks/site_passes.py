"""Live passes over a workload: snapshots from event to event, each decided by the loop's code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shadowtime.engine.live_pass import (
    Ended,
    Memory,
    RunningJob,
    Snapshot,
    Start,
    WaitingJob,
    decide,
)
from shadowtime.workload.request import Request

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shadowtime.cluster.site import Site
    from shadowtime.engine.live_pass import Decided
    from shadowtime.policy import Policy
    from shadowtime.workload import Workload


@dataclass(frozen=True)
class Pass:
    """One pass: what it saw, what it remembered and what it decided."""

    state: Snapshot
    memory: Memory
    made: Decided


class EndlessError(AssertionError):
    """The passes go on without an end."""


def passes(work: Workload, site: Site, policy: Policy, *, most: int) -> Iterator[Pass]:
    """Drive the jobs of a site from their first submission to the last end, at most ``most`` times.

    Started jobs run as long as the log says; the id of a job is its row.
    """
    memory = Memory()
    waits: dict[int, WaitingJob] = {}
    runs: dict[int, RunningJob] = {}
    ended: list[Ended] = []
    coming = list(range(len(work)))
    wake: int | None = None
    need = (1, *(0 for _ in site.resources[1:]))
    names = work.names.get("user", ())
    asked = work.requests
    assert asked is not None
    for _ in range(most):
        instants = [] if wake is None else [wake]
        instants += [int(work.submit[coming[0]])] if coming else []
        instants += [run.start + int(work.run[row]) for row, run in runs.items()]
        if not instants:
            return
        now = min(instants)
        for row in [r for r, run in runs.items() if run.start + int(work.run[r]) == now]:
            gone = runs.pop(row)
            ended.append(
                Ended(id=gone.id, start=gone.start, end=now, request=gone.request, user=gone.user)
            )
        while coming and int(work.submit[coming[0]]) <= now:
            row = coming.pop(0)
            user = int(work.user[row])
            waits[row] = WaitingJob(
                id=str(row),
                submit=int(work.submit[row]),
                need=need,
                request=int(work.request[row]),
                user=names[user] if names else str(user),
                ask=asked[row],
            )
        state = Snapshot(
            now=now,
            cluster=site.as_nodes(),
            waiting=tuple(waits.values()),
            running=tuple(runs.values()),
            ended=tuple(ended),
            site=site,
        )
        made = decide(policy, state, memory, shape="site")
        yield Pass(state, memory, made)
        memory = made.memory
        wake = made.wake if made.wake is None or made.wake > now else None
        for decision in made.decisions:
            row = int(decision.job)
            if not isinstance(decision, Start):
                run = runs.pop(row)
                waits[row] = WaitingJob(
                    id=run.id, submit=int(work.submit[row]), need=need,
                    request=run.request, user=run.user, ask=asked[row],
                )  # fmt: skip
                continue
            job = waits.pop(row)
            assert job.ask is not None
            ask = Request(
                partitions=(decision.partition,), qos=job.ask.qos, account=job.ask.account,
                amounts=job.ask.amounts,
            )  # fmt: skip
            runs[row] = RunningJob(
                id=job.id, submit=job.submit, need=need, request=job.request, start=now,
                place=decision.place, user=job.user, held=decision.held, ask=ask,
            )  # fmt: skip
    raise EndlessError(f"{most} passes do not end it: {sorted(waits)} wait, next at {wake}")
