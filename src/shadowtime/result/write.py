"""What a run writes: the JSON object of the contract, the result folder, pages and figures.

.. code-block:: text

    DIR/result.json              the JSON object, the command line, what a report shows
    DIR/schedules/NAME.csv       a schedule per policy
    DIR/inputs/trace.swf.gz      the jobs as they were scheduled, cleaned
    DIR/inputs/columns.csv.gz    what SWF cannot represent, if any
    DIR/inputs/jobs.csv.gz       what jobs request from a site, if recorded
    DIR/inputs/names.json        names of users, accounts, partitions and QOS; the log's clock
    DIR/inputs/cluster.json      the machine
    DIR/inputs/cluster-NAME.json the machine of one run, if it differs
    DIR/code/NAME.py             the code of a user's own policy or functions

The same inputs give the same bytes: there is no date in it. :mod:`shadowtime.result.read` reads it.
"""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import shadowtime
from shadowtime.cluster import Cluster
from shadowtime.engine.semantics import SEMANTICS
from shadowtime.errors import UsageError
from shadowtime.printable import printable
from shadowtime.private import write_result

if TYPE_CHECKING:
    from shadowtime.metrics import Window
    from shadowtime.report import ReportInput
    from shadowtime.result.read import Folder


def as_object(result: ReportInput, window: Window, **more: Any) -> dict[str, Any]:
    """The JSON object of the command line contract; ``more`` is what only some commands add."""
    from shadowtime.report.verdict import verdict_of

    jobs = result.workload
    return {
        "trace": {"name": jobs.name, "jobs": len(jobs), "cleaning": dict(result.cleaned)},
        "cluster": describe_cluster(result.cluster),
        "window": window.as_dict(),
        **({"where": result.where} if result.where else {}),
        "policies": [run.as_dict() for run in result.runs],
        **(verdict_of(result).as_dict(result.runs) if len(result.runs) > 1 else {}),
        **more,
        "versions": versions(),
    }


def versions() -> dict[str, str]:
    """The software that computed the numbers."""
    return {
        "shadowtime": shadowtime.__version__,
        "python": platform.python_version(),
        "numpy": installed_version("numpy"),
        "numba": installed_version("numba"),
    }


@cache
def installed_version(package: str) -> str:
    """The version of an installed package, which is not imported.

    It is taken from the name of the metadata folder; reading the metadata takes longer than a run.

    Examples
    --------
    >>> import numpy
    >>> installed_version("numpy") == numpy.__version__
    True
    """
    found = find_spec(package)
    if found is not None and found.origin is not None:
        folders = [*Path(found.origin).parent.parent.glob(f"{package}-*.dist-info")]
        if len(folders) == 1:
            return folders[0].name.removeprefix(f"{package}-").removesuffix(".dist-info")
    from importlib.metadata import version

    return version(package)


def describe_cluster(cluster: Cluster) -> dict[str, Any]:
    """The machine in short: its shape, its hosts and their total capacity."""
    named = {"name": cluster.name} if cluster.name else {}
    return {**named, "shape": cluster.shape, "hosts": len(cluster.hosts), **cluster.total}


def to_json(value: object) -> str:
    """JSON text; NaN (a mean over no job) becomes null.

    Examples
    --------
    >>> to_json({"mean": float("nan"), "n": 0})
    '{\\n  "mean": null,\\n  "n": 0\\n}'
    """
    from shadowtime.report.page.markup import plain

    text = json.dumps(plain(value), indent=2, ensure_ascii=False)
    return printable(text, keep="\n", escape=lambda one: f"\\u{ord(one):04x}")


def write_folder(content: dict[str, Any], result: ReportInput, folder: str) -> Path:
    """Write the result folder; an older one of the same name is overwritten file by file.

    ``content`` is the JSON object; each policy's entry gets the place of its schedule, and the
    values of every copy of the log, if there are any.
    """
    from shadowtime.result.inputs import CLUSTER, whole_cluster, write_jobs
    from shadowtime.schedule import write

    root = Path(folder)
    try:
        for part in (root / "schedules", root / "inputs"):
            part.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot create the folder {folder}: {error.strerror}") from None
    names = file_names([run.name for run in result.runs])
    entries = []
    code: dict[str, str] = {}
    for run, entry, name in zip(result.runs, content["policies"], names, strict=True):
        write(run.schedule, root / "schedules" / f"{name}.csv")
        entry = {**entry, "schedule": f"schedules/{name}.csv"}
        if run.policy is not None:
            from shadowtime.result.recipe import recipe_of

            recipe = recipe_of(run.policy, name)
            entry["recipe"] = recipe.content
            code |= recipe.files
        if run.cluster is not None:  # a different machine, for example with more nodes
            entry = {**entry, "cluster": f"inputs/cluster-{name}.json"}
            machine = to_json(whole_cluster(run.cluster))
            write_result(root / "inputs" / f"cluster-{name}.json", machine + "\n")
        copies = {metric: [float(value) for value in run.copies[metric]] for metric in run.copies}
        entries.append({**entry, "copies": copies} if copies else entry)
    write_jobs(result.workload, root / "inputs")
    machine = to_json(whole_cluster(result.cluster))
    write_result(root / "inputs" / CLUSTER, machine + "\n")
    _write_code(root, code)
    whole = {**content, "policies": entries, "command": result.command, "report": _stated(result)}
    whole["made"] = {
        "semantics": SEMANTICS, "machine": platform.machine(), "files": digests(root),
    }  # fmt: skip
    write_result(root / "result.json", to_json(whole) + "\n")
    return root


def _write_code(root: Path, files: Mapping[str, str]) -> None:
    """The code of the policies; that of an older result is removed."""
    for old in root.glob("code/*.py"):
        old.unlink()
    for name, text in files.items():
        (root / name).parent.mkdir(exist_ok=True)
        write_result(root / name, text)


def digests(root: Path) -> dict[str, str]:
    """The digests of a folder's data and code, by their names in it."""
    from shadowtime.study.sweep.keys import of_file

    files = sorted([*root.glob("inputs/*"), *root.glob("code/*.py")])
    return {path.relative_to(root).as_posix(): of_file(path) for path in files}


def file_names(policies: Sequence[str]) -> list[str]:
    """The policies' names as names of files, each different.

    Examples
    --------
    >>> file_names(["easy(reserve=4, order=lxfw)", "a/b", "a b"])
    ['easy-reserve-4-order-lxfw', 'a-b', 'a-b-2']
    """
    taken: list[str] = []
    for policy in policies:
        name = re.sub(r"[^A-Za-z0-9._+]+", "-", policy).strip("-.") or "policy"
        number, free = 1, name
        while free in taken:
            number += 1
            free = f"{name}-{number}"
        taken.append(free)
    return taken


def _stated(result: ReportInput) -> dict[str, Any]:
    """What a report shows and the JSON object does not contain."""
    paper = [{"kind": type(item).__name__, **asdict(item)} for item in result.paper]
    return {
        "title": result.title,
        "header_lines": len(result.workload.header),
        "seeds": list(result.seeds),
        "interval_note": result.interval_note,
        **({"trust": result.trust.as_dict()} if result.trust else {}),
        **({"replay": True} if result.replay else {}),
        **({"replayed": dict(result.replayed)} if result.replayed else {}),
        **({"effects": dict(result.effects)} if result.effects else {}),
        **({"paper": paper} if paper else {}),
    }


Step = Callable[[str], AbstractContextManager[Any]]


def quiet(what: str) -> AbstractContextManager[Any]:
    """Show nothing."""
    return nullcontext()


def write_results(
    result: ReportInput,
    *,
    report: str | Path | None = None,
    figures: str | Path | None = None,
    step: Step = quiet,
) -> list[Path]:
    """The requested page and figures; returns what was written.

    ``step`` surrounds each piece of work, so that a caller can show progress.
    """
    if not report and not figures:
        return []
    from shadowtime.report.payers import with_classes

    whole = with_classes(result)
    written = []
    if report:
        from shadowtime.report import write_html

        with step(f"writing {report}"):
            written.append(write_html(whole, report))
    if figures:
        from shadowtime.report import write_figures

        with step(f"drawing figures in {figures}"):
            written += write_figures(whole, figures)
    return written


def write_grid_pages(
    found: Sequence[tuple[str, Folder]], page: str | Path, *, title: str, step: Step = quiet
) -> list[Path]:
    """A page of several results by name, and beside it a page for each, which it links to."""
    from shadowtime.report.page.grid import write_grid

    whole = Path(page)
    inner = {
        name: whole.with_name(f"{whole.stem}-{_part(name)}{whole.suffix}") for name, _ in found
    }
    with step(f"writing {whole}"):
        results = [(name, folder.result) for name, folder in found]
        links = {name: path.name for name, path in inner.items()}
        written = [write_grid(results, whole, title=title, links=links)]
    for name, folder in found:
        written += write_results(folder.result, report=inner[name], step=step)
    return written


def _part(name: str) -> str:
    """A folder's name as part of a file's name."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-.") or "result"
