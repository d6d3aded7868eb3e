"""HTCondor in the registry of live backends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from shadowtime.live.backend import Backend, Command, Option, Target, Wanted
from shadowtime.live.condor.gate import TRANSFORM

if TYPE_CHECKING:
    from shadowtime.live.condor.client import Client
    from shadowtime.live.condor.port import CondorPort

POOL = Option(name="--pool", default="", metavar="HOST", help="The host of the collector.")
SCHEDD = Option(
    name="--schedd",
    default="",
    help="The schedd whose jobs are managed, several as in a,b, or all of the pool. [default: "
    "the local one]",
)
OPTIONS = (
    POOL,
    SCHEDD,
    Option(
        name="--default-request",
        kind="span",
        default="1h",
        metavar="SPAN",
        help="Time limit of jobs without one.",
    ),
    Option(
        name="--overhead",
        kind="span",
        default="2s",
        metavar="SPAN",
        help="The time that a start takes, added to every time limit.",
    ),
    Option(
        name="--print-setup",
        kind="flag",
        help="Print what the schedd's configuration needs.",
        prints=TRANSFORM,
    ),
)


ALL = "all"
"""What --schedd is for every schedd of the pool."""


def connect(
    wanted: Wanted,
    *,
    tell: Callable[[str], None] = lambda line: None,
    stopped: Callable[[], bool] = lambda: False,
) -> tuple[CondorPort, Target]:
    """The schedds that the options name, and the pool they run jobs on."""
    from shadowtime.live.clock import SystemClock
    from shadowtime.live.condor.jobs import Reading
    from shadowtime.live.condor.port import CondorPort

    given = wanted.options
    names = schedd_names(given.get("schedd", ""))
    client = client_of(given.get("pool", ""), names, tell=tell)
    reading = Reading(
        default_request=given.get("default_request", 3600), overhead=given.get("overhead", 2)
    )
    port = CondorPort(client=client, clock=SystemClock(), reading=reading, tell=tell)
    text = ",".join(names)
    # The same schedd may be named in several ways: its own name counts.
    known = client.schedds() if wanted.act else ()
    target = Target(
        shape=wanted.shape or "pool",
        title=title_of(names),
        labels={"schedd": text or ",".join(known) or "local"},
        locks=tuple((f"schedd {one}", "") for one in known),
        state_name=f"live-condor-{text}" if text else "live-condor",
    )
    return port, target


def schedd_names(text: str) -> list[str]:
    """The schedds that ``--schedd`` names.

    Examples
    --------
    >>> schedd_names("b, a,b"), schedd_names("")
    (['a', 'b'], [])
    """
    return sorted({name.strip() for name in text.split(",")} - {""})


def title_of(names: Sequence[str]) -> str:
    """The schedds in words.

    Examples
    --------
    >>> title_of([]), title_of(["a", "b"]), title_of(["all"])
    ('the local schedd', 'schedds a,b', 'all schedds')
    """
    if not names:
        return "the local schedd"
    if ALL in names:
        return "all schedds"
    return f"{'schedds' if len(names) > 1 else 'schedd'} {','.join(names)}"


def client_of(collector: str, names: Sequence[str], *, tell: Callable[[str], None]) -> Client:
    """A client of one schedd, or of several as one queue; each schedd once."""
    from shadowtime.live.condor.client import Pool
    from shadowtime.live.condor.schedds import Schedds
    from shadowtime.live.port import PortError

    if len(names) <= 1 and ALL not in names:
        return Pool(collector=collector, schedd="".join(names))
    if ALL in names:
        names = Pool(collector=collector).known_schedds()
        if not names:
            raise PortError("the collector lists no schedd: is one running?")
    found: dict[str, Client] = {}
    for name in names:
        one = Pool(collector=collector, schedd=name)
        found.setdefault(one.schedds()[0], one)
    return Schedds(found, tell=tell)


CONDOR = Backend(
    name="condor",
    title="HTCondor",
    help="""Drive an HTCondor pool: every waiting job is started, and placed, by a policy.

    Jobs wait on hold (--print-setup shows the configuration), are pinned to slots and released.
    In shadow mode, the default, nothing is changed.

    \b
    shadowtime live condor --policy ibb
    shadowtime live condor --policy ibb --apply --record passes.jsonl
    shadowtime live condor --policy ibb --apply --schedd all
    """,
    connect=connect,
    options=OPTIONS,
    shape_help="How the policy sees the slots: one sum, or each separately. [default: pool]",
    example="ibb",
    commands={
        "release": Command(
            "Return the queue to HTCondor.", "shadowtime.cli.live.condor_release:release"
        ),
    },
)
