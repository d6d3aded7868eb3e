"""Every line of the guide's table of ideas has a test that carries it out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
GUIDE = ROOT / "docs/guides/ideas.md"

SLOTS, SELECT, GUIDES = "engine/test_slots.py", "engine/test_select.py", "test_documented.py"
TESTED = {
    "WFP3, UNICEF": (SLOTS, "test_catalogue"),
    "SAF, SPT, SQF": (SLOTS, "test_catalogue"),
    "F1 to F4": (SLOTS, "test_catalogue"),
    "SAF with a wait threshold": (SLOTS, "test_catalogue"),
    "SRD2F, small class first": (GUIDES, "test_documented_commands_run"),
    "fair-share with decay (part of Slurm multifactor)": (GUIDES, "test_documented_commands_run"),
    "SAF backfilling": (SLOTS, "test_catalogue"),
    "relaxed backfilling": (SLOTS, "test_catalogue"),
    "selective reservations": (SLOTS, "test_catalogue"),
    "adaptive selective reservations": (SLOTS, "test_catalogue"),
    "dynamic conservative": ("engine/test_equals_naive.py", "test_one_resource"),
    "conservative with a priority order": (SELECT, "test_"),
    "slack-based backfilling, simplified": (SELECT, "test_"),
    "LOS": (SELECT, "test_"),
    "plan-based policies": (GUIDES, "test_documented_commands_run"),
    "a trained model, any Python code": (SELECT, "test_"),
    "a Gymnasium environment": ("api/test_environment.py", "test_gymnasium_accepts_it"),
    "predictions from a column or file": ("predict/test_predictors.py", "test_"),
    "user quantile, nearest neighbours, LightGBM": ("predict/test_predictors.py", "test_"),
    "mean of the user's runs, decayed": (GUIDES, "test_documented_commands_run"),
    "licences, burst buffers": ("engine/test_equals_naive.py", "test_three_resources"),
    "suspend, checkpoint with overhead": ("engine/test_work_kept.py", "test_equals_the_reference"),
    "schedules in the event order of pyss": (
        "engine/test_pyss_order.py",
        "test_equals_the_reference",
    ),
    "moldable jobs": ("engine/test_moldable.py", "test_sizes_and_runs_equal_a_walk"),
    "kill youngest": ("engine/test_victims.py", "test_equals_the_reference"),
    "dependencies, advance reservations, outages, array throttles": (
        "engine/test_site.py",
        "test_",
    ),
    "mixed GPU and memory nodes": ("engine/test_site.py", "test_"),
}
"""The test of each idea: its file and the beginning of its name."""


def possible() -> list[str]:
    """The ideas of the first table."""
    text = GUIDE.read_text(encoding="utf-8").split("Not possible yet")[0]
    rows = re.findall(r"^\| ([^|]+) \|", text, re.MULTILINE)
    return [row for row in rows if row != "idea" and not row.startswith("---")]


def test_every_line_has_a_test():
    """No line without a test, no test without a line."""
    assert possible() == list(dict.fromkeys(possible()))
    assert set(possible()) == set(TESTED)


@pytest.mark.parametrize("idea", TESTED)
def test_the_test_exists(idea):
    """A renamed or deleted test is noticed."""
    file, name = TESTED[idea]
    text = (ROOT / "tests" / file).read_text(encoding="utf-8")
    assert f"def {name}" in text, f"{file} has no {name}"
