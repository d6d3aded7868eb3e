"""The rules of Slurm's scheduler that changed from one release to the next, each by name.

The passes ask for a rule by its name, never for a version. docs/reference/slurm.md prints the
table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import NamedTuple

from shadowtime.errors import PolicyError
from shadowtime.slurmtext.conf import Version, parse_version

DEFAULT: Version = (22, 5, 8)
"""The version where nothing tells one."""
NEWEST: Version = (26, 5, 5)
"""The newest version that is known; what is newer is modelled as this one."""

ALL = "22.05.8, 24.11.5, 26.05.5"
BOTH = "24.11.5, 26.05.5"
SINCE_26 = "26.05.5"
READ = "source"
BACKFILL = "sched/backfill/backfill.c"
JOB_TEST = "select/cons_tres/job_test.c"


class Change(NamedTuple):
    """A rule with the first release that has it.

    ``where`` is the file of Slurm's source and the function, ``verified`` the versions on whose
    daemons recordings are wrong without the rule and equal with it, or "source" where it was only
    read.
    """

    rule: str
    since: Version
    where: str
    what: str
    verified: str


CHANGES = (
    Change(
        "leaf_needs_cpus",
        (23, 2, 0),
        "topology/tree eval_nodes_tree.c: _topo_compare_switches",
        "a leaf switch fits a job only if it has the cpus still needed besides the nodes",
        BOTH,
    ),
    Change(
        "priorities_first",
        (23, 2, 0),
        "slurmctld/controller.c: main",
        "priorities tick from the very second of slurmctld's start, before its state is read and "
        "not after that",
        BOTH,
    ),
    Change(
        "throttle_bounds_plans",
        (23, 2, 4),
        f"{BACKFILL}: _attempt_backfill",
        "an array with %throttle is planned for no more tasks than may run at once",
        BOTH,
    ),
    Change(
        "whole_tasks",
        (23, 2, 5),
        f"{JOB_TEST}: _allocate_sc",
        "a node offers the cpus of whole tasks, and of --ntasks-per-node tasks at most",
        BOTH,
    ),
    Change(
        "fresh_weights",
        (23, 11, 0),
        f"{JOB_TEST}: _set_sched_weight",
        "every will-run test sets scheduling weights anew; completing nodes come last",
        BOTH,
    ),
    Change(
        "cpus_beside_gpus",
        (23, 11, 0),
        "topology/common gres_filter.c: gres_filter_sock_core",
        "a node counts GPUs for which it has the cpus, and offers cpus for the GPUs it counts",
        BOTH,
    ),
    Change(
        "whole_seconds",
        (23, 11, 0),
        "slurmctld/controller.c: _slurmctld_background",
        "the loop of main passes wakes at whole seconds of the clock, where time() may still show "
        "the second before as the start of a job",
        BOTH,
    ),
    Change(
        "sharing_restored",
        (23, 11, 6),
        "slurmctld/node_scheduler.c: select_nodes",
        "a test in an exclusive partition no longer turns a job into one on whole nodes for good: "
        "will-run tests of backfill take idle nodes and count cpus as if shared",
        "24.11.5",
    ),
    Change(
        "whole_gpu_tasks",
        (24, 5, 0),
        "topology/common gres_filter.c: gres_filter_sock_core",
        "with --gpus-per-task a node counts and gives the GPUs of whole tasks",
        BOTH,
    ),
    Change(
        "gpus_as_counted",
        (24, 5, 0),
        "select/cons_tres/gres_select_filter.c: _set_job_bits1",
        "with --gpus a node gives no more GPUs than were still needed when it was chosen, its "
        "sockets by the cores that the job has there",
        SINCE_26,
    ),
    Change(
        "task_a_node_once",
        (24, 5, 0),
        "topology/common common_topo.c: common_topo_choose_nodes",
        "no more nodes than tasks: in the first try to choose nodes only",
        BOTH,
    ),
    Change(
        "requeued_last",
        (24, 5, 5),
        "slurmctld/job_mgr.c: batch_requeue_fini",
        "a requeued job gets a new priority: with priority/basic it goes behind all others",
        BOTH,
    ),
    Change(
        "bounded_will_run",
        (24, 11, 0),
        f"{JOB_TEST}: _will_run_test, _future_run_test",
        "a try tests the time from its start to the next try: running jobs that end before are "
        "gone at once, those that end after it stay",
        BOTH,
    ),
    Change(
        "map_before_later",
        (24, 11, 0),
        f"{BACKFILL}: _attempt_backfill",
        "a plan for later is tested against the map of plans before the next try is looked at",
        BOTH,
    ),
    Change(
        "ends_rounded_up",
        (24, 11, 0),
        f"{BACKFILL}: _set_slot_time, _bf_reserve_running",
        "ends in the map of plans are rounded up to bf_resolution (down before)",
        BOTH,
    ),
    Change(
        "search_goes_on",
        (24, 11, 0),
        f"{BACKFILL}: _attempt_backfill",
        "a try that finds no hole goes on after the span behind the job's end; excluded nodes "
        "make no next try",
        BOTH,
    ),
    Change(
        "one_gpu_test",
        (24, 11, 0),
        f"{JOB_TEST}: _job_test",
        "a job is tested on the cores as they are, not first on all cores free",
        BOTH,
    ),
    Change(
        "owners_end",
        (24, 11, 0),
        f"{BACKFILL}: _filter_exclusive_user_mcs_nodes",
        "backfill leaves nodes with jobs of other users out until these have ended, not all along",
        BOTH,
    ),
    Change(
        "tasks_as_told",
        (24, 11, 1),
        "select/cons_tres/dist_tasks.c: _get_task_count",
        "with -n a node gives the cpus of its tasks, even where --mincpus asks for more to be free",
        BOTH,
    ),
    Change(
        "licence_holders_end",
        (24, 11, 2),
        f"{JOB_TEST}: _build_cr_job_list",
        "the will-run test counts ends of jobs that hold a licence which the job asks for",
        "24.11.5",
    ),
    Change(
        "planned_nodes_counted",
        (24, 11, 4),
        "slurmctld/acct_policy.c: _get_unique_job_node_cnt",
        "limits on nodes count a plan's nodes once where jobs that run use them already",
        BOTH,
    ),
    Change(
        "nodes_left_out_singly",
        (24, 11, 4),
        "topology/common common_topo.c: common_topo_choose_nodes",
        "a choice that fails is repeated without the nodes that offer least, count by count until "
        "a count leaves out none (all of a count at once before)",
        READ,
    ),
    Change(
        "memory_in_tasks",
        (24, 11, 4),
        "slurmctld/job_mgr.c: _valid_pn_min_mem",
        "cpus for more memory per node than MaxMemPerCPU allows are asked for in whole tasks; "
        "before, nodes only had to have them free",
        BOTH,
    ),
    Change(
        "ended_at_try",
        (25, 5, 0),
        f"{JOB_TEST}: _build_cr_job_list",
        "jobs that end in the very second of a try are gone too",
        SINCE_26,
    ),
    Change(
        "overlap_moves_on",
        (25, 5, 0),
        f"{BACKFILL}: _attempt_backfill",
        "a plan that overlaps where it was tried is tried one bf_resolution later",
        READ,
    ),
    Change(
        "last_relevant_end",
        (25, 5, 1),
        f"{JOB_TEST}: _get_last_relevant_job",
        "a plan starts at the end of the last job that holds one of its nodes, not of its group",
        SINCE_26,
    ),
    Change(
        "nodes_left_out_by_product",
        (25, 11, 0),
        "topology/common common_topo.c: common_topo_choose_nodes",
        "a choice that fails is repeated without the nodes of least cpus x GPUs, one by one",
        READ,
    ),
    Change(
        "cpus_of_gpu_tasks",
        (25, 11, 0),
        "topology/common eval_nodes.c: eval_nodes_select_cores",
        "for a job with GPUs a node counts no more cpus than all its tasks need",
        SINCE_26,
    ),
    Change(
        "last_node_counts",
        (25, 11, 0),
        "topology/common eval_nodes.c: _eval_nodes_lln",
        "with CR_LLN or LLN=YES a node counts as many cpus as the one that was looked at last",
        SINCE_26,
    ),
    Change(
        "whole_in_will_run",
        (25, 11, 5),
        f"{BACKFILL}: _attempt_backfill",
        "backfill tests jobs of an exclusive partition as jobs on whole nodes",
        SINCE_26,
    ),
    Change(
        "first_single_node",
        (26, 5, 0),
        f"{JOB_TEST}: _get_one_res; topology/common common_topo.c: common_test_node",
        "a job of at most one node (-N 1, or -n 1 without -N) gets the first that fits, by Weight "
        "and place, but the least loaded under LLN, or the last by pack_serial_at_end; GPUs of the "
        "nodes tried before count towards those of --gpus",
        SINCE_26,
    ),
    Change(
        "limit_raised",
        (26, 5, 3),
        f"{BACKFILL}: _set_backfill_timelimits, _reset_job_time_limit",
        "a job with --time-min that backfill starts has its full limit, cut in whole minutes where "
        "a plan made so far needs its nodes, down to --time-min; before it kept --time-min",
        SINCE_26,
    ),
)
"""In the order of the releases."""


@dataclass(frozen=True, kw_only=True)
class Rules:
    """Which of the changes hold; :meth:`of` a version, as a site names it.

    Examples
    --------
    >>> rules = Rules.of("23.11.4")
    >>> rules.fresh_weights, rules.bounded_will_run
    (True, False)
    >>> Rules.of("22.05.3") == Rules.of("22.05.8") == Rules()
    True
    """

    leaf_needs_cpus: bool = False
    priorities_first: bool = False
    throttle_bounds_plans: bool = False
    whole_tasks: bool = False
    fresh_weights: bool = False
    cpus_beside_gpus: bool = False
    whole_seconds: bool = False
    whole_gpu_tasks: bool = False
    gpus_as_counted: bool = False
    task_a_node_once: bool = False
    requeued_last: bool = False
    bounded_will_run: bool = False
    map_before_later: bool = False
    ends_rounded_up: bool = False
    search_goes_on: bool = False
    one_gpu_test: bool = False
    owners_end: bool = False
    tasks_as_told: bool = False
    licence_holders_end: bool = False
    planned_nodes_counted: bool = False
    nodes_left_out_singly: bool = False
    ended_at_try: bool = False
    overlap_moves_on: bool = False
    last_relevant_end: bool = False
    nodes_left_out_by_product: bool = False
    cpus_of_gpu_tasks: bool = False
    first_single_node: bool = False
    limit_raised: bool = False
    sharing_restored: bool = False
    whole_in_will_run: bool = False
    last_node_counts: bool = False
    memory_in_tasks: bool = False
    version: str = field(default="22.05.8", compare=False)
    """The version that was asked for."""

    @staticmethod
    def of(text: str) -> Rules:
        """The rules of a version such as 24.11 (then its last release) or 24.11.5."""
        version = parse_version(text)
        if version is None:
            raise PolicyError(f"slurm: version must be like 24.11 or 24.11.5, not {text!r}")
        held = {one.rule: version >= one.since for one in CHANGES}
        return Rules(**held, version=text)

    @staticmethod
    def of_config(config: Mapping[str, str]) -> Rules:
        """The rules of a site's ``SLURM_VERSION``; those of 22.05 where it names none."""
        named = {name.lower(): value for name, value in config.items()}.get("slurm_version", "")
        return Rules.of(named) if parse_version(named) else Rules()

    @property
    def shares_in_will_run(self) -> bool:
        """Backfill takes idle nodes for jobs of exclusive partitions, but counts no whole ones."""
        return self.sharing_restored and not self.whole_in_will_run

    @property
    def note(self) -> str:
        """What to say about the version; empty where there is nothing."""
        version = parse_version(self.version)
        if version is None or version[:2] <= NEWEST[:2]:
            return ""
        known = f"{NEWEST[0]}.{NEWEST[1]:02d}"
        return f"Slurm {self.version} is newer than the newest one known here: modelled as {known}"


FIRST = Rules()
"""The rules of 22.05: none of the changes."""


assert {one.name for one in fields(Rules)} == {one.rule for one in CHANGES} | {"version"}
