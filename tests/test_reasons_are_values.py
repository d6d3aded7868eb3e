"""Reasons are values: no code recognises a case by how its sentence begins or what is in it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "shadowtime"
FOREIGN = ("slurmtext", "trace", "testing", "hperf")
"""Packages that read what other programs write."""
NAMES = {"why", "whys", "reason", "reasons", "sentence", "message", "error", "errors", "who"}
"""What texts for people are called."""
SENTENCE = re.compile(r"[a-z]{2,},? [a-z]|[a-z]{2,},$")
"""Several words, or one with a comma behind it."""
READ = {
    "engine/failures.py: line.startswith('Failed in ')": "the compiler's messages",
    "live/condor/client.py: NOT_CONFIGURED in text": "HTCondor's errors",
    "live/condor/client.py: 'not owner' in text.lower()": "HTCondor's errors",
    "live/refusals.py: LATER in outcome.why": "slurmctld's refusals",
}
"""Places outside those packages that read foreign text, and whose."""


def texts(node: ast.AST, constants: dict[str, ast.AST]) -> list[str]:
    """The literals that a value consists of, through constants of its file."""
    if isinstance(node, ast.Name) and node.id in constants:
        return texts(constants[node.id], {})
    return [one.value for one in ast.walk(node)
            if isinstance(one, ast.Constant) and isinstance(one.value, str)]  # fmt: skip


def called(node: ast.AST) -> str:
    """The last name of what is asked: ``why`` of ``why``, ``row.why`` and ``str(why)``."""
    if isinstance(node, ast.Call):
        inner = node.args[0] if node.args and isinstance(node.func, ast.Name) else node.func
        return called(inner)
    if isinstance(node, ast.Attribute):
        return called(node.value) if node.attr in ("lower", "strip") else node.attr
    return node.id if isinstance(node, ast.Name) else ""


def recognised(source: str) -> Iterator[tuple[int, str]]:
    """Where a file asks whether a text for people begins, ends with or contains another one."""
    tree = ast.parse(source)
    constants = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        asked: ast.AST | None = None
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("startswith", "endswith")
        ):
            asked, given = node.func.value, texts(node.args[0], constants)
        elif (
            isinstance(node, ast.Compare)
            and isinstance(node.ops[0], ast.In | ast.NotIn)
            and texts(node.left, constants)
        ):
            asked, given = node.comparators[0], texts(node.left, constants)
            if called(asked) in constants or isinstance(asked, ast.Tuple | ast.Set | ast.List):
                continue  # one of several values, not a part of a text
        if asked is None:
            continue
        given = [one for one in given if "<" not in one]  # markup
        letters = [one for one in given if re.search("[A-Za-z]{2}", one)]
        if (called(asked) in NAMES and letters) or any(map(SENTENCE.search, given)):
            yield node.lineno, ast.unparse(node)


def test_sentences_are_noticed() -> None:
    assert [line for line, _ in recognised(
        'if why.startswith("it is held"): pass\n'
        'HELD = "it is held"\n'
        'if str(row.reason).startswith(("QOS", HELD)): pass\n'
        'if "refused" in error: pass\n'
        'if text.startswith(HELD): pass\n'
        'if name.startswith("bf_") or "users" in hidden or why in (HELD, ""): pass\n'
    )] == [1, 3, 4, 5]  # fmt: skip


def test_no_case_is_recognised_by_its_sentence() -> None:
    """Where foreign text is read is listed, and nothing else is."""
    found = [
        f"{name}: {text}"
        for file in sorted(PACKAGE.rglob("*.py"))
        if (name := file.relative_to(PACKAGE).as_posix()).split("/")[0] not in FOREIGN
        for _, text in recognised(file.read_text(encoding="utf-8"))
    ]
    assert sorted(found) == sorted(READ)
