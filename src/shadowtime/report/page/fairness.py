"""Fairness: promises and whether they were kept, and which jobs delayed which."""

from __future__ import annotations

from shadowtime.metrics import policy_run, resources
from shadowtime.report.inputs import ReportInput
from shadowtime.report.numbers import DASH, number, percent, span
from shadowtime.report.page.first import group_scores
from shadowtime.report.page.markup import named, section, table, tabs, text
from shadowtime.schedule import Schedule, runs
from shadowtime.study.fairness import FairnessView, Taken, fairness_view
from shadowtime.types import UNKNOWN

PROMISES = (
    "Promises",
    "Jobs blocked at the head",
    "Got a promise",
    "Started by then",
    "Missed: started later",
    "Mean delay of those",
    "Mean time gained by the others",
)
DELAYS = (
    "Delayed by later jobs",
    "Jobs blocked at the head",
    "Delayed",
    "of those blocked",
    "Hours in total",
    "Longest delay",
)
LEAD = (
    "A promise is the first start that a policy announced to a blocked job. A job is delayed "
    "by later ones if it starts after its strictly fair start: when it could have started if no "
    "later job had been running."
)
SHARED = (
    "The later jobs that held processors at a job's fair start share its delay in proportion to "
    "these processors."
)


def fairness(report: ReportInput) -> str:
    """Promises, delays by later jobs and the numbers of the group; empty where unknown."""
    body = group_scores(report, "fairness") + _promises(report) + _delays(report)
    return section("fairness", "Fairness", body, lead=LEAD) if body else ""


def _promises(report: ReportInput) -> str:
    rows = [
        [named(i, run.name), *_kept(run.schedule)]
        for i, run in enumerate(report.runs)
        if run.schedule.promised is not None and bool((run.schedule.promised != UNKNOWN).any())
    ]
    return table([text(h) for h in PROMISES], rows, kind="numbers") if rows else ""


def _kept(schedule: Schedule) -> list[str]:
    assert schedule.promised is not None
    blocked = 0 if schedule.blocked_at is None else int((schedule.blocked_at != UNKNOWN).sum())
    given = (schedule.promised != UNKNOWN) & runs.started(schedule)
    slip = (schedule.start - schedule.promised)[given]
    late = slip[slip > 0]
    early = -slip[slip <= 0]
    count = len(slip)
    return [
        number(blocked),
        number(count),
        f"{number(len(early))} ({percent(len(early) / count if count else None)})",
        number(len(late)),
        span(float(late.mean())) if len(late) else DASH,
        span(float(early.mean())) if len(early) else DASH,
    ]


def _delays(report: ReportInput) -> str:
    """A row for every policy, and a tab for each with delays: which jobs delayed which."""
    views = {
        i: fairness_view(run.schedule, report.workload, report.cluster)
        for i, run in enumerate(report.runs)
        if _known(report, run)
    }
    if not any(view.blocked for view in views.values()):
        return ""
    rows = [[named(i, report.runs[i].name), *_summary(view)] for i, view in views.items()]
    panels = [(i, report.runs[i].name, _whom(view)) for i, view in views.items() if view.delayed]
    whom = f'<h3>Which jobs delayed which</h3><p class="note">{SHARED}</p>' if panels else ""
    shown = tabs("delays", panels) if panels else ""
    return table([text(h) for h in DELAYS], rows, kind="numbers") + whom + shown


def _known(report: ReportInput, run: policy_run.PolicyRun) -> bool:
    """Fair starts are defined on a pool of processors alone, for jobs that keep their size."""
    alone = len(resources.counted(report.workload, report.cluster)) < 2
    pool = report.cluster.shape == "pool" and alone
    keeps = run.schedule.attempts.procs is None
    return pool and keeps and run.schedule.blocked_at is not None and len(run.schedule) > 0


def _summary(view: FairnessView) -> list[str]:
    longest = view.longest[0].delay_s if view.longest else None
    return [
        number(view.blocked),
        number(view.delayed),
        percent(view.delayed / view.blocked if view.blocked else None),
        number(round(view.hours)) if view.hours >= 10 else number(view.hours),
        span(longest),
    ]


def _whom(view: FairnessView) -> str:
    """The longest delays with their culprits, and the hours between sizes and between users."""
    jobs = table(
        [
            "Longest delays",
            "User",
            "Processors",
            "Fair start to start",
            "Later jobs that delayed it",
        ],
        [
            [
                f"job {job.job_id}",
                DASH if job.user == UNKNOWN else str(job.user),
                number(job.procs),
                span(job.delay_s),
                f"{', '.join(map(str, job.by))} ({number(job.by_procs)} processors in all)",
            ]
            for job in view.longest
        ],
        kind="numbers",
    )
    pairs = "".join(
        f"<div>{_pairs(title, taken, view.hours)}</div>"
        for title, taken in (
            ("Between sizes, processors", view.by_size),
            ("Between users", view.by_user),
        )
        if taken
    )
    return f'{jobs}<div class="pair">{pairs}</div>'


def _pairs(title: str, taken: tuple[Taken, ...], total: float) -> str:
    rows = [
        [
            f"{text(pair.delayed)} by {text(pair.by)}",
            number(pair.hours),
            percent(pair.hours / total if total else None),
            number(pair.cases),
        ]
        for pair in taken
    ]
    return table([text(title), "Hours", "of all", "Pairs of jobs"], rows, kind="numbers")
