"""The shape of the source tree, here or at older commits: files, lines, importers, dispatch.

    .venv/bin/python benchmarks/house.py [COMMIT ...]
    .venv/bin/python benchmarks/house.py --single

The first prints one column per commit and one for the working tree. ``isinstance`` on a part of a
policy is dispatch that the part could answer itself. An import inside a function is lazy on
purpose: it loads an optional or heavy library, which is counted, or our own modules that few runs
need. In an import cycle files need each other, and one is loaded later. Duplicates are equal lines
of code in a row (:func:`duplicated`).

A file with a single importer in its own folder may be a fragment of that file. ``--single`` lists
such files with the reason to keep them apart (:func:`reason`); those without one are listed first,
to be merged or kept as an idea of their own.

The cost of an addition is counted on an existing example: the files that name it, and the lines of
its definitions, of files named after it and of other mentions.
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
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.spec_references import FOLDERS, unresolved  # noqa: E402

SLOTS = "order|reserve|backfill|place|estimate|preempt|partition"
MOST = 400
"""Lines of a file that holds one idea."""
RUN = 6
"""Equal lines in a row that count as a duplicate."""
ADDED = {
    "a policy: RUA": (r"\brua\b", ("policy/catalogue",)),
    "a policy: WFP3": (r"\b(wfp3|tang)\b", ("policy",)),
    "an order: shortest job first": (r"\b(Sjf|SJF|sjf)\b", ("policy/order.py", "kernel", "engine")),
    "a backfill rule: AnyThatFits": (
        r"\b(Anybody|AnyThatFits)\b|\"(anybody|any)\"",
        ("policy", "engine", "kernel"),
    ),
    "a metric: awbsld": (r"\bawbsld\b", ("metrics",)),
    "a trace format: PBS": (r"(?<![-\w])(parse_|is_)?pbs\b", ("trace",)),
    "a trace format: CSV of Slurm sites": (r"\b(parse_|is_)?slurm_csv\b", ("trace",)),
    "an amount that a site counts: power": (r"\bPOWER\b|[\"']power[\"']", ("",)),
    "a live backend: HTCondor": (r"\bcondor\b", ("live", "cli/live")),
}
"""Examples of additions: a pattern, and the packages in which it is searched."""
SLURM_TEXT = re.compile(
    r"slurmtext/(?!__init__)\w+"
    r"|cluster/(hostlist|units|sacctmgr\w*|slurm\w*|site_folder)"
    r"|trace/(sacct\w*|slurm_\w+|sbatch_line|submit_options|site_(commands|fit|folder)|pulled_days)"
    r"|live/slurm/(text|details|asks|beyond|configuration|dependency|marks|pull|relabelled)"
    r"|slurm/recording/(folder|holdings|log|options)|testing/slurm_(accounting|recording)"
)
"""Files that read what Slurm's commands print and its files contain, by their paths."""


def figures(package: Path) -> dict[str, float]:
    """The figures of a package's folder."""
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
        "files with a single importer, in their own folder": len(single(package, trees)),
        "isinstance on parts of policies": sum(map(_dispatch, trees.values())),
        "imports inside functions": sum(len(_inner_imports(tree)) for tree in trees.values()),
        "of these, of a library that the file does not load otherwise": _of_libraries(
            package, trees
        ),
        "import cycles: groups of files that import each other": _cycles(package, trees),
        f"duplicates: lines in runs of {RUN} or more that occur again": duplicated(files.values()),
    }


def duplicated(files: Iterable[str]) -> int:
    """Lines of code that lie in a run of ``RUN`` lines which occurs at another place as well.

    Blank lines, comments and imports are passed over.

    >>> duplicated(["a\\n" * RUN, "b\\n", "import os\\n# c\\n" + "a\\n" * RUN])
    12
    """
    runs: dict[tuple[str, ...], list[list[tuple[int, int]]]] = defaultdict(list)
    for number, text in enumerate(files):
        imports = {
            row
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.Import | ast.ImportFrom)
            for row in range(node.lineno, (node.end_lineno or node.lineno) + 1)
        }
        places = [
            ((number, row), line)
            for row, whole in enumerate(text.splitlines(), 1)
            if row not in imports and (line := whole.strip()) and not line.startswith("#")
        ]
        for first in range(len(places) - RUN + 1):
            window = places[first : first + RUN]
            runs[tuple(line for _, line in window)].append([place for place, _ in window])
    again = (windows for windows in runs.values() if len(windows) > 1)
    return len({place for windows in again for window in windows for place in window})


def to_add(package: Path, pattern: str, rooms: tuple[str, ...]) -> str:
    """Files and lines that belong to an example; a dash where it is not there."""
    wanted = re.compile(pattern)
    files = lines = 0
    for file in sorted(package.rglob("*.py")):
        place = file.relative_to(package).as_posix()
        if not place.startswith(rooms):
            continue
        text = file.read_text()
        rows = text.splitlines()
        if any(wanted.fullmatch(part) for part in Path(place).with_suffix("").parts):
            found = set(range(len(rows)))
        else:
            found = {at for at, row in enumerate(rows) if wanted.search(row)}
            for node in ast.walk(ast.parse(text)):
                named = isinstance(node, ast.ClassDef | ast.FunctionDef)
                if named and wanted.fullmatch(node.name):
                    found |= set(range(node.lineno - 1, node.end_lineno or node.lineno))
        files += bool(found)
        lines += len(found)
    return f"{files} files, {lines:,} lines" if files else "-"


def single(package: Path, trees: dict[Path, ast.Module]) -> dict[Path, Path]:
    """Files with one importer, in their own folder, and that importer."""
    names = {_name(package, file): file for file in trees}
    importers: dict[str, set[str]] = defaultdict(set)
    for name, file in names.items():
        for node in ast.walk(trees[file]):
            if isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    inner = f"{node.module}.{alias.name}"
                    importers[inner if inner in names else node.module].add(name)
    found = {
        file: names[next(iter(importers[name]))]
        for name, file in names.items()
        if file.name != "__init__.py" and len(importers[name]) == 1
    }
    return {file: importer for file, importer in found.items() if importer.parent == file.parent}


def reason(file: Path, importer: Path, trees: dict[Path, ast.Module]) -> str:
    """Why a file stays apart from its only importer; empty if nothing measurable keeps it apart.

    Together they would be longer than ``MOST`` lines; it contains compiled code, which is cached by
    file; it is loaded only when it is needed, by an import inside a function or by its name in the
    package's ``__init__``, in a table or for types alone; or that is the importer, which gives it a
    public name.
    """
    text = file.read_text()
    if len(text.splitlines()) + len(importer.read_text().splitlines()) > MOST:
        return f"together more than {MOST} lines"
    if "shadowtime.kernel.jit" in text or "@pointer(" in text:
        return "compiled code"
    name = _name(file.parents[len(file.parts) - file.parts.index("shadowtime") - 2], file)
    package = trees.get(file.parent / "__init__.py", ast.Module([], []))
    first = _at_the_top(package)
    named = {
        node.value
        for node in ast.walk(package)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    } | {
        (node.module or "").rpartition(".")[2]
        for node in ast.walk(package)
        if isinstance(node, ast.ImportFrom) and node not in first
    }
    at_once = {
        node.module
        for node in trees[importer].body
        if isinstance(node, ast.ImportFrom) and node.module
    }
    if name not in at_once or file.stem in named:
        return "loaded when needed"
    return "public name of its package" if importer.name == "__init__.py" else ""


def list_single(package: Path) -> None:
    """Print the single-importer files, those without a reason first, and count the reasons."""
    trees = {file: ast.parse(file.read_text()) for file in sorted(package.rglob("*.py"))}
    rows = [(reason(*pair, trees), *pair) for pair in single(package, trees).items()]
    for why, file, importer in sorted(rows):
        print(f"{why or '-':28} {file.relative_to(package)} <- {importer.name}")
    for why, count in Counter(why for why, _, _ in rows).most_common():
        print(f"{count:4} {why or 'an idea of its own, or to be merged'}")


def _cycles(package: Path, trees: dict[Path, ast.Module]) -> int:
    """Groups of files each of which imports the others, directly or not, types apart."""
    names = {_name(package, file): tree for file, tree in trees.items()}
    imported = {name: _imported(tree, set(names)) - {name} for name, tree in names.items()}
    reached = {name: _reached(name, imported) for name in names}
    groups = {
        frozenset(other for other in reached[name] if name in reached[other]) for name in names
    }
    return sum(len(group) > 1 for group in groups)


def _imported(tree: ast.Module, known: set[str]) -> set[str]:
    types = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    return {
        inner if (inner := f"{node.module}.{alias.name}") in known else node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module in known and id(node) not in types
        for alias in node.names
    }


def _reached(start: str, imported: dict[str, set[str]]) -> set[str]:
    found, left = {start}, [start]
    while left:
        new = imported[left.pop()] - found
        found |= new
        left += new
    return found


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


def _inner_imports(tree: ast.Module) -> list[ast.Import | ast.ImportFrom]:
    """Import statements inside functions, at any depth."""
    found = {
        id(node): node
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    return list(found.values())


def _of_libraries(package: Path, trees: dict[Path, ast.Module]) -> int:
    """Imports inside functions that load a library: an optional or heavy one is loaded when needed.

    A library counts if neither the file nor a module that it imports at the top imports it.
    """
    names = {_name(package, file): tree for file, tree in trees.items()}
    at_once = {name: _modules(_at_the_top(tree), set(names)) for name, tree in names.items()}
    loaded = {name: _libraries(name, at_once) for name in names}
    return sum(
        any(
            loaded.get(module, _libraries(module, {})) - loaded[name]
            for module in _modules([node], set(names))
        )
        for name, tree in names.items()
        for node in _inner_imports(tree)
    )


def _at_the_top(tree: ast.Module) -> list[ast.Import | ast.ImportFrom]:
    """Imports that are carried out when a file is imported."""
    inner = {id(node) for node in _inner_imports(tree)}
    types = {
        id(node)
        for test in ast.walk(tree)
        if isinstance(test, ast.If) and "TYPE_CHECKING" in ast.unparse(test.test)
        for node in ast.walk(test)
    }
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom) and id(node) not in inner | types
    ]


def _modules(imports: list[ast.Import | ast.ImportFrom], known: set[str]) -> set[str]:
    """The modules that import statements name."""
    found: set[str] = set()
    for node in imports:
        for alias in node.names:
            module = alias.name if isinstance(node, ast.Import) else node.module or ""
            inner = f"{module}.{alias.name}"
            found.add(inner if isinstance(node, ast.ImportFrom) and inner in known else module)
    return found


def _libraries(module: str, at_once: dict[str, set[str]]) -> set[str]:
    """Third-party libraries that are loaded with a module and the packages around it."""
    found, left = set[str](), [module]
    while left:
        parts = left.pop().split(".")
        for size in range(1, len(parts) + 1):
            name = ".".join(parts[:size])
            if name not in found:
                found.add(name)
                left += at_once.get(name, ())
    roots = {name.partition(".")[0] for name in found}
    return roots - set(sys.stdlib_module_names) - {"shadowtime"}


def whole_numbers(tree: ast.Module) -> Iterable[tuple[str, int]]:
    """Names in capitals that a file gives whole numbers: columns, registers, bounds.

    >>> list(whole_numbers(ast.parse("A, B = 0, 1\\nC = 1 << 3\\nD, E = range(2)\\nF = 'x'")))
    [('A', 0), ('B', 1), ('C', 8), ('D', 0), ('E', 1)]
    """
    for node in tree.body:
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            several = isinstance(target, ast.Tuple)
            names = [ast.unparse(one) for one in (target.elts if several else [target])]
            try:
                value = eval(ast.unparse(node.value), {"__builtins__": {"range": range}})
                values = list(value) if several else [value]
            except Exception:  # it needs other names
                continue
            for name, number in zip(names, values, strict=False):
                if name.strip("_").isupper() and type(number) is int:
                    yield name, number


def columns(package: Path) -> dict[str, str]:
    """Whole numbers with names, names with several values, and parameters of any type."""
    values: dict[str, set[int]] = defaultdict(set)
    count = 0
    for file in package.rglob("*.py"):
        for name, number in whole_numbers(ast.parse(file.read_text())):
            values[name].add(number)
            count += 1
    every = anything = 0
    for file in (*(package / "engine").rglob("*.py"), *(package / "kernel").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.FunctionDef):
                given = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
                typed = [one.annotation for one in given if one.arg not in ("self", "cls")]
                every += len(typed)
                anything += sum(one is not None and ast.unparse(one) == "Any" for one in typed)
    several = sum(len(found) > 1 for found in values.values())
    return {
        "whole numbers with names in capitals (columns, registers, bounds)": f"{count:,}",
        "of their names, those with several values": f"{several:,}",
        "parameters of engine and kernel, of these Any": f"{every:,}, {anything:,}",
    }


def slurm_text(package: Path) -> str:
    """Files that read Slurm's text, and their lines."""
    found = [
        len(file.read_text().splitlines())
        for file in package.rglob("*.py")
        if SLURM_TEXT.fullmatch(file.relative_to(package).with_suffix("").as_posix())
    ]
    return f"{len(found)}, {sum(found):,}"


def shape(package: Path) -> dict[str, str]:
    """All rows of a column."""
    counts = {row: f"{value:,.0f}" for row, value in figures(package).items()}
    counts |= columns(package)
    counts["files that read Slurm's text, lines"] = slurm_text(package)
    counts["references to the specification that resolve to nothing"] = (
        f"{len(unresolved(package.parents[1])):,}"
    )
    return counts | {f"to add {what}": to_add(package, *how) for what, how in ADDED.items()}


def at(commit: str, folder: Path) -> Path:
    """The package as it stood at a commit."""
    packed = subprocess.run(
        ["git", "archive", commit, *FOLDERS], cwd=ROOT, check=True, capture_output=True
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    return folder / "src" / "shadowtime"


def main() -> None:
    if "--single" in sys.argv:
        list_single(ROOT / "src" / "shadowtime")
        return
    columns: dict[str, dict[str, str]] = {}
    for commit in sys.argv[1:]:
        with TemporaryDirectory() as folder:
            columns[commit] = shape(at(commit, Path(folder)))
    columns["here"] = shape(ROOT / "src" / "shadowtime")
    print("| | " + " | ".join(columns) + " |")
    print("|---|" + "---|" * len(columns))
    for row in columns["here"]:
        print(f"| {row} | " + " | ".join(column[row] for column in columns.values()) + " |")


if __name__ == "__main__":
    main()
