"""The tasks of a paper with their results kept in a folder by key: none is carried out twice.

What a task finds is whatever its paper measures, so it is kept as Python pickles it; reading takes
nothing but values of this package, of NumPy and of the language, and no function but those that
make arrays. The key is a digest of the paper, the task, the logs with their machines, the seeds,
the engine's semantics and the sources of the package, since a task's code is what it measures.
"""

from __future__ import annotations

import io
import pickle
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shadowtime.engine.semantics import SEMANTICS
from shadowtime.errors import InputError, UsageError
from shadowtime.kernel.sources import PACKAGE
from shadowtime.private import result_file
from shadowtime.study.papers.reproduction import Plan, Task
from shadowtime.study.sweep.kept import canonical
from shadowtime.study.sweep.keys import digest, of_file, of_workload

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from shadowtime.study.papers.subjects import Subject

FOLDER = "tasks"
ARRAYS = {"_reconstruct", "scalar", "_frombuffer", "ndarray", "dtype"}
PLAIN = {
    ("builtins", "set"),
    ("builtins", "frozenset"),
    ("builtins", "complex"),
    ("builtins", "slice"),
    ("builtins", "range"),
    ("collections", "OrderedDict"),
    ("fractions", "Fraction"),
}


def kept(
    plan: Plan,
    folder: str | os.PathLike[str],
    *,
    paper: str,
    subjects: Sequence[Subject],
    seeds: int,
    quick: bool = False,
) -> Plan:
    """The same plan, whose tasks take what the folder has and keep what it has not.

    A file appears whole or not at all: Ctrl-C and kill -9 lose the tasks in hand only.
    """
    root = Path(folder) / FOLDER
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the folder {root}: {error.strerror}") from None
    inputs = [
        part for one in subjects for part in (one.label, of_workload(one.workload),
                                              digest(*canonical(one.cluster)))
    ]  # fmt: skip
    common = digest(paper, str(SEMANTICS), sources(), str(seeds), str(quick), *inputs)
    tasks = []
    for at, task in enumerate(plan.tasks):
        path = root / f"{digest(common, str(at), task.name)}.task"
        tasks.append(Task(name=task.name, work=_once(task, path), path=path))
    return Plan(tasks=tuple(tasks), put_together=plan.put_together)


def _once(task: Task, path: Path) -> Callable[[], Any]:
    def work() -> Any:
        if path.exists():
            return read_result(path)
        found = task.work()
        with result_file(path) as beside:
            beside.write_bytes(pickle.dumps(found, protocol=5))
        return found

    return work


@cache
def sources() -> str:
    """The digest of every source file of the package."""
    files = sorted(PACKAGE.rglob("*.py"))
    return digest(*(f"{one.relative_to(PACKAGE).as_posix()} {of_file(one)}" for one in files))


def read_result(path: Path) -> Any:
    """What a task found; a file that holds anything else is refused.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "one.task"
    ...     _ = path.write_bytes(pickle.dumps({"wait": (1.5, 2)}))
    ...     read_result(path)
    {'wait': (1.5, 2)}
    """
    try:
        return _Values(io.BytesIO(path.read_bytes())).load()
    except Exception as error:  # a damaged pickle raises nearly anything
        why = str(error) or type(error).__name__
        raise InputError(f"cannot be read ({why})", path=str(path), hint="Delete it.") from None


class _Values(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in PLAIN or (module.split(".")[0] == "numpy" and name in ARRAYS):
            return super().find_class(module, name)
        if module.startswith("shadowtime."):
            found = super().find_class(module, name)
            if isinstance(found, type):
                return found
        raise pickle.UnpicklingError(f"{module}.{name} is not a value of a task")
