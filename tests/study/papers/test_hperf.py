"""The HPerf thesis reproduced: structure, identities, the text on the policies."""

from __future__ import annotations

import pytest

from shadowtime.study.papers.hperf import PAPER
from shadowtime.study.papers.hperf.runs import GRACE, POLICIES, TABLES, UNLIMITED, subjects
from shadowtime.study.papers.reproduction import Reproduction, carry_out


@pytest.fixture(scope="module")
def found() -> Reproduction:
    return carry_out(PAPER.plan(subjects(), 3, quick=True))


def test_every_run_keeps_the_identity(found: Reproduction) -> None:
    """Running + extra requested is the sum of the limits of the thesis, in every run.

    spec: algorithms 6.4.
    """
    sums = {"High": 68_760, "Medium": 68_820}
    draws = found.more["draws"]
    assert len(draws) == 3 * len(TABLES) * len(POLICIES)
    for row in draws:
        assert row["running"] + row["extra_requested"] == sums[row["workload"]]
        assert row["rule"] == GRACE or row["killed"] == 0
        assert row["consumed"] == row["running"] + row["extra_used"]


def test_lessc_keeps_within_the_bandwidth_and_consres_does_not(found: Reproduction) -> None:
    """What is declared is a hard limit; cores alone over-commit by about two."""
    for row in found.more["draws"]:
        if row["policy"] == "LessC":
            assert row["peak"] <= 1
        if row["policy"] == "ConsRes" and row["workload"] == "High":
            assert row["peak"] > 1.5


def test_the_order_of_the_thesis(found: Reproduction) -> None:
    """In Tables 4.1 and 4.3 ConsRes finishes first, then preloaded, HPerf and LessC."""
    for name in ("Table 4.1", "Table 4.3"):
        table = found.table(name)
        means = [
            table.cell("Duration", column).ours
            for column in ("ConsRes", "preloaded", "HPerf", "LessC")
        ]
        assert means == sorted(means)
        assert table.cell("Duration", "LessC").paper in (15_424, 12_727)


def test_every_published_claim_is_there(found: Reproduction) -> None:
    """Fourteen rows, judged or marked as inputs; every verdict has its evidence."""
    assert len({claim.text for claim in found.claims}) == 14
    assert all(claim.evidence for claim in found.claims)
    assert {claim.verdict for claim in found.claims} > {"holds", "not judged"}


def test_figures_and_schedules_of_the_first_draw(found: Reproduction) -> None:
    """Four figures with the capacity beside them; sixteen schedules to inspect."""
    assert [figure.name for figure in found.figures] == [f"Figure 4.{n}" for n in (1, 4, 7, 9)]
    for figure in found.figures:
        assert set(figure.panels[0].line("capacity").values()) == {400.0}
    assert sum(len(runs) for runs in found.runs.values()) == 16
    assert not found.generated
    assert len(found.job_lines) == 16
    label, place = found.job_lines["Figure 4.10b"]
    assert found.runs[label][place].policy == "hperf(grace=unlimited, preloaded=yes)"
    assert any("Figure 3.3" in note for note in found.notes)


def test_thirty_draws_by_default() -> None:
    """One generated workload alone would show chance."""
    assert PAPER.seeds == 30
    assert UNLIMITED in {rule for _, rule in TABLES}
