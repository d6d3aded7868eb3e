"""The names under which cleaning is counted, and what each means."""

from __future__ import annotations

RULES: dict[str, str] = {
    "bad_lines_dropped": "lines that are not 18 numbers in range, left out",
    "cut_lines_dropped": "lines that break off, left out and named",
    "snapshots_joined": "rows about a job that a later file tells of too: the last one counts",
    "procs_of_others": "jobs whose start names no processors: as many on a node as other jobs of "
    "their partition, in the middle",
    "extra_columns_ignored": "lines with more than 18 columns: the rest ignored",
    "times_rounded": "jobs with a fraction of a second, rounded half up",
    "cpu_time_rounded": "jobs with a fractional CPU time, rounded half up",
    "memory_rounded": "jobs with a fraction of a KB, rounded half up",
    "steps_dropped": "job steps: their job has a line of its own",
    "unfinished_dropped": "jobs that had not ended when the log was written",
    "other_clusters_dropped": "jobs of clusters other than the one chosen",
    "local_times_as_utc": "jobs with local times, taken as UTC: no time zone was given",
    "request_unlimited": "jobs without a time limit (UNLIMITED)",
    "array_blocks_dropped": "waiting blocks of array tasks (one line for many tasks)",
    "array_blocks_split": "blocks of array tasks cancelled while they waited, a job for each task",
    "names_joined": "lines joined to the one before: a name held a line break",
    "requeued_joined": "lost runs of requeued jobs, joined to their job: its last run counts",
    "not_on_the_pool_dropped": "HTCondor jobs of the scheduler, local and grid universes",
    "several_runs": "HTCondor jobs that ran more than once: the last run counts",
    "no_submission_dropped": "jobs whose submission is not in the event log",
    "dates_without_year": "events dated without a year: years counted from 2000",
    "out_of_range_cut": "jobs that did not run with a value out of range, cut to the range",
    "partial_as_jobs": "jobs of status 2, 3, 4 in a log without parts: taken as ordinary jobs",
    "partial_dropped": "parts of a job (status 2, 3, 4), dropped: its summary line counts",
    "summary_dropped": "summary lines of jobs whose parts are kept",
    "negative_submit_dropped": "jobs without a submission time",
    "cancelled_dropped": "jobs cancelled before they started (status 5, no run time)",
    "cancelled_queued": "jobs cancelled before they started, kept in the queue until then; "
    "where they start before, for a run drawn from those of their user and kind",
    "no_run_dropped": "jobs without a run time (<= 0)",
    "no_run_one_second": "jobs with run time 0, taken as one second",
    "no_procs_dropped": "jobs without a number of processors",
    "no_request_dropped": "jobs without a requested time",
    "repeated_line_dropped": "lines identical to an earlier one",
    "repeated_id_renumbered": "jobs whose number was taken, given a new one above all others",
    "missing_id_renumbered": "jobs without a number, given a new one above all others",
    "out_of_order_sorted": "jobs submitted before a job that stands above them in the log",
    "negative_wait_ignored": "jobs with an impossible wait: recorded start unknown",
    "procs_from_requested": "jobs without allocated processors: requested ones used",
    "procs_from_allocated": "jobs without requested processors: allocated ones used",
    "procs_rounded_to_nodes": "jobs rounded up to whole nodes",
    "request_from_run": "jobs without a requested time: run time used",
    "overrun_cut": "jobs that ran longer than requested: killed at the request",
    "overrun_extended": "jobs that ran longer than requested: request raised to the run time",
    "overrun_kept": "jobs that ran longer than requested: nothing kills them",
    "memory_from_used": "jobs without requested memory: used memory taken",
    "memory_from_requested": "jobs without used memory: requested memory taken",
    "memory_unknown": "jobs without any memory figure: demand 0",
    "gpus_unknown": "jobs without a number of GPUs: demand 0",
    "too_wide_dropped": "jobs that fit nowhere on the machine",
    "memory_ignored": "jobs whose memory demand was left out: the machine does not count it",
    "gpus_ignored": "jobs whose GPU demand was left out: the machine does not count them",
}
"""What each count in ``Workload.cleaning`` means."""

_ANY_RESOURCE = {
    "_unknown": "jobs without a figure for {}: demand 0",
    "_ignored": "jobs whose demand for {} was left out: the machine does not count it",
}
"""The same for resources of any other name."""


def explain(rule: str) -> str:
    """One line on what a count in ``Workload.cleaning`` means.

    Examples
    --------
    >>> explain("license/matlab_unknown")
    'jobs without a figure for license/matlab: demand 0'
    """
    if rule in RULES:
        return RULES[rule]
    for ending, meaning in _ANY_RESOURCE.items():
        if rule.endswith(ending):
            return meaning.format(rule.removesuffix(ending))
    return rule.replace("_", " ")
