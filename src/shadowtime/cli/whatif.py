"""shadowtime whatif and run: how changes would affect a site's waits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from shadowtime.api.site import UNCHANGED, Changes, read_world, run_experiment, world_of
from shadowtime.cli.common import console, findings, outputs, progress, running, tables
from shadowtime.cli.common.placing import HERE, Placing
from shadowtime.cli.replay_site import by_kind, group_label
from shadowtime.cli.whatif_beside import STYLE, beside, unaffected
from shadowtime.errors import UsageError
from shadowtime.metrics import Window, intervals, measure
from shadowtime.metrics.groups import parse_by
from shadowtime.metrics.where import Where
from shadowtime.private import write_result
from shadowtime.report import PolicyRun, ReportInput
from shadowtime.report.numbers import count, number, span
from shadowtime.result.write import as_object, versions, write_folder, write_results
from shadowtime.study.site.changes import apply_all
from shadowtime.study.site.experiment import Experiment, read_experiment
from shadowtime.study.site.options import Option, check_prices, parse_prices
from shadowtime.study.site.trial_runs import WhatIfStudy
from shadowtime.study.site.whatif import Arm, GroupEffect, WhatIf
from shadowtime.study.unstarted import why_never
from shadowtime.types import File, FileOrFolder, Folder

WIDE = 140
"""Columns of a terminal that has room for ranges; the JSON object always has them."""
NAMED = 6
"""Groups that a sentence about gain and loss names."""


def whatif(
    source: FileOrFolder,
    *,
    cluster: str | None = None,
    changes: Changes = UNCHANGED,
    options: tuple[str, ...] | None = None,
    price: tuple[str, ...] = (),
    placing: Placing = HERE,
    output: Folder | None = None,
    report: File | None = None,
    save: File | None = None,
    json: bool = False,
    **study: Any,
) -> None:
    """Predict the waits on SITE with other settings, nodes, limits, load or policy.

    Simulates each change alone and all together, and compares with the replayed baseline: mean
    waits by partition, account, QOS and size, the paired difference with its 95 % interval, which
    groups gain and which pay, or "no clear effect". With --option alternatives stand side by side.

    \b
    shadowtime whatif site/ --set bf_max_job_test=2000 --set qos.normal.MaxTRESPU=cpu=512
    shadowtime whatif site/ --add-nodes gpu=8 --remove-nodes 'old[01-20]' --save more.toml
    shadowtime whatif site/ --set bf_max_job_test=2000 --report whatif.html --resume runs
    shadowtime whatif site/ --option 'more: --add-nodes gpu=10' --option 'less: --load 0.9'
    shadowtime whatif site/ --max-limit 2d --resume runs --on slurm --site blocks=8

    Parameters
    ----------
    source : SITE
    options : 'NAME: CHANGES'
        An alternative with any of the changes above, as 'more gpus: --add-nodes gpu=10'; several
        are compared side by side.
    price : P
        With --option: the price of a node-hour, as 0.4, or gpu=2.5 for the nodes of a partition or
        with a feature; repeatable.
    save : FILE.toml
        Save the experiment; `shadowtime run FILE.toml` repeats it.
    **study
        Options of :func:`shadowtime.whatif`.
    """
    resume, tz = study.pop("resume"), study.pop("tz")
    where, by = str(Where.parse(study.pop("where"))), study.pop("by")
    experiment = Experiment(
        site=source, changes=changes.made(), options=tuple(map(Option.parse, options or ())),
        prices=price, cluster=cluster or "", tz=tz or "", where=where,
        by=",".join(parse_by(by)) if by else "", **study,
    )  # fmt: skip
    carry_out(
        experiment, output=output, json=json, report=report, resume=resume, placing=placing,
        save=save,
    )  # fmt: skip


def run(
    experiment: File,
    *,
    output: Folder | None = None,
    report: File | None = None,
    resume: Folder | None = None,
    placing: Placing = HERE,
    json: bool = False,
) -> None:
    """Run the what-if in EXPERIMENT.toml.

    The same file, site and version give the same bytes.

    \b
    shadowtime run more.toml
    shadowtime run more.toml --report more.html --resume runs
    """
    outputs.check_outputs(folder=output, report=report, kept=resume)
    carry_out(
        read_experiment(experiment), output=output, json=json, report=report, resume=resume,
        placing=placing,
    )  # fmt: skip


def carry_out(
    experiment: Experiment,
    *,
    output: str | None,
    json: bool,
    report: str | None,
    resume: str | None,
    placing: Placing,
    save: str | None = None,
) -> None:
    """Run an experiment, print it, and write the requested files."""
    if not experiment.changes and not experiment.options:
        raise UsageError("nothing is changed: give --set, --add-nodes, --policy or another change")
    placing.check(resume)
    outputs.check_outputs(folder=output, report=report, kept=resume)
    if save:
        outputs.check_file("--save", save)
    with progress.working(f"reading {experiment.site}"):
        world = world_of(experiment, report=console.note)
    check_prices(world.site, parse_prices(experiment.prices))
    sets = [one.changes for one in experiment.options] or [experiment.changes]
    arms = 1 + len(sets) + (len(experiment.changes) if len(experiment.changes) > 1 else 0)
    steps = arms * experiment.repeats_on(world.jobs).count
    policies = [world.policy, *(apply_all(world, chosen).policy for chosen in sets)]
    machine: Any = world.site
    engine = running.prepare(policies, machine, jobs=len(world.jobs) * steps, resume=resume)
    if resume and placing.elsewhere:
        study = WhatIfStudy.of(experiment, resume, read_world)
        placing.run_parts(study, study.missing(world), resume)
    with progress.while_simulating(steps=steps) as advance:
        found = run_experiment(
            experiment, world=world, engine=advance.watched(engine), report=console.note,
            advance=lambda: advance("simulating"),
        )  # fmt: skip
    content = as_content(found, experiment)
    if save:
        write_result(Path(save), experiment.to_toml(Path(save).resolve().parent))
    if output:
        write_what_if(found, experiment, content, output)
    if report:
        page = _as_report(found, for_folder=True)
        write_results(page, report=report, step=progress.working)
    outputs.wrote(save, output, report)
    if json:
        outputs.print_json(content)
    else:
        show_what_if(found)


def as_content(found: WhatIf, experiment: Experiment) -> dict[str, Any]:
    """The JSON object: the same for ``whatif`` and for ``run`` of the saved experiment."""
    effects = found.as_dict()
    groups = effects.pop("groups")
    trust = found.trust
    verdict = {**trust.expected.as_dict(), "meaning": trust.meaning} if trust else {}
    about = {"baseline": experiment.baseline, **verdict, **effects}
    return as_object(_as_report(found), Window.all(), groups=groups, whatif=about)


def _as_report(found: WhatIf, *, for_folder: bool = False) -> ReportInput:
    before = found.baseline[0]
    runs = []
    shown = [("baseline", before, found.world)]
    for arm in found.arms if found.side_by_side else (found.together,):
        name = arm.name or "changed"
        shown.append((name, arm.trials[0], apply_all(found.world, arm.changes)))
    for name, trial, world in shown:
        machine: Any = world.site
        jobs, schedule = trial.workload, trial.schedule
        only = trial.counted
        runs.append(
            PolicyRun(
                name=name,
                schedule=schedule,
                parameters={"policy": getattr(world.policy, "name", "")},
                cluster=None if world.site == found.world.site else machine,
                metrics=measure(schedule, jobs, machine, window=Window.all(), only=only),
                unstarted=why_never(schedule, jobs, machine, only=only),
            )
        )
    here: Any = found.world.site
    # At another load jobs arrive at other times: a page of the log's jobs cannot show them.
    moved = [trial.schedule.submit for _, trial, _ in shown]
    same = not for_folder or (
        not found.feedback and all((before.schedule.submit == one).all() for one in moved)
    )
    return ReportInput(
        title=f"{found.world.jobs.name}: {found.together.label}",
        workload=before.workload,
        cluster=here,
        runs=tuple(runs if same else runs[:1]),
        versions=versions(),
        command="shadowtime run experiment.toml",
        trust=found.trust,
        effects=_effects(found) if same else {},
    )


def _effects(found: WhatIf) -> dict[str, Any]:
    """What a page shows about the groups."""
    arms = [(arm.label, arm) for arm in found.alone]
    whole = "all together" if arms and not found.side_by_side else found.together.label
    arms.append((whole, found.together))
    options = [
        {
            "label": label,
            "groups": [group.as_dict() for group in arm.groups],
            "never_started": arm.never_started,
            "killed": arm.killed,
            **({"offer": arm.offer.as_dict()} if arm.offer else {}),
        }
        for label, arm in arms
    ]
    options[-1]["notes"] = list(found.notes)
    offered = {"baseline_offer": found.offer.as_dict()} if found.offer else {}
    label = " or ".join(arm.label for arm in found.arms) if offered else found.together.label
    return {"label": label, "inputs": str(found.repeats), "options": options, **offered}


def write_what_if(
    found: WhatIf, experiment: Experiment, content: dict[str, Any], folder: str
) -> None:
    """A result folder with both schedules, the experiment, and a table of the groups."""
    result = _as_report(found, for_folder=True)
    shown = {**content, "policies": content["policies"][: len(result.runs)]}
    root = write_folder(shown, result, folder)
    write_result(root / "experiment.toml", experiment.to_toml(root.resolve()))
    head = "by,name,jobs,baseline_wait_mean_s,changed_wait_mean_s,low_s,high_s,difference_s,effect"
    lines = [head]
    for row in content["groups"]:
        name = '"' + str(row["name"]).replace('"', '""') + '"'
        lines.append(",".join(name if key == "name" else str(row[key]) for key in head.split(",")))
    write_result(root / "groups.csv", "\n".join(lines) + "\n")


def show_what_if(found: WhatIf) -> None:
    """The verdict, each change alone, all groups, which gain and which pay."""
    jobs = count(len(found.world.jobs), "job")
    head = Text.assemble((found.world.jobs.name, "bold"), f": {jobs}; {found.repeats}")
    if not found.side_by_side:
        head.append(f"\nchanged: {found.together.label}")
    head.append(findings.left_out(found.not_modelled))
    parts: list[Any] = []
    if found.trust:
        parts += [findings.trust_sentences(found.trust).append("\n")]
    parts += [head, Text()]
    if found.side_by_side:
        console.show(*parts, *beside(found))
        return
    if found.alone:
        parts += [_alone(found), Text()]
    parts += [
        _groups(found.together),
        Text(),
        *_sentences(found.together, _throughput(found) if found.feedback else ""),
    ]
    console.show(*parts)


def _alone(found: WhatIf) -> Table:
    table = tables.numbers_table("all jobs", "baseline", "changed", "difference ± 95 %", "effect")
    for arm in (*found.alone, found.together):
        row = arm.whole
        label = "all together" if arm is found.together else arm.label
        table.add_row(
            label,
            span(row.baseline_s),
            span(row.changed.mean),
            _between(row.difference),
            _effect(row),
        )
    return table


def _groups(arm: Arm) -> Table:
    wide = console.output().width >= WIDE
    between = ["range of one run"] if wide else []
    table = tables.numbers_table(
        "mean waits", "jobs", "baseline", "changed", *between, "difference ± 95 %", "effect"
    )
    for row in by_kind(table, arm.groups):
        reach = [f"{span(row.changed.low)} to {span(row.changed.high)}"] if wide else []
        table.add_row(
            group_label(row.by, row.name),
            number(row.jobs),
            span(row.baseline_s),
            span(row.changed.mean),
            *reach,
            _between(row.difference),
            _effect(row),
        )
    return table


def _effect(row: GroupEffect) -> Text:
    return Text(row.effect, STYLE[row.effect])


def _between(difference: intervals.Interval) -> str:
    """A difference with half of its interval, which is symmetric."""
    sign = "\N{MINUS SIGN}" if difference.mean < 0 else "+"
    return f"{sign}{span(abs(difference.mean))} ± {span(difference.half)}"


def _throughput(found: WhatIf) -> str:
    """In a closed loop a faster site receives more jobs, and completes more."""
    before, after = found.together.throughput
    return (
        f"closed loop: {number(before)} jobs a day until the last recorded submission, "
        f"{number(after)} with the changes"
    )


def _sentences(arm: Arm, throughput: str = "") -> list[Text]:
    named = [row for row in arm.groups if row.by not in ("all", "size")]
    found = []
    for effect, verb in (("shorter", "gains"), ("longer", "pays")):
        rows = sorted(
            (row for row in named if row.effect == effect),
            key=lambda row: -abs(row.difference.mean) * row.jobs,
        )
        if rows:
            found.append(Text(f"{verb}: {_named(rows)}"))
    if arm.identical:
        found.append(Text(f"the schedules are identical: {unaffected(arm.changes)}"))
    elif not any(row.effect != "no clear effect" for row in arm.groups):
        found.append(Text("no clear effect on any group: the differences are within the noise"))
    if throughput:
        found.append(Text(throughput))
    if arm.never_started:
        never = count(arm.never_started, "job")
        found.append(
            Text(
                f"excluded: {never} that would never start with the changes (limits, missing nodes)"
            )
        )
    if arm.killed:
        found.append(Text(f"{count(arm.killed, 'job')} would be stopped at the lowered limit"))
    return found


def _named(rows: Sequence[GroupEffect]) -> str:
    words = [f"{group_label(r.by, r.name).strip()} ({span(abs(r.difference.mean))})" for r in rows]
    more = len(words) - NAMED
    return ", ".join(words[:NAMED]) + (f" and {more} more" if more > 0 else "")
