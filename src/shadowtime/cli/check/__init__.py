"""shadowtime check: prove a schedule, whatever produced it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from shadowtime.cli.common import options
from shadowtime.errors import UsageError

if TYPE_CHECKING:
    from rich.table import Table

    from shadowtime.cluster import Cluster
    from shadowtime.cluster.site import Site
    from shadowtime.schedule import Schedule
    from shadowtime.schedule.check import Report
    from shadowtime.schedule.check.rules import Rules
    from shadowtime.workload import Workload

STYLE = {"proved": ("✓", "green"), "violated": ("✗", "bold red"), "not made": ("-", "dim")}
NOT_CLAIMED = "not claimed"
PROMISES_KEPT = "promises-kept"


class _Check(click.Command):
    """``check slurm DIR`` is a separate command; any other argument is a schedule."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        if args[:1] == ["slurm"]:
            from shadowtime.cli.check.slurm import command as slurm

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
    help="A further property to prove, as promises-kept (an unknown name lists them); repeatable.",
)
@click.option(
    "--policy",
    "-p",
    metavar="P",
    help="The policy that produced it: its claims are proved, and limits, classes and reservations "
    "are computed by its rules.",
)
@click.option(
    "--recompute",
    is_flag=True,
    help="Run the policy of -p again and report the first difference.",
)
@click.option(
    "--strict",
    is_flag=True,
    help="Fail if a property could not be proved; with -p also --recompute.",
)
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="OURS=THEIRS",
    help="The file's name for one of our columns, as start=starting_time; repeatable.",
)
@options.cleaning
@options.as_json
def command(
    schedule: str,
    trace: str,
    cluster: str | None,
    claims: tuple[str, ...],
    policy: str | None,
    recompute: bool,
    strict: bool,
    columns: tuple[str, ...],
    as_json: bool,
    **cleaning: Any,
) -> int:
    """Prove that SCHEDULE keeps every rule: capacity at every instant, no start before submission,
    each job once, limits and promises kept.

    It is checked against the log, the machine and the policy, so it may come from any simulator or
    from a real cluster; all of its columns are verified. Properties that cannot be proved are
    listed with the reason. Without -p and --claim every promise it states must be kept. Exits with
    0 if nothing is violated, else with 1; with --strict also with 1 if a property could not be
    proved.

    \b
    shadowtime check easy.csv --trace log.swf --cluster pool:430

    `shadowtime check slurm DIR` compares the model of Slurm's scheduler with a recorded one.
    """
    from shadowtime.cli.common.inputs import Cleaning, load
    from shadowtime.schedule import read
    from shadowtime.schedule.check import check

    names = dict(_renamed(column) for column in columns)
    plan = read(schedule, names=names or None)
    workload, machine = load(trace, cluster, Cleaning(**cleaning))
    if recompute and policy is None:
        raise UsageError("--recompute runs a policy again: name it with -p")
    known = _known(policy, workload, machine, again=recompute or strict)
    held = (*claims, *known.claims)
    if policy is None and not claims and plan.promised is not None:
        held = (PROMISES_KEPT,)
    report = check(
        plan, workload, machine, claims=held or None, rules=known.rules, again=known.again
    )
    good = report.ok and not (strict and report.open)
    if as_json:
        options.print_json(_as_object(schedule, report, good))
    else:
        _show(schedule, report, strict=strict)
        if policy is None and not claims and _broken(report):
            click.echo("If the policy does not claim to keep its promises, name it with -p.")
    return 0 if good else 1


@dataclass(frozen=True)
class _Known:
    """What follows from the policy; nothing if none is named."""

    claims: tuple[str, ...] = ()
    rules: Rules | None = None
    again: Schedule | None = None


def _known(
    named: str | None,
    workload: Workload,
    machine: Cluster | Site,
    *,
    again: bool,
) -> _Known:
    if named is None:
        return _Known()
    from shadowtime.cluster.site import Site
    from shadowtime.engine.claims import claims_of
    from shadowtime.engine.rules import rules_of
    from shadowtime.engine.simulate import simulate
    from shadowtime.policy import parse_policy

    policy = parse_policy(named)
    made = simulate(workload, machine, policy) if again else None
    if isinstance(machine, Site):
        from shadowtime.engine.site.claims import site_claims

        whole = hasattr(policy, "simulate")
        claims = () if whole else site_claims(policy, workload, machine)
        return _Known(claims, rules_of(policy, workload, machine), made)
    contended = machine.shape == "nodes"
    whole = hasattr(policy, "simulate")  # a separate scheduler, which claims nothing
    claims = () if whole else claims_of(policy, workload, contended=contended)
    return _Known(claims, rules_of(policy, workload, machine), made)


def _broken(report: Report) -> bool:
    return any(p.name == PROMISES_KEPT and p.verdict == "violated" for p in report.proofs)


def _renamed(text: str) -> tuple[str, str]:
    ours, equals, theirs = text.partition("=")
    if not (ours and equals and theirs):
        raise UsageError(f"--column takes OURS=THEIRS, as start=starting_time, not {text!r}")
    return ours, theirs


def _as_object(schedule: str, report: Report, good: bool) -> dict[str, Any]:
    proofs = [
        {"name": proof.name, "verdict": proof.verdict, "detail": proof.detail}
        for proof in report.proofs
    ]
    return {"schedule": schedule, "ok": good, "proofs": proofs}


def _show(schedule: str, report: Report, *, strict: bool) -> None:
    from rich.text import Text

    from shadowtime.cli.common.console import show

    wrong = report.first_violation
    if wrong:
        verdict = Text(f"{schedule}: violated: {wrong.name}: {wrong.detail}", "bold red")
    else:
        made = sum(proof.verdict == "proved" for proof in report.proofs)
        verdict = Text(f"{schedule}: nothing violated, {made} properties proved", "bold green")
        if report.open:
            names = ", ".join(proof.name for proof in report.open)
            some = Text(f"; {len(report.open)} could not be proved: {names}")
            some.stylize("bold red" if strict else "yellow")
            verdict.append_text(some)
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
