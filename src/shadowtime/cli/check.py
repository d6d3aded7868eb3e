"""shadowtime check: prove a schedule, whatever produced it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import click
from rich.table import Table
from rich.text import Text

from shadowtime.api.load import CLEAN, Cleaning
from shadowtime.cli.common import console, outputs, running
from shadowtime.cluster import Cluster, site
from shadowtime.engine.claims import claims_of, site_claims
from shadowtime.engine.rules import rules_of
from shadowtime.engine.simulate import simulate
from shadowtime.errors import UsageError
from shadowtime.policy import Policy, parse_policy
from shadowtime.schedule import Schedule, read
from shadowtime.schedule.check import Report
from shadowtime.schedule.check import check as prove
from shadowtime.schedule.check.rules import Rules
from shadowtime.types import File
from shadowtime.verify.proof import follows
from shadowtime.workload import Workload

STYLE = {"proved": ("✓", "green"), "violated": ("✗", "bold red"), "not proved": ("?", "yellow")}
ALSO = {"slurm": "check_slurm"}
PROMISES_KEPT = "promises-kept"
FOLLOWED, PLANNED, ON_SITE = 3_000, 500, 100
"""Jobs that are followed pass by pass unless --follow says otherwise, seconds' work: under most
policies, under those that plan for every waiting job, and on a site."""


def check(
    schedule: File,
    *,
    trace: str,
    cluster: str | None = None,
    claims: tuple[str, ...] = (),
    policy: str | None = None,
    follow: str | None = None,
    recompute: bool = False,
    strict: bool = False,
    columns: tuple[str, ...] = (),
    cleaning: Cleaning = CLEAN,
    json: bool = False,
) -> int:
    """Prove that SCHEDULE keeps every rule: capacity at every instant, no start before submission,
    each job once, limits and promises kept.

    It is checked against the log, the machine and the policy, so it may come from any simulator or
    from a real cluster; all of its columns are verified. With -p every pass of the policy is made
    again by an implementation that shares nothing with the simulator, and the first value that is
    not the policy's is named. Properties that cannot be proved are listed with the reason. Without
    -p and --claim every promise it states must be kept. Exits with 0 if nothing is violated, else
    with 1; with --strict also with 1 if a property could not be proved.

    \b
    shadowtime check easy.csv --trace log.swf --cluster pool:430

    `shadowtime check slurm DIR` compares the model of Slurm's scheduler with a recorded one.

    Parameters
    ----------
    trace : T
        The log that was scheduled.
    claims : NAME
        A further property to prove, as promises-kept (an unknown name lists them); repeatable.
    policy : P
        The policy that produced it: a second implementation of it is followed pass by pass and
        every column compared; its claims are proved.
    follow : N
        With -p: how many jobs to follow, or all (default: 3000; under policies that plan for all
        jobs 500; on a site 100).
    recompute
        Also run the simulator itself again and report the first difference: fast at any size, but
        no proof, since it asks the code that may have made the schedule.
    strict
        Fail also if a property could not be proved, or not for all jobs.
    columns : OURS=THEIRS
        The file's name for one of our columns, as start=starting_time; repeatable.
    """
    names = dict(_renamed(column) for column in columns)
    plan = read(schedule, names=names or None)
    workload, machine = running.load(trace, cluster, cleaning)
    if recompute and policy is None:
        raise UsageError("--recompute runs a policy again: name it with -p")
    known = _known(policy, workload, machine, again=recompute)
    held = (*claims, *known.claims)
    if policy is None and not claims and plan.promised is not None:
        held = (PROMISES_KEPT,)
    report = prove(
        plan, workload, machine, claims=held or None, rules=known.rules, again=known.again
    )
    if policy is not None:
        proof = follows(
            plan,
            workload,
            machine,
            known.policy,
            name=policy,
            jobs=_most(follow, machine, known.policy),
        )
        report = Report((*report.proofs, proof))
    good = report.ok and not (strict and report.open)
    if json:
        outputs.print_json(_as_object(schedule, report, good))
    else:
        _show(schedule, report, strict=strict, named=policy is not None)
        broken = (one.name for one in report.proofs if one.verdict == "violated")
        if policy is None and not claims and PROMISES_KEPT in broken:
            click.echo("If the policy does not claim to keep its promises, name it with -p.")
    return 0 if good else 1


@dataclass(frozen=True)
class _Known:
    """What follows from the policy; nothing if none is named."""

    policy: Any = None
    claims: tuple[str, ...] = ()
    rules: Rules | None = None
    again: Schedule | None = None


def _known(
    named: str | None, workload: Workload, machine: Cluster | site.Site, *, again: bool
) -> _Known:
    if named is None:
        return _Known()

    policy = parse_policy(named)
    made = simulate(workload, machine, policy) if again else None
    if isinstance(machine, site.Site):
        whole = hasattr(policy, "simulate")
        claims = () if whole else site_claims(policy, workload, machine)
        return _Known(policy, claims, rules_of(policy, workload, machine), made)
    contended = machine.shape == "nodes"
    whole = hasattr(policy, "simulate")  # a separate scheduler, which claims nothing
    claims = () if whole else claims_of(policy, workload, contended=contended)
    return _Known(policy, claims, rules_of(policy, workload, machine), made)


def _most(asked: str | None, machine: Cluster | site.Site, policy: Any) -> int | None:
    """How many jobs are followed; None: all."""
    if asked is None:
        if isinstance(machine, site.Site):
            return ON_SITE
        plans = isinstance(policy, Policy) and (
            policy.reserve.kept
            or policy.backfill.selects
            or policy.reserve.depth(FOLLOWED) >= FOLLOWED
        )
        return PLANNED if plans else FOLLOWED
    if asked == "all":
        return None
    if not asked.isdecimal():
        raise UsageError(f"--follow takes a number of jobs or all, not {asked!r}")
    return int(asked)


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


def _show(schedule: str, report: Report, *, strict: bool, named: bool) -> None:
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
    console.show(_table(report), *_not_checked(report, named=named), verdict)


def _not_checked(report: Report, *, named: bool) -> list[Text]:
    """Which properties of some policies were not checked, and why."""
    if not report.not_claimed:
        return []
    names = ", ".join(proof.name for proof in report.not_claimed)
    why = (
        "the policy does not claim these properties"
        if named
        else "properties of some policies only; name the policy with -p to check those it claims"
    )
    return [Text(f"Not checked: {names} ({why}).", "dim")]


def _table(report: Report) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 1))
    for proof in report.proofs:
        if proof not in report.not_claimed:
            mark, style = STYLE[proof.verdict]
            table.add_row(Text(f"{mark} {proof.verdict}", style), proof.name, Text(proof.detail))
    return table
