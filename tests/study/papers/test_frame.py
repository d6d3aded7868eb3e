"""What all reproductions share: cells, subjects, tasks, published numbers, pictures."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import pytest

from shadowtime.errors import UsageError
from shadowtime.study.papers import published
from shadowtime.study.papers.picture import nice_ticks, svg
from shadowtime.study.papers.reproduction import (
    Log,
    Reproduction,
    Runs,
    Task,
    carry_out,
    find_subjects,
)
from shadowtime.study.papers.values import Cell, Panel, PaperFigure, PaperTable, Row, Series
from shadowtime.trace import write_swf
from shadowtime.workload.embedded import demo_workload

LOGS = (Log(label="A", file="a.swf", procs=256), Log(label="B", file="b.swf", procs=256))


def test_a_cell_knows_its_difference():
    """Relative to the paper's; none where either is missing or the paper's is zero."""
    assert Cell(ours=90.0, paper=100.0).difference == pytest.approx(-0.1)
    assert Cell(ours=None, paper=1.0).difference is None
    assert Cell(ours=1.0, paper=0.0).difference is None
    assert Cell(ours=1.0).as_dict() == {"ours": 1.0}
    assert Cell(ours=1.0, paper=2.0, error=0.1).as_dict() == {
        "ours": 1.0,
        "paper": 2.0,
        "difference": -0.5,
        "standard_error": 0.1,
    }


def test_a_table_holds_its_shape():
    """As many cells as columns; looked up by row, group and column; flat for a file."""
    rows = tuple(
        Row(label="jobs", group=group, cells=(Cell(ours=k, paper=2.0), Cell(ours=None)))
        for k, group in enumerate(("x", "y"), 1)
    )
    table = PaperTable(name="Table 1", title="Jobs", columns=("A", "B"), rows=rows)
    assert table.cell("jobs", "A").ours == 1 and table.cell("jobs", "A", group="y").ours == 2
    assert [(row.group, column) for row, column, _ in table.compared()] == [("x", "A"), ("y", "A")]
    assert [line["ours"] for line in table.flat()] == [1, None, 2, None]
    with pytest.raises(UsageError, match="1 cells for 2 columns"):
        replace(table, rows=(Row(label="jobs", cells=(Cell(ours=1),)),))


def test_without_a_folder_a_generated_workload_stands_in():
    """One subject, marked as generated."""
    [subject], missing = find_subjects(LOGS, None)
    assert subject.generated and subject.as_dict()["generated"] and missing == []
    assert subject.as_dict()["jobs"] == 3000


def test_logs_are_found_compressed_or_not_and_what_is_missing_is_named(tmp_path: Path):
    """A folder with some of the logs gives those; the others are listed."""
    write_swf(demo_workload().take(range(50)), tmp_path / "b.swf")
    [subject], missing = find_subjects(LOGS, str(tmp_path))
    assert (subject.label, len(subject.workload), missing) == ("B", 50, ["a.swf.gz"])
    write_swf(demo_workload().take(range(60)), tmp_path / "a.swf.gz")
    found, missing = find_subjects(LOGS, str(tmp_path))
    assert [len(subject.workload) for subject in found] == [60, 50] and missing == []
    assert found[0].recleaned("keep").workload.cleaning["overrun_kept"] == 0


def test_a_folder_without_the_logs_is_refused(tmp_path: Path):
    """The message names the missing logs."""
    with pytest.raises(UsageError, match=r"none of the paper's logs .* a.swf.gz, b.swf.gz"):
        find_subjects(LOGS, str(tmp_path))
    with pytest.raises(UsageError, match="there is no folder"):
        find_subjects(LOGS, str(tmp_path / "nowhere"))


def test_tasks_are_carried_out_in_any_order_and_put_together_in_theirs():
    """Results come in the order of the tasks, and every task is reported once."""
    heard: list[str] = []

    def put_together(results: dict[int, int]) -> Reproduction:
        return Reproduction(
            paper="p", title="", reference="", subjects=(), tables=(), figures=(), claims=(),
            notes=tuple(map(str, results.values())), choices=(),
        )  # fmt: skip

    tasks = {k: Task(name=f"t{k}", work=lambda k=k: k * k) for k in range(20)}
    found = carry_out(Runs(tasks=tasks, collect=put_together), threads=3, progress=heard.append)
    assert found.notes == tuple(str(k * k) for k in range(20))
    assert sorted(heard) == sorted(task.name for task in tasks.values())


def test_published_tables_are_complete():
    """Tables 1 to 6 with the three workloads, and a claim a row with its own key."""
    for number in (1, 2, 3, 5, 6):
        names = [row["workload"] for row in published.rows(f"pv_easy_table{number}")]
        assert names == ["CTC", "SDSC-BLUE", "SDSC-DS"]
    assert len(list(published.rows("pv_easy_table4"))) == 5
    assert len(published.claims("pv_easy")) == len(list(published.rows("pv_easy_claims"))) == 14


def figure(kind: str) -> PaperFigure:
    x = (0.0, 5.0, 10.0) if kind == "line" else ("a", "b & c", "<d>")
    series = (
        Series(name="one", y=(1.0, None, 3.0), error=(0.1, None, 0.2)),
        Series(name="two", y=(0.5, 2.0, None)),
    )
    panel = Panel(title="P <&>", kind=kind, x_label="x", y_label="y", x=x, series=series)
    return PaperFigure(name="Figure 9", title='"Title"', panels=(panel,) * 4)


@pytest.mark.parametrize("kind", ["line", "bars"])
def test_a_picture_is_well_formed_and_holds_every_point(kind: str):
    """Names are escaped, missing values leave gaps, and the same figure gives the same bytes."""
    drawn = svg(figure(kind))
    tree = ElementTree.fromstring(drawn)
    name = "{http://www.w3.org/2000/svg}"
    marks = tree.iter(f"{name}circle") if kind == "line" else tree.iter(f"{name}g")
    assert len(list(marks)) == 4 * (4 if kind == "line" else 1)
    bars = [rect for group in tree.iter(f"{name}g") for rect in group.iter(f"{name}rect")]
    assert len(bars) == (0 if kind == "line" else 16)
    assert drawn == svg(figure(kind))


def test_values_of_a_series_must_match_its_axis():
    """A panel with a missing value is rejected."""
    with pytest.raises(UsageError, match="one has 1 values"):
        Panel(title="P", kind="line", x_label="", y_label="", x=(1.0, 2.0),
              series=(Series(name="one", y=(1.0,)),))  # fmt: skip


@pytest.mark.parametrize("top", [0.003, 1.0, 7.7, 99.9, 12_345.0])
def test_ticks_are_few_and_within(top: float):
    """Between two and six round numbers that do not exceed the largest value."""
    ticks = nice_ticks(top)
    assert 2 <= len(ticks) <= 6 and ticks[0] == 0 and ticks[-1] <= top * 1.001
