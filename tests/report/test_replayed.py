"""A site's replay on its page: groups with ranges, backfill, what jobs waited for."""

from __future__ import annotations

from pathlib import Path

from report.worlds import report_input
from shadowtime.metrics import Window
from shadowtime.report.page.html import render, replayed
from shadowtime.result.read import read_folder
from shadowtime.result.write import as_object, write_folder

TOLD = {
    "runs": "2 runs with passes at other offsets",
    "groups": [
        {"by": "all", "name": "all", "jobs": 4, "recorded_wait_mean_s": 60.0,
         "simulated_wait_mean_s": 66.0, "low_s": 50.0, "high_s": 80.0},
        {"by": "account", "name": "<b>", "jobs": 3, "recorded_wait_mean_s": 90.0,
         "simulated_wait_mean_s": 66.0, "low_s": 50.0, "high_s": 80.0},
        {"by": "account", "name": "", "jobs": 1, "recorded_wait_mean_s": 9.0,
         "simulated_wait_mean_s": 66.0, "low_s": 50.0, "high_s": 80.0},
    ],
    "backfilled": {"recorded": 0.5, "simulated_low": 0.25, "simulated_high": 0.75},
    "reasons": [
        {"reason": "QOSGrpCpuLimit", "recorded": 3, "simulated": 2.5,
         "simulated_low": 0, "simulated_high": 13},
        {"reason": "Odd", "recorded": 1, "simulated": None,
         "simulated_low": None, "simulated_high": None},
    ],
}  # fmt: skip


def test_groups_reasons_and_backfill_are_on_the_page() -> None:
    """Names are escaped; each group shows its record in its range; unknown values are empty."""
    text = render(report_input().replace(replayed=TOLD))
    section = text.split('<section id="replayed">')[1].split("</section>")[0]
    assert "1 min" in section and "50 s to 1 min 20 s" in section
    assert "&lt;b&gt;" in section and '<th scope="row">none</th>' in section
    assert [section.count(f"<td>{word}</td>") for word in ("within", "above", "below")] == [1, 1, 1]
    assert "QOSGrpCpuLimit" in section and "2.50" in section and "0 to 13" in section
    assert "not known" in section
    assert "Started by backfill: 50.0" in section
    assert '<a href="#replayed">Groups</a>' in text


def test_other_pages_have_no_such_section() -> None:
    assert replayed(report_input()) == ""


def test_a_result_folder_keeps_it(tmp_path: Path) -> None:
    result = report_input().replace(replayed=TOLD)
    write_folder(as_object(result, Window.all()), result, str(tmp_path / "out"))
    assert read_folder(str(tmp_path / "out")).result.replayed == TOLD
