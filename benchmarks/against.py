"""Measure rows of the table here and at an older commit, in turns: which have become slower?

    .venv/bin/python benchmarks/against.py COMMIT ROW [ROW ...] [--turns N] [--percent P]

Each turn measures a row in both trees, each in a process of its own that begins with the other tree
every second time, and the best of all turns counts: whatever else the machine does can only make
one slower. Ends with code 1 if a figure is worse by more than P percent, by default 3.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.house import at  # noqa: E402
from benchmarks.rows import Row, show  # noqa: E402

CHILD = """
import json, sys, tempfile
from pathlib import Path
from benchmarks.run import BENCHES
with tempfile.TemporaryDirectory() as folder:
    print(json.dumps([row.as_object() for row in BENCHES[sys.argv[1]](Path(folder))]))
"""


def measured(tree: Path, name: str) -> dict[str, Row]:
    """The figures of a row in a tree, by what they say they are."""
    env = {**os.environ, "PYTHONPATH": f"{tree}{os.pathsep}{tree / 'src'}"}
    done = subprocess.run(
        [sys.executable, "-c", CHILD, name], cwd=tree, env=env, capture_output=True, text=True
    )
    if done.returncode != 0:
        raise SystemExit(f"{name} cannot be measured in {tree}: {done.stderr[-2000:]}")
    rows = json.loads(done.stdout.splitlines()[-1])
    fields = Row.__dataclass_fields__
    made = (Row(**{key: row[key] for key in row if key in fields}) for row in rows)
    return {row.what: row for row in made}


def better(rows: list[Row]) -> Row:
    """The best of several measurements of one figure."""
    return (max if rises(rows[0]) else min)(rows, key=lambda row: row.value)


def rises(row: Row) -> bool:
    """True if a higher figure is better."""
    return row.at_least or row.unit.endswith("/s")


def main(words: list[str] | None = None) -> int:
    """Measure, print, compare."""
    parser = argparse.ArgumentParser(prog="against.py", description=__doc__.splitlines()[0])
    parser.add_argument("commit")
    parser.add_argument("rows", nargs="+", metavar="ROW")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--percent", type=float, default=3.0)
    chosen = parser.parse_args(words)
    slower = 0
    with TemporaryDirectory() as folder:
        trees = [at(chosen.commit, Path(folder)).parents[1], ROOT]
        for name in chosen.rows:
            found: list[list[dict[str, Row]]] = [[], []]
            for turn in range(chosen.turns):
                for side in (turn % 2, 1 - turn % 2):
                    found[side].append(measured(trees[side], name))
            for what in [what for what in found[0][0] if what in found[1][0]]:
                old, new = (better([turn[what] for turn in side]) for side in found)
                factor = new.value / old.value if old.value else 1.0
                percent = 100 * ((1 / factor if rises(new) else factor) - 1)
                bad = percent > chosen.percent
                slower += bad
                figures = f"{show(old.value, old.unit)} -> {show(new.value, new.unit)}"
                print(f"{name}: {what}: {figures}, {percent:+.1f} %{' SLOWER' * bad}", flush=True)
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
