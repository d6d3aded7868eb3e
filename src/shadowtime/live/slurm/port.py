"""The port to Slurm: a snapshot is two commands, carrying out a pass is two more."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from shadowtime.engine.live_pass import Held
from shadowtime.live.ineligible import Case, Ineligible
from shadowtime.live.port import (
    Continue,
    Decision,
    Outcome,
    Place,
    Snapshot,
    Start,
    Stop,
    Trust,
)
from shadowtime.live.runner import Runner
from shadowtime.live.slurm import act
from shadowtime.live.slurm.act import Repairs
from shadowtime.live.slurm.answers import Answers
from shadowtime.live.slurm.asks import Details, arrays_of
from shadowtime.live.slurm.demand import Demand, with_demands
from shadowtime.live.slurm.equal_nodes import permitted
from shadowtime.live.slurm.gate import LEASE, begin_words, lease_end, leased
from shadowtime.live.slurm.late import LateStarts, Leases, Requeued
from shadowtime.live.slurm.remembered import Remembered
from shadowtime.live.slurm.sending import Sender
from shadowtime.live.slurm.shrinking import shrink, suspend_lines
from shadowtime.live.slurm.site_look import SiteLook
from shadowtime.live.slurm.site_state import OnSite
from shadowtime.live.slurm.state import Model, Scope, Sorted, nodes_of, sort_jobs
from shadowtime.live.slurm.touched import MARKS, KeptRequests, Touched, parse_marks, touch
from shadowtime.slurmtext import squeue

if TYPE_CHECKING:
    from shadowtime.live.clock import Clock

AT_ONCE = 200
"""The largest number of jobs repaired in one session, and of leases renewed."""
RESERVATIONS_EVERY = 15.0
STOPPABLE = ("RUNNING", "SUSPENDED")
"""States of jobs that a requeue stops; one that has ended meanwhile would run again."""


@dataclass(kw_only=True)
class SlurmPort:
    """Slurm through its commands; see :class:`shadowtime.live.port.Port`.

    ``stopped`` returns whether the loop has stopped a job, which lets it wait again; ``lease`` is
    for how many seconds Slurm leaves the jobs to a loop that is gone.
    """

    run: Runner
    clock: Clock
    scope: Scope
    name: str = "slurm"
    lease: int = LEASE
    stopped: Callable[[str], bool] = lambda job: False
    sorted: Sorted | None = None
    """The last snapshot, with the jobs that are not touched."""
    placed: dict[str, Place] = field(default_factory=dict)
    demand: Demand | None = None
    """How the policy learns the demand of waiting jobs."""
    tell: Callable[[str], None] = lambda line: None
    secret: str = ""
    """What separates squeue's columns, so that no user can forge one."""

    def __post_init__(self) -> None:
        self.answers = Answers(self.run, self.clock, secret=self.secret)
        self._rows: dict[str, squeue.QueueRow] = {}
        self._details = Details()
        self._windows: list[squeue.Window] = []
        self._windows_at = float("-inf")
        self._kept = KeptRequests()
        self._handed: dict[str, str] = {}
        self._late = LateStarts()
        self._leases = Leases()
        self._requeued = Requeued()
        self._sender = Sender()
        self._remembered = Remembered()
        self._missing: frozenset[str] = frozenset()
        """Partitions that Slurm does not have now."""
        self._look = SiteLook(self.answers.text, tell=lambda line: self.tell(line))
        self._sent: dict[str, Held] = {}
        """What released jobs on a site use on each node."""

    @property
    def trust(self) -> Trust:
        """How far Slurm's last answers can be relied on."""
        look, answers = self._look, self.answers
        stale = {"site": self.clock.now() - look.read_at} if look.trouble else {}
        unreadable = len(answers.unreadable) + len(answers.stand_ins)
        return Trust(asked_again=answers.again, unreadable=unreadable, stale=stale)

    @property
    def ineligible(self) -> Mapping[str, Ineligible]:
        """Waiting jobs of the last snapshot that the loop does not start, and why."""
        return self.sorted.ineligible if self.sorted is not None else {}

    def snapshot(self) -> Snapshot:
        """What Slurm reports now."""
        rows, nodes = self.answers.poll()
        self._look_for_partitions(nodes)
        self._read_marks(rows)
        now = self.clock.now()
        if self.scope.site:
            return self._on_site(rows, nodes, now)
        if not 0 <= now - self._windows_at < RESERVATIONS_EVERY:  # clocks may jump back
            shown = self.answers.text(("scontrol", "--oneliner", "show", "reservation"))
            self._windows, self._windows_at = squeue.parse_reservations(shown), now
        self._sort(rows, nodes, now)
        assert self.sorted is not None
        if self.demand is not None and not self.sorted.state.closed:
            state = with_demands(
                self.sorted.state, self._details.by_job, self.demand, self.scope.bandwidth
            )
            self.sorted = replace(self.sorted, state=state)
        return self.sorted.state

    def _look_for_partitions(self, nodes: Sequence[squeue.NodeRow]) -> None:
        """Report partitions that are not there, and their return: the others are served."""
        missing = self.scope.driven - {name for node in nodes for name in node.partitions}
        for name in sorted(missing ^ self._missing):
            gone = f"Slurm has no partition {name} with nodes: it is not served until it has"
            self.tell(gone if name in missing else f"partition {name} is back")
        self._missing = missing

    def _on_site(
        self, rows: list[squeue.QueueRow], nodes: list[squeue.NodeRow], now: float
    ) -> Snapshot:
        """What Slurm reports now, on the model of a site."""
        nodes_of(nodes, self.scope)  # raises if the partitions have none
        named = {row.reservation for row in rows} - {*squeue.NONE}
        busy = any(row.state == "PENDING" and leased(row.eligible, now) for row in rows)
        site = self._look.read(nodes, now, reservations=named, busy=busy)
        model = OnSite(
            site,
            nodes,
            scope=self.scope,
            now=int(now),
            sent=self._sent,
            shared=self._remembered.shared,
        )
        return self._sort(rows, nodes, now, model=model).state

    def _sort(
        self,
        rows: list[squeue.QueueRow],
        nodes: list[squeue.NodeRow],
        now: float,
        *,
        model: Model | None = None,
    ) -> Sorted:
        comments = self.demand is not None
        self._details.learn(
            self.answers.about_jobs, rows, now, site=self.scope.site, comments=comments
        )
        self._forget(rows)
        self._rows = {row.id: row for row in rows}
        self._requeued.look(rows, self.clock.steady())
        self._kept.see(self._rows)
        self._leases.look(
            rows,
            now,
            driven=self.scope.driven,
            touched=self.touched,
            stopped=self._was_stopped,
        )
        self.sorted = sort_jobs(
            rows,
            nodes,
            scope=self.scope,
            now=int(now),
            windows=self._windows,
            model=model,
            details=self._details.by_job,
            placed=self.placed,
            stopped=self._was_stopped,
            let_go=self._leases.let_go,
            remembered=self._remembered,
            touched=self.touched,
            begins=self._leases.begins,
        )
        alone = {
            job: replace(why, because=self._handed.get(job, ""))
            if why.case is Case.HANDED_OVER
            else why
            for job, why in self.sorted.ineligible.items()
        }
        unread = {
            job: Ineligible(Case.NOT_UNDERSTOOD, (why,))
            for job, why in self.answers.unreadable.items()
        }
        self.sorted = replace(self.sorted, ineligible=alone | unread)
        return self.sorted

    def apply(self, decisions: Sequence[Decision]) -> list[Outcome]:
        """Everything in one session, stops first; then one poll for the outcomes.

        Jobs are shrunk and suspended in a session before that: their nodes are free when it ends,
        or are not.

        Starts that share several nodes come last: Slurm decides how their processors are
        distributed, and it would fill the first node and leave other starts without room there.
        """
        every = decisions
        made = shrink(decisions, self._send, self.look, self.clock, self.touched)
        decisions = [d for d in every if d.job not in made]
        stops = [d for d in decisions if isinstance(d, Stop)]
        ended: dict[str, Outcome] = {}
        if stops:
            runs = {job for job, row in self.look().items() if row.state in STOPPABLE}
            ended = {d.job: Outcome(d, False, "it has ended") for d in stops if d.job not in runs}
            stops = [d for d in stops if d.job not in ended]
        lines = [act.stop_lines(d.job, self._kept.mark(d.job)) for d in stops]
        for decision in sorted(decisions, key=act.shares_nodes):
            if isinstance(decision, Continue):
                lines.append(suspend_lines(decision))
            if isinstance(decision, Start):
                undone, row = self._kept.before(decision.job, self._rows.get(decision.job))
                lines.append(
                    undone
                    + act.start_lines(
                        decision,
                        row=row,
                        gres=self.scope.bandwidth,
                        nodes=self._nodes_of(decision.job),
                        sized=self.scope.sized,
                        mark=self._kept.mark(decision.job),
                    )
                )
                self._leases.ends.pop(decision.job, None)
                self.placed[decision.job] = decision.place
                self._sent[decision.job] = decision.held
        starts = {decision.job for decision in decisions if isinstance(decision, Start)}
        if pause := self._requeued.pause(starts, self.clock.steady()):
            self.clock.sleep(pause)
        complaints = self._send(lines)
        after = self.look()
        now = self.clock.now()
        made |= ended | {
            one.job: act.outcome(one, after.get(one.job), complaints, now=now)
            for one in decisions
            if one.job not in ended
        }
        self._kept.learn(made.values())
        return [made[one.job] for one in every]

    def prepare(self, decisions: Sequence[Decision]) -> None:
        """Record what starts are about to overwrite, stops and suspensions, for a later process."""
        self._kept.prepare(decisions, int(self.clock.now()), self._overwritten)

    def _overwritten(self, decision: Start, known: Touched | None) -> Touched | None:
        job = decision.job
        return touch(
            decision,
            self._rows.get(job),
            known,
            self.scope.bandwidth,
            self._nodes_of(job),
            commented=self._details.remarked(job),
            sized=self.scope.sized,
        )

    def _nodes_of(self, job: str) -> act.Range:
        """The fewest and most nodes that the user of a job permits."""
        if self.scope.sized and job in self._rows:
            return permitted(self._rows[job], self._details.get(job), self.touched.get(job))
        return self._details.nodes(job)

    def _forget(self, rows: Sequence[squeue.QueueRow]) -> None:
        """Drop the records of jobs that Slurm no longer lists."""
        listed = {row.id for row in rows}
        listed |= arrays_of(listed)
        noted: tuple[dict[str, Any], ...] = (
            self.placed, self._sent, self._kept.by_job, self._handed, self._late.count,
            self._leases.let_go, self._leases.begins, self._sender.refused, self._kept.earlier,
        )  # fmt: skip
        for job in {job for known in noted for job in known} - listed:
            for known in noted:
                known.pop(job, None)

    def nodes(self) -> list[squeue.NodeRow]:
        """The nodes of the partitions that the loop drives."""
        return nodes_of(self.answers.nodes(), self.scope)

    @property
    def touched(self) -> Mapping[str, Touched]:
        """What starts have overwritten of jobs' own requests."""
        return self._kept.by_job

    @property
    def begins(self) -> Mapping[str, int]:
        """Begin times of users, and Slurm's after a requeue, that leases have replaced."""
        return self._leases.begins

    def memory(self) -> Mapping[str, Any]:
        """What a restarted loop must know, as plain values."""
        return {
            "touched": self._kept.memory(),
            "handed": dict(self._handed),
            **self._leases.memory(),
            "refused": list(self._sender.refused),
        }

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Restore what :meth:`memory` wrote, and at the next poll the jobs' own marks."""
        handed = memory.get("handed")
        self._kept.recall(memory.get("touched"))
        if isinstance(handed, dict):
            self._handed = {str(job): str(why) for job, why in handed.items()}
        self._leases.recall(memory)
        if isinstance(memory.get("refused"), list):
            now = self.clock.steady()
            self._sender.refused = {str(job): now for job in memory["refused"]}

    def tidy(self) -> list[str]:
        """Repair inconsistencies; returns what was done, in words.

        Rules
        -----
        The original request of a job that returned to the gate, or never left it, is restored. A
        job that was released and did not start is returned to the gate, and handed to Slurm if that
        happens twice; one that Slurm itself has requeued with a delay is returned at once, and that
        does not count as a failure. Jobs beyond the model are handed to Slurm. A job that bypassed
        the gate, or whose lease has ended, is brought there, and so is a stopped one: a loop that
        has lost its memory finds it there. Leases of which a third has passed are renewed. A job
        that a loop has suspended and that no pass lets continue is resumed.
        """
        if self.sorted is None:
            return []
        waiting = [job.id for job in self.sorted.state.waiting if job.id in self.touched]
        # The mark of a stopped job shows that it is ours: it stays until the job is at the gate.
        self._restore([job for job in waiting if job not in self.sorted.stopped])
        late = self._late.find(
            self.sorted.released, self._rows, now=self.clock.now(), steady=self.clock.steady()
        )
        often = dict.fromkeys(self._late.repeatedly(late), "it did not start twice")
        beyond = {**self.sorted.beyond, **often}
        beyond = {job: beyond[job] for job in self._changeable(beyond)[:AT_ONCE]}
        repairs = Repairs(
            beyond=beyond,
            taken=[job for job in self._changeable(late) if job not in beyond],
            delayed=self._changeable(self.sorted.delayed)[:AT_ONCE],
            slipped=self._changeable(self.sorted.slipped)[:AT_ONCE],
            stopped=self._changeable(self.sorted.stopped)[:AT_ONCE],
            mislabelled=self._changeable(self.sorted.mislabelled)[:AT_ONCE],
            halted=self._changeable(self.sorted.halted)[:AT_ONCE],
        )
        end = lease_end(self.clock.now(), self.lease)
        old = self._leases.old(self.clock.now() + self.lease * 2 / 3)
        lines = repairs.lines(self._kept.undo, begin_words(end), held=self._held)
        lines += [act.gate_lines(job, begin_words(end)) for job in self._changeable(old)[:AT_ONCE]]
        lines += [
            act.gate_lines(job, "StartTime=now") for job in self._changeable(self._leases.left)
        ]
        lines += self._kept.unmarked(self._changeable)
        if not lines:
            return []
        self._send(lines)
        made = repairs.only(self._changeable)
        now = self.clock.now()
        self._leases.begins |= {
            job: self._rows[job].eligible
            for job in made.delayed
            if not leased(self._rows[job].eligible, now)
        }
        for job in (*made.beyond, *made.taken, *made.delayed):
            self.placed.pop(job, None)
            self._sent.pop(job, None)
            self._kept.by_job.pop(job, None)
        words = made.words(
            self._handed, self.sorted.released, lambda job: self._rows[job].restarts > 0
        )
        self._handed |= made.beyond
        return words

    def _held(self, job: str) -> bool:
        return self._rows[job].priority == 0

    def _was_stopped(self, job: str) -> bool:
        """Whether the loop has stopped a job, according to its memory or the job's own mark."""
        return self.stopped(job) or self._kept.stopped(job)

    def _restore(self, jobs: Sequence[str]) -> None:
        """Restore the original requests of jobs at the gate."""
        lines = {}
        for job in self._changeable(jobs):
            mark, row = self.touched[job], self._rows[job]
            # Hosts that its user has named since must not be removed.
            lines[job] = act.undo_lines(job, mark.undo if mark.ours(row) else mark.words)
        self._send([each for each in lines.values() if each])
        for job in self._changeable(lines):
            self._rows[job] = self._kept.by_job.pop(job).before(self._rows[job])

    def _changeable(self, jobs: Iterable[str]) -> list[str]:
        """Those of some jobs whose changes slurmctld has not refused recently."""
        now = self.clock.steady()
        return [job for job in jobs if not self._sender.rests(job, now)]

    def look(self) -> dict[str, squeue.QueueRow]:
        """Slurm's jobs as they are now, by name."""
        rows = self.answers.queue()
        self._read_marks(rows)
        return {row.id: row for row in rows}

    def _read_marks(self, rows: Sequence[squeue.QueueRow]) -> None:
        """Read what earlier starts overwrote, after a restart.

        The jobs' own marks are read: the state file may be older than the last start, or lost.
        """
        if self._kept.unread:
            lasting = [row.id for row in rows if row.state in ("PENDING", "RUNNING")]
            self._kept.read(lambda: parse_marks(self.answers.text(MARKS), lasting))

    def _send(self, lines: Sequence[Sequence[str]]) -> list[str]:
        """Let scontrol carry out the lines of each job; returns its error messages."""
        return self._sender.send(self.run, lines, self.clock.steady()) if lines else []
