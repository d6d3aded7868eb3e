"""shadowtime live NAME status: when each waiting job will start; live check: repeated decisions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.text import Text

from shadowtime.cli.common import console, outputs, progress, tables
from shadowtime.errors import InputError, UsageError
from shadowtime.live import heartbeat, operation, record, reports
from shadowtime.live.backend import Backend, Wanted
from shadowtime.live.port import trust_in
from shadowtime.live.status import Status, status_of
from shadowtime.live.store import LoopState, StateFile
from shadowtime.policy import parse_policy
from shadowtime.private import state_path
from shadowtime.report.numbers import span
from shadowtime.types import File


def look(
    backend: Backend, *, policy: str | None, shape: Any, state_file: str | None, **given: Any
) -> Status:
    """One poll of a scheduler with the loop's memory; changes nothing."""
    chosen: Any = parse_policy(policy or backend.example)
    asked = Wanted(policy=chosen, operation=operation.Operation(), shape=shape, options=given)
    port, target = backend.connect(asked, tell=console.note)
    path = Path(state_file) if state_file else state_path(target.state_name)
    kept = StateFile(path, tell=console.note).load()
    if policy is None:
        if not kept.policy:
            raise UsageError(
                f"there is no state file of a loop at {path}: name a policy, such as --policy "
                f"{backend.example}"
            )
        chosen = parse_policy(kept.policy)
    return poll(port, chosen, kept, path, shape=target.shape_for(shape))


def poll(port: Any, policy: Any, kept: LoopState, path: Path, *, shape: Any) -> Status:
    """The state of a port under a policy; ``kept`` is what the loop's state file contains."""
    recall = getattr(port, "recall", None)
    if recall is not None:
        recall(kept.port)
    state = port.snapshot()
    with progress.compile_notice("the policy's pass", "half a minute"):
        return status_of(
            policy,
            state,
            kept,
            shape=shape,
            ineligible=operation.ineligible_jobs(port),
            beat=heartbeat.read_beat(heartbeat.heartbeat_of(path)),
            trust=trust_in(port),
        )


def show_status(found: Status, *, json: bool = False) -> None:
    """Print a status as a table, or as one JSON object."""
    if json:
        outputs.print_json(found.to_json())
        return
    used, procs = found.used
    head = Text(f"{found.policy}: {used} of {procs} processors on {found.hosts} nodes in use, ")
    head.append(f"{found.running} running, {len(found.waiting)} waiting")
    table = tables.numbers_table("job", "user", "procs", "waits for", "starts in", "between", "and")
    for row in found.waiting[:50]:
        table.add_row(
            row.job,
            row.user,
            str(row.procs),
            span(found.now - row.since),
            span(max(0, row.eta.expected - found.now)),
            span(max(0, row.eta.earliest - found.now)),
            span(max(0, row.eta.latest - found.now)),
        )
    parts: list[Any] = [head, Text(_life(found))]
    missed = found.counters.get("decided_by_fallback", 0)
    if missed:
        parts.append(Text(f"the fallback decided {missed} passes in which the policy failed"))
    for what, age in found.trust.stale.items():
        parts.append(
            Text(f"the {what} was last read {span(age)} ago: later answers were unreadable")
        )
    if found.waiting:
        parts.append(table)
    if len(found.waiting) > 50:
        parts.append(Text(f"... and {len(found.waiting) - 50} more"))
    verb = "has no predicted start" if found.policy == "slurm" else "is skipped"
    parts += [Text(f"{job} {verb}: {why}") for job, why in found.ineligible.items()]
    console.show(*parts)


def _life(found: Status) -> str:
    """When the loop last polled and what it is waiting for."""
    if found.policy == "slurm":
        return "no loop runs: these are the starts that Slurm's own scheduler would make"
    if found.beat is None:
        return "there is no heartbeat of a loop beside this state file"
    ago = span(max(0, found.now - round(found.beat.looked)))
    life = f"the loop last polled {ago} ago, waiting for {found.beat.waiting_for}"
    if 0 < found.beat.understood < found.beat.looked:
        since = span(max(0, found.now - round(found.beat.understood)))
        life += f"; it last understood an answer {since} ago"
    return life


def check(recording: File, *, json: bool = False) -> int:
    """Repeat the decisions of every pass of RECORDING (written with --record) and compare.

    Exits with 1 if a decision differs.

    \b
    shadowtime live slurm --policy easy --record passes.jsonl
    shadowtime live check passes.jsonl
    """
    passes = decisions = 0
    wrong = []
    with progress.compile_notice("the policy's pass", "half a minute"):
        for number, found in enumerate(record.read_passes(Path(recording)), 1):
            again = found.decide_again(parse_policy(found.policy))
            passes += 1
            decisions += len(found.decisions)
            if again != found.decisions:
                wrong.append(
                    {
                        "line": number,
                        "recorded": [reports.words(d) for d in found.decisions],
                        "again": [reports.words(d) for d in again],
                    }
                )
    if passes == 0:
        raise InputError(
            "contains no recorded pass: was the loop run with --record?", path=recording
        )
    if json:
        outputs.print_json({"passes": passes, "decisions": decisions, "different": wrong})
    else:
        print(f"{passes} passes with {decisions} decisions: {len(wrong)} decided differently")
        for entry in wrong[:5]:
            print(f"line {entry['line']}: recorded {entry['recorded']}, now {entry['again']}")
    return 1 if wrong else 0
