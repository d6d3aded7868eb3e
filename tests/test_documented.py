"""Every documented command runs: the console blocks of README, CONTRIBUTING and docs.

A block fenced as ``console`` holds commands after ``$ `` (continued after ``> ``, or by a backslash
at the end of a line). The lines below a command are what it prints on standard output, compared
as in a doctest: blanks do not count, ``...`` stands for anything; no lines, no comparison. The
blocks of one document run in order in one empty folder, so a later one may use what an earlier
one made; every command must leave with 0.
"""

from __future__ import annotations

import doctest
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from command_server import served
from conftest import ROOT, made_once


@dataclass
class Example:
    """One command of a page."""

    line: int
    command: str
    output: list[str] = field(default_factory=list)

    def expects(self, printed: str) -> bool:
        """Does what was printed look like what the page shows?"""
        if not self.output:
            return True
        flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        wanted = "\n".join(self.output) + "\n"
        return doctest.OutputChecker().check_output(wanted, printed, flags)


def documents() -> list[Path]:
    """Everything a reader may copy from."""
    pages = (path for path in (ROOT / "docs").rglob("*.md") if "_build" not in path.parts)
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(pages)]


def examples(text: str) -> Iterator[Example]:
    """The commands of the console blocks, with their lines of output."""
    inside, current = False, None
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            if current:
                yield current
            inside, current = line.strip() == "```console", None
        elif inside and line.startswith("$ "):
            if current:
                yield current
            current = Example(number, line.removeprefix("$ "))
        elif inside and current and not current.output and f"{line} ".startswith("> "):
            current.command += "\n" + line[2:]
        elif inside and current and not current.output and current.command.endswith("\\"):
            current.command += "\n" + line
        elif inside and current:
            current.output.append(line)


def test_examples_are_found() -> None:
    """Prompted lines inside console fences only, continued lines joined, output beside them."""
    block = "$ one\nout\n$ two \\\n  more\n$ three\n>\n> end\n"
    text = f"$ no\n```console\n{block}```\n```bash\n$ no\n```\n"
    assert [(e.line, e.command, e.output) for e in examples(text)] == [
        (3, "one", ["out"]),
        (5, "two \\\n  more", []),
        (7, "three\n\nend", []),
    ]


def test_a_wrong_output_is_noticed() -> None:
    """What the page shows must be printed; an ellipsis stands for anything."""
    assert Example(1, "x", ["a   1", "..."]).expects("a 1\nb 2\nc 3\n")
    assert not Example(1, "x", ["a 1"]).expects("a 2\n")


WITH_EXAMPLES = [page for page in documents() if page.exists() and any(examples(page.read_text()))]


def test_every_policy_has_its_place_in_the_docs() -> None:
    """A policy of the catalogue is explained on a page of its own or with its family."""
    from shadowtime.policy import catalogue

    pages = (ROOT / "docs" / "policies").glob("[!_]*.md")
    text = "\n".join(page.read_text() for page in pages)
    missing = [
        p.name for p in catalogue() if f"`{p.name}`" not in text and f"# {p.name}:" not in text
    ]
    assert not missing, f"docs/policies has no page about {', '.join(missing)}"


def test_the_readme_has_examples() -> None:
    """The front page shows commands, and so they are run."""
    assert ROOT / "README.md" in WITH_EXAMPLES


ENVIRONMENT = os.environ | {
    "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    "COLUMNS": "100",
    "NO_COLOR": "1",
}


Run = Callable[[str, Path], subprocess.CompletedProcess[str]]
"""Runs a command in a folder."""


def run_in(environment: dict[str, str]) -> Run:
    """By the shell."""

    def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-c", f"set -eo pipefail\n{command}"],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
        )

    return run


FIRST = "shadowtime demo -o demo"
"""With what many pages begin: it runs once, and the other pages get a copy of what it made."""


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Runs commands without importing everything anew, and the one many pages begin with once."""

    def begin(folder: Path) -> None:
        (folder / "printed").mkdir()
        (folder / "made").mkdir()
        done = run(FIRST, folder / "made")
        for name, text in (("out", done.stdout), ("err", done.stderr)):
            (folder / "printed" / name).write_text(text)
        (folder / "printed" / "code").write_text(str(done.returncode))

    def run_or_copy(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
        if command != FIRST or (folder / "demo").exists():
            return run(command, folder)
        begun = made_once(tmp_path_factory, "begun-page", begin)
        shutil.copytree(begun / "made", folder, dirs_exist_ok=True)
        code, out, err = ((begun / "printed" / n).read_text() for n in ("code", "out", "err"))
        return subprocess.CompletedProcess(command, int(code), out, err)

    with served(tmp_path_factory.mktemp("server"), ENVIRONMENT) as environment:
        run = run_in(environment)
        yield run_or_copy


def run_page(page: Path, folder: Path, run: Run) -> None:
    """Run the commands of a page: each exits with 0 and prints what the page shows."""
    for example in examples(page.read_text()):
        done = run(example.command, folder)
        where = f"{page.relative_to(ROOT)}, line {example.line}: $ {example.command}"
        assert done.returncode == 0, f"{where}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        assert example.expects(done.stdout), f"{where}\nprinted\n{done.stdout[-4000:]}"


FRONT_PAGE = ROOT / "README.md"


def test_commands_of_the_front_page_run(tmp_path: Path) -> None:
    """What a newcomer types first runs as it would there: each command a process of its own."""
    run_page(FRONT_PAGE, tmp_path, run_in(ENVIRONMENT))


@pytest.mark.parametrize(
    "page",
    [page for page in WITH_EXAMPLES if page != FRONT_PAGE],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_documented_commands_run(page: Path, tmp_path: Path, prepared: Run) -> None:
    """Each command of the other pages does so too, without importing everything anew."""
    run_page(page, tmp_path, prepared)
