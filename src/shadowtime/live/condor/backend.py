"""HTCondor in the registry of live backends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.live.backend import Backend, Option, Target, Wanted
from shadowtime.live.condor.gate import TRANSFORM

if TYPE_CHECKING:
    from collections.abc import Callable

    from shadowtime.live.condor.port import CondorPort

OPTIONS = (
    Option(name="--pool", default="", metavar="HOST", help="The collector to ask."),
    Option(name="--schedd", default="", help="The schedd whose jobs are managed."),
    Option(
        name="--default-request",
        kind="span",
        default="1h",
        metavar="SPAN",
        help="Time limit of jobs that give none.",
    ),
    Option(
        name="--overhead",
        kind="span",
        default="2s",
        metavar="SPAN",
        help="What a start costs, added to every time limit.",
    ),
    Option(
        name="--print-setup",
        kind="flag",
        help="Print what the schedd's configuration needs.",
        prints=TRANSFORM,
    ),
)


def connect(
    wanted: Wanted,
    *,
    tell: Callable[[str], None] = lambda line: None,
    stopped: Callable[[], bool] = lambda: False,
) -> tuple[CondorPort, Target]:
    """The schedd that the options name, and the pool it runs jobs on."""
    from shadowtime.live.clock import SystemClock
    from shadowtime.live.condor.client import Pool
    from shadowtime.live.condor.jobs import Reading
    from shadowtime.live.condor.port import CondorPort

    given = wanted.options
    schedd = given.get("schedd", "")
    client = Pool(collector=given.get("pool", ""), schedd=schedd)
    reading = Reading(
        default_request=given.get("default_request", 3600), overhead=given.get("overhead", 2)
    )
    port = CondorPort(client=client, clock=SystemClock(), reading=reading, tell=tell)
    # The same schedd may be named in several ways: its own name counts.
    locks = ((f"schedd {client.schedd_name()}", ""),) if wanted.act else ()
    target = Target(
        shape=wanted.shape or "pool",
        title=f"schedd {schedd}" if schedd else "the default schedd",
        labels={"schedd": schedd},
        locks=locks,
        state_name=f"live-condor{'-' if schedd else ''}{schedd}",
    )
    return port, target


CONDOR = Backend(
    name="condor",
    title="HTCondor",
    help="""Drive an HTCondor pool: every waiting job is started, and placed, by a policy.

    Jobs wait on hold (--print-setup shows how they get there), are pinned to slots and released.
    In shadow mode, which is the default, nothing is touched.

    \b
    shadowtime live condor --policy ibb
    shadowtime live condor --policy ibb --apply --record passes.jsonl
    """,
    connect=connect,
    options=OPTIONS,
    shape_help="How the policy sees the slots: one sum, or each on its own. [default: pool]",
    example="ibb",
)
