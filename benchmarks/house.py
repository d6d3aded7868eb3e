"""The shape of the source tree, here or at older commits: files, lines, importers, dispatch.

    .venv/bin/python benchmarks/house.py [COMMIT ...]

prints one column per commit and one for the working tree. A file with a single importer in its
own folder is a fragment of that file; ``isinstance`` on a part of a policy is dispatch that the
part could answer itself; an import inside a function is either laziness on purpose or a knot.
"""

from __future__ import annotations

import ast
import io
import re
import statistics
import subprocess
import sys
import tarfile
from collections import Counter, defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
SLOTS = "order|reserve|backfill|place|estimate|preempt|partition"


def figures(package: Path) -> dict[str, float]:
    """What is counted of a package's folder."""
    files = {file: file.read_text() for file in sorted(package.rglob("*.py"))}
    trees = {file: ast.parse(text) for file, text in files.items()}
    lines = [len(text.splitlines()) for text in files.values()]
    folders = Counter(file.parent for file in files)
    return {
        "files": len(files),
        "lines": sum(lines),
        "median lines of a file": statistics.median(lines),
        "90th percentile": statistics.quantiles(lines, n=10)[-1],
        "longest file": max(lines),
        "files in the fullest folder": max(folders.values()),
        "files with a single importer, in their own folder": _single(package, trees),
        "isinstance on parts of policies": sum(map(_dispatch, trees.values())),
        "imports inside functions": sum(map(_inner_imports, trees.values())),
    }


def _single(package: Path, trees: dict[Path, ast.Module]) -> int:
    names = {_name(package, file): file for file in trees}
    importers: dict[str, set[str]] = defaultdict(set)
    for name, file in names.items():
        for node in ast.walk(trees[file]):
            if isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    inner = f"{node.module}.{alias.name}"
                    importers[inner if inner in names else node.module].add(name)
    return sum(
        len(importers[name]) == 1 and names[next(iter(importers[name]))].parent == file.parent
        for name, file in names.items()
        if file.name != "__init__.py"
    )


def _name(package: Path, file: Path) -> str:
    parts = file.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


def _dispatch(tree: ast.Module) -> int:
    """Questions of the form isinstance(policy.order, ...) or isinstance(part, order.Custom)."""
    return sum(
        isinstance(node, ast.Call)
        and getattr(node.func, "id", "") == "isinstance"
        and re.search(rf"\b({SLOTS})\.|\.({SLOTS})\b", ast.unparse(node)) is not None
        for node in ast.walk(tree)
    )


def _inner_imports(tree: ast.Module) -> int:
    return sum(
        isinstance(node, ast.Import | ast.ImportFrom) and node.col_offset > 0
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
        for node in function.body
    )


def at(commit: str, folder: Path) -> Path:
    """The package as it stood at a commit."""
    packed = subprocess.run(
        ["git", "archive", commit, "src/shadowtime"], cwd=ROOT, check=True, capture_output=True
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    return folder / "src" / "shadowtime"


def main() -> None:
    columns = {}
    for commit in sys.argv[1:]:
        with TemporaryDirectory() as folder:
            columns[commit] = figures(at(commit, Path(folder)))
    columns["here"] = figures(ROOT / "src" / "shadowtime")
    print("| | " + " | ".join(columns) + " |")
    print("|---|" + "---|" * len(columns))
    for row in columns["here"]:
        print(
            f"| {row} | " + " | ".join(f"{column[row]:,.0f}" for column in columns.values()) + " |"
        )


if __name__ == "__main__":
    main()
