"""Lines and tables in a pipe: what rich would write, without loading it."""

from __future__ import annotations

import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest

from shadowtime.cli.common.console import PLAIN_WIDTH, safe_console
from shadowtime.cli.common.plain import Columns, Words, plainly
from shadowtime.cli.common.tables import distributions, facts

METRICS = {
    **{f"wait_{name}_s": 90.0 * number for number, name in enumerate(("mean", "p95", "max"), 1)},
    "bsld_mean": 157.4,
    "bsld_max": 10_685.0,
    "utilisation": 0.826,
    "makespan_s": 1_225_000.0,
    "killed": 3.0,
}


def drawn(*parts: Words | Columns) -> list[str]:
    """The lines that rich writes to a file."""
    console = safe_console()(file=StringIO(), width=PLAIN_WIDTH, highlight=False)
    console.print(*parts, sep="\n")
    return [line.rstrip() for line in console.file.getvalue().splitlines()]  # type: ignore[attr-defined]


def rules() -> Columns:
    """A table whose second column is text."""
    table = Columns("><", styles=("", "dim"))
    table.add("8", "jobs without a run time (<= 0)")
    table.add("1,475", "jobs that ran longer than requested: killed [at] the request")
    return table


@pytest.mark.parametrize(
    "parts",
    [
        (Words(("easy", "bold cyan"), " on KTH-SP2: 28,476 jobs\n"),),
        (distributions(METRICS), Words(""), facts(METRICS)),
        (Words("\nThe log was cleaned:"), rules()),
        (Words("a name with [bold]brackets[/bold]"),),
    ],
    ids=["head", "tables", "cleaning", "brackets"],
)
def test_a_pipe_gets_what_rich_would_write(parts: tuple[Words | Columns, ...]) -> None:
    """The lines are the same."""
    assert plainly(parts, PLAIN_WIDTH) == drawn(*parts)


@pytest.mark.parametrize("text", ["word " * 30, "\N{CJK UNIFIED IDEOGRAPH-4E00}", "\x1b[31mred"])
def test_what_must_be_fitted_is_left_to_rich(text: str) -> None:
    """Lines to wrap, wide characters and control characters are drawn by rich."""
    assert plainly((Words(text),), PLAIN_WIDTH) is None
    assert plainly((Words("short"), "a string"), PLAIN_WIDTH) is None


def test_a_simulation_in_a_pipe_loads_no_terminal_library(tmp_path: Path) -> None:
    """Nor any other module that most runs do not need."""
    log = tmp_path / "log.swf"
    line = "{} {} -1 9 2 -1 -1 2 20 -1 1 1 1 1 1 1 -1 -1\n"
    log.write_text("; MaxProcs: 4\n" + "".join(line.format(job, job) for job in (1, 2, 3)))
    unused = (
        "rich", "zoneinfo", "fractions", "csv", "shadowtime.policy.predictors",
        "shadowtime.policy.catalogue.talby", "shadowtime.schedule.parquet",
        "shadowtime.trace.site_folder", "shadowtime.result.read", "shadowtime.cluster.contention",
    )  # fmt: skip
    code = (
        "import sys\nfrom shadowtime.cli import run\n"
        f"code = run(['simulate', {str(log)!r}, '--policy', 'easy'])\n"
        f"loaded = [name for name in {unused!r} if name in sys.modules]\n"
        "sys.exit(f'code {code}, loaded {loaded}' if loaded or code else 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"NUMBA_DISABLE_JIT": "1", "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("easy on log: 3 jobs on a pool of 4 procs")
