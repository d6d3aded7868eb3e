"""shadowtime live condor release: return the queue to HTCondor."""

from __future__ import annotations

import contextlib

from shadowtime.cli.common.console import note
from shadowtime.live.condor.backend import client_of, schedd_names
from shadowtime.live.condor.release import give_back, plan_release, queue_of
from shadowtime.live.lock import one_loop
from shadowtime.printable import printable


def release(*, print_: bool = False, pool: str = "", schedd: str = "") -> int:
    """Return every job at the gate to the negotiator, with its user's own request.

    Stop the loop first. Jobs that are submitted later are still held at the gate: to stop that,
    remove the transform from the schedd's configuration and run condor_reconfig.

    Exits with 1 if a job could not be released.

    \b
    shadowtime live condor release --print
    shadowtime live condor release --schedd all

    Parameters
    ----------
    print_
        Only print the commands for HTCondor.
    """
    client = client_of(pool, schedd_names(schedd), tell=note)
    with contextlib.ExitStack() as stack:
        if not print_:
            for one in client.schedds():
                stack.enter_context(one_loop(f"schedd {one}"))
        plan = plan_release(queue_of(client))
        if print_:
            for line in plan.commands():
                print(printable(line))
            return 0
        failed = give_back(client, plan)
    done = len(set(plan.release) - failed.keys())
    print(f"jobs now scheduled by HTCondor: {done}")
    for job, why in {**plan.stay, **failed}.items():
        print(printable(f"{job} stays held: {why}"))
    return 1 if failed else 0
