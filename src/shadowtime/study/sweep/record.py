"""Which plan a folder of results belongs to, and how much of it is done."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shadowtime import plain
from shadowtime.engine.semantics import SEMANTICS
from shadowtime.errors import InputError
from shadowtime.private import replace_whole
from shadowtime.study.sweep.plan_file import read_plan
from shadowtime.study.sweep.shards import Shards

if TYPE_CHECKING:
    from shadowtime.study.sweep.plan import Plan


NAME = "sweep.json"


def write_record(plan: Plan, path: str, folder: str | os.PathLike[str]) -> None:
    """Record the path of the plan and what it read, for ``sweep status`` and for readers."""
    Shards(Path(folder)).make()
    content = {
        "plan": os.path.abspath(path),
        "text": Path(path).read_text("utf-8"),
        "semantics": SEMANTICS,
        "logs": [
            {"name": log.name, "trace": log.trace, "machine": log.machine} for log in plan.logs
        ],
    }
    raw = json.dumps(content, indent=1).encode()
    replace_whole(Path(folder) / NAME, raw + b"\n", mode=0o644)


def recorded_text(folder: str | os.PathLike[str]) -> str:
    """The text of the plan last run with a folder; empty if there is none."""
    found = _recorded(Path(folder) / NAME)
    return plain.text(found.get("text", ""), "text") if found else ""


def recorded_plan(folder: str | os.PathLike[str]) -> str | None:
    """The path of the plan last run with a folder; None if it is no longer known."""
    found = _recorded(Path(folder) / NAME)
    if found is None:
        return None
    name = plain.text(plain.entry(found, "plan"), "plan")
    return name if os.path.isfile(name) else None


def _recorded(path: Path) -> dict[str, Any] | None:
    try:
        return plain.load(path.read_bytes())
    except FileNotFoundError:
        return None
    except InputError as error:
        raise InputError(str(error), path=str(path), hint="Delete it.") from None


SHOWN = 10
"""The number of kinds of errors that are listed."""


@dataclass(frozen=True, kw_only=True)
class Status:
    """What a folder contains of a plan."""

    planned: int | None
    """Runs of the plan; None if the plan is not known."""
    done: int
    """Of these (or of all) the runs that have a row."""
    failed: int
    shards: int
    errors: tuple[tuple[str, int], ...]
    """The most frequent errors with their numbers."""
    seconds_left: int | None
    """At the rate so far."""

    def as_dict(self) -> dict[str, Any]:
        """For ``--json``."""
        return {
            "planned": self.planned,
            "done": self.done,
            "failed": self.failed,
            "shards": self.shards,
            "errors": [{"error": error, "runs": runs} for error, runs in self.errors],
            "seconds_left": self.seconds_left,
        }


def status_of(folder: str | os.PathLike[str], plan: str | None = None) -> Status:
    """The state of a sweep's folder, compared with a plan or the one last run with it."""
    shards = Shards(Path(folder))
    files = shards.files()
    done = shards.done()
    path = plan or recorded_plan(folder)
    keys = set(read_plan(path).keys()) if path else None
    mine = done if keys is None else {key: ok for key, ok in done.items() if key in keys}
    failed = {key for key, ok in mine.items() if not ok}
    left = None
    if keys is not None and len(files) > 1 and len(mine) < len(keys):
        times = sorted(file.stat().st_mtime for file in files)
        rate = len(mine) / max(times[-1] - times[0], 1.0)
        left = round((len(keys) - len(mine)) / rate)
    return Status(
        planned=None if keys is None else len(keys),
        done=len(mine),
        failed=len(failed),
        shards=len(files),
        errors=tuple(shards.errors(failed).most_common(SHOWN)) if failed else (),
        seconds_left=left,
    )
