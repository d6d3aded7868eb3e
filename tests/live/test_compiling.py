"""A loop does not wait for the compiler: it runs the pass uncompiled, with the same decisions."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from live.fakes import NODES, FakeClock, FakeSlurm, queue_line
from shadowtime.child_process import PYTHON
from shadowtime.cluster import Cluster, Host
from shadowtime.engine.live_pass import Memory, RunningJob, Snapshot, WaitingJob
from shadowtime.errors import PolicyError
from shadowtime.live import service
from shadowtime.live.compiling import AGAIN, NotCompiled, PassesAtOnce
from shadowtime.live.deciding import Made, decide_with_hosts
from shadowtime.live.signals import Undisturbed
from shadowtime.live.slurm import drive
from shadowtime.policy import parse_policy
from shadowtime.testing.slurm import wait_for

PV_EASY = parse_policy("pv-easy")
ENDLESS = (
    *PYTHON,
    "import signal; from shadowtime.child_process import Tasks; "
    "next(iter(Tasks())); signal.pause()",
)
DONE = (*PYTHON, "pass")
BREAKS = (*PYTHON, "raise SystemExit('no space left')")


def a_queue(count: int = 20) -> Snapshot:
    """Two running jobs on eight nodes and many that wait: heads, backfilling and a stop."""
    hosts = tuple(Host(f"n{k}", (4,)) for k in range(8))
    runs = (
        RunningJob(id="1", submit=0, need=(12,), request=90, start=0, user="ann",
                   place=(("n0", 4), ("n1", 4), ("n2", 4))),
        RunningJob(id="2", submit=1, need=(8,), request=900, start=1, user="bob",
                   place=(("n3", 4), ("n4", 4))),
    )  # fmt: skip
    waits = tuple(
        WaitingJob(id=str(k), submit=k, need=(k * 7 % 32 + 1,), request=30 + k, user="ann")
        for k in range(3, count)
    )
    return Snapshot(
        now=50,
        cluster=Cluster(shape="nodes", hosts=hosts),
        running=runs,
        waiting=waits,
    )


class Cold(PassesAtOnce):
    """Passes that are not compiled as long as ``cold``."""

    cold = True

    def here(self, *seen: object) -> Made:
        if self.cold:
            raise NotCompiled
        return super().here(*seen)  # type: ignore[arg-type]


@pytest.fixture
def lines() -> list[str]:
    return []


@pytest.fixture
def passes(lines: list[str]) -> Iterator[Cold]:
    made = Cold(
        policy=PV_EASY, shape="pool", clock=FakeClock(), tell=lines.append, compiler=ENDLESS
    )
    yield made
    made.end()


def decide(passes: PassesAtOnce, state: Snapshot) -> Made:
    return passes.decide(state, Memory(), {}, attention=Undisturbed())


def test_uncompiled_passes_decide_the_same_and_then_compiled_ones(
    passes: Cold, lines: list[str]
) -> None:
    """Both are reported once; the processes end with the switch."""
    state = a_queue()
    expected = decide_with_hosts(PV_EASY, state, Memory())
    assert expected.decisions
    assert [decide(passes, state), decide(passes, state)] == [expected, expected]
    compiler, uncompiled = passes._compiler, passes._uncompiled
    assert compiler is not None and uncompiled is not None
    assert compiler.process.poll() is None and uncompiled.process.poll() is None
    passes.cold = False
    passes.clock.sleep(41)
    assert decide(passes, state) == decide(passes, state) == expected
    assert compiler.process.poll() is not None and uncompiled.process.poll() is not None
    assert lines == [
        "pv-easy is not compiled for this machine yet: its passes run uncompiled, slower but "
        "with the same decisions, while another process compiles",
        "pv-easy is compiled, after 41 s: compiled passes are used from now on",
    ]


def test_the_compiler_may_be_done_first(passes: Cold, lines: list[str]) -> None:
    """With thousands of waiting jobs the uncompiled pass is abandoned."""
    passes.uncompiled = ENDLESS
    passes.compiler = DONE
    beats: list[str] = []
    passes.beat = beats.append
    looks = iter([False, True])

    def here(*seen: object) -> Made:
        if not next(looks):
            raise NotCompiled
        return decide_with_hosts(PV_EASY, a_queue(), Memory())

    passes.here = here  # type: ignore[method-assign, assignment]
    assert decide(passes, a_queue()) == decide_with_hosts(PV_EASY, a_queue(), Memory())
    assert passes._uncompiled is None
    assert lines[-1].startswith("pv-easy is compiled")


def test_a_compiler_that_fails_is_reported_and_tried_again(passes: Cold, lines: list[str]) -> None:
    """Passes continue uncompiled; compiling is tried again after ten minutes."""
    passes.compiler = BREAKS
    state = a_queue()
    expected = decide_with_hosts(PV_EASY, state, Memory())
    assert decide(passes, state) == expected
    if passes._compiler is not None:  # otherwise it finished before the pass
        passes._compiler.process.wait(timeout=60)
    assert decide(passes, state) == expected
    failures = [line for line in lines if "failed" in line]
    assert failures == [
        "compiling pv-easy failed, its passes stay uncompiled, next attempt in 10 minutes: "
        "no space left"
    ]
    assert passes._compiler is None
    passes.compiler = ENDLESS
    assert decide(passes, state) == expected and passes._compiler is None
    passes.clock.sleep(AGAIN)
    assert decide(passes, state) == expected and passes._compiler is not None


def test_a_compiler_that_cannot_be_started_is_reported(passes: Cold, lines: list[str]) -> None:
    """As on a disk that is full, or with too many processes."""
    passes.compiler = ("/no/such/program",)
    assert decide(passes, a_queue()) == decide_with_hosts(PV_EASY, a_queue(), Memory())
    assert len(lines) == 2 and "No such file" in lines[1]


def test_code_that_is_kept_nowhere_is_reported(passes: Cold, lines: list[str]) -> None:
    """The compiler succeeds twice, but the cache stays empty."""
    passes.compiler = DONE
    for _ in range(3):
        decide(passes, a_queue(4))
        if passes._compiler is not None:
            passes._compiler.process.wait(timeout=60)
    assert [line for line in lines if "SHADOWTIME_CACHE" in line] == [
        "compiling pv-easy failed, its passes stay uncompiled, next attempt in 10 minutes: "
        "its code is not in the cache; set SHADOWTIME_CACHE to a writable folder"
    ]


def test_an_uncompiled_pass_that_fails_waits_for_the_compiler(
    passes: Cold, lines: list[str]
) -> None:
    """If both fail, the pass is compiled in this process."""
    passes.uncompiled = passes.compiler = BREAKS
    looks = iter([False, False, True])
    here = super(Cold, passes).here

    def cold_twice(*seen: object) -> Made:
        if not next(looks):
            raise NotCompiled
        return here(*seen)  # type: ignore[arg-type]

    passes.here = cold_twice  # type: ignore[method-assign, assignment]
    assert decide(passes, a_queue()) == decide_with_hosts(PV_EASY, a_queue(), Memory())
    assert "the uncompiled pass of pv-easy failed: no space left" in lines
    assert lines[-1] == "compiling pv-easy in the loop itself, which waits for it"


def test_what_the_policy_rejects_is_rejected_uncompiled_too() -> None:
    """An error of the uncompiled pass is raised here."""
    passes = Cold(policy=parse_policy("easy++"), shape="site", clock=FakeClock(), compiler=ENDLESS)
    try:
        with pytest.raises(PolicyError, match="cannot run live on a site"):
            decide(passes, a_queue())
    finally:
        passes.end()


def test_a_run_ends_its_processes(monkeypatch: pytest.MonkeyPatch, lines: list[str]) -> None:
    """The service runs passes at once, and the compiler ends with the loop."""
    made: list[Cold] = []

    def cold(**given: object) -> Cold:
        made.append(Cold(**given | {"compiler": ENDLESS}))  # type: ignore[arg-type]
        return made[-1]

    monkeypatch.setattr(service, "PassesAtOnce", cold)
    fake, clock = FakeSlurm(queue_line("7"), NODES), FakeClock()
    port = drive.make_port(drive.Where(), run=fake, clock=clock)
    compilers = []

    def tell(line: str) -> None:
        lines.append(line)
        if line.startswith("would start") or line.startswith("start 7"):
            assert made[0]._compiler is not None
            compilers.append(made[0]._compiler.process)
            fake.queue = ""

    target = drive.target_of(port, PV_EASY, "pool", act=False)
    service.run(port, PV_EASY, target=target, until_idle=True, tell=tell)
    assert len(compilers) == 1
    assert compilers[0].poll() is not None


COLD_PROCESS = """
import json, sys
sys.path.insert(0, sys.argv[1])
from live.test_compiling import ENDLESS, PV_EASY, a_queue, decide
from live.fakes import FakeClock
from shadowtime.live.compiling import PassesAtOnce
lines = []
passes = PassesAtOnce(
    policy=PV_EASY, shape="pool", clock=FakeClock(), tell=lines.append, compiler=ENDLESS
)
made = decide(passes, a_queue())
compiler = passes._compiler.process
assert compiler.poll() is None
print(json.dumps([[repr(one) for one in made.decisions], lines, compiler.pid]), flush=True)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing ends with its parent")
def test_with_an_empty_cache_nothing_is_compiled_in_the_loop(tmp_path: Path) -> None:
    """A real first pass; and a loop that is killed leaves no process behind."""
    tests = str(Path(__file__).resolve().parent.parent)
    env = os.environ | {"SHADOWTIME_CACHE": str(tmp_path), "SHADOWTIME_PREBUILT": "no"}
    code = f"{COLD_PROCESS}\nimport os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    done = subprocess.run(
        [sys.executable, "-c", code, tests],
        env=env,
        stdout=subprocess.PIPE,
        timeout=300,
        check=False,
    )
    decisions, lines, compiler = json.loads(done.stdout)
    expected = decide_with_hosts(PV_EASY, a_queue(), Memory()).decisions
    assert decisions == [repr(one) for one in expected]
    assert len(lines) == 1 and "run uncompiled" in lines[0]
    assert not list(tmp_path.rglob("*.nbc"))
    wait_for(lambda: has_ended(compiler), "the compiler to end with the loop")


def has_ended(process: int) -> bool:
    """Whether a process has ended, reaped or not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True
