"""The backfill pass: a plan for every job it can place, and a start where the plan is now (3).

The walk over the queue is compiled (kernel/slurm/walk.py). It stops for what is decided here:
starts, limits, the tasks of arrays, and what bounds the number of jobs or plans.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING

from shadowtime.kernel.slurm import board as b
from shadowtime.kernel.slurm import desk as d
from shadowtime.kernel.slurm.walk import CLEAR, ENDS_WANTED, JUDGE, LAST_ONE, START
from shadowtime.kernel.slurm.words import packed, unpacked
from shadowtime.slurm.board import FAR
from shadowtime.slurm.choose import Choice
from shadowtime.slurm.job import Job, full_limit, planned_limit
from shadowtime.slurm.machine import Section
from shadowtime.slurm.outcome import Allocation, Outcome, Plan
from shadowtime.slurm.queue import JobCounts, Record, build_queue
from shadowtime.slurm.starting import begin, select_now
from shadowtime.slurm.tally import tally_of
from shadowtime.slurmtext.reasons import WaitReason, wait_reason

if TYPE_CHECKING:
    from shadowtime.slurm.ask import Ask
    from shadowtime.slurm.state import SlurmState

AFTER_LIMIT = 500
"""Seconds after which a job over a limit is planned if nothing else determines the time."""


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
    return BackfillPass(state, now, clock, plans).run()


class BackfillPass:
    """One backfill pass while it runs."""

    def __init__(
        self,
        state: SlurmState,
        now: int,
        clock: Callable[[int], int] | None,
        plans: bool,
        records: list[Record] | None = None,
    ) -> None:
        """``records``: those of a pass that has begun already."""
        self.state, self.board, self.clock = state, state.board, clock
        self.mark = state.board.board.mark
        wish = self.parameters = state.parameters
        self.rules = wish.rules
        self.out = Outcome()
        self.records = build_queue(state) if records is None else records
        self.plans = plans
        self.counts = JobCounts(wish)
        accounts = state.accounts
        self.limits_skip = accounts.enforced and not wish.assoc_limit_stop
        """A job over a limit gets no plan; with assoc_limit_stop it does (spec: slurm 6)."""
        self.blocked: dict[str, int] = {}
        """Until when jobs of a QOS are not tried because one was over its limit."""
        self.plans_in: defaultdict[str, int] = defaultdict(int)
        self.planned: set[int] = set()
        """Jobs with a plan, for bf_one_resv_per_job."""
        self.gone: set[int] = set()
        """Jobs that started or preempt in this pass."""
        self.array = self.array_plans = 0
        """The array planned last, and how many of its plans were made in a row."""
        self.looked_at: dict[int, Job] = {}
        """The jobs of places looked at: of an array, what is left of it."""
        self.had_plan = False
        """It had one before this record of it was looked at."""
        if records is None:
            self._begin(now)

    def _begin(self, now: int) -> None:
        state, mark, wish = self.state, self.mark, self.parameters
        step = wish.bf_resolution
        self.board.write(state)
        queue = self.board.write_queue(state, self.records)
        owners = self.board.any_owner
        shortcuts = state.chooser.shortcuts and not (state.preemption.gang or owners)
        if self.rules.shares_in_will_run:  # plans lie on nodes on which the jobs cannot start
            some = any(one.exclusive for one in state.machine.sections.values())
            shortcuts = shortcuts and not (
                some and any(one.job.ask.on(one.section).by_partition for one in self.records)
            )
        enforced, moves = state.accounts.enforced, bool(mark[b.MOVES])
        # Tests of GPU jobs leave weights behind for later passes.
        gpus = shortcuts and moves and any(one.ask.gpus for one in state.waiting)
        starts_only = not self.plans and shortcuts and not gpus
        if starts_only and self.rules.limit_raised and self.board.any_least_time:
            # Their limits depend on plans.
            starts_only = not any(one.least_time for one in state.waiting)
        reuse = shortcuts and not (state.preemption.on or enforced or state.windows or gpus)
        reuse = reuse and self.clock is None
        later_plans = bool(wish.bf_one_resv_per_job or wish.bf_job_part_count_reserve)
        later_plans |= any("noreserve" in flags for flags in state.accounts.flags.values())
        judges = bool(wish.bf_min_prio_reserve or wish.bf_min_age_reserve)
        asked = bool(later_plans or self.counts.bounded or self.clock is not None)
        self.watches = bool(enforced or asked)
        checks = self.limits_skip and not asked and state.chooser.shortcuts and not owners
        mark[b.NOW] = mark[b.BEGAN] = now
        mark[b.WINDOW_END] = (now + wish.bf_window) // step * step
        mark[b.STARTS_ONLY], mark[b.SHORTCUTS], mark[b.REUSE] = starts_only, shortcuts, reuse
        mark[b.PASSES_OVER] = reuse and not self.counts.bounded
        mark[b.CLEARS], mark[b.VERDICTS] = self.watches, self.limits_skip or later_plans
        mark[b.CHECKS_LIMITS], mark[b.PLANS_WANTED] = checks, self.plans
        mark[b.ASKS_LAST] = enforced
        mark[b.DIRECT] = not (state.preemption.on or enforced or moves or owners)
        mark[b.RECORDS], mark[b.LAST] = len(self.records), len(self.records) - 1
        for one in (b.AT, b.TESTED, b.OVER, b.PLANS, b.VERSION, b.NO_START, b.KEEP_UNTIL):
            mark[one] = 0
        mark[b.STAGE] = mark[b.AGAIN] = mark[b.FRESH_ENDS] = mark[b.FITS_NOW] = 0
        mark[b.SEEN] = mark[b.MEASURED] = mark[b.SHRUNK] = mark[b.ENDS] = mark[b.TABLE_ENDS] = -1
        mark[b.MAY_RUN_OUT] = mark[b.MADE] = mark[b.SPANS] = 1
        mark[b.VALID] = now + FAR
        mark[b.PASS] += 1
        for at in self.board.watched_places(queue):
            queue[at, b.TASKS] = len(self.records[at].job.tasks) or 1
        if judges and not asked:
            queue[:, b.NOW_ONLY] = [self.now_only(one.job, one.section) for one in self.records]
        if owners:
            self.board.owners.begin(state.machine)
            queue[:, b.USER] = [self.board.owners.number(one.job.user) for one in self.records]
            self.board.write_owners(state)
        self.board.make_room_for_plans(len(self.records) + 1)
        board = self.board.board
        board.span[0, : b.WINDOW_NAME] = now // step * step, mark[b.WINDOW_END]
        board.free[0] = packed(state.up, self.board.words)

    def run(self, asked: int | None = None) -> Outcome:
        """Consider every record in order; ``asked``: what a walk that has begun stopped for."""
        board, mark, out = self.board, self.mark, self.out
        if self.parameters.bf_running_job_reserve:
            self._keep_running()
        while True:
            what = asked
            if what is None:
                what = board.walk()
            asked = None
            if what == ENDS_WANTED:
                board.write_running(self.state)
            elif what == START:
                self._start()
            elif what == CLEAR:
                self._clear()
            elif what == JUDGE:
                self._judge()
            elif what == LAST_ONE:
                self._look_at_last()
            else:
                break
        if mark[b.STARTS_ONLY]:
            self._note_the_rest()
        elif self.plans:
            self._tell_plans()
        out.no_start = bool(mark[b.NO_START])
        wish = self.parameters
        moves = wish.bf_running_job_reserve or wish.bf_min_prio_reserve or wish.bf_min_age_reserve
        if not moves and mark[b.REUSE] and not out.starts:
            out.valid_until = int(mark[b.VALID])
        return out

    def _note_the_rest(self) -> None:
        """Why arrays and jobs with licences wait that the whole pass would have come to."""
        queue = self.board.board.queue[: len(self.records)]
        most = self.parameters.bf_max_job_test
        if self.counts.bounded or self.mark[b.OVER] or int(queue[:, b.TASKS].sum()) > most:
            return
        for at in self.board.watched_places(queue):
            record = self.records[at]
            job = self.state.rest_of(record.job)
            if at >= self.mark[b.AT] and job is not None and not queue[at, b.GONE]:
                self._is_barred(job, record.section)

    def _is_barred(self, job: Job, section: Section) -> bool:
        """True where the tasks of an array, counts of jobs or licences keep a job from a test."""
        state = self.state
        if job.is_array and job.throttle and job.started_tasks >= job.throttle:
            state.accounts.note(job, "JobArrayTaskLimit")
            return True
        if self.counts.bounded and self.counts.used_up(job, section):
            return True
        short = state.licences_short(job) if job.licences else ""
        return bool(state.accounts.note(job, short))

    def keep(self, job: Job) -> bool:
        """A running exclusive job that no job can preempt holds its nodes in the map.

        spec: slurm 3.9.
        """
        if not job.ask.on(self.state.machine.sections[job.partition]).exclusive:
            return False
        policy = self.state.preemption
        if policy.on and policy.mode_of(job, self.state.machine) != "off":
            return False
        if self.mark[b.MADE] >= self.parameters.map_records:
            return False
        step = self.parameters.bf_resolution
        end = (job.ends_by + (step - 1) * self.rules.ends_rounded_up) // step * step
        self.board.add_plan(end, job.nodes)
        return True

    def _keep_running(self) -> None:
        """All running jobs hold their nodes in the map (bf_running_job_reserve)."""
        mark, board = self.mark, self.board
        mark[b.RECORDS] = 0
        for job in self.state.running:
            if self.keep(job):
                board.walk()
        mark[b.RECORDS] = len(self.records)

    def _record(self) -> tuple[Job, Section]:
        """The job and the partition that are looked at."""
        at = int(self.mark[b.AT])
        record = self.records[at]
        return self.looked_at.get(at, record.job), record.section

    def _go_on(self) -> None:
        """To the next record."""
        self.mark[b.STAGE] = b.NEXT
        self.mark[b.AT] += 1

    def _clear(self) -> None:
        """Whether the record is considered at all, from when on, and whether it may get a plan."""
        mark, state = self.mark, self.state
        at = int(mark[b.AT])
        record = self.records[at]
        section = record.section
        mark[b.VALID] = 0
        job = self.looked_at.get(at)  # the next task of an array
        if job is None:
            job = state.rest_of(record.job)
            if job is None:
                return self._go_on()
            if self.limits_skip and state.accounts.before(job, state.running, section):
                return self._go_on()
            self.board.board.queue[at, b.NOW_ONLY] = self.now_only(job, section)
            self.had_plan = job.id in self.planned
        self.looked_at[at] = job
        if self._is_barred(job, section):
            return self._go_on()
        if self.clock is not None:
            mark[b.NOW] = max(int(mark[b.NOW]), self.clock(job.id))
        blocked = max(self.blocked.get(job.qos, 0), self.blocked.get(section.qos, 0))
        mark[b.LATER] = max(int(mark[b.NOW]), blocked)
        return None

    def _look_at_last(self) -> None:
        """Whether a limit keeps the last record that could start from it."""
        mark, state = self.mark, self.state
        last = self.records[int(mark[b.LAST])]
        if state.accounts.before(last.job, state.running, last.section):
            mark[b.LAST] -= 1
        else:
            mark[b.SEEN] = mark[b.VERSION]

    def now_only(self, job: Job, section: Section) -> bool:
        """True where a job may start now or not at all (spec: slurm 3.12)."""
        wish = self.parameters
        if wish.bf_min_prio_reserve and job.priority < wish.bf_min_prio_reserve:
            return True
        if wish.bf_min_age_reserve and self.mark[b.NOW] - job.eligible < wish.bf_min_age_reserve:
            return True
        if wish.bf_one_resv_per_job and job.id in self.planned:
            return True
        count = wish.bf_job_part_count_reserve
        return bool(count) and self.plans_in[section.name] >= count

    def _judge(self) -> None:
        """What becomes of a plan that is in conflict with no other (spec: slurm 3.10, 3.12)."""
        mark, state, wish = self.mark, self.state, self.parameters
        job, section = self._record()
        mark[b.STAGE] = b.JUDGED
        self.board.make_room_for_plans(int(mark[b.PLANS]) + len(self.records) + 1)
        if self.limits_skip:
            choice = self.board.choice(job.ask.on(section))
            tally = tally_of(state, job, section, choice)
            known = choice.nodes if self.rules.planned_nodes_counted else 0
            if state.accounts.after(job, tally, state.running, section, nodes=known):
                mark[b.VERDICT] = b.REFUSED
                return
        if state.accounts.flagged(job, "noreserve"):
            mark[b.VERDICT] = b.LISTED
            return
        if wish.bf_job_part_count_reserve:
            if self.plans_in[section.name] >= wish.bf_job_part_count_reserve:
                mark[b.VERDICT] = b.LISTED
                return
            self.plans_in[section.name] += 1
        if wish.bf_one_resv_per_job and self.had_plan:
            mark[b.VERDICT] = b.BESIDE
        self.planned.add(job.id)
        if not job.is_array:
            return
        if self.array != job.id:
            self.array, self.array_plans = job.id, 0
        self.array_plans += 1
        planned = self.array_plans + job.started_tasks
        over = self.rules.throttle_bounds_plans and job.throttle and planned >= job.throttle
        most = min(wish.bf_max_job_array_resv, len(job.tasks))
        mark[b.AGAIN] = self.array_plans < most and not over

    def block(self, job: Job, until: int) -> None:
        """A job over a limit of all jobs of a QOS: others of it are not tried earlier either."""
        accounts = self.state.accounts
        if wait_reason(accounts.met[job.id]) is WaitReason.QOS_GROUP:
            name = accounts.blocker
            self.blocked[name] = max(self.blocked.get(name, 0), until)

    def _start(self) -> None:
        """The job that is looked at may start now."""
        mark, state = self.mark, self.state
        job, section = self._record()
        limit = self._limit_of_start(job, section)
        began = len(self.out.starts)
        if mark[b.FITS_NOW]:
            self.begin(job, section, self.board.chooser.chosen(), limit)
            answer = "started"
        elif mark[b.DIRECT] and self._needs_no_test(job.ask.on(section)):
            self.begin(job, section, self.board.choice(job.ask.on(section)), limit)
            answer = "started"
        else:
            answer = self.start(job, section, unpacked(self.board.board.mask[b.FOUND]), limit)
        if len(self.out.starts) != began or job.id in self.gone:
            self.gone.add(job.id)
            self.board.leave(state, job)
            self.board.write_free(state)
        if answer == "started":
            self._after_start(job)
            return
        mark[b.STAGE] = b.TRIED_TO_START
        if answer == "busy":
            mark[b.LATER] = 0
        elif self.limits_skip:
            self._go_on()
        else:
            mark[b.START] = mark[b.LATER] or mark[b.NOW] + AFTER_LIMIT
            self.block(job, int(mark[b.START]))

    def _limit_of_start(self, job: Job, section: Section) -> int:
        """The limit of a job that starts: its own where its QOS says so (spec: slurm 6.7)."""
        accounts = self.state.accounts
        longer = accounts.flagged(job, "partitiontimelimit") and not job.least_time
        if longer or accounts.flagged(job, "noreserve"):
            return job.limit
        return planned_limit(job, section)

    def _needs_no_test(self, ask: Ask) -> bool:
        """What the will-run test chose is what the job gets: no other nodes, no other rules."""
        machine = self.state.machine
        if ask.gpus or ask.either or ask.parts or (ask.memory_per_cpu and not machine.one_thread):
            return False
        if ask.by_partition and self.rules.shares_in_will_run:
            return False
        desk = self.board.chooser.asks.desk
        if desk.ask[self.board.chooser.asks.row(ask), d.ALONE] >= 0:
            return False
        over = (one for one in self.state.running if one.ends_by <= self.mark[b.NOW])
        if self.rules.bounded_will_run and any(over):  # for will-run tests they are gone
            return False
        completing = self.state.completing
        return not completing or not completing & unpacked(self.board.board.mask[b.FOUND])

    def _after_start(self, job: Job) -> None:
        """The next record, or the next task of an array."""
        mark, state = self.mark, self.state
        self._go_on()
        if mark[b.OVER] or not job.is_array or mark[b.TESTED] >= self.parameters.bf_max_job_test:
            return
        left = next((one for one in state.waiting if one.id == job.id and one is not job), None)
        if left is not None:
            mark[b.AT] -= 1
            mark[b.AGAIN] = 1
            self.looked_at[int(mark[b.AT])] = left

    def start(self, job: Job, section: Section, nodes: int, limit: int) -> str:
        """Try to start now: "started", "limit", or "busy" (then the plan is kept)."""
        state = self.state
        if state.accounts.before(job, state.running, section):
            return "limit"  # the task of an array before it may have reached one
        found, victims = select_now(state, job, section, nodes, excluded=True)
        if found is not None and state.accounts.enforced:
            tally, running = tally_of(state, job, section, found), state.running
            if state.accounts.after(job, tally, running, section, nodes=found.nodes):
                return "limit"
        if found is None:
            return "busy"
        if victims and not state.preemption.may_evict(job, int(self.mark[b.NOW])):
            return "busy"
        if victims:
            for victim in victims:
                self.out.victims.append((victim.id, job.id))
                self.out.evicted.append(victim)
                state.usage.give(victim.holding)
                state.completing |= victim.nodes
                state.stop(victim)
            self.mark[b.ENDS] = self.mark[b.SEEN] = -1
            self.mark[b.LAST] = len(self.records) - 1  # the limits of others have room again
            self.gone.add(job.id)
            return "busy"
        self.begin(job, section, found, limit)
        return "started"

    def begin(self, job: Job, section: Section, found: Choice, limit: int) -> None:
        """The job starts on these nodes."""
        task = job.tasks[0] if job.is_array else None
        if job.least_time and self.rules.limit_raised:
            limit = self._raised(job, section, found.nodes)
        started = begin(self.state, job, section, found, int(self.mark[b.NOW]))
        started.limit = limit
        self.out.starts.append(Allocation(job.id, section.name, found.nodes, task, started.id))
        self.board.running.insert(self.board.board, started)
        if self.board.any_owner:
            self.board.write_owners(self.state)
        self.keep(started)
        wish = self.parameters
        if wish.bf_max_job_start and len(self.out.starts) >= wish.bf_max_job_start:
            self.mark[b.OVER] = 1

    def _raised(self, job: Job, section: Section, nodes: int) -> int:
        """The limit of a job with --time-min, as high as the plans so far permit."""
        now, board = int(self.mark[b.NOW]), self.board.board
        limit = least = full_limit(job, section)
        for at in range(int(self.mark[b.SPANS])):
            begins = int(board.span[at, b.BEGIN]) - now
            if 0 < begins < limit and nodes & ~unpacked(board.free[at]):
                least = min(least, begins // 60 * 60)
        return max(least, min(job.least_time, limit))

    def _tell_plans(self) -> None:
        board = self.board.board
        count = int(self.mark[b.PLANS])
        for at, (place, start, end) in enumerate(board.plan[:count].tolist()):
            record, nodes = self.records[place], unpacked(board.planned[at])
            self.out.plans.append(Plan(record.job.id, record.section.name, start, end, nodes))
