"""The command line: what a user types, and what becomes of an error.

Nothing numeric is imported here: a command's file is loaded when the command runs, so help and
usage errors are instant. Exit codes: 0 done, 1 the answer is no (a proof failed), 2 wrong input
or usage, 70 our own bug, 130 interrupted, 141 the reader of our output went away.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
import warnings
from typing import TYPE_CHECKING, Any, NoReturn

import click

import shadowtime
from shadowtime.cli.common.hints import about_missing_options
from shadowtime.cli.common.interrupt import answer_interrupts
from shadowtime.cli.common.lazy import Entry, LazyGroup
from shadowtime.errors import ShadowtimeError
from shadowtime.printable import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS = {
    "demo": Entry("Try", "Compare policies on an embedded workload: no data needed."),
    "simulate": Entry("Study", "Replay a job log under one policy and measure it."),
    "compare": Entry(
        "Study", "Run a job log under several policies: which wins, and which jobs pay."
    ),
    "replay": Entry("Study", "Recorded starts beside simulated ones: can a what-if be trusted?"),
    "whatif": Entry("Study", "What other settings, nodes or limits would do to a site's waits."),
    "run": Entry("Study", "Repeat a what-if from its file.", "run_experiment"),
    "report": Entry("See", "Turn a result folder into a web page, figures or exports."),
    "explain": Entry("See", "Why a job started when it did, and not earlier."),
    "tune": Entry("Study", "Tune a policy on the past, judge it on later jobs."),
    "leaderboard": Entry("See", "The results of a sweep as one page: policies by logs."),
    "paper": Entry("Study", "Reproduce a published study: its numbers beside ours."),
    "sweep": Entry("Study", "Many simulations that resume: ranges, copies, any cluster."),
    "policies": Entry("Study", "List the policies, or describe one: slots, parameters, paper."),
    "accuracy": Entry("Study", "Run time predictors on a log: errors, and effect on the schedule."),
    "advise": Entry("Study", "Settings of a policy that a log suggests, and their effect."),
    "trace": Entry("Data", "Job logs: inspect, generate, convert, download."),
    "site": Entry("Data", "What a site is made of: nodes by kind, partitions, limits."),
    "pull": Entry("Data", "Fetch a site's folder from a cluster: jobs, nodes, limits, outages."),
    "doctor": Entry("Data", "Is a site's folder complete? Repairs, gaps, and how to fill them."),
    "deploy": Entry("Live", "The changes to slurm.conf behind a what-if, and how to undo them."),
    "check": Entry("Prove", "Prove that a schedule keeps every rule, whatever made it."),
    "live": Entry("Live", "Run a policy on a real cluster; shadow mode unless --apply is given."),
    "eta": Entry("Live", "When a waiting job of the live cluster will start, with a range."),
    "hperf": Entry("Live", "Measured demand by tag: the store of finished jobs' records."),
    "completion": Entry("Shell", "Print the completion script for bash, zsh or fish."),
}
"""Name of a command, where help shows it, and its one line; cli/NAME holds the code."""

GARBAGE = 200_000
"""New objects between two searches for reference cycles: modules have none (7 % of a start)."""

EPILOG = "Start with `shadowtime demo`. Each command has its own --help with examples."


@click.group(
    cls=LazyGroup,
    package="shadowtime.cli",
    entries=COMMANDS,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(shadowtime.__version__, "-V", "--version", message="%(prog)s %(version)s")
@click.option(
    "--debug", is_flag=True, help="Show a traceback when something breaks (SHADOWTIME_DEBUG=1)."
)
def app(debug: bool) -> None:
    """Replay a cluster's job log under any backfilling policy and see which one wins, and why."""


def main() -> NoReturn:
    """The console entry point."""
    gc.set_threshold(GARBAGE)
    # The interpreter's last search for cycles would go through everything that is loaded, only to
    # give back what the system takes back anyway: a sixth of a short command.
    atexit.register(gc.freeze)
    # Sums of metrics are too short for BLAS threads, which spin meanwhile on cores that others use;
    # and one thread adds in the same order on every machine. NumPy reads this when it is imported.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    warnings.showwarning = _warn
    answer_interrupts(sys.argv[1:])
    code = run(sys.argv[1:])
    if code == 141:  # our output has no reader any more: let the last flush go nowhere
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """Carry out one command line and return its exit code; prints, never raises."""
    debug = os.environ.get("SHADOWTIME_DEBUG", "") not in ("", "0")
    typed = ("shadowtime", *arguments)
    try:
        if completing := os.environ.get("_SHADOWTIME_COMPLETE"):
            from click.shell_completion import shell_complete

            return shell_complete(app, {}, "shadowtime", "_SHADOWTIME_COMPLETE", completing)
        with app.make_context("shadowtime", list(arguments), obj=typed) as context:
            debug = debug or bool(context.params["debug"])
            code = app.invoke(context)
        sys.stdout.flush()
        return int(code or 0)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except (KeyboardInterrupt, click.Abort):
        return _print("interrupted", 130)
    except BrokenPipeError:
        return 141
    except click.exceptions.NoArgsIsHelpError as asked:
        asked.show()
        return asked.exit_code
    except click.ClickException as wrong:
        return _print(wrong.format_message(), 2, hint=_help_for(wrong))
    except (ShadowtimeError, OSError) as wrong:
        if debug:
            raise
        text = _sentence(wrong)
        return _print(text, 2, hint=about_missing_options(app, arguments, text))
    except MemoryError:
        if debug:
            raise
        hint = "Take fewer jobs (trace convert --jobs) or fewer policies at a time."
        return _print("the memory of this machine is not enough for this.", 2, hint=hint)
    except Exception as bug:
        if debug:
            raise
        what = f"{type(bug).__name__}: {bug}".splitlines()[0]
        hint = "Please report it, with what SHADOWTIME_DEBUG=1 shows."
        return _print(f"this is a bug of Shadowtime, not of your input ({what}).", 70, hint=hint)


def _print(message: str, code: int, *, hint: str = "") -> int:
    """One line on standard error, and the code to leave with."""
    text = printable(" ".join(message.split()))
    print(f"shadowtime: {text} {hint}".rstrip(), file=sys.stderr, flush=True)
    return code


def _warn(message: Warning | str, *_: Any, **__: Any) -> None:
    """A warning, as one line on standard error."""
    _print(f"warning: {message}", 0)


def _sentence(wrong: ShadowtimeError | OSError) -> str:
    if isinstance(wrong, OSError) and wrong.strerror and not isinstance(wrong, ShadowtimeError):
        return f"{wrong.filename}: {wrong.strerror}" if wrong.filename else wrong.strerror
    return str(wrong)


def _help_for(wrong: click.ClickException) -> str:
    context = getattr(wrong, "ctx", None)
    return f"See: {context.command_path} --help" if context else ""
