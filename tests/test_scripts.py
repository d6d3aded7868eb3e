"""The scripts report clearly what is missing, and do nothing if nothing is to be done."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from conftest import ROOT


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Enough of the project for scripts/install."""
    for name in (
        "pyproject.toml",
        "constraints.txt",
        "scripts/install",
        "scripts/debian-packages.txt",
    ):
        target = tmp_path / "clone" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target)
    return tmp_path / "clone"


def fake_python(folder: Path, *, when: str, then: str) -> str:
    """A python3 that answers some calls differently."""
    path = folder / "python3"
    path.write_text(
        f'#!/usr/bin/env bash\ncase "$*" in {when}) {then} ;; esac\nexec {sys.executable} "$@"\n'
    )
    path.chmod(0o755)
    return str(path)


def install(clone: Path, *arguments: str, python: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(clone / "scripts" / "install"), *arguments],
        env={"PATH": os.environ["PATH"], "PYTHON": python},
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_a_python_without_venv_is_explained(clone: Path, tmp_path: Path) -> None:
    """Debian's python3 comes without venv: name what to install, leave nothing behind."""
    done = install(clone, python=fake_python(tmp_path, when="*ensurepip*", then="exit 1"))
    assert done.returncode == 1
    assert "apt-get install python3-venv" in done.stderr
    assert not (clone / ".venv").exists()


def test_an_unknown_option_is_refused(clone: Path) -> None:
    """A slip does not start an installation."""
    done = install(clone, "--sytem", python=sys.executable)
    assert done.returncode == 1 and "--sytem" in done.stderr


def test_an_old_python_is_passed_over(clone: Path, tmp_path: Path) -> None:
    """Where no Python is new enough the message names the version."""
    old = fake_python(tmp_path, when="*version_info*", then="exit 1")
    for name in ("python3.14", "python3.13", "python3.12", "python3.11"):
        (tmp_path / name).symlink_to(old)
    done = subprocess.run(
        ["bash", str(clone / "scripts" / "install")],
        env={"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1 and "Python 3.11 or newer is needed" in done.stderr


def test_nothing_is_done_twice(clone: Path, tmp_path: Path) -> None:
    """A finished installation is known by its digest; a change of what it depends on undoes it."""
    python = fake_python(tmp_path, when='*"-m venv"*', then='echo "made a venv" >&2; exit 1')
    assert "made a venv" in install(clone, python=python).stderr
    digest = subprocess.run(
        [sys.executable, "-", str(clone), "pyproject.toml", "constraints.txt", "scripts/install"],
        input=(clone / "scripts" / "install").read_text().split("<<'PY'\n")[1].split("\nPY\n")[0],
        cwd=clone,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    (clone / ".venv" / "bin").mkdir(parents=True)
    (clone / ".venv" / "bin" / "shadowtime").touch(mode=0o755)
    (clone / ".venv" / "installed").write_text(f"full {digest}\n")
    for arguments in ([], ["--minimal"]):
        done = install(clone, *arguments, python=python)
        assert (done.returncode, done.stderr) == (0, "")
    with (clone / "constraints.txt").open("a") as file:
        file.write("click==9\n")
    assert "made a venv" in install(clone, python=python).stderr


def test_every_pinned_version_is_exact_and_without_an_address() -> None:
    """constraints.txt holds name==version lines and comments, nothing else."""
    for line in (ROOT / "constraints.txt").read_text().splitlines():
        if not line.startswith("#"):
            name, equals, version = line.partition("==")
            assert name and equals and version and not set(line) & set("/@: ;"), line


def test_the_daemons_are_fetched_once_into_the_given_folder(tmp_path: Path) -> None:
    """A finished folder is known by its digest; a slip does not start a download."""
    script = ROOT / "scripts" / "fetch-daemons"
    environment = {"PATH": os.environ["PATH"], "SHADOWTIME_DAEMONS": str(tmp_path)}

    def fetch(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [script, *arguments], env=environment, capture_output=True, text=True, check=False
        )

    for name in ("condor", "slurm-24.11", "slurm-26.05"):
        assert fetch(name, "--where").stdout.strip() == str(tmp_path / name)
    for slip in (["condor", "--wehre"], ["slurm-19.05"]):
        wrong = fetch(*slip)
        assert wrong.returncode == 1
        assert slip[-1] in wrong.stderr
        assert not (tmp_path / "condor").exists()
    alone = {"PATH": str(tmp_path), "SHADOWTIME_DAEMONS": str(tmp_path)}
    for tool in ("dirname", "id"):
        (tmp_path / tool).symlink_to(shutil.which(tool) or "")
    missing = subprocess.run(
        [shutil.which("bash") or "bash", str(script), "condor"],
        env=alone,
        capture_output=True,
        text=True,
    )
    assert missing.returncode == 1
    assert "apt-get is needed" in missing.stderr


def test_a_manual_page_for_every_command(tmp_path: Path) -> None:
    """Written from the help texts, and troff finds nothing wrong with them."""
    subprocess.run(
        [sys.executable, str(ROOT / "distribution" / "man.py"), str(tmp_path)],
        check=True,
        capture_output=True,
    )
    pages = sorted(tmp_path.glob("*.1"))
    names = {path.stem for path in pages}
    assert {"shadowtime", "shadowtime-simulate", "shadowtime-live-slurm"} <= names
    text = (tmp_path / "shadowtime-simulate.1").read_text()
    assert ".SH OPTIONS" in text and "\\-\\-policy" in text and "\b" not in text
    if shutil.which("groff"):
        done = subprocess.run(
            ["groff", "-man", "-Tutf8", "-ww", "-z", *map(str, pages)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0 and done.stderr == ""


def test_the_wheel_is_for_the_platform_of_its_library(tmp_path: Path) -> None:
    """With the library one wheel serves every Python of a platform, without it every platform."""
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path / name)
    package = tmp_path / "src" / "shadowtime"
    package.mkdir(parents=True)
    shutil.copy(ROOT / "src" / "shadowtime" / "__init__.py", package)

    def wheel() -> tuple[str, set[str]]:
        code = "from setuptools import build_meta; print(build_meta.build_wheel('dist'))"
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        name = done.stdout.split()[-1]
        with zipfile.ZipFile(tmp_path / "dist" / name) as made:
            return name, set(made.namelist())

    name, files = wheel()
    assert name.endswith("-py3-none-any.whl")
    folder = package / "kernel" / "prebuilt"
    folder.mkdir(parents=True)
    (folder / "kernels.so").write_bytes(b"code")
    (folder / "kernels.json").write_text("{}")
    name, files = wheel()
    assert "-py3-none-manylinux" in name
    assert {f"shadowtime/kernel/prebuilt/kernels.{end}" for end in ("so", "json")} <= files


def test_what_is_compiled_before_the_suite_is_there() -> None:
    """A test or a pass that was renamed would be left out, and compiled by every worker instead."""
    from compile_first import GROUPS
    from shadowtime.engine.warm import COST

    assert {name for group in GROUPS.values() for name in group.passes} == set(COST)
    for path in (each.partition("::")[0] for group in GROUPS.values() for each in group.reached_by):
        assert (ROOT / path).exists(), path
