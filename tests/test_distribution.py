"""What builds wheels and manual pages outside of the package goes with the package as it is."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted([*(ROOT / "distribution").rglob("*.py"), *(ROOT / "benchmarks").glob("*.py")])


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_name_taken_from_the_package_is_there(path: Path) -> None:
    """Also inside of functions, which nothing runs before a release."""
    lacking = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("shadowtime"):
            module = import_module(str(node.module))
            for name in node.names:
                try:
                    _ = getattr(module, name.name, None) or import_module(
                        f"{node.module}.{name.name}"
                    )
                except ImportError:
                    if not hasattr(module, name.name):
                        lacking.append(f"line {node.lineno}: {node.module}.{name.name}")
    assert lacking == []
