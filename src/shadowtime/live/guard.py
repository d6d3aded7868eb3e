"""The last look before acting: what changed since the decision was made is left alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shadowtime.live.placing import free_of, held_by, portion, room
from shadowtime.live.port import Outcome, Start

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shadowtime.live.port import Decision, State


@dataclass(frozen=True)
class Guarded:
    """Decisions that may be carried out, and those that may not, with the reason."""

    allowed: tuple[Decision, ...]
    refused: tuple[Outcome, ...]


def guard(decisions: Sequence[Decision], seen: State, fresh: State) -> Guarded:
    """Hold every decision against a fresh snapshot.

    Rules
    -----
    A job is started only if it still waits and asks for the same as when it was decided on, and
    only on hosts that are usable and have room by the fresh snapshot after all earlier decisions.
    A job is stopped only if it still runs and may be stopped. Whoever was stopped in this very
    pass is not started in it: it is not back in the queue yet. Where a stop is refused, the starts
    that follow find no room. No job is started twice.
    """
    before = {job.id: job for job in seen.waiting}
    waits = {job.id: job for job in fresh.waiting}
    runs = {job.id: job for job in fresh.running}
    free = free_of(fresh)
    whole = {host.name: list(host.capacity) for host in fresh.cluster.hosts}
    allowed: list[Decision] = []
    refused: list[Outcome] = []
    touched: set[str] = set()
    for decision in decisions:
        why = ""
        if decision.job in touched:
            why = "it was stopped in this pass and is not back in the queue yet"
        elif isinstance(decision, Start):
            job = waits.get(decision.job)
            if job is None:
                why = "it runs already" if decision.job in runs else "it does not wait any more"
            elif job != before.get(decision.job):
                why = "it was changed after the decision"
            elif not decision.place:
                why = "no hosts have room for it as it asks for them"
            else:
                for host, count in decision.place:
                    if host not in free:
                        why = f"{host} cannot be used now"
                        break
                    need = whole[host] if job.alone else portion(job.need, count)
                    if not room(free[host], need):
                        why = f"{host} has no room for it any more"
                        break
                else:
                    for host, count in decision.place:
                        need = whole[host] if job.alone else portion(job.need, count)
                        free[host] = [a - b for a, b in zip(free[host], need, strict=True)]
        else:
            run = runs.get(decision.job)
            if run is None:
                why = "it does not run any more"
            elif not run.ours:
                why = "it is not ours to stop"
            elif not run.settled:
                why = "it is about to start, or stopping already"
            else:
                for host, amounts in held_by(run):
                    if host in free:
                        free[host] = [a + b for a, b in zip(free[host], amounts, strict=True)]
        touched.add(decision.job)
        if why:
            refused.append(Outcome(decision, False, why))
        else:
            allowed.append(decision)
    return Guarded(tuple(allowed), tuple(refused))
