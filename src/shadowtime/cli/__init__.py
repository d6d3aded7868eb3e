"""The command line: commands, exit codes and error messages.

Nothing numeric is imported here: a command's file is loaded when the command runs, so help and
usage errors are instant. Exit codes: 0 done, 1 the answer is no (a proof failed), 2 wrong input
or usage, 70 our own bug, 130 interrupted, 141 the reader of our output closed the pipe.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any, NoReturn

import click

import shadowtime
from shadowtime.cli.common import hints, interrupt
from shadowtime.cli.common.lazy import Entry, LazyGroup
from shadowtime.errors import ShadowtimeError
from shadowtime.printable import printable
from shadowtime.private import FULL

COMMANDS = {
    "demo": Entry("Try", "Compare policies on an embedded workload: no data needed."),
    "simulate": Entry("Study", "Replay a job log under one policy and measure it."),
    "compare": Entry(
        "Study", "Run a job log under several policies: which wins, and which jobs pay."
    ),
    "replay": Entry("Study", "Compare recorded with simulated starts: can a what-if be trusted?"),
    "whatif": Entry("Study", "Predict how other settings, nodes or limits change a site's waits."),
    "run": Entry("Study", "Repeat a what-if from its file.", "whatif"),
    "rerun": Entry(
        "Prove", "Run a result folder again: is every byte of its tables equal?", "report"
    ),
    "report": Entry("See", "Turn a result folder into a web page, figures or exports."),
    "explain": Entry("See", "Explain why a job started when it did, and not earlier."),
    "tune": Entry("Study", "Tune a policy on past jobs and evaluate it on later ones."),
    "leaderboard": Entry(
        "See", "Show the results of a sweep as one page: policies by logs.", "sweep"
    ),
    "paper": Entry("Study", "Reproduce a published study and compare its numbers with ours."),
    "sweep": Entry("Study", "Run many resumable simulations: ranges, copies, on any cluster."),
    "policies": Entry("Study", "List the policies, or describe one: slots, parameters, paper."),
    "accuracy": Entry(
        "Study", "Compare run time predictors on a log: errors, effect on the schedule."
    ),
    "advise": Entry("Study", "Suggest policy settings for a log and simulate their effect."),
    "trace": Entry("Data", "Inspect, generate, convert and download job logs."),
    "site": Entry("Data", "Show what a site consists of: nodes by kind, partitions, limits."),
    "pull": Entry("Data", "Fetch a site's folder from a cluster: jobs, nodes, limits, outages."),
    "doctor": Entry("Data", "Check a site's folder: repairs, gaps, and how to fill them."),
    "deploy": Entry(
        "Live", "Print the configuration changes of a what-if, and how to undo them.", "site"
    ),
    "check": Entry("Prove", "Prove that a schedule keeps every rule, whatever produced it."),
    "live": Entry("Live", "Run a policy on a real cluster; shadow mode unless --apply is given."),
    "eta": Entry("Live", "Predict when a waiting job of the live cluster will start."),
    "board": Entry("Live", "Serve a page of the cluster: queue, expected starts, the past day."),
    "hperf": Entry("Live", "Manage measured demand by tag: the store of finished jobs' records."),
    "completion": Entry("Shell", "Print the completion script for bash, zsh or fish."),
}
"""Each command's name, its section in the help, and its summary; cli/NAME holds the code."""

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
    "--debug", is_flag=True, help="Show a traceback if an error occurs (SHADOWTIME_DEBUG=1)."
)
def app(debug: bool) -> None:
    """Replay a cluster's job log under any backfilling policy and see which one wins, and why."""


def main() -> NoReturn:
    """The console entry point."""
    gc.set_threshold(GARBAGE)
    atexit.register(_skip_last_search)
    # Sums of metrics are too short to benefit from BLAS threads, which would spin on cores that
    # others use; and one thread adds in the same order on every machine. NumPy reads this when it
    # is imported.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    warnings.showwarning = _warn
    interrupt.answer_interrupts(sys.argv[1:])
    code = run(sys.argv[1:])
    if code == 141:  # the output has no reader any more: discard the last flush
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def _skip_last_search() -> None:
    """Keep the interpreter from its last search for cycles.

    It would visit everything that is loaded, only to free memory that the system reclaims anyway: a
    sixth of a short command's time. DuckDB counts what is not freed and prints it as leaked.
    """
    if "duckdb" not in sys.modules:
        gc.freeze()


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code; prints errors, never raises."""
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
        interrupt.forget(arguments)
        return int(code or 0)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except (KeyboardInterrupt, click.Abort):
        return _print(interrupt.interrupted(arguments), 130)
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
        return _print(text, 2, hint=hints.about_missing_options(app, arguments, text))
    except MemoryError:
        if debug:
            raise
        hint = "Take fewer jobs (trace convert --jobs) or fewer policies at a time."
        return _print("out of memory.", 2, hint=hint)
    except Exception as bug:
        if debug:
            raise
        what = f"{type(bug).__name__}: {bug}".splitlines()[0]
        hint = "Please report it with the traceback that SHADOWTIME_DEBUG=1 prints."
        return _print(f"this is a bug in Shadowtime, not in your input ({what}).", 70, hint=hint)


def _print(message: str, code: int, *, hint: str = "") -> int:
    """Print one line on standard error and return the exit code."""
    text = printable(" ".join(message.split()))
    print(f"shadowtime: {text} {hint}".rstrip(), file=sys.stderr, flush=True)
    return code


def _warn(message: Warning | str, *_: Any, **__: Any) -> None:
    """A warning, as one line on standard error."""
    _print(f"warning: {message}", 0)


def _sentence(wrong: ShadowtimeError | OSError) -> str:
    if isinstance(wrong, OSError) and wrong.strerror and not isinstance(wrong, ShadowtimeError):
        text = f"{wrong.filename}: {wrong.strerror}" if wrong.filename else wrong.strerror
        return f"{text}. Make room and run it again." if wrong.errno in FULL else text
    return str(wrong)


def _help_for(wrong: click.ClickException) -> str:
    context = getattr(wrong, "ctx", None)
    return f"See: {context.command_path} --help" if context else ""
