"""What the tests on a real pool share: submitting, the loop in this process, looking on."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from condor_pool import Pool
from shadowtime.engine.live_pass import Decided, Memory
from shadowtime.live.clock import Pace, SystemClock
from shadowtime.live.condor.client import Pool as Client
from shadowtime.live.condor.jobs import Reading
from shadowtime.live.condor.port import CondorPort
from shadowtime.live.loop import Loop
from shadowtime.live.port import Decision, PortError, Snapshot
from shadowtime.live.store import InMemory, Store
from shadowtime.policy import parse_policy

PATIENCE = 600.0
"""Generous: the machine may be busy, and a pass may have to be compiled."""


def submit(pool: Pool, seconds: int = 1, *, cpus: int = 1, memory: int = 128, hosts: int = 0,
           limit: int = 0, managed: bool = True, schedd: str = "",
           **more: str) -> str:  # fmt: skip
    """Submit a job that sleeps, at the gate; its number."""
    h = pool.use()
    script = pool.folder / "jobs" / "job.sh"
    if not script.exists():
        script.write_text('echo "$1" >> "$2"\nexec sleep "$3"\n')
        (pool.folder / "jobs" / "starts").touch()
        (pool.folder / "jobs" / "starts").chmod(0o666)
    ad = {
        "executable": "/bin/sh",
        "arguments": f"{script} $(Cluster).$(Process) {script.with_name('starts')} {seconds}",
        "request_cpus": str(cpus),
        "request_memory": str(memory),
        "request_disk": "1",
        "transfer_executable": "false",
        "should_transfer_files": "no",
        "initialdir": str(pool.folder / "jobs"),
        "log": str(pool.folder / "jobs" / "log"),
        "+MaxRuntime": str(limit or seconds + 2),
    }
    if managed:
        ad |= {"hold": "true", "+ShadowtimeManaged": "true"}
    if hosts:
        ad |= {"universe": "parallel", "machine_count": str(hosts)}
    result = again(lambda: pool.schedd(schedd).submit(h.Submit(ad | more)))
    return f"{result.cluster()}.0"


def again(ask: Callable[[], Any]) -> Any:
    """Ask a daemon that may be too busy to answer at once."""
    import htcondor2

    for _ in range(100):  # a schedd that died is back in seconds
        try:
            return ask()
        except htcondor2.HTCondorException:
            SystemClock().sleep(0.5)
    return ask()


def started(pool: Pool) -> list[str]:
    """Every start of every job, as the jobs recorded it: no job may be in it twice."""
    return (pool.folder / "jobs" / "starts").read_text().split()


def status(pool: Pool, job: str) -> int:
    """JobStatus, 0 where the job has left the queue."""
    cluster = job.partition(".")[0]
    found = again(lambda: pool.schedd().query(f"ClusterId == {cluster}", projection=["JobStatus"]))
    return int(found[0]["JobStatus"]) if found else 0


def history(pool: Pool, schedd: str = "") -> dict[str, dict[str, Any]]:
    """The final state of every job that has left a schedd's queue."""
    wanted = ["ClusterId", "ProcId", "JobStatus", "JobCurrentStartDate", "CompletionDate", "QDate",
              "LastRemoteHost", "RemoteHosts", "AllRemoteHosts", "NumJobStarts",
              "NumShadowStarts"]  # fmt: skip
    ads = again(lambda: list(pool.schedd(schedd).history("true", wanted)))
    return {f"{ad['ClusterId']}.{ad['ProcId']}": dict(ad) for ad in ads}


@dataclass
class Seen:
    """Every pass: the state, the memory before it, what was decided and where it went."""

    passes: list[tuple[Snapshot, Memory, Decided, tuple[Decision, ...]]] = field(
        default_factory=list
    )
    lines: list[str] = field(default_factory=list)

    def record(self, *one: Any) -> None:
        self.passes.append(one)  # type: ignore[arg-type]

    @property
    def starts(self) -> list[tuple[str, tuple[str, ...]]]:
        """Which job was started where, in the order of the decisions."""
        return [
            (one.job, tuple(host for host, _ in one.place))
            for *_, decisions in self.passes
            for one in decisions
            if hasattr(one, "place") and one.place
        ]


def loop_on(pool: Pool, policy: str, *, act: bool = True, store: Store | None = None,
            shape: Any = "pool", reading: Reading | None = None) -> tuple[Loop, Seen]:  # fmt: skip
    """The loop over the real pool, and what it did."""
    pool.use()
    seen = Seen()
    port = CondorPort(
        client=Client(),
        clock=SystemClock(),
        reading=reading or Reading(overhead=1),
        tell=seen.lines.append,
    )
    loop = Loop(
        port=port,
        policy=parse_policy(policy),
        store=store or InMemory(),
        clock=SystemClock(),
        shape=shape,
        act=act,
        pace=Pace(every=0.2, slowest=0.4, after_error=1.0),
        tell=seen.lines.append,
        record=seen.record,
    )
    return loop, seen


def turn_until(loop: Loop, happened: Callable[[], bool]) -> None:
    """Turn the loop until something has happened."""
    clock = SystemClock()
    with suppress(PortError):
        loop.step()  # the first one may have to compile the pass, however long that takes
    until = clock.now() + PATIENCE

    def done() -> bool:
        if clock.now() > until:
            raise TimeoutError(f"nothing came of it in {PATIENCE} s")
        return happened()

    loop.run(stopped=done)
