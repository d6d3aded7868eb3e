"""When the head of the queue starts, alone with the running jobs (spec: algorithms 4.6, 4.7)."""

from __future__ import annotations

from typing import Any

from shadowtime.engine.nodes import fields as nf
from shadowtime.engine.nodes.rua.cost import free_of_cost
from shadowtime.engine.nodes.rua.pointers import PLAN_HEAD, pointer
from shadowtime.engine.nodes.rua.search import allowed, last_until, start_of
from shadowtime.engine.nodes.running_table import Table, end_at, job_at


@pointer(PLAN_HEAD)
def plan_head(table: Table, evaluate: Any, job: int) -> None:
    """Choose the head's start (``plan_start``); the table holds no reservation.

    Costs never rise with the start, so thresholds are found by bisection.
    """
    par = table.par
    now = par["now"][0]
    par["ready"][0] = 0
    # First fit: the first end by which enough is free.
    free = par["free"][0]
    at = -1
    while free < table.job["procs"][job] and at + 1 < par["running"][0]:
        at += 1
        free += table.job["procs"][job_at(table, at)]
    start = start_of(table, at)
    par["plan_start"][0] = start
    if par["search"][0] == nf.FIRST_FIT:
        return
    bound = par["promise"][0]
    if par["search"][0] == nf.CHEAPEST:
        bound = min(bound, start + table.job["reach"][job])
    last = last_until(table, bound)
    if last <= at:
        return
    if free_of_cost(table, job, last_until(table, start) + 1):
        return
    if par["search"][0] == nf.CHEAPEST and free_of_cost(table, job, last + 1):
        low = at + 1
        while low < last:
            middle = (low + last) >> 1
            if free_of_cost(table, job, middle + 1):
                last = middle
            else:
                low = middle + 1
        par["plan_start"][0] = end_at(table, last)
        return
    cost = evaluate(table, job, start, nf.ZERO)
    least = evaluate(table, job, end_at(table, last), nf.ZERO)
    best = -1
    place = last
    known = least
    # Smaller thresholds first: each larger one is met no later. LessConsume is one of penalty 0.
    for theta in range(par["theta_from"][0], max(par["theta_from"][0] + 1, par["theta_to"][0])):
        most = least
        if par["search"][0] != nf.CHEAPEST:
            most = max(allowed(table, theta, job), least)
        if cost <= most:
            place = at
            known = cost
        low = at + 1
        while low < place:
            middle = (low + place) >> 1
            found = evaluate(table, job, end_at(table, middle), nf.ZERO)
            if found <= most:
                place = middle
                known = found
            else:
                low = middle + 1
        slowness = par["base"][0] * (start_of(table, place) - now) + known
        if best < 0 or slowness < best:
            best = slowness
            par["plan_start"][0] = start_of(table, place)
