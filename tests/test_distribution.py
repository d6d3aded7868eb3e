"""What builds wheels and manual pages outside of the package goes with the package as it is."""

from __future__ import annotations

import ast
import shutil
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted((ROOT / "distribution").rglob("*.py"))


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


def test_a_newcomer_has_no_compiler(tmp_path: Path) -> None:
    """The programs of the page are there, compilers are not; long output is cut with a mark."""
    spec = spec_from_file_location("newcomer", ROOT / "distribution" / "newcomer.py")
    assert spec and spec.loader
    newcomer = module_from_spec(spec)
    spec.loader.exec_module(newcomer)
    path = str(newcomer.toolbox(tmp_path / "tools"))
    assert shutil.which("bash", path=path)
    assert [name for name in newcomer.COMPILERS if shutil.which(name, path=path)] == []
    step = newcomer.told("T", "c", (2.0, 1.0), "a\nb\nc\n", 2)
    assert step == "## T\n\n1.0 s CPU, 2.0 s\n\n```text\n$ c\na\nb\n...\n```\n"
