"""Every claim of the paper's text, judged by the numbers of the tables and figures.

Rules: means over the draws are compared. 'Same' is at most 10 % above, 'about equal' within 10 %,
'greatly' and 'poor' at least 25 % apart. What the workload was drawn to have (section 2.2) holds
by construction, as far as the fit goes. Claims about large jobs are judged for both readings of a
dedicated job: alone on its host, or beside others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from shadowtime.study.papers import published
from shadowtime.study.papers.class_partitioning import runs as r
from shadowtime.study.papers.class_partitioning.runs import ALL, LARGE, MEDIUM, SAME, SMALL, WHOLE
from shadowtime.study.papers.values import Claim
from shadowtime.workload.o2k import O2kCheck

BOUNDS = {SMALL: (0.0, 0.2), MEDIUM: (0.0, 3.0), LARGE: (50.0, float("inf"))}
"""Average waits in hours with one reservation in the heavy months."""


def one_reservation(judge: r.Judge) -> Iterator[Claim]:
    """Both heavy months, all three classes."""
    policy = r.with_depth("LXF&W", 1)
    for reading, world in r.READINGS.items():
        hours = {
            (month, group): judge.found.hours(month, policy, "wait_mean_s", group, world=world)
            for month in r.HEAVY
            for group in BOUNDS
        }
        spread = [
            value / 3600 for value in judge.found.values("Jan03", policy, "wait_mean_s", LARGE)
        ]
        listed = ", ".join(f"{month} {group} {h:.2f}" for (month, group), h in hours.items())
        yield judge.published["one-reservation"].judged(
            all(BOUNDS[group][0] < h < BOUNDS[group][1] for (_, group), h in hours.items()),
            f"average wait in h: {listed}; large jobs of January's draws from {min(spread):.0f} to "
            f"{max(spread):.0f} h (alone on their hosts)",
            ours="; ".join(
                "-".join(f"{hours[month, group]:.2g}" for month in r.HEAVY) for group in BOUNDS
            )
            + " h",
            reading=reading,
        )


def reservations(judge: r.Judge) -> Iterator[Claim]:
    """How many are best: for the shared jobs, in the heavy months, in December."""
    claim, depths = judge.published["reservations"], judge.found.depths
    if not {2, 4} <= set(depths):
        yield claim.judged(None, f"only {depths} reservations were run: leave out --quick")
    else:
        yield _shared(judge)
        yield _heavy(judge)
    yield _december(judge)


def _hours(
    judge: r.Judge, month: str, depth: int, metric: str, group: str = ALL, world: str = WHOLE
) -> float:
    policy = r.with_depth("LXF&W", depth)
    return judge.found.hours(month, policy, metric, group, world=world)


def _shared(judge: r.Judge) -> Claim:
    """2 or 4 must be within 10 % of the best number in average and maximum wait, each month."""
    good, listed = [], []
    for month in r.MONTH_NAMES:
        waits = {
            metric: {
                depth: _hours(judge, month, depth, metric, world=r.SHARED_JOBS)
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
        listed.append(
            f"{month}: least average {min(mean.values()):.2f} h at K = {min(mean, key=mean.get)}, "  # type: ignore[arg-type]
            f"{mean[2]:.2f} and {mean[4]:.2f} at 2 and 4; least maximum "
            f"{min(longest.values()):.0f} h at {min(longest, key=longest.get)}, "  # type: ignore[arg-type]
            f"{longest[2]:.0f} and {longest[4]:.0f} at 2 and 4"
        )
    return judge.published["reservations"].judged(
        len(good) == len(r.MONTH_NAMES),
        "; ".join(listed),
        ours=f"2 or 4 within 10 % of the best in {len(good)} of 4 months",
        reading="shared jobs alone: average and maximum wait",
    )


def _heavy(judge: r.Judge) -> Claim:
    """10 must be within 10 % of the best number for all and for large jobs, in both months."""
    good, listed, played = 0, [], 0
    for month in r.HEAVY:
        for group in (ALL, LARGE):
            waits = {
                depth: _hours(judge, month, depth, "wait_mean_s", group)
                for depth in judge.found.depths
            }
            best = min(waits, key=lambda depth: waits[depth])
            good += waits[10] <= (1 + SAME) * waits[best]
            played += 1
            listed.append(
                f"{month} {group} {waits[10]:.2f} h, least {waits[best]:.2f} at K = {best}"
            )
    return judge.published["reservations"].judged(
        good == played,
        f"average wait with 10: {'; '.join(listed)}",
        ours=f"10 within 10 % of the best in {good} of {played}",
        reading="full workload, January and February: average wait of all and of large jobs",
    )


def _december(judge: r.Judge) -> Claim:
    """25 against 10: large jobs gain 30 % or more, no other class loses."""

    def more(metric: str, group: str) -> float:
        return r.excess(*(_hours(judge, "Dec02", depth, metric, group) for depth in (25, 10)))

    gains = {metric: -more(metric, LARGE) for metric in ("wait_mean_s", "wait_max_s")}
    others = {group: more("wait_mean_s", group) for group in (SMALL, MEDIUM)}
    listed = ", ".join(f"{group} jobs {change:+.0%}" for group, change in others.items())
    return judge.published["reservations"].judged(
        min(gains.values()) >= 0.3 and max(others.values()) <= SAME,
        f"with 25 in place of 10 large jobs wait {gains['wait_mean_s']:.0%} less on average and "
        f"{gains['wait_max_s']:.0%} less at most; average wait of {listed}",
        ours=f"{gains['wait_mean_s']:.0%}; {gains['wait_max_s']:.0%}",
        reading="December: 25 against 10 reservations",
    )


def single_class(judge: r.Judge) -> Iterator[Claim]:
    """No other order does better by more than 10 %, for all jobs or for large ones."""
    better, listed = [], []
    others = [
        (order, depth) for order in r.ORDERS if order != "LXF&W" for depth in judge.found.depths
    ]
    for month in r.MONTH_NAMES:
        for group in (ALL, LARGE):
            star = judge.found.hours(month, r.policy_of(r.SINGLE, month), "wait_mean_s", group)
            waits = {
                key: judge.found.hours(month, r.with_depth(*key), "wait_mean_s", group)
                for key in others
            }
            best = min(waits, key=lambda key: waits[key])
            text = (
                f"{month} {group} {star:.2f} h, best other {waits[best]:.2f} ({best[0]}, "
                f"K = {best[1]})"
            )
            listed.append(text)
            better += [text] * (waits[best] < (1 - SAME) * star)
    yield judge.published["single-class"].judged(
        not better,
        f"average wait under single-class*: {'; '.join(listed)}. Another order is better by more "
        f"than 10 %: {'; '.join(better) or 'nowhere'}",
        ours=f"{len(listed) - len(better)} of {len(listed)} not beaten",
    )


DRAWN = "the workload was drawn to have it"
FOUR_PEAKS = (5 * 3600, 50 * 3600, 200 * 3600, 400 * 3600)
ALL_JOBS = {
    "average wait": "wait_mean_s",
    "average slowdown": "slowdown_mean",
    "maximum wait": "wait_max_s",
    "95th percentile wait": "wait_p95_s",
}


def paper_claims(found: r.Findings) -> tuple[Claim, ...]:
    """The claims in the order of the published list."""
    judge = r.Judge(found, published.claims("class_partitioning"))
    makers = (
        _workload,
        one_reservation,
        reservations,
        single_class,
        _three_hosts,
        _caps,
        _part_l_sm,
        _short_limit,
        _part_l_a,
    )
    return tuple(claim for make in makers for claim in make(judge))


def _workload(judge: r.Judge) -> Iterator[Claim]:
    """Section 2.2: the means over the draws of each month."""

    def mean(of: Callable[[O2kCheck], float]) -> dict[str, float]:
        checks = {month: judge.found.checks(month) for month in r.MONTH_NAMES}
        return {month: sum(map(of, some)) / len(some) for month, some in checks.items()}

    total = mean(lambda check: check.demand_total)
    yield judge.published["demand"].judged(
        abs(min(total.values()) - 73) <= 1 and abs(max(total.values()) - 92) <= 1,
        f"{judge.each(total.__getitem__, '.1f')} %; {DRAWN}",
        ours=f"{min(total.values()):.0f}-{max(total.values()):.0f} %",
    )
    large = mean(lambda check: check.large)
    share = mean(lambda check: 100 * check.jobs[-1] / sum(check.jobs))
    yield judge.published["large-demand"].judged(
        abs(max(large.values()) - 22) <= 1 and max(share.values()) < 3,
        f"demand {judge.each(large.__getitem__, '.1f')} %, share of the jobs "
        f"{judge.each(share.__getitem__, '.1f')} %; {DRAWN}",
        ours=f"{max(large.values()):.0f} %; {max(share.values()):.1f} %",
    )
    memory = mean(lambda check: check.memory_demand)
    lower = {month: 100 * (1 - memory[month] / total[month]) for month in memory}
    yield judge.published["memory-demand"].judged(
        min(lower.values()) >= 20,
        f"memory demand {judge.each(memory.__getitem__, '.1f')} % of 600 GB; the jobs' memory is "
        "our choice, the paper has no table of it",
        ours=f"{min(lower.values()):.0f} % lower and more",
    )
    half = mean(lambda check: 100 * sum(check.peaks[peak] for peak in FOUR_PEAKS))
    yield judge.published["half-request"].judged(
        all(45 <= value <= 55 for value in half.values()),
        f"{judge.each(half.__getitem__, '.1f')} %; {DRAWN}",
        ours=f"{min(half.values()):.0f}-{max(half.values()):.0f} %",
    )
    powers = mean(lambda check: 100 * check.power_of_two)
    yield judge.published["power-of-two"].judged(
        all(80 <= value <= 85 for value in powers.values()),
        f"{judge.each(powers.__getitem__, '.1f')} %; {DRAWN}",
        ours=f"{min(powers.values()):.0f}-{max(powers.values()):.0f} %",
    )


def _three_hosts(judge: r.Judge) -> Iterator[Claim]:
    cluster = judge.found.subjects[0].cluster
    share = 100 * sum(host.capacity[0] for host in cluster.hosts[:3]) / cluster.procs
    yield judge.published["three-hosts"].judged(
        round(share) == 27, f"of {cluster.procs} processors", ours=f"{share:.1f} %"
    )


def _caps(judge: r.Judge) -> Iterator[Claim]:
    """A rule of the policy; what the second reservation on a host is worth."""
    moved = jobs = 0
    for runs in judge.found.months.values():
        once = runs.outcomes[WHOLE, r.ONCE].start
        twice = runs.outcomes[WHOLE, r.PARTITIONED[r.L_SM_50]].start
        assert once is not None and twice is not None
        moved, jobs = moved + int((once != twice).sum()), jobs + len(once)
    yield judge.published["caps"].judged(
        True,
        "a rule of the policy, which the runs here obey (reservations=2, times=2). With one time "
        f"the resources in place of two, {moved:,} of {jobs:,} starts differ under {r.L_SM_50}: a "
        "large job may then wait for a host that is soon free again, and leave the others open",
        ours="2; 2x",
    )


def _part_l_sm(judge: r.Judge) -> Iterator[Claim]:
    for reading, world in r.READINGS.items():
        worse = [
            f"{words} {judge.described(month, r.L_SM_50, r.SINGLE, metric, ALL, world)}"
            for month in r.MONTH_NAMES
            for words, metric in ALL_JOBS.items()
            if judge.change(month, r.L_SM_50, r.SINGLE, metric, ALL, world) > SAME
        ]
        average = judge.all_months(r.L_SM_50, r.SINGLE, "wait_mean_s", ALL, world)
        count = len(r.MONTH_NAMES) * len(ALL_JOBS)
        yield judge.published["part-l-sm"].judged(
            not worse,
            f"average wait {average}. Worse by more than 10 %: {'; '.join(worse) or 'nowhere'}",
            ours=f"{count - len(worse)} of {count} the same or better",
            reading=f"all jobs; {reading}",
        )
        lower = [
            month
            for month in r.MONTH_NAMES
            if all(
                judge.change(month, r.L_SM_50, r.SINGLE, metric, LARGE, world) <= -r.MUCH
                for metric in ("wait_mean_s", "wait_p95_s")
            )
        ]
        listed = judge.all_months(r.L_SM_50, r.SINGLE, "wait_mean_s", LARGE, world)
        yield judge.published["part-l-sm"].judged(
            len(lower) >= 3,
            f"average wait of large jobs {listed}; greatly lower, with the 95th percentile, in "
            f"{', '.join(lower) or 'no month'}",
            ours=f"{len(lower)} of 4 months",
            reading=f"large jobs; {reading}",
        )


def _short_limit(judge: r.Judge) -> Iterator[Claim]:
    for reading, world in r.READINGS.items():
        worse = {
            group: [
                month
                for month in r.MONTH_NAMES
                if judge.change(month, r.L_SM_5, r.L_SM_50, "wait_mean_s", group, world) > 0
            ]
            for group in (SMALL, MEDIUM)
        }
        waits = {
            group: judge.all_months(r.L_SM_5, r.L_SM_50, "wait_mean_s", group, world, by=", ")
            for group in worse
        }
        listed = "; ".join(f"{group}: {text}" for group, text in waits.items())
        yield judge.published["short-limit"].judged(
            all(len(months) == len(r.MONTH_NAMES) for months in worse.values()),
            f"average wait of (3H,5h) against (3H,50h), {listed}",
            ours=f"worse in {len(worse[SMALL])} and {len(worse[MEDIUM])} of 4 months",
            reading=reading,
        )


def _part_l_a(judge: r.Judge) -> Iterator[Claim]:
    for reading, world in r.READINGS.items():
        gaps = {
            (month, group): judge.change(month, r.L_A_50, r.L_SM_50, "wait_mean_s", group, world)
            for month in r.MONTH_NAMES
            for group in (ALL, LARGE)
        }
        close = [key for key, gap in gaps.items() if abs(gap) <= SAME]
        listed = ", ".join(f"{month} {group} {gap:+.0%}" for (month, group), gap in gaps.items())
        yield judge.published["part-l-a"].judged(
            len(close) == len(gaps),
            f"average wait of part-L/A(3H,50h) against part-L/SM(3H,50h): {listed}",
            ours=f"{len(close)} of {len(gaps)} within 10 %",
            reading=f"part-L/A(3H,50h); {reading}",
        )
        poor, longest = (
            {month: judge.change(month, r.L_A_5, r.L_SM_50, of, ALL, world) for month in r.HEAVY}
            for of in ("wait_mean_s", "wait_max_s")
        )
        yield judge.published["part-l-a"].judged(
            min(poor.values()) >= r.MUCH,
            "against part-L/SM(3H,50h): average wait "
            f"{judge.each(poor.__getitem__, '+.0%', poor)}, maximum wait "
            f"{judge.each(longest.__getitem__, '+.0%', longest)}",
            ours=f"average wait {min(poor.values()):+.0%} and more",
            reading=f"part-L/A(2H,5h); {reading}",
        )
