"""The applications beside the core import public names; what they still take from inside is listed.

Public is what ``import shadowtime`` offers, and the rooms' own front doors in ``DOORS``. The lists
may only get shorter: an import that is not on its application's list fails, and so does an entry
that is needed no more.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import shadowtime

PACKAGE = Path(shadowtime.__file__).parent

APPLICATIONS = {
    "papers": ("study/papers/", "api/paper.py"),
    "hperf": ("hperf/",),
    "HTCondor": ("live/condor/",),
    "testing": ("testing/",),
    "learning": ("api/environment.py", "api/gymnasium_env.py"),
}

DOORS = {
    "cluster",
    "errors",
    "live.backend",
    "live.port",
    "metrics",
    "policy",
    "policy.snapshot",
    "schedule",
    "schedule.check",
    "types",
    "workload",
}
"""Modules whose names are public: values, errors and types, and what a live backend is made of."""

INSIDE = {
    "papers": [
        "api.inputs",
        "cluster.contention",
        "cluster.examples",
        "engine.semantics",
        "kernel.sources",
        "metrics.contention",
        "metrics.energy",
        "metrics.intervals",
        "metrics.jobs",
        "metrics.measure",
        "schedule.runs",
        "study.accuracy",
        "study.fan_out",
        "study.sweep.keys",
        "study.sweep.hand_out",
        "study.sweep.store",
        "workload.clean",
        "workload.demand",
        "workload.embedded",
        "workload.hperf_jobs",
        "workload.o2k",
        "workload.o2k_draw",
    ],
    "hperf": [
        "plain",
        "printable",
        "private",
        "slurmtext.conf",
        "workload.hperf_jobs",
    ],
    "HTCondor": [
        "live.clock",
        "live.ineligible",
        "live.placing",
        "trace.condor_history",
    ],
    "testing": [
        "cluster.contention",
        "engine.rules",
        "policy.partition",
        "policy.place",
        "slurm.recording.check",
        "slurmtext.conf",
        "slurmtext.sacct_rows",
    ],
    "learning": [
        "api.inputs",
        "engine.changing_session",
        "engine.episodes",
        "engine.session",
        "engine.site.session",
        "policy.parse",
    ],
}
"""What each application takes from inside today."""


def taken(application: str) -> set[str]:
    """Modules of ours, neither public nor its own, from which an application imports a name."""
    own = APPLICATIONS[application]
    found = set()
    for file in sorted(PACKAGE.rglob("*.py")):
        if not file.relative_to(PACKAGE).as_posix().startswith(own):
            continue
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if not isinstance(node, ast.ImportFrom) or not node.module:
                continue
            room, _, module = node.module.partition(".")
            if room != "shadowtime":
                continue
            for alias in node.names:
                whole = f"{module}.{alias.name}".strip(".")
                inner = whole if is_module(whole) else module
                mine = f"{inner.replace('.', '/')}.py".startswith(own) or (
                    f"{inner.replace('.', '/')}/".startswith(own)
                )
                public = alias.name in shadowtime.__all__ or inner in DOORS
                if inner and not mine and not public:
                    found.add(inner)
    return found


def is_module(dotted: str) -> bool:
    """Whether a file or folder of the package has this name."""
    place = PACKAGE.joinpath(*dotted.split("."))
    return place.with_suffix(".py").is_file() or (place / "__init__.py").is_file()


@pytest.mark.parametrize("application", APPLICATIONS)
def test_an_application_imports_public_names(application: str) -> None:
    """Nothing new from inside; what became public, or is used no more, leaves the list."""
    assert sorted(taken(application)) == sorted(INSIDE[application])


def test_the_front_doors_are_there() -> None:
    """Every door is a module, so that none can hide a misspelt import."""
    assert [door for door in DOORS if not is_module(door)] == []
