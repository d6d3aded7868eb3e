"""The backfill pass: a plan for every job it can place, and a start where the plan is now (3)."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from shadowtime.slurm.backfill_bounds import JobCounts, Startable
from shadowtime.slurm.ends import Ends
from shadowtime.slurm.job import planned_limit
from shadowtime.slurm.outcome import Allocation, Outcome, Plan
from shadowtime.slurm.placing import place
from shadowtime.slurm.planmap import PlanMap
from shadowtime.slurm.queue import build_queue
from shadowtime.slurm.starting import begin, select_now
from shadowtime.slurm.tally import tally_anywhere, tally_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from shadowtime.slurm.choose import Choice
    from shadowtime.slurm.job import Job
    from shadowtime.slurm.machine import Section
    from shadowtime.slurm.queue import Record
    from shadowtime.slurm.state import SlurmState


def backfill_pass(
    state: SlurmState,
    now: int,
    *,
    clock: Callable[[int], int] | None = None,
    plans: bool = True,
) -> Outcome:
    """One pass at ``now``; ``state`` is changed by the starts.

    ``clock`` gives the time at which a job is considered, if a pass takes long (spec: slurm 1.6).
    ``plans`` False: only the starts are wanted. Plans are discarded after their pass, so it ends
    once no job further down could start now, whatever is planned for those before it.
    """
    made = BackfillPass(state, now, clock, plans)
    if state.compiled is not None and state.compiled.takes(made):
        return state.compiled.run(made)
    return made.run()


class BackfillPass:
    """One backfill pass while it runs."""

    def __init__(
        self, state: SlurmState, now: int, clock: Callable[[int], int] | None, plans: bool
    ) -> None:
        self.state = state
        self.now = now
        self.began = now
        self.clock = clock
        self.parameters = state.parameters
        step = self.parameters.bf_resolution
        self.window_end = (now + self.parameters.bf_window) // step * step
        self.rules = self.parameters.rules
        self.map = PlanMap(
            now // step * step,
            self.window_end,
            state.up,
            resolution=step,
            goes_on=self.rules.search_goes_on,
        )
        self.out = Outcome()
        self.wants_plans = plans
        self.known_ends: Ends | None = None
        self.shortcuts = state.chooser.shortcuts and not state.preemption.gang
        gpus = state.machine.has_gpus and any(job.ask.gpus for job in state.waiting)
        self.starts_only = not plans and self.shortcuts
        if self.starts_only:
            # Tests of GPU jobs leave weights behind for later passes, and preemption frees nodes.
            self.starts_only = not state.preemption.on and not gpus
        self.startable = Startable(state, self.map)
        self.given_up: dict[
            tuple[int, str, int, bool, tuple[tuple[str, int], ...]], tuple[int, int, bool]
        ] = {}
        """Requests that were given up: the map then, starts then, and whether it counted."""
        wish = self.parameters
        self.counts = JobCounts(wish)
        self.limits_skip = state.accounts.enforced and not wish.assoc_limit_stop
        """A job over a limit gets no plan; with assoc_limit_stop it does (spec: slurm 6)."""
        self.blocked: dict[str, int] = {}
        """Until when jobs of a QOS are not tried because one was over its limit."""
        gpus = gpus and not self.rules.fresh_weights
        self.reuse = not (state.preemption.on or state.accounts.enforced or state.windows or gpus)
        """Jobs with the same request and limit get the same answer."""
        self.passes_over = (
            self.shortcuts and self.reuse and not self.counts.bounded and clock is None
        )
        """A job that is certain to be given up has no side effects, not even a count."""
        self.may_run_out = True
        """The bound on tested jobs may be reached: tests must be counted one by one."""
        self.tested = 0
        self.plans_in: defaultdict[str, int] = defaultdict(int)
        self.planned: dict[int, int] = {}
        """First planned start of each job, for bf_one_resv_per_job."""
        self.gone: set[int] = set()
        """Jobs that started or preempt in this pass."""
        self.over = False
        self.array = self.array_plans = 0
        """The array planned last, and how many of its plans were made in a row."""

    @property
    def ends(self) -> Ends:
        """Running jobs in the order of their ends."""
        if self.known_ends is None:
            self.known_ends = Ends(self.state.running, self.state.usage)
        return self.known_ends

    def run(self) -> Outcome:
        """Consider every record in order."""
        state = self.state
        if self.parameters.bf_running_job_reserve:
            for job in state.running:
                self.keep(job)
        records = build_queue(state)
        last = len(records) - 1
        seen = begun = measured = -1
        widest = 0
        for at, record in enumerate(records):
            if self.tested >= self.parameters.bf_max_job_test or self.over:
                break
            if record.job.id in self.gone:
                continue
            if self.starts_only:
                if self.map.version != seen or len(self.out.starts) != begun or last < at:
                    seen, begun = self.map.version, len(self.out.starts)
                    while last >= at and not self.could_start(records[last]):
                        last -= 1
                if last < at:
                    self.out.no_start = at == 0 and not self.parameters.bf_running_job_reserve
                    break
            if at == 0:
                bound = self.parameters.bf_max_job_test
                self.may_run_out = last >= bound or bound < sum(
                    len(records[place].job.tasks) or 1 for place in range(last + 1)
                )
            if self.passes_over:
                if measured != self.map.version:
                    measured, widest = self.map.version, self.map.widest()
                job = record.job
                if job.ask.min_nodes > widest and not job.tasks and not job.licences:
                    continue  # no span has enough nodes: every try fails before it counts
            self.consider(record)
        return self.out

    def could_start(self, record: Record) -> bool:
        """False where nothing that this pass may still do lets the job start now."""
        return record.job.id not in self.gone and self.startable.could_start(
            record, self.now, len(self.out.starts)
        )

    def keep(self, job: Job) -> None:
        """A running exclusive job that no job can preempt holds its nodes in the map.

        spec: slurm 3.9.
        """
        if not job.ask.exclusive and not self.state.machine.sections[job.partition].exclusive:
            return
        policy = self.state.preemption
        if policy.on and policy.mode_of(job, self.state.machine) != "off":
            return
        if self.map.made >= self.parameters.map_records:
            return
        self.map.add(0, self.slot_end(job.ends_by), job.nodes)

    def slot_end(self, end: int) -> int:
        """An end as the map of plans has it."""
        step = self.parameters.bf_resolution
        return (end + (step - 1) * self.rules.ends_rounded_up) // step * step

    def consider(self, record: Record) -> None:
        """One record; of an array one task after another."""
        state, section = self.state, record.section
        rest = state.rest_of(record.job)
        if rest is None:
            return
        job = rest
        if self.limits_skip and state.accounts.before(job, state.running, section):
            self.out.skipped[job.id] = "limit"
            return
        if self.is_over_a_limit(job, section):
            return
        now_only = self.now_only(job, section)
        first_plan = self.planned.get(job.id, 0)
        while True:
            if job.is_array and job.throttle and job.started_tasks >= job.throttle:
                state.accounts.note(job, "JobArrayTaskLimit")
                return
            if self.counts.bounded and self.counts.used_up(job, section):
                return
            if job.licences and (short := state.licences_short(job)):
                state.accounts.note(job, short)
                return
            what = self.again(job, section, now_only=now_only, first_plan=first_plan)
            if what == "started":
                # Also of an array: its records in other partitions are those of this task now.
                self.gone.add(job.id)
                if self.over:
                    return
                left = next(
                    (one for one in state.waiting if one.id == job.id and one is not job), None
                )
                if left is None or not job.is_array:
                    return
                job = left
                if self.tested >= self.parameters.bf_max_job_test:
                    return
                continue
            if what != "planned" or not job.is_array:
                return
            if self.array != job.id:
                self.array, self.array_plans = job.id, 0
            self.array_plans += 1
            if self.array_plans >= min(self.parameters.bf_max_job_array_resv, len(job.tasks)):
                return
            planned = self.array_plans + job.started_tasks
            if self.rules.throttle_bounds_plans and job.throttle and planned >= job.throttle:
                return

    def is_over_a_limit(self, job: Job, section: Section) -> bool:
        """True where a job would be given up for a limit that it was passed over for before.

        It is so on whatever nodes, so that none are looked for; only the count of tested jobs
        would differ.
        """
        if not self.limits_skip or self.wants_plans or self.may_run_out or self.counts.bounded:
            return False
        if job.tasks or job.licences or self.clock is not None:
            return False
        state = self.state
        tally = tally_anywhere(state, job, section)
        if tally is None:
            return False
        reason = state.accounts.over(job, tally, state.running, section)
        return bool(reason) and state.accounts.met.get(job.id) == reason

    def again(self, job: Job, section: Section, *, now_only: bool, first_plan: int) -> str:
        """As :func:`place`; a request given up before is so again while nothing has changed."""
        if not self.shortcuts or self.clock is not None or not self.reuse:
            return place(self, job, section, now_only=now_only, first_plan=first_plan)
        licences = job.licences if self.rules.licence_holders_end else ()
        key = (id(job.ask), section.name, planned_limit(job, section), now_only, licences)
        version, begun = self.map.version, len(self.out.starts)
        known = self.given_up.get(key)
        if known is not None and known[:2] == (version, begun):
            self.tested += known[2]
            return "given up"
        tested, listed = self.tested, len(self.out.plans)
        what = place(self, job, section, now_only=now_only, first_plan=first_plan)
        if what == "given up" and len(self.out.plans) == listed:
            self.given_up[key] = (version, begun, self.tested > tested)
        return what

    def now_only(self, job: Job, section: Section) -> bool:
        """True where a job may start now or not at all (spec: slurm 3.12)."""
        wish = self.parameters
        if wish.bf_min_prio_reserve and job.priority < wish.bf_min_prio_reserve:
            return True
        if wish.bf_min_age_reserve and self.now - job.eligible < wish.bf_min_age_reserve:
            return True
        if wish.bf_one_resv_per_job and job.id in self.planned:
            return True
        count = wish.bf_job_part_count_reserve
        return bool(count) and self.plans_in[section.name] >= count

    def plan(
        self, job: Job, section: Section, chosen: Choice, start: int, limit: int, *, first_plan: int
    ) -> str:
        """Write a plan into the map: "planned", "given up", or "conflict" with another.

        spec: slurm 3.10.
        """
        state, wish = self.state, self.parameters
        step = wish.bf_resolution
        begin_at, end_at = start // step * step, self.slot_end(start + limit)
        if start > self.began + wish.bf_window:
            self.out.plans.append(Plan(job.id, section.name, start, start + limit, chosen.nodes))
            return "given up"
        if self.map.conflicts(begin_at, end_at, chosen.nodes):
            return "conflict"
        if self.limits_skip:
            tally = tally_of(state, job, section, chosen)
            if state.accounts.after(job, tally, state.running, section):
                return "given up"
        self.out.plans.append(Plan(job.id, section.name, start, end_at, chosen.nodes))
        if wish.bf_job_part_count_reserve:
            if self.plans_in[section.name] >= wish.bf_job_part_count_reserve:
                return "given up"
            self.plans_in[section.name] += 1
        if not (wish.bf_one_resv_per_job and first_plan):
            if self.map.made >= wish.map_records:
                self.over = True
                return "given up"
            self.map.add(begin_at, end_at, chosen.nodes)
        self.planned.setdefault(job.id, start)
        return "planned"

    def block(self, job: Job, until: int) -> None:
        """A job over a limit of all jobs of a QOS: others of it are not tried earlier either."""
        accounts = self.state.accounts
        if accounts.met.get(job.id, "").startswith("QOSGrp"):
            name = accounts.blocker
            self.blocked[name] = max(self.blocked.get(name, 0), until)

    def start(self, job: Job, section: Section, nodes: int, limit: int, preempts: bool) -> str:
        """Try to start now: "started", "limit", or "busy" (then the plan is kept)."""
        state = self.state
        if not self.limits_skip and state.accounts.before(job, state.running, section):
            return "limit"
        found, victims = select_now(state, job, section, nodes, excluded=True)
        if found is not None and state.accounts.enforced:
            tally = tally_of(state, job, section, found)
            if state.accounts.after(job, tally, state.running, section):
                return "limit"
        if found is None:
            return "busy"
        if victims and not state.preemption.may_evict(job, self.now):
            return "busy"
        if victims:
            for victim in victims:
                self.out.victims.append((victim.id, job.id))
                self.out.evicted.append(victim)
                state.usage.give(victim.holding)
                state.completing |= victim.nodes
                state.stop(victim)
            self.known_ends = None
            self.gone.add(job.id)
            return "busy"
        self.begin(job, section, found, limit)
        return "started"

    def begin(self, job: Job, section: Section, found: Choice, limit: int) -> Job:
        """The job starts on these nodes; the record that runs."""
        task = job.tasks[0] if job.is_array else None
        started = begin(self.state, job, section, found, self.now)
        started.limit = limit
        self.known_ends = None
        self.out.starts.append(Allocation(job.id, section.name, found.nodes, task, started.id))
        self.keep(started)
        wish = self.parameters
        if wish.bf_max_job_start and len(self.out.starts) >= wish.bf_max_job_start:
            self.over = True
        return started
