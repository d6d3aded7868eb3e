"""The live loop on a mixed site of a real Slurm: what was refused, how long nodes were idle.

    python benchmarks/live_site.py --policy easy --jobs 300
    python benchmarks/live_site.py --policy easy,conservative,lxfw,pv-easy --jobs 300

Starts a private Slurm of sixteen nodes in two sizes with memory and generic resources, three
partitions that overlap, QOS limits (slurmdbd and MariaDB), a reservation and the gate; submits jobs
of every kind that the site model knows: several partitions, arrays with a throttle, dependencies,
features, node lists, whole nodes; and drives it with each policy in turn.

Prints for each: jobs, lost, run twice (apart from those that a policy preempted in the seconds of
their end, which Slurm had not heard of), refused by Slurm after their release, handed to Slurm,
passes that the simulator's code decides differently again, and how long nodes stood idle for a job:
from the pass that first decided its start to the job's own first line. Exits with 1 if a job was
lost, doubled, refused or handed over, or a pass differs. `scripts/bench live-site` runs the four
policies and writes docs/benchmarks/live-site.md.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks import mixed_site as mixed  # noqa: E402

from shadowtime.live.port import Start  # noqa: E402
from shadowtime.live.record import read_passes  # noqa: E402
from shadowtime.live.runner import Commands  # noqa: E402
from shadowtime.live.slurm import drive  # noqa: E402
from shadowtime.live.slurm.site_look import RULES_EVERY  # noqa: E402
from shadowtime.live.store import StateFile  # noqa: E402
from shadowtime.policy import parse_policy  # noqa: E402
from shadowtime.slurmtext.squeue import ENVIRONMENT  # noqa: E402
from shadowtime.testing.slurm import SlurmCluster, slurm_cluster, wait_for  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shadowtime.live.loop import Step
    from shadowtime.live.port import Decision, Outcome

SCRIPT = """echo begin $SLURM_JOB_ID $(date +%s.%N) >> {log}
sleep {seconds}
echo end $SLURM_JOB_ID $(date +%s.%N) >> {log}
"""
AT_MOST = 1800.0
"""Seconds after which a run is over, whatever still waits."""
TO_COMPILE = 300.0
SEEN_AFTER = RULES_EVERY + 2.0
"""Seconds after which an idle loop has read a reservation."""
AT_ONCE = 3.0
"""Seconds between the end of a job and a stop that came too late for it."""
BAD = (
    "lost",
    "doubled",
    "taken_back_as_nodes_were_not_free",
    "refused_after_release",
    "refused_at_once",
    "handed_to_slurm",
    "passes_decided_differently",
)


def main(words: list[str] | None = None) -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(description="The live loop on a mixed site of a real Slurm.")
    parser.add_argument("--policy", default="easy", help="one, or several as in easy,lxfw")
    parser.add_argument("--jobs", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--gap", type=float, default=0.0, help="seconds between two submissions")
    parser.add_argument("--warm", type=int, default=0, help="jobs that run before and do not count")
    parser.add_argument("--longest", type=int, default=6, help="the longest run in seconds")
    parser.add_argument(
        "--keep", type=Path, metavar="DIR", help="copy the logs, the passes and the times there"
    )
    parser.add_argument("--loud", action="store_true", help="print what the loop tells")
    chosen = parser.parse_args(words)
    jobs = mixed.draw_mixed(chosen.seed, chosen.jobs, longest=chosen.longest)
    bad = 0
    options = {"gap": chosen.gap, "warm": chosen.warm, "loud": chosen.loud, "keep": chosen.keep}
    for found in runs(chosen.policy.split(","), jobs, **options):
        print(json.dumps(found, indent=1), flush=True)
        bad += sum(found[name] for name in BAD)
    return 1 if bad else 0


def runs(
    policies: Sequence[str],
    jobs: Sequence[mixed.MixedJob],
    *,
    gap: float = 0.0,
    warm: int = 0,
    loud: bool = False,
    keep: Path | None = None,
) -> Iterator[dict[str, Any]]:
    """The figures of each policy in turn, on one cluster, after ``warm`` jobs that do not count.

    ``keep``: a folder for the logs, the passes and what jobs wrote, to judge each case by.
    """
    folder = Path(tempfile.mkdtemp(prefix="shadowtime-site-"))
    folder.chmod(0o755)
    user = mixed.submitter()
    try:
        with slurm_cluster(folder / "slurm", prepare=mixed.prepare, **mixed.OPTIONS) as cluster:
            mixed.add_limits(cluster, user)
            for name in policies:
                one = Campaign(cluster, folder, name, user, loud=loud)
                try:
                    yield one.measure(jobs, gap=gap, warm=warm)
                finally:
                    if keep is not None:
                        one.keep(keep / name)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def needs_another(job: mixed.MixedJob) -> bool:
    """Whether a job names another one, or a reservation."""
    return any(word == "-d" or word.startswith("--reservation") for word in job.options)


def idle_times(
    decided: Sequence[float], begins: Sequence[float], stops: Sequence[float]
) -> list[float]:
    """How long nodes stood idle for each start of a job: until its script began.

    Between two stops there is one start. One that was stopped before its script began, which then
    writes no line, kept its nodes idle until the stop.

    Examples
    --------
    >>> idle_times([10.0, 40.0], [41.0], [10.5])
    [0.5, 1.0]
    >>> idle_times([10.0, 40.0], [10.25, 41.0], [12.0])
    [0.25, 1.0]
    """
    found = []
    for k, when in enumerate(decided):
        after = stops[k - 1] if 0 < k <= len(stops) else float("-inf")
        until = stops[k] if k < len(stops) else float("inf")
        begin = next((at for at in begins if after < at <= until), until)
        if begin < float("inf"):
            found.append(begin - when)
    return found


class Campaign:
    """One policy on the cluster: submit, drive, count."""

    def __init__(
        self, cluster: SlurmCluster, folder: Path, policy: str, user: str, *, loud: bool
    ) -> None:
        self.cluster, self.policy, self.user, self.loud = cluster, policy, user, loud
        self.log = folder / f"times-{policy}.log"
        self.log.touch()
        self.log.chmod(0o666)
        self.record = folder / f"passes-{policy}.jsonl"
        self.reported: list[str] = []
        self.told: list[str] = []
        """The same with the time of each line."""
        self.first: dict[str, list[float]] = {}
        """When each start of a job was first decided; a further one after each stop."""
        self.idle: list[float] = []
        """How long nodes stood idle for starts that were taken back."""
        self.undone: set[str] = set()
        """Starts that were decided, not carried out, and are decided again in every pass since."""
        self.stops: dict[str, list[float]] = {}
        self.complaints: list[str] = []
        """Starts that Slurm refused as they were issued."""
        self.looked: list[float] = []
        port = drive.make_port(
            drive.Where(partition=",".join(mixed.NAMES)),
            run=Commands(env={**cluster.env, **ENVIRONMENT}),
        )
        chosen = parse_policy(policy)
        apply = port.apply

        def issued(decisions: Sequence[Decision]) -> list[Outcome]:
            outcomes = apply(decisions)
            self.complaints += [
                f"{outcome.decision.job} was refused: {outcome.why}"
                for outcome in outcomes
                if isinstance(outcome.decision, Start) and not outcome.done
            ]
            return outcomes

        port.apply = issued  # type: ignore[method-assign]
        self.loop = drive.make_loop(
            port,
            chosen,
            StateFile(folder / f"live-{policy}.json"),
            shape=drive.choose_shape(port, chosen),
            act=True,
            record=self.record,
            tell=self.tell,
        )

    def tell(self, line: str) -> None:
        """Keep the loop's output."""
        self.reported.append(line)
        self.told.append(f"{time.time():.2f} {line}")
        if line.startswith("took back "):  # its nodes were idle until now, and are free for others
            job = line.removeprefix("took back ").partition(",")[0]
            if self.first.get(job):
                self.idle.append(time.time() - self.first[job].pop())
        if self.loud:
            print(f"{time.time():.2f} {line}", file=sys.stderr)

    def keep(self, folder: Path) -> None:
        """Copy the evidence of a case."""
        folder.mkdir(parents=True, exist_ok=True)
        for path in (self.log, self.record):
            if path.exists():
                shutil.copy(path, folder)
        shutil.copytree(self.cluster.folder / "log", folder / "log", dirs_exist_ok=True)
        (folder / "loop.log").write_text("".join(f"{line}\n" for line in self.told))

    def measure(
        self, jobs: Sequence[mixed.MixedJob], *, gap: float, warm: int = 0
    ) -> dict[str, Any]:
        """Submit everything, let the loop run until the last job has ended, and count."""
        self.cluster.run("scontrol", "delete", "ReservationName=course", check=False)
        self.compile(warm)
        seen_after = SEEN_AFTER if warm else 0.0
        mixed.reserve(self.cluster, self.user, begin=int(seen_after) + 10, minutes=10)
        until = time.monotonic() + seen_after
        self.loop.run(stopped=lambda: time.monotonic() > until)
        ids: list[str] = []
        failed: list[Exception] = []
        all_in = threading.Event()
        began = time.time()

        def submit_all() -> None:
            try:
                for job in jobs:
                    options = [
                        word.replace("LAST", ids[-1] if ids else "1") for word in job.options
                    ]
                    script = SCRIPT.format(log=self.log, seconds=job.seconds)
                    ids.append(self.cluster.sbatch(*options, script=script, as_user=self.user))
                    time.sleep(gap)
            except Exception as error:  # raised again where it is seen
                failed.append(error)
            all_in.set()

        def over() -> bool:
            late = time.time() - began > AT_MOST
            return bool(failed) or late or (all_in.is_set() and len(self.ends()) >= self.runs(jobs))

        feeder = threading.Thread(target=submit_all)
        feeder.start()
        self.loop.run(stopped=over, after=self.looked_at)
        feeder.join()
        if failed:
            raise failed[0]
        wait_for(
            lambda: (
                time.time() - began > AT_MOST
                or not self.cluster.run("squeue", "-h", "-t", "R,CG").strip()
            ),
            "the nodes to be done",
        )
        return self.found(jobs, time.time() - began)

    def compile(self, warm: int) -> None:
        """Have whatever must be compiled compiled before the clock runs: some jobs through.

        A pass that is compiled in between takes half a minute.

        The second waits for the first and the third overtakes it; the first ends long before its
        limit, so that a policy that preempts stops the third for the second.
        """
        whole = ("-p", "cpu", "--exclusive")
        first = [((*whole, "-N6", "--time=5"), 2), ((*whole, "-N12", "--time=1"), 1)]
        if warm:
            first.append(((*whole, "-N6", "--time=1"), 8))
        others = mixed.draw_mixed(0, warm, longest=3)
        words = [(job.options, job.seconds) for job in others if not needs_another(job)]
        for k, (options, seconds) in enumerate(first + words):
            self.cluster.sbatch(*options, script=f"sleep {seconds}", as_user=self.user)
            if k < len(first):
                self.loop.step()
        until = time.monotonic() + TO_COMPILE
        self.loop.run(until_idle=True, stopped=lambda: time.monotonic() > until)

    @staticmethod
    def runs(jobs: Sequence[mixed.MixedJob]) -> int:
        """How many runs there are in all."""
        return sum(job.tasks for job in jobs)

    def looked_at(self, step: Step) -> None:
        """Note when each start was first decided, as long as it is decided again and again.

        A start that is not carried out, and that the next pass does not decide again, left no node
        idle: the policy has found another use for it.
        """
        now = time.time()
        self.looked.append(now)
        if step.decided is not None:
            for job in self.undone - {outcome.decision.job for outcome in step.outcomes}:
                self.first[job].pop()
                self.undone.discard(job)
        for outcome in step.outcomes:
            job = outcome.decision.job
            stops = self.stops.setdefault(job, [])
            if not isinstance(outcome.decision, Start):
                stops += [now] if outcome.done else []
            elif len(self.first.setdefault(job, [])) <= len(stops):
                self.first[job].append(now)
                self.undone |= set() if outcome.done else {job}
            elif outcome.done:
                self.undone.discard(job)

    def times(self, what: str) -> dict[str, list[float]]:
        """When jobs wrote that they begin or end, by Slurm's number."""
        found: dict[str, list[float]] = {}
        for line in self.log.read_text().splitlines():
            word, number, when = line.split()
            if word == what:
                found.setdefault(number, []).append(float(when))
        return found

    def ends(self) -> set[str]:
        """Jobs that have come to their own end."""
        return set(self.times("end"))

    def as_it_ended(self, job: str, ends: Sequence[float]) -> bool:
        """Whether the policy stopped a job in the seconds of an end: Slurm had not heard of it."""
        return any(abs(end - stop) <= AT_ONCE for end in ends for stop in self.stops.get(job, []))

    def found(self, jobs: Sequence[mixed.MixedJob], took: float) -> dict[str, Any]:
        """The figures."""
        begins = self.times("begin")
        names = self.names()
        waits = list(self.idle)
        for number, name in names.items():
            times = begins.get(number, [])
            waits += idle_times(self.first.get(name, []), times, self.stops.get(name, []))
        ends = self.times("end")
        twice = {number: times for number, times in ends.items() if len(times) > 1}
        preempted = [number for number in twice if self.as_it_ended(names[number], ends[number])]
        gaps = [b - a for a, b in zip(self.looked, self.looked[1:], strict=False)]
        counters = self.loop.kept.counters
        back = [line for line in self.reported if line.startswith("took back")]
        handed = [line for line in self.reported if line.startswith("handed")]
        refused = [line for line in handed if "did not start" in line or "where it was" in line]
        return {
            "policy": self.policy,
            "jobs": self.runs(jobs),
            "completed": len(ends),
            "lost": self.runs(jobs) - len(ends),
            "doubled": len(twice) - len(preempted),
            "doubled_as_preempted_while_ending": len(preempted),
            "stopped_and_run_again": counters.get("stopped", 0),
            "taken_back_as_nodes_were_not_free": len(back),
            "refused_after_release": len(refused),
            "refused_at_once": len(self.complaints),
            "handed_to_slurm": len(handed) - len(refused),
            "reported": (self.complaints + back + handed)[:10],
            "stops_too_late": counters.get("refused_by_the_scheduler", 0) - len(self.complaints),
            "errors": counters.get("errors", 0),
            "seconds": round(took, 1),
            "from_decision_to_begin_longest_s": round(max(waits, default=0.0), 2),
            "from_decision_to_begin_median_s": round(sorted(waits)[len(waits) // 2], 2),
            "between_looks_longest_s": round(max(gaps, default=0.0), 2),
            **self.decided_again(),
        }

    def names(self) -> dict[str, str]:
        """By Slurm's number, a job's name with its task."""
        listed = self.cluster.run(
            "squeue", "-h", "-a", "-r", "-t", "all", "-O", "JobID:20,JobArrayID"
        )
        return dict(line.split() for line in listed.splitlines() if line.strip())

    def decided_again(self) -> dict[str, int]:
        """Every recorded pass, decided again by the simulator's code."""
        passes = decisions = different = 0
        for one in read_passes(self.record):
            passes, decisions = passes + 1, decisions + len(one.decisions)
            different += one.decide_again(parse_policy(self.policy)) != one.decisions
        return {
            "passes": passes,
            "decisions": decisions,
            "passes_decided_differently": different,
        }


if __name__ == "__main__":
    sys.exit(main())
