"""References to the specification (docs/spec), and those that resolve to nothing.

    .venv/bin/python benchmarks/spec_references.py

A reference is ``spec: PAGE NUMBER``; more numbers of the page may follow, with a comma, "and" or
"to". A number is a section or rule that the page gives an anchor. Everything else that looks like a
reference resolves to nothing: a file of rules or a section of "the spec" without the page, and a
bare number in parentheses in a comment or docstring.
"""

from __future__ import annotations

import io
import re
import sys
import tokenize
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("src", "tests", "benchmarks", "scripts", "docs")
ENDINGS = {".py", ".md", ".toml", ".sh", ".ipynb", ""}
THEMSELVES = ("benchmarks/spec_references.py", "tests/test_spec_references.py")
"""Files with examples of what is no reference."""

ANCHOR = re.compile(r"^\(([a-z]+)-(\d+(?:-\d+)*)\)=$", re.MULTILINE)
NUMBER = r"\d+(?:\.\d+)*"
STEP = r"(?:\s+steps?\s+\d+[a-z]?)?"
NUMBERS = rf"{NUMBER}{STEP}(?:(?:,\s+|\s+and\s+|\s+to\s+){NUMBER}{STEP})*"
REFERENCE = re.compile(rf"\bspec:\s+([a-z]+)\s+({NUMBERS})")
OLD = (
    re.compile(r"\b[Ss]pec(?:ification)?,?\s+(?:(?:section|rule)s?\s+)?\(?\d[\d.]*"),
    re.compile(r"\bspecification\s\w+\s\(\d[\d.]*\)"),
    re.compile(r"\b(?:ALGORITHMS|SLURM(?:_\d)?|FORMATS|ESTIMATES|SITE)(?:\.md\b|\s+section\b)"),
    re.compile(r"\b(?:ALGORITHMS|SLURM_\d|FORMATS|ESTIMATES|SITE)\s+[A-Z]?\s?\d[\d.]*"),
    re.compile(r"\bspec:\s+(?:algorithms|slurm|site|formats|estimates)\b(?!\s+\d)"),
)
BARE = re.compile(
    rf"(?<=[\w`)+] )\((\d+\.\d+[a-d]?{STEP}(?:(?:, | and | to )\d+\.\d+[a-d]?{STEP})*)\)"
    r'|^\s*"""(\d+\.\d+[a-d]?)[:.,]'
)
BARE_AT_ALL = re.compile(r'[\w`)+] \(\d+\.\d+[a-d, )]|"""\d')
"""Most files have none, and need not be read token by token."""
SHOWN = re.compile(r"\s*(>>>|\.\.\. |[\[({])")
"""Lines of an example or of what it prints."""


class Reference(NamedTuple):
    """What a line of a file says, and the page and numbers it names; no page: none is named."""

    file: str
    line: int
    text: str
    page: str = ""
    numbers: tuple[str, ...] = ()


def sections(root: Path = ROOT) -> set[tuple[str, str]]:
    """Every (page, number) that the specification has.

    >>> ("algorithms", "1.2") in sections(), ("slurm", "99") in sections()
    (True, False)
    """
    found: set[tuple[str, str]] = set()
    for file in sorted((root / "docs" / "spec").glob("*.md")):
        for page, number in ANCHOR.findall(file.read_text()):
            if page == file.stem:
                found.add((page, number.replace("-", ".")))
    return found


def references_in(name: str, text: str) -> Iterator[Reference]:
    """All references of a file, in whatever form.

    >>> [(one.page, one.numbers) for one in references_in("a.py", "# spec: slurm 3.4, 3.6")]
    [('slurm', ('3.4', '3.6'))]
    >>> [one.text for one in references_in("a.py", "# As planned before (3.4).")]
    ['(3.4)']
    """
    joined = re.sub(r"\n[ \t]*# ?", lambda found: "\n" + " " * (len(found[0]) - 1), text)
    for found in REFERENCE.finditer(joined):
        numbers = tuple(re.findall(NUMBER, re.sub(r"steps?\s+\w+", "", found[2])))
        yield Reference(name, _line(joined, found), " ".join(found[0].split()), found[1], numbers)
    for pattern in OLD:
        for found in pattern.finditer(joined):
            yield Reference(name, _line(joined, found), " ".join(found[0].split()))
    if name.endswith(".py") and BARE_AT_ALL.search(text):
        for line, row in _prose(text):
            for found in BARE.finditer(row):
                yield Reference(name, line, found[0].strip())


def resolves(one: Reference, known: set[tuple[str, str]]) -> bool:
    """True where every number that a reference names is a section of its page."""
    return bool(one.page) and all((one.page, number) in known for number in one.numbers)


def unresolved(root: Path = ROOT) -> list[Reference]:
    """References that name no section: empty if all is well."""
    known = sections(root)
    return [one for one in references(root) if not resolves(one, known)]


def references(root: Path = ROOT) -> Iterator[Reference]:
    """All references of the repository."""
    for folder in FOLDERS:
        for file in sorted((root / folder).rglob("*")):
            name = file.relative_to(root).as_posix()
            built = any(part.startswith(("_build", "__pycache__")) for part in file.parts)
            if file.suffix in ENDINGS and file.is_file() and not built and name not in THEMSELVES:
                yield from references_in(name, file.read_text(errors="replace"))


def _line(text: str, found: re.Match[str]) -> int:
    return text.count("\n", 0, found.start()) + 1


def _prose(text: str) -> Iterator[tuple[int, str]]:
    """Lines of comments and docstrings, examples left out."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        said = token.type == tokenize.STRING and token.string.startswith('"""')
        if said or token.type == tokenize.COMMENT:
            for at, row in enumerate(token.string.splitlines(), token.start[0]):
                if not SHOWN.match(row):
                    yield at, row


def main() -> int:
    found, known = list(references()), sections()
    wrong = [one for one in found if not resolves(one, known)]
    for one in wrong:
        print(f"{one.file}:{one.line}: {one.text}")
    print(f"{len(found):,} references, {len(wrong):,} resolve to nothing")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
