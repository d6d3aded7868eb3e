"""The notebooks of the documentation run from top to bottom, as a reader would run them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))

SHOW = """
import ast
def cell(source, names):
    tree = ast.parse(source)
    last = tree.body[-1] if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    body = ast.Module(tree.body[:-1] if last else tree.body, [])
    exec(compile(body, "<cell>", "exec"), names)
    if last:
        value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)
        for show in ("_repr_svg_", "_repr_html_", "__repr__"):
            if hasattr(value, show) and not isinstance(value, type):
                getattr(value, show)()
                break
names = {}
"""
"""What a notebook does with a cell: run it, and show the value of its last line."""


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run(path: Path, tmp_path: Path) -> None:
    """Every cell of a notebook runs in order, and what it shows can be shown."""
    pytest.importorskip("pandas")
    pytest.importorskip("matplotlib")
    cells = json.loads(path.read_text("utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert code, "a notebook without code"
    program = SHOW + "\n".join(f"cell({source!r}, names)" for source in code)
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr[-2000:]


def test_notebooks_are_kept_without_output() -> None:
    """Outputs would go stale and hold a machine's paths."""
    assert NOTEBOOKS
    for path in NOTEBOOKS:
        for cell in json.loads(path.read_text("utf-8"))["cells"]:
            assert not cell.get("outputs") and not cell.get("execution_count")
