"""The port to Slurm: a snapshot is two commands, carrying out a pass is two more."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from shadowtime.cluster.hostlist import expand
from shadowtime.errors import UsageError
from shadowtime.live.port import Outcome, PortError, Start
from shadowtime.live.slurm.act import (
    hand_over_lines,
    outcome,
    rows_by_id,
    start_lines,
    stop_line,
    take_back_lines,
    to_the_gate_lines,
    undo_lines,
)
from shadowtime.live.slurm.arrays import ArrayRests
from shadowtime.live.slurm.beyond import NONE
from shadowtime.live.slurm.demand import Demand, with_demands
from shadowtime.live.slurm.remembered import Remembered
from shadowtime.live.slurm.site_look import SiteLook
from shadowtime.live.slurm.site_state import OnSite
from shadowtime.live.slurm.state import CLEANS_UP, Sorted, View, detail_of, nodes_of, sort_jobs
from shadowtime.live.slurm.text import (
    SINFO,
    SQUEUE,
    Detail,
    parse_details,
    parse_nodes,
    parse_queue,
    parse_reservations,
)
from shadowtime.live.slurm.touched import Touched, touch, touched_from

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from shadowtime.engine.live_pass import Held
    from shadowtime.live.clock import Clock
    from shadowtime.live.port import Decision, Place, Snapshot
    from shadowtime.live.runner import Runner
    from shadowtime.live.slurm.state import Model
    from shadowtime.live.slurm.text import NodeRow, QueueRow, Window

PATIENCE = 30.0
"""Seconds after which a job that was let through and has not started is taken back."""
ANSWERED = 5.0
"""The same where Slurm has looked at the job and found its nodes not free, unless one of them still
cleans up after another job."""
NOT_FREE = ("Resources", "ReqNodeNotAvail", "NodeDown", "Nodes")
"""How Slurm's reasons begin then."""
TWICE = 2
"""Let through in vain so often, a job is handed to Slurm."""
AT_ONCE = 200
"""Jobs that are put right in one session at most."""
RESERVATIONS_EVERY = 15.0
COMMENTS_EVERY = 30.0
"""Seconds after which a policy that reads comments asks again about everybody who waits."""
DETAILS = ("scontrol", "--oneliner", "--details")
MANY = 40
"""More unknown jobs than this are asked about all at once."""


@dataclass(kw_only=True)
class SlurmPort:
    """Slurm through its commands; see :class:`shadowtime.live.port.Port`.

    ``known`` tells whether the loop remembers a job: only such jobs are taken back, and a job that
    is let through and not known has come past the gate; ``stopped`` whether the loop has stopped
    it, which lets it wait again.
    """

    run: Runner
    clock: Clock
    view: View
    name: str = "slurm"
    known: Callable[[str], bool] = lambda job: True
    stopped: Callable[[str], bool] = lambda job: False
    sorted: Sorted | None = None
    """The last snapshot with what is left alone."""
    placed: dict[str, Place] = field(default_factory=dict)
    demand: Demand | None = None
    """How the policy learns what waiting jobs draw."""

    def __post_init__(self) -> None:
        self._rows: dict[str, QueueRow] = {}
        self._details: dict[str, Detail] = {}
        self._asked: dict[str, tuple[object, ...]] = {}
        self._nodes: dict[str, tuple[int, int]] = {}
        self._windows: list[Window] = []
        self._windows_at = self._comments_at = float("-inf")
        self._since: dict[str, float] = {}
        self._touched: dict[str, Touched] = {}
        self._handed: dict[str, str] = {}
        self._in_vain: dict[str, int] = {}
        self._let_go: dict[str, None] = {}
        """Jobs known to us that an operator has let through."""
        self.arrays = ArrayRests()
        """Arrays whose rest may be relabelled."""
        self._remembered = Remembered()
        self._look = SiteLook(self._ask)
        self._sent: dict[str, Held] = {}
        """What jobs that were let through on a site take on each node."""

    def snapshot(self) -> Snapshot:
        """What Slurm says now."""
        rows = parse_queue(self._ask(SQUEUE))
        nodes = parse_nodes(self._ask(SINFO))
        now = self.clock.now()
        if self.view.site:
            return self._on_site(rows, nodes, now)
        if not 0 <= now - self._windows_at < RESERVATIONS_EVERY:  # clocks may jump back
            told = self._ask(("scontrol", "--oneliner", "show", "reservation"))
            self._windows, self._windows_at = parse_reservations(told), now
        self._sort(rows, nodes, now)
        assert self.sorted is not None
        if self.demand is not None and not self.sorted.state.closed:
            state = with_demands(self.sorted.state, self._details, self.demand, self.view.bandwidth)
            self.sorted = replace(self.sorted, state=state)
        return self.sorted.state

    def _on_site(self, rows: list[QueueRow], nodes: list[NodeRow], now: float) -> Snapshot:
        """What Slurm says now, on the model of a site."""
        nodes_of(nodes, self.view)  # says so where the partitions have none
        named = {row.reservation for row in rows} - {*NONE}
        site = self._look.read(nodes, now, reservations=named)
        model = OnSite(site, nodes, view=self.view, now=int(now), sent=self._sent)
        return self._sort(rows, nodes, now, model=model).state

    def _sort(
        self,
        rows: list[QueueRow],
        nodes: list[NodeRow],
        now: float,
        *,
        model: Model | None = None,
    ) -> Sorted:
        self._learn_details(rows, now)
        self._rows = dict(rows_by_id(rows))
        self.arrays.look(rows)
        self.sorted = sort_jobs(
            rows,
            nodes,
            view=self.view,
            now=int(now),
            windows=self._windows,
            model=model,
            details=self._details,
            placed=self.placed,
            stopped=self.stopped,
            known=lambda job: job in self._let_go or self.known(job),
            remembered=self._remembered,
            touched=self._touched,
            relabelled=self.arrays.relabelled,
        )
        self._let_go.update(dict.fromkeys(self.sorted.slurms))
        return self.sorted

    def apply(self, decisions: Sequence[Decision]) -> list[Outcome]:
        """Everything in one session, stops first; then one look at what became of it."""
        stops = [d for d in decisions if not isinstance(d, Start)]
        lines = [stop_line(decision.job) for decision in stops]
        for decision in decisions:
            if isinstance(decision, Start):
                row = self._rows.get(decision.job)
                lines += start_lines(
                    decision,
                    restarted=row is not None and row.restarts > 0,
                    row=row,
                    gres=self.view.bandwidth,
                    nodes=self._range(decision.job),
                )
                self.placed[decision.job] = decision.place
                self._sent[decision.job] = decision.held
        said = self.session(lines)
        after = self.look()
        return [outcome(decision, after.get(decision.job), said) for decision in decisions]

    def prepare(self, decisions: Sequence[Decision]) -> None:
        """Note what the starts are about to overwrite, so that it outlives this process."""
        for decision in decisions:
            if isinstance(decision, Start):
                job, known = decision.job, self._touched.get(decision.job)
                row, nodes = self._rows.get(job), self._range(job)
                mark = touch(decision, row, known, self.view.bandwidth, nodes)
                if mark is not None:
                    self._touched[job] = mark
                self.arrays.let_through(job)

    def _range(self, job: str) -> tuple[int, int]:
        """The least and most nodes that a job asks for."""
        detail = detail_of(self._details, job)
        return (detail.nodes, detail.most) if detail is not None else (0, 0)

    def nodes(self) -> list[NodeRow]:
        """The nodes of the partitions that the loop drives."""
        return nodes_of(parse_nodes(self._ask(SINFO)), self.view)

    @property
    def touched(self) -> Mapping[str, Touched]:
        """What starts have overwritten of jobs' own requests."""
        return self._touched

    def memory(self) -> Mapping[str, Any]:
        """What a restarted loop must know, as plain values."""
        return {
            "touched": {job: list(mark) for job, mark in self._touched.items()},
            "handed": dict(self._handed),
            "let_go": list(self._let_go),
            "arrays": self.arrays.known,
        }

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Know what :meth:`memory` wrote."""
        touched, handed = memory.get("touched"), memory.get("handed")
        self._touched = touched_from(touched) if isinstance(touched, dict) else {}
        if isinstance(handed, dict):
            self._handed = {str(job): str(why) for job, why in handed.items()}
        if isinstance(memory.get("let_go"), list):
            self._let_go = {str(job): None for job in memory["let_go"]}
        if isinstance(memory.get("arrays"), list):
            self.arrays = ArrayRests(str(array) for array in memory["arrays"])

    def tidy(self) -> list[str]:
        """Put right what is not as it should be; returns what was done, in words.

        Rules
        -----
        A job that came back to the gate by itself, or never went, asks for the same as before its
        start again. One that was let through in vain is taken back, and handed to Slurm if that
        happens twice. Jobs beyond the model are handed to Slurm. Who came past the gate is brought
        to it, and so is who was stopped: a loop that has lost its memory finds it there. The rest
        of an array is held by the gate again where Slurm has called that an operator's hold.
        """
        if self.sorted is None:
            return []
        self._restore([job.id for job in self.sorted.state.waiting if job.id in self._touched])
        late = self._late()
        often = {job: "it did not start twice" for job in late if self._in_vain[job] >= TWICE}
        beyond = dict(islice({**self.sorted.beyond, **often}.items(), AT_ONCE))
        slipped = self.sorted.slipped[:AT_ONCE]
        taken = [job for job in late if job not in beyond]
        lines = []
        for job in beyond:
            lines += hand_over_lines(job, self._undo(job))
        for job in taken:
            lines += take_back_lines(job, self._undo(job))
        lines += [f"uhold {job}" for job in slipped]
        for job in self.sorted.stopped[:AT_ONCE]:
            lines += to_the_gate_lines(job)
        lines += self.arrays.hold_lines()
        if not lines:
            return []
        self.session(lines)
        for job in (*beyond, *taken):
            self.arrays.taken_back(job)
            self.placed.pop(job, None)
            self._sent.pop(job, None)
            self._touched.pop(job, None)
        told = [
            f"handed {job} to Slurm: {why}"
            for job, why in beyond.items()
            if self._handed.get(job) != why
        ]
        self._handed |= beyond
        told += [f"took back {job}, which did not start" for job in taken]
        return told + [f"brought {job} to the gate, which it had come past" for job in slipped]

    def _undo(self, job: str) -> str:
        mark = self._touched.get(job)
        return mark.undo if mark is not None else ""

    def _restore(self, jobs: Sequence[str]) -> None:
        """Let jobs at the gate ask for what they asked for before their starts."""
        lines = []
        for job in jobs:
            mark, row = self._touched.pop(job), self._rows[job]
            # Hosts that its user has named since are not ours to take away.
            lines += undo_lines(job, mark.undo if mark.ours(row) else mark.words)
            self._rows[job] = mark.before(row)
        if lines:
            self.session(lines)

    def _late(self) -> list[str]:
        """Who was let through and has not started for too long."""
        assert self.sorted is not None
        now = self.clock.now()
        cleaning = self._cleaning(now)
        released = {
            job: ANSWERED
            if why.startswith(NOT_FREE) and cleaning.isdisjoint(expand(self._rows[job].wanted))
            else PATIENCE
            for job, why in self.sorted.released.items()
            if self.known(job) or job in self.placed
        }
        self._since = {job: min(now, self._since.get(job, now)) for job in released}
        late = [job for job, since in self._since.items() if now - since > released[job]]
        for job in late:
            self._in_vain[job] = self._in_vain.get(job, 0) + 1
        return late

    def _cleaning(self, now: float) -> set[str]:
        """Nodes that clean up after a job and are counted on: a start there waits for them."""
        return {
            host
            for row in self._rows.values()
            if row.state == "COMPLETING" and now - row.end <= CLEANS_UP
            for host in expand(row.nodes)
        }

    def look(self) -> dict[str, QueueRow]:
        """Slurm's jobs as they are now, by name."""
        return dict(rows_by_id(parse_queue(self._ask(SQUEUE))))

    def _ask(self, argv: Sequence[str]) -> str:
        done = self.run(argv)
        if done.code != 0:
            lines = (done.err.strip() or done.out.strip() or "no reason given").splitlines()
            raise PortError(f"{argv[0]}: {lines[0][:200]}")
        return done.out

    def session(self, lines: Sequence[str]) -> list[str]:
        """One session of scontrol; returns its complaints."""
        done = self.run(("scontrol",), text="".join(f"{line}\n" for line in lines))
        return [line for line in done.err.splitlines() if line.strip()]

    def _learn_details(self, rows: Sequence[QueueRow], now: float) -> None:
        """Ask scontrol once about every job it has something to add to; comments may change."""
        wanted: dict[str, tuple[object, ...]] = {}
        for row in rows:
            pending = row.state == "PENDING" and row.priority == 0
            tells = row.node_count > 1 or self.view.site
            if pending or (row.state == "RUNNING" and tells):
                wanted[row.id] = (pending, row.node_count, row.cpus, row.restarts, row.reason[:8])
        again = self.demand is not None and not 0 <= now - self._comments_at < COMMENTS_EVERY
        if again:
            self._comments_at = now
        unknown = [
            job for job, key in wanted.items() if self._asked.get(job) != key or (again and key[0])
        ]
        for job in self._asked.keys() - wanted.keys():
            del self._asked[job]
        # Of who was let through and has not started it is still asked how its memory is counted.
        kept = {row.id for row in rows if row.state == "PENDING"} | wanted.keys()
        for job in self._details.keys() - (kept | arrays_of(kept)):
            del self._details[job]
        listed = {row.id for row in rows}
        listed |= arrays_of(listed)
        mine: tuple[dict[str, Any], ...] = (
            self._nodes, self.placed, self._sent, self._touched, self._handed, self._in_vain,
            self._let_go,
        )  # fmt: skip
        for job in {job for known in mine for job in known} - listed:
            for known in mine:
                known.pop(job, None)
        if not unknown:
            return
        asked = {job for job in unknown if self._asked.get(job) == wanted[job]}
        if len(unknown) > MANY:
            told = self._ask((*DETAILS, "show", "job"))
        else:
            told = self.run(DETAILS, text="".join(f"show job {job}\n" for job in unknown)).out
        for job, detail in self._believed(told, set(unknown), asked).items():
            # Once a job has run, Slurm does not tell any more how many nodes it may have.
            low, high = self._nodes.get(job, (0, 0))
            low, high = (detail.nodes, detail.most) if detail.nodes else (low, high)
            detail = detail._replace(nodes=low, most=high)
            if self._details.get(job) != detail:  # else the same value, by which jobs are known
                self._details[job] = detail
            self._nodes[job] = low, high
        self._asked.update({job: wanted[job] for job in unknown})

    def _believed(self, told: str, unknown: set[str], known: set[str]) -> dict[str, Detail]:
        """What is told of the jobs in question, whoever wrote it; those told of twice once more."""
        found: dict[str, Detail] = {}
        doubtful: set[str] = set()
        unknown |= arrays_of(unknown)
        for job, detail in parse_details(told):
            if job in unknown and found.setdefault(job, detail) != detail:
                doubtful.add(job)
        for job in sorted(doubtful):
            if job in known and job in self._details:  # not asked about again and again
                found[job] = self._details[job]
                continue
            alone = parse_details(self.run((*DETAILS, "show", "job", job)).out)
            found[job] = next((detail for name, detail in alone if name == job), Detail())
        return found


def arrays_of(jobs: Iterable[str]) -> set[str]:
    """Under which names Slurm tells of the tasks of arrays that it has not split off yet.

    Examples
    --------
    >>> arrays_of(["7", "8_1", "8_2"])
    {'8_*'}
    """
    return {f"{job.partition('_')[0]}_*" for job in jobs if "_" in job}


_USER = re.compile(r"^SlurmUser\s*=\s*\S+\((\d+)\)", re.MULTILINE)
_SELECT = re.compile(r"^SelectTypeParameters\s*=\s*(\S+)", re.MULTILINE)
_NAME = re.compile(r"^ClusterName\s*=\s*(\S+)", re.MULTILINE)
_DEFAULT = re.compile(r"^PartitionName=(\S+).*? Default=YES", re.MULTILINE)


class NotReady(PortError):
    """Slurm answers and is not complete yet: a loop waits for it."""


def look_at(run: Runner, *, partition: str = "", gres: Sequence[str] = ()) -> View:
    """What the loop is responsible for, from Slurm's own configuration."""
    config = run(("scontrol", "show", "config"))
    if config.code != 0:
        said = (config.err or config.out).strip().splitlines() or ["no reason given"]
        reason = said[0].removeprefix("scontrol: ").removeprefix("error: ")
        raise PortError(
            f"Slurm does not answer ({reason}): is slurmctld running, and does SLURM_CONF name "
            "its configuration?"
        )
    if not partition:
        told = run(("scontrol", "--oneliner", "show", "partition")).out
        if "PartitionName=" not in told:
            raise NotReady("Slurm shows no partition yet: is slurmctld coming up?")
        default = _DEFAULT.search(told)
        if default is None:
            raise UsageError("Slurm has no default partition: name one with --partition")
        partition = default[1]
    elif "," in partition:
        partition = several(partition, run(("scontrol", "--oneliner", "show", "partition")).out)
    select, name = _SELECT.search(config.out), _NAME.search(config.out)
    return View(
        partition=partition,
        gres=tuple(gres),
        memory=select is not None and "MEMORY" in select[1].upper(),
        name=name[1] if name else "slurm",
    )


def several(wanted: str, told: str) -> str:
    """Several partitions, each once, as Slurm knows them.

    Examples
    --------
    >>> several("a, b,a", "PartitionName=a X=1\\nPartitionName=b X=1\\n")
    'a,b'
    """
    names = list(dict.fromkeys(name.strip() for name in wanted.split(",") if name.strip()))
    known = set(re.findall(r"^PartitionName=(\S+)", told, re.MULTILINE))
    if not known:
        raise NotReady("Slurm shows no partition yet: is slurmctld coming up?")
    strange = [name for name in names if name not in known]
    if strange:
        raise UsageError(f"Slurm has no partition {strange[0]}: it has {', '.join(sorted(known))}")
    return ",".join(names)


def refuse_strangers(run: Runner, *, uid: int | None = None) -> None:
    """Only SlurmUser and root can place and stop the jobs of others."""
    uid = os.geteuid() if uid is None else uid
    found = _USER.search(run(("scontrol", "show", "config")).out)
    allowed = {0} | ({int(found[1])} if found else set())
    if uid not in allowed:
        raise UsageError(
            "only SlurmUser or root may act on the jobs of others: run the loop as one of them, "
            "or without --apply to see what it would do"
        )


__all__ = ["NotReady", "SlurmPort", "look_at", "refuse_strangers"]
