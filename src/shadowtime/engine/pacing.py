"""EASY for jobs at speeds of their own: what a speed function is compiled into."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from shadowtime.kernel.changing import NEVER_ENDS, seconds_at
from shadowtime.kernel.choice import Free, earliest, occupy


@lru_cache(maxsize=64)
def easy_at_pace(speed: Callable[..., Any]) -> Callable[..., Any]:
    """The pass in which ``speed(now, jobs, i)`` chooses every job's speed (spec: changing 3.5)."""

    def at_pace(now: int, jobs: Any, free: Free, *values: Any) -> None:
        blocked = False
        for i in range(len(jobs.procs)):
            jobs.speed[i] = speed(now, jobs, i, *values)
            if jobs.suspended[i] > 0:  # it keeps all but its processors
                jobs.need[i, 0] = 0
                occupy(free, jobs.need[i], now, now + NEVER_ENDS)
                jobs.need[i, :] = 0
                jobs.need[i, 0] = jobs.procs[i]
            if jobs.held[i] > 0:
                seconds = seconds_at(jobs, i, jobs.held[i], jobs.speed[i])
                if jobs.speed[i] == 0:
                    jobs.need[i, 0] = 0
                occupy(free, jobs.need[i], now, now + seconds)
        for i in range(len(jobs.procs)):
            if jobs.held[i] > 0 or jobs.speed[i] == 0:
                continue
            seconds = seconds_at(jobs, i, jobs.procs[i], jobs.speed[i])
            begin = earliest(free, jobs.need[i], seconds)
            if begin == now:
                jobs.size[i] = jobs.procs[i]
            else:
                if jobs.suspended[i] > 0:
                    jobs.speed[i] = 0
                if blocked:
                    continue
                blocked = True
                jobs.promised[i] = begin if jobs.promised[i] < 0 else jobs.promised[i]
            occupy(free, jobs.need[i], begin, begin + seconds)

    return at_pace
