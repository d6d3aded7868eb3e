"""shadowtime demo: compare policies on the built-in workload."""

from __future__ import annotations

from shadowtime.errors import UsageError
from shadowtime.types import Between, File, FileOrFolder, Folder

SHAKES = 10
"""Runs on shaken inputs, so that the headline does not depend on one log; only if the passes are
already compiled, since a new user would wait a minute for them."""


def demo(
    *,
    step: bool = False,
    auto: bool = False,
    policy: str = "easy",
    log: FileOrFolder | None = None,
    jobs: Between | None = None,
    cluster: str | None = None,
    shake: int | None = None,
    output: Folder | None = None,
    json: bool = False,
    report: File | None = None,
) -> None:
    """Compare seven policies on an embedded workload. No data and no network needed.

    The workload is generated (Lublin and Feitelson's model, with realistic user estimates) and
    always the same. With --step: ten jobs on eight processors, for teaching, or a few jobs of your
    own log; step forward, back, or to any event.

    \b
    shadowtime demo
    shadowtime demo --shake 20
    shadowtime demo --step
    shadowtime demo --step --policy conservative --auto | less -R
    shadowtime demo --step --log log.swf.gz --jobs 100:120

    Parameters
    ----------
    step
        Watch ten jobs being scheduled, event by event.
    auto
        With --step: do not wait for Enter.
    policy : P
        With --step: fcfs, greedy, easy, easy-sjbf, conservative, or mine.py:name with decide.
        [default: easy]
    log : LOG
        With --step: watch jobs of this log instead, on its machine.
    jobs : A:B
        With --log: jobs A to B, from 0, at most 26. [default: the first ones]
    shake : N >= 0
        Also run N shaken copies of the workload. [default: 10 if the policies are already compiled,
        else 0]
    """
    if not step:
        if log is not None or jobs or cluster:
            raise UsageError("--log, --jobs and --cluster belong to --step")
        if auto or policy != "easy":
            raise UsageError(
                "--auto and --policy belong to --step: the demo compares seven policies"
            )
        from shadowtime.cli.demo.run import compare_all

        compare_all(shake=shake, shakes=SHAKES, folder=output, as_json=json, report=report)
        return
    if output or report or json or shake is not None:
        raise UsageError("--step writes nothing: omit -o, --json, --report and --shake")
    from shadowtime.cli.demo.step import walk, walk_log

    if log is not None:
        walk_log(policy, log, jobs, cluster, auto=auto)
        return
    if jobs or cluster:
        raise UsageError("--jobs and --cluster belong to --log: give a log to watch")
    walk(policy, auto=auto)
