"""Which policy is first, and whether that is chance."""

from __future__ import annotations

import numpy as np

from shadowtime.metrics import ClassRow
from shadowtime.study.comparison import rank, winners
from shadowtime.study.losers import changes, losers


def test_less_wait_and_more_goodput_win() -> None:
    """The metric's own better side counts; a metric without one has no winner."""
    values = {"a": 2.0, "b": 1.0}
    assert winners(values, "wait_mean_s") == ("b",)
    assert winners(values, "goodput") == ("a",)
    assert winners(values, "backfilled") == ()
    assert winners({"a": None, "b": 1.0}, "wait_mean_s") == ()


def test_an_order_that_holds_everywhere_is_stable() -> None:
    """The same order in every input, ties allowed."""
    found = rank({"a": np.array([1.0, 5.0]), "b": np.array([2.0, 5.0])}, "wait_mean_s")
    assert found is not None and found.stable and found.first_is_stable
    assert found.order == ("a", "b") and found.first == {"a": 2, "b": 1}


def test_an_order_that_changes_is_reported() -> None:
    """Every pair that swaps is named, with how often."""
    columns = {
        "a": np.array([1.0, 1.0, 4.0]),
        "b": np.array([3.0, 3.0, 3.0]),
        "c": np.array([9.0, 9.0, 9.0]),
    }
    found = rank(columns, "bsld_mean")
    assert found is not None and found.order == ("a", "b", "c")
    assert not found.stable and not found.first_is_stable
    assert [(swap.ahead, swap.behind, swap.times) for swap in found.swaps] == [("a", "b", 1)]
    assert found.first == {"a": 2, "b": 1, "c": 0}


def test_a_swap_below_the_first_place_leaves_the_winner_alone() -> None:
    """Unstable as a whole, stable at the top."""
    columns = {"a": np.array([1.0, 1.0]), "b": np.array([2.0, 5.0]), "c": np.array([3.0, 3.0])}
    found = rank(columns, "bsld_mean")
    assert found is not None and not found.stable and found.first_is_stable


def test_a_missing_number_has_no_rank() -> None:
    """A metric that one input lacks is not ranked."""
    assert rank({"a": np.array([1.0]), "b": np.array([np.nan])}, "bsld_mean") is None
    assert rank({"a": np.empty(0), "b": np.empty(0)}, "bsld_mean") is None


def row(label: str, wait: float, share: float = 0.5, *, unit: float = 1.0) -> ClassRow:
    """A class whose jobs run 6,000 s on average, its times given in another unit."""
    metrics = {
        "wait_mean_s": wait * unit,
        "response_mean_s": (wait + 6000) * unit,
        "share_of_jobs": share,
    }
    return ClassRow(kind="size", label=label, jobs=10, metrics=metrics)


def test_losers_are_worse_by_more_than_chance() -> None:
    """A share, a hundredth of the run time and enough jobs; the most harmed first."""
    before = [row("1", 1000), row("2-4", 1000), row("5-16", 10), row("17-64", 1000, 0.001)]
    after = [row("1", 1200), row("2-4", 1500), row("5-16", 40), row("17-64", 9000, 0.001)]
    assert [change.label for change in losers(changes(after, before))] == ["2-4", "1"]
    assert losers(changes(before, after)) == []


def test_losers_do_not_depend_on_the_unit_of_time() -> None:
    """A log in minutes has the losers of the same log in seconds."""
    for unit in (1 / 60, 1.0, 60.0):
        before = [row("1", 1000, unit=unit), row("5-16", 10, unit=unit)]
        after = [row("1", 1200, unit=unit), row("5-16", 40, unit=unit)]
        assert [change.label for change in losers(changes(after, before))] == ["1"]


def test_from_no_wait_to_some_is_a_loss() -> None:
    """Relative to nothing the change is infinite, and still counts."""
    [found] = losers(changes([row("1", 600)], [row("1", 0)]))
    assert found.change == float("inf")
