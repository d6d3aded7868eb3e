"""What builds wheels and manual pages outside of the package goes with the package as it is."""

from __future__ import annotations

import ast
import re
import shutil
import tomllib
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
    step = newcomer.step("T", "c", (2.0, 1.0), "a\nb\nc\n", 2)
    assert step == "## T\n\n1.0 s CPU, 2.0 s\n\n```text\n$ c\na\nb\n...\n```\n"


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
RECIPES = ROOT / "distribution"


def wanted_by(section: str) -> set[str]:
    """What the conda recipe asks for in a section, written as pip does."""
    text = (RECIPES / "conda" / "meta.yaml").read_text()
    found = re.search(rf"^  {section}:\n((?:    - .*\n)+)", text, re.MULTILINE)
    assert found is not None
    return {line.strip().removeprefix("- ").replace(" ", "") for line in found[1].splitlines()}


def test_the_conda_recipe_asks_for_what_the_package_asks_for() -> None:
    """The same packages from the same versions on, to build with and to run with."""
    needed = {f"python{PROJECT['requires-python']}", *PROJECT["dependencies"]}
    assert wanted_by("run") == needed
    assert needed <= wanted_by("host")
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    assert set(build) <= wanted_by("host")
    text = (RECIPES / "conda" / "meta.yaml").read_text()
    assert f"license: {PROJECT['license']}" in text and (ROOT / "LICENSE").is_file()
    for script, target in PROJECT["scripts"].items():
        assert f"- {script} = {target}" in text
    for named in re.findall(r"(?:distribution|src)/[\w./]+", text):
        assert (ROOT / named).exists(), f"the recipe names {named}"


@pytest.mark.parametrize("name", ["Dockerfile", "apptainer.def"])
def test_a_container_is_made_of_what_is_there(name: str) -> None:
    """A Python that the package takes, the files that it copies, and the command it runs."""
    text = (RECIPES / name).read_text()
    image = re.search(r"^F(?:ROM|rom:) python:3\.(\d+)-slim$", text, re.MULTILINE)
    assert image is not None
    assert int(image[1]) >= int(PROJECT["requires-python"].removeprefix(">=3."))
    assert "constraints.txt" in text and (ROOT / "constraints.txt").is_file()
    assert "/tmp/install/" in text and ".whl" in text
    assert "shadowtime" in PROJECT["scripts"] and "shadowtime" in text.split("install", 1)[1]
