"""Every metric in one line: what it is, its unit, and which way is better."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from shadowtime.metrics import contention, resources
from shadowtime.metrics.added import Better, Metric, added_metrics

__all__ = ["REGISTRY", "Better", "Metric"]

_DISTRIBUTIONS = (
    ("wait", "wait", "s", "last start - submit"),
    ("response", "response time", "s", "end - submit"),
    ("slowdown", "slowdown", "", "response / run, a run of 0 s counted as 1 s"),
    ("bsld", "bounded slowdown", "", "max(1, response / max(run, 10 s))"),
    (
        "ppbsld",
        "bounded slowdown per processor",
        "",
        "max(1, response / (procs x max(run, 10 s)))",
    ),
)
_STATISTICS = (
    ("mean", "Mean", "mean over the scored jobs"),
    ("median", "Median", "nearest-rank median: sorted x[ceil(n/2) - 1]"),
    ("p95", "95th percentile", "nearest rank: sorted x[ceil(0.95 n) - 1]"),
    ("p99", "99th percentile", "nearest rank: sorted x[ceil(0.99 n) - 1]"),
    ("max", "Longest", "maximum over the scored jobs"),
)

_SINGLE: tuple[tuple[str, str, str, Better, str, str], ...] = (
    ("jobs", "Scored jobs", "jobs", "neither", "", "jobs submitted in the window with a start"),
    (
        "unknown_start",
        "Jobs without a start",
        "jobs",
        "neither",
        "",
        "jobs submitted in the window whose start the log does not give: left out everywhere",
    ),
    ("unstarted", "Never started", "jobs", "lower", "",
     "jobs submitted in the window that the policy never started, or not again after a stop: no "
     "part of means and percentiles"),
    ("unstarted_wait_mean_s", "Mean wait of jobs never started, at least", "s", "lower", "",
     "mean of (cancellation, else the last submission or end of the run) - submit over the jobs "
     "that never started: a lower bound"),
    ("unstarted_wait_max_s", "Longest wait of jobs never started, at least", "s", "lower", "",
     "the largest of the same"),
    ("mbs", "Mean bounded slowdown (PV-EASY)", "", "lower", "",
     "mean of (wait + max(run, 10 s)) / max(run, 10 s)"),
    ("mwbs", "Processor-weighted bounded slowdown", "", "lower", "",
     "sum of procs x (wait + max(run, 10 s)) / max(run, 10 s) over the sum of procs"),
    ("awrt_s", "Area-weighted response time", "s", "lower", "",
     "response weighted by procs x run"),
    ("awbsld", "Area-weighted bounded slowdown", "", "lower", "",
     "bounded slowdown weighted by procs x run"),
    ("expansion", "Expansion factor", "", "lower", "", "sum of responses over sum of runs"),
    ("utilisation", "Utilisation", "share", "neither", "",
     "processor-seconds in use, lost runs too, over processors x the window, from its first to "
     "its last submission: goodput + lost_work + restart_work"),
    ("goodput", "Goodput", "share", "higher", "",
     "processor-seconds of the jobs' last runs over processors x the window: what was in use "
     "less what preemption lost"),
    ("lost_work", "Lost work", "share", "lower", "preemption",
     "processor-seconds of preempted runs that have to be done again over processors x the window"),
    ("restart_work", "Starting again", "share", "lower", "preemption",
     "processor-seconds that stopped jobs spent on starting again, over processors x the window"),
    ("loss_of_capacity", "Loss of capacity", "share", "lower", "",
     "processor-seconds idle while a waiting job fits in them, over processors x time"),
    ("makespan_s", "Makespan", "s", "lower", "",
     "last end - first submission of the whole run"),
    ("offered_load", "Offered load", "share", "neither", "",
     "processor-seconds of all jobs over processors x (last - first submission)"),
    ("total_load", "Total load", "share", "neither", "preemption",
     "processor-seconds of all runs, lost ones too, over processors x makespan"),
    ("wasted_load", "Wasted load", "share", "lower", "preemption",
     "processor-seconds of preempted runs that have to be done again over processors x makespan"),
    ("killed", "Killed at the limit", "jobs", "lower", "", "scored jobs stopped at their limit"),
    ("backfilled", "Backfilled", "jobs", "neither", "",
     "scored jobs whose last start was by backfilling"),
    ("blocked", "Blocked", "jobs", "neither", "",
     "scored jobs that were first in the order at some pass and could not start"),
    ("promises", "Promised starts", "jobs", "neither", "fairness",
     "jobs that were promised a start"),
    ("promises_missed", "Missed promises", "jobs", "lower", "fairness",
     "jobs that started later than first promised, or never and were not cancelled before"),
    ("promises_slipped", "Slipped promises", "", "lower", "fairness",
     "times that a promise of the whole run had to be moved later, because a running job outlived "
     "the end that was expected of it"),
    ("preempted_jobs", "Preempted jobs", "jobs", "lower", "preemption",
     "scored jobs that were preempted at least once"),
    ("preempted_share", "Preempted jobs", "share", "lower", "preemption",
     "preempted jobs over scored jobs"),
    ("kills", "Preemptions", "", "lower", "preemption", "preemptions of scored jobs"),
    ("mkt", "Preemptions of a preempted job (MKT)", "", "lower", "preemption",
     "kills over preempted jobs"),
    ("rtw_mean", "Run time wasted (RTW)", "share", "lower", "preemption",
     "mean over preempted jobs of lost run times over the last run time"),
    ("restarting_s", "Time spent on starting again", "s", "lower", "preemption",
     "sum over scored jobs of the seconds that went into starting again after a stop"),
    ("user_bsld_jain", "Fairness between users (Jain)", "", "higher", "fairness",
     "Jain's index of the users' mean bounded slowdowns: 1 if all are equal"),
    ("user_bsld_gini", "Inequality between users (Gini)", "", "lower", "fairness",
     "Gini coefficient of the users' mean bounded slowdowns: 0 if all are equal"),
    ("fst2_delayed", "Delayed by jobs backfilled meanwhile", "jobs", "lower", "fairness",
     "blocked jobs that start after FST2"),
    ("fst2_delay_mean_s", "Mean delay by jobs backfilled meanwhile", "s", "lower", "fairness",
     "mean of start - FST2 over the delayed jobs"),
    ("fst2_delay_max_s", "Longest delay by jobs backfilled meanwhile", "s", "lower", "fairness",
     "largest start - FST2"),
    ("fst_delayed", "Delayed by later jobs", "jobs", "lower", "fairness",
     "blocked jobs that start after FST, their strictly fair start"),
    ("fst_delay_mean_s", "Mean delay by later jobs", "s", "lower", "fairness",
     "mean of start - FST over the delayed jobs"),
    ("fst_delay_max_s", "Longest delay by later jobs", "s", "lower", "fairness",
     "largest start - FST"),
    ("violations", "Reservation violations", "jobs", "lower", "fairness",
     "blocked jobs whose first promise was broken by jobs let in later that were predicted to be "
     "gone by then"),
    ("violation_procs_mean", "Mean size of a violated job", "", "neither", "fairness",
     "mean processors of the jobs with a reservation violation"),
    ("violation_delay_mean_s", "Mean delay from the reservation (DTR)", "s", "lower", "fairness",
     "mean of start - first promise over violations"),
    ("violation_delay_max_s", "Longest delay from the reservation", "s", "lower", "fairness",
     "largest start - first promise over violations"),
    ("violation_si_mean", "Mean slowdown increment (SI)", "", "lower", "fairness",
     "mean of (start - first promise) / max(run, 10 s) over violations"),
    ("violation_si_max", "Largest slowdown increment", "", "lower", "fairness",
     "largest (start - first promise) / max(run, 10 s)"),
    ("imbalance_mean", "Mean imbalance of the resources", "", "lower", "resources",
     "mean over the window, while anything is in use, of the part in use of the fullest resource "
     "over the average of all"),
    ("fullest_mean", "Fullest resource in use", "share", "higher", "resources",
     "mean over the window of the part in use of the resource that is used most"),
    ("dominant_share_mean", "Mean dominant share", "share", "neither", "resources",
     "mean over the scored jobs of the largest part of any resource they ask for"),
    ("throughput_per_h", "Jobs ended per hour", "", "higher", "resources",
     "jobs that end in the window over its hours (shown where there are several resources)"),
    ("clamped_predictions", "Predictions clamped", "", "neither", "prediction",
     "predictions of the whole run below 1 s, no number, or (but for the virtual predictor) beyond "
     "the request, set to the nearest possible value"),
    ("rates_rounded_down", "Rates rounded down (1: yes)", "", "neither", "bandwidth",
     "1 where the rates at which jobs slow each other down have no common denominator below 10^9 "
     "and are rounded down to millionths, so that ends may be seconds late; 0: exact"),
    ("prediction_error_mean", "Mean relative prediction error", "share", "lower", "prediction",
     "mean of |prediction - run| / run"),
    ("prediction_error_median", "Median relative prediction error", "share", "lower", "prediction",
     "nearest-rank median of |prediction - run| / run"),
    ("prediction_error_mean_s", "Mean prediction error", "s", "lower", "prediction",
     "mean of |prediction - run|"),
    ("prediction_accuracy_mean", "Mean accuracy of predictions", "", "higher", "prediction",
     "mean of the smaller of prediction and run over the larger: 1 if all are exact"),
    ("prediction_under", "Under-predicted", "share", "lower", "prediction",
     "jobs that ran longer than predicted over all jobs"),
    ("prediction_over", "Over-predicted", "share", "neither", "prediction",
     "jobs that ran shorter than predicted over all jobs"),
    ("prediction_under_mean_s", "Mean under-prediction", "s", "lower", "prediction",
     "mean of run - prediction over the under-predicted jobs"),
    ("prediction_over_mean_s", "Mean over-prediction", "s", "lower", "prediction",
     "mean of prediction - run over the over-predicted jobs"),
    ("energy_kwh", "Energy", "kWh", "lower", "energy",
     "watts of the scored jobs times the seconds of all their runs, lost ones too"),
    ("energy_cost", "Cost of the energy", "", "lower", "energy",
     "energy of each second times the series price, per kWh"),
    ("carbon_kg", "Carbon", "kg", "lower", "energy",
     "energy of each second times the series carbon, in g/kWh"),
    ("deadlines", "Jobs with a deadline", "jobs", "neither", "energy",
     "scored jobs whose column deadline gives an instant"),
    ("deadlines_missed", "Missed deadlines", "jobs", "lower", "energy",
     "scored jobs that end after their deadline"),
    ("lateness_mean_s", "Mean lateness", "s", "lower", "energy",
     "mean of end - deadline over the missed deadlines"),
    ("workflows", "Workflows", "workflows", "neither", "workflow",
     "workflows (jobs that follow one another) all of whose jobs are scored"),
    ("workflow_makespan_mean_s", "Mean makespan of workflows", "s", "lower", "workflow",
     "mean of last end - first submission over the workflows"),
    ("workflow_makespan_max_s", "Longest makespan of a workflow", "s", "lower", "workflow",
     "largest of last end - first submission over the workflows"),
    ("workflow_slowdown_mean", "Mean slowdown of workflows", "", "lower", "workflow",
     "mean of the makespan over what it would be if no job ever waited for the machine"),
    ("workflow_slowdown_max", "Largest slowdown of a workflow", "", "lower", "workflow",
     "largest of the makespan over what it would be if no job ever waited for the machine"),
)  # fmt: skip


def _metrics() -> Iterator[Metric]:
    for stem, noun, unit, meaning in _DISTRIBUTIONS:
        for statistic, word, rule in _STATISTICS:
            largest = "Largest" if statistic == "max" and not unit else word
            yield Metric(
                name=f"{stem}_{statistic}{'_s' if unit == 's' else ''}",
                label=f"{largest} {noun}",
                unit=unit,
                better="lower",
                group="",
                definition=f"{meaning}; {rule}",
            )
    for name, label, unit, better, group, definition in _SINGLE:
        yield Metric(
            name=name, label=label, unit=unit, better=better, group=group, definition=definition
        )


_COLUMNS = {
    "wait_mean_s": "mean wait",
    "wait_p95_s": "95 % wait",
    "wait_max_s": "longest",
    "bsld_mean": "mean bsld",
    "bsld_p95": "95 % bsld",
    "mwbs": "mwbs",
    "utilisation": "in use",
    "goodput": "goodput",
    "lost_work": "lost",
    "promises_missed": "late",
    "unstarted": "never started",
    "energy_cost": "energy cost",
    "carbon_kg": "carbon kg",
    "deadlines_missed": "missed deadlines",
    "workflow_slowdown_mean": "workflow slowdown",
    "unstarted_wait_mean_s": "waited at least",
    "unstarted_wait_max_s": "longest at least",
    "promises_slipped": "slipped",
    "killed_contention": "killed",
    "penalised_mean": "penalised",
}
"""Short headings, where the label is too long for a column."""


class _Registry(dict[str, Metric]):
    """Metrics by name; those of unlisted resources and of other packages are found on demand."""

    def __missing__(self, name: str) -> Metric:
        found = _elsewhere(name)
        if found is None:
            raise KeyError(name)
        return found

    def get(self, name: str, default: Metric | None = None) -> Metric | None:  # type: ignore[override]
        return super().get(name) or _elsewhere(name) or default

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or (isinstance(name, str) and bool(_elsewhere(name)))


def _elsewhere(name: str) -> Metric | None:
    return resources.described(name) or added_metrics().get(name)


REGISTRY = _Registry(
    {
        metric.name: replace(metric, column=_COLUMNS.get(metric.name, ""))
        for metric in (*_metrics(), *contention.described(), *resources.usual())
    }
)
"""Every metric by name.

>>> REGISTRY["wait_p95_s"].definition
'last start - submit; nearest rank: sorted x[ceil(0.95 n) - 1]'
>>> REGISTRY["stranded_licences"].definition[:14]
'free licences '
"""
