"""shadowtime check: prove a schedule, from here or from anywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from shadowtime.cli import options
from shadowtime.errors import UsageError

if TYPE_CHECKING:
    from rich.table import Table

    from shadowtime.cluster import Cluster
    from shadowtime.schedule.check import Report
    from shadowtime.workload import Workload

STYLE = {"proved": ("✓", "green"), "violated": ("✗", "bold red"), "not made": ("-", "dim")}
NOT_CLAIMED = "not claimed"


class _Check(click.Command):
    """``check slurm DIR`` is a command of its own; all else is a schedule."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        if args[:1] == ["slurm"]:
            from shadowtime.cli.check_slurm import command as slurm

            return slurm.make_context("check slurm", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


@click.command("check", cls=_Check)
@click.argument("schedule", type=click.Path(dir_okay=False))
@click.option("--trace", required=True, metavar="T", help="The log that was scheduled.")
@options.cluster
@click.option(
    "--claim",
    "claims",
    multiple=True,
    metavar="NAME",
    help="What the policy says of itself and must hold too, as promises-kept (an unknown name "
    "lists them); repeatable.",
)
@click.option(
    "--policy",
    "-p",
    metavar="P",
    help="Take the claims from this policy.",
)
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="OURS=THEIRS",
    help="How the file calls one of our columns, as start=starting_time; repeatable.",
)
@options.cleaning
@options.as_json
def command(
    schedule: str,
    trace: str,
    cluster: str | None,
    claims: tuple[str, ...],
    policy: str | None,
    columns: tuple[str, ...],
    as_json: bool,
    **cleaning: Any,
) -> int:
    """Prove that SCHEDULE keeps every rule: capacity at every instant, nobody before submission,
    each job once, limits and promises kept.

    It is judged by its own columns, the log and the machine alone, so it may come from any
    simulator or from a real cluster. Proofs for which a column is missing are listed as not made.
    Exits with 0 if nothing is violated, else with 1.

    \b
    shadowtime check easy.csv --trace log.swf --cluster pool:430

    `shadowtime check slurm DIR` compares the model of Slurm's scheduler with a recorded one.
    """
    from shadowtime.cli.inputs import Cleaning, load
    from shadowtime.schedule import read
    from shadowtime.schedule.check import check

    names = dict(_renamed(column) for column in columns)
    plan = read(schedule, names=names or None)
    workload, machine = load(trace, cluster, Cleaning(**cleaning))
    report = check(plan, workload, machine, claims=_claims(claims, policy, workload, machine))
    if as_json:
        options.print_json(_as_object(schedule, report))
    else:
        _show(schedule, report)
    return 0 if report.ok else 1


def _renamed(text: str) -> tuple[str, str]:
    ours, equals, theirs = text.partition("=")
    if not (ours and equals and theirs):
        raise UsageError(f"--column takes OURS=THEIRS, as start=starting_time, not {text!r}")
    return ours, theirs


def _claims(
    named: tuple[str, ...], policy: str | None, workload: Workload, machine: Cluster
) -> tuple[str, ...] | None:
    """What is to be proved besides; None leaves it to the schedule."""
    if policy is None:
        return named or None
    from shadowtime.engine.claims import claims_of
    from shadowtime.policy import parse_policy

    contended = machine.shape == "nodes"
    return (*named, *claims_of(parse_policy(policy), workload, contended=contended))


def _as_object(schedule: str, report: Report) -> dict[str, Any]:
    proofs = [
        {"name": proof.name, "verdict": proof.verdict, "detail": proof.detail}
        for proof in report.proofs
    ]
    return {"schedule": schedule, "ok": report.ok, "proofs": proofs}


def _show(schedule: str, report: Report) -> None:
    from rich.text import Text

    from shadowtime.cli.console import show

    wrong = report.first_violation
    if wrong:
        verdict = Text(f"{schedule}: violated: {wrong.name}: {wrong.detail}", "bold red")
    else:
        made = sum(proof.verdict == "proved" for proof in report.proofs)
        verdict = Text(f"{schedule}: nothing violated, {made} properties proved", "bold green")
    show(_table(report), verdict)


def _table(report: Report) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, padding=(0, 1))
    for proof in report.proofs:
        if proof.detail != NOT_CLAIMED:
            mark, style = STYLE[proof.verdict]
            detail = Text(proof.detail, "dim" if proof.verdict == "not made" else "")
            table.add_row(Text(f"{mark} {proof.verdict}", style), proof.name, detail)
    unclaimed = [proof.name for proof in report.proofs if proof.detail == NOT_CLAIMED]
    if unclaimed:
        dim = Text(", ".join(unclaimed), "dim")
        table.add_row(Text("- not made", "dim"), Text(NOT_CLAIMED, "dim"), dim)
    return table
