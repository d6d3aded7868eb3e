"""Which plan a folder of results belongs to."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shadowtime import plain
from shadowtime.engine.semantics import SEMANTICS
from shadowtime.errors import InputError
from shadowtime.private import replace_whole
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
