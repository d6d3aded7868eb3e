"""Claims about priority backfilling without partitions: section 3."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.study.papers.class_partitioning import policies as p
from shadowtime.study.papers.class_partitioning.judge import READINGS, SAME, Judge, excess
from shadowtime.study.papers.class_partitioning.outcome import ALL, LARGE, MEDIUM, SMALL
from shadowtime.study.papers.class_partitioning.worlds import SHARED_JOBS, WHOLE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shadowtime.study.papers.claims import Claim

BOUNDS = {SMALL: (0.0, 0.2), MEDIUM: (0.0, 3.0), LARGE: (50.0, float("inf"))}
"""Average waits in hours with one reservation in the heavy months."""


def one_reservation(judge: Judge) -> Iterator[Claim]:
    """Both heavy months, all three classes."""
    policy = p.with_depth("LXF&W", 1)
    for reading, world in READINGS.items():
        hours = {
            (month, group): judge.found.hours(month, policy, "wait_mean_s", group, world=world)
            for month in p.HEAVY
            for group in BOUNDS
        }
        spread = [
            value / 3600 for value in judge.found.values("Jan03", policy, "wait_mean_s", LARGE)
        ]
        told = ", ".join(f"{month} {group} {h:.2f}" for (month, group), h in hours.items())
        yield judge.published["one-reservation"].judged(
            all(BOUNDS[group][0] < h < BOUNDS[group][1] for (_, group), h in hours.items()),
            f"average wait in h: {told}; large jobs of January's draws from {min(spread):.0f} to "
            f"{max(spread):.0f} h (alone on their hosts)",
            ours="; ".join(
                "-".join(f"{hours[month, group]:.2g}" for month in p.HEAVY) for group in BOUNDS
            )
            + " h",
            reading=reading,
        )


def reservations(judge: Judge) -> Iterator[Claim]:
    """How many are best: for the shared jobs, in the heavy months, in December."""
    claim, depths = judge.published["reservations"], judge.found.depths
    if not {2, 4} <= set(depths):
        yield claim.judged(None, f"only {depths} reservations were run: leave out --quick")
    else:
        yield _shared(judge)
        yield _heavy(judge)
    yield _december(judge)


def _hours(
    judge: Judge, month: str, depth: int, metric: str, group: str = ALL, world: str = WHOLE
) -> float:
    policy = p.with_depth("LXF&W", depth)
    return judge.found.hours(month, policy, metric, group, world=world)


def _shared(judge: Judge) -> Claim:
    """2 or 4 must be within 10 % of the best number in average and maximum wait, each month."""
    good, told = [], []
    for month in p.MONTH_NAMES:
        waits = {
            metric: {
                depth: _hours(judge, month, depth, metric, world=SHARED_JOBS)
                for depth in judge.found.depths
            }
            for metric in ("wait_mean_s", "wait_max_s")
        }
        fine = any(
            all(of[depth] <= (1 + SAME) * min(of.values()) for of in waits.values())
            for depth in (2, 4)
        )
        good += [month] * fine
        mean, longest = waits["wait_mean_s"], waits["wait_max_s"]
        told.append(
            f"{month}: least average {min(mean.values()):.2f} h at K = {min(mean, key=mean.get)}, "  # type: ignore[arg-type]
            f"{mean[2]:.2f} and {mean[4]:.2f} at 2 and 4; least maximum "
            f"{min(longest.values()):.0f} h at {min(longest, key=longest.get)}, "  # type: ignore[arg-type]
            f"{longest[2]:.0f} and {longest[4]:.0f} at 2 and 4"
        )
    return judge.published["reservations"].judged(
        len(good) == len(p.MONTH_NAMES),
        "; ".join(told),
        ours=f"2 or 4 within 10 % of the best in {len(good)} of 4 months",
        reading="shared jobs alone: average and maximum wait",
    )


def _heavy(judge: Judge) -> Claim:
    """10 must be within 10 % of the best number for all and for large jobs, in both months."""
    good, told, played = 0, [], 0
    for month in p.HEAVY:
        for group in (ALL, LARGE):
            waits = {
                depth: _hours(judge, month, depth, "wait_mean_s", group)
                for depth in judge.found.depths
            }
            best = min(waits, key=lambda depth: waits[depth])
            good += waits[10] <= (1 + SAME) * waits[best]
            played += 1
            told.append(f"{month} {group} {waits[10]:.2f} h, least {waits[best]:.2f} at K = {best}")
    return judge.published["reservations"].judged(
        good == played,
        f"average wait with 10: {'; '.join(told)}",
        ours=f"10 within 10 % of the best in {good} of {played}",
        reading="full workload, January and February: average wait of all and of large jobs",
    )


def _december(judge: Judge) -> Claim:
    """25 against 10: large jobs gain 30 % or more, nobody else loses."""

    def more(metric: str, group: str) -> float:
        return excess(*(_hours(judge, "Dec02", depth, metric, group) for depth in (25, 10)))

    gains = {metric: -more(metric, LARGE) for metric in ("wait_mean_s", "wait_max_s")}
    others = {group: more("wait_mean_s", group) for group in (SMALL, MEDIUM)}
    told = ", ".join(f"{group} jobs {change:+.0%}" for group, change in others.items())
    return judge.published["reservations"].judged(
        min(gains.values()) >= 0.3 and max(others.values()) <= SAME,
        f"with 25 in place of 10 large jobs wait {gains['wait_mean_s']:.0%} less on average and "
        f"{gains['wait_max_s']:.0%} less at most; average wait of {told}",
        ours=f"{gains['wait_mean_s']:.0%}; {gains['wait_max_s']:.0%}",
        reading="December: 25 against 10 reservations",
    )


def single_class(judge: Judge) -> Iterator[Claim]:
    """No other order does better by more than 10 %, for all jobs or for large ones."""
    better, told = [], []
    others = [
        (order, depth) for order in p.ORDERS if order != "LXF&W" for depth in judge.found.depths
    ]
    for month in p.MONTH_NAMES:
        for group in (ALL, LARGE):
            star = judge.found.hours(month, p.policy_of(p.SINGLE, month), "wait_mean_s", group)
            waits = {
                key: judge.found.hours(month, p.with_depth(*key), "wait_mean_s", group)
                for key in others
            }
            best = min(waits, key=lambda key: waits[key])
            text = (
                f"{month} {group} {star:.2f} h, best other {waits[best]:.2f} ({best[0]}, "
                f"K = {best[1]})"
            )
            told.append(text)
            better += [text] * (waits[best] < (1 - SAME) * star)
    yield judge.published["single-class"].judged(
        not better,
        f"average wait under single-class*: {'; '.join(told)}. Another order is better by more "
        f"than 10 %: {'; '.join(better) or 'nowhere'}",
        ours=f"{len(told) - len(better)} of {len(told)} not beaten",
    )
