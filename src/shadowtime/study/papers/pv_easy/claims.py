"""Every claim of the paper's text, judged by the numbers of the tables and figures.

Rules: a number is met within 10 %; a comparison must hold on every workload and metric it is made
for; 'similar' is within 10 %, 'mostly' more than half. A claim about EASY is judged for EASY as
defined and for the reading nearest to the paper's counts. Without the paper's logs only what needs
none of them is judged.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from shadowtime.study.papers import published, reproduction
from shadowtime.study.papers.pv_easy import runs as r
from shadowtime.study.papers.pv_easy.figures import METRICS
from shadowtime.study.papers.pv_easy.runs import BIG, BORDERS, ERRORS, FAIR, Findings
from shadowtime.study.papers.values import NEAR, Claim, Estimate, Published, near

NO_LOGS = "on a generated workload alone:"
LOGS = ("CTC", "SDSC-BLUE", "SDSC-DS")


@dataclass(frozen=True)
class Judge:
    """The findings and the published claims, and how a verdict is given."""

    found: Findings
    published: dict[str, Published]

    @property
    def complete(self) -> bool:
        """All of the paper's logs are there."""
        return tuple(subject.label for subject in self.found.subjects) == LOGS

    def verdict(
        self, key: str, holds: bool, evidence: str, *, ours: str = "", reading: str = ""
    ) -> Claim:
        """A verdict on what needs the paper's logs."""
        claim = self.published[key]
        if self.complete:
            return claim.judged(holds, evidence, ours=ours, reading=reading)
        names = ", ".join(subject.label for subject in self.found.subjects)
        why = NO_LOGS if self.found.subjects[0].generated else f"on {names} alone:"
        return claim.judged(None, f"{why} {evidence}", ours=ours, reading=reading)

    def values(self, policy: str, metric: str, scale: float = 1.0) -> list[float]:
        """A metric of a policy on every subject, 0 where it has no value."""
        return [
            (self.found.metric(subject, policy, metric) or 0.0) * scale
            for subject in self.found.subjects
        ]

    def span(self, values: list[float], form: str) -> str:
        """From the least to the greatest."""
        ends = [format(value, form) for value in (min(values), max(values))]
        return "-".join(dict.fromkeys(ends))

    def each(self, values: list[float], form: str) -> str:
        """Values with the names of their subjects."""
        return ", ".join(
            f"{subject.label} {format(value, form)}"
            for subject, value in zip(self.found.subjects, values, strict=True)
        )


BOTH = (r.DEFINED, r.NEAREST)
TEN = 0.1


def beats_easy(judge: Judge) -> Iterator[Claim]:
    """Both readings of the paper (spec: algorithms 9), against both readings of EASY."""
    grids = {
        "section 5.2.2: errors up to 10 %": tuple(x for x in ERRORS if x <= TEN),
        "section 7: errors of 10 % and more": tuple(x for x in ERRORS if x >= TEN),
    }
    for words, errors in grids.items():
        for reading in BOTH:
            lines = [line for line, (_, of) in r.FIGURE_4.items() if of == reading]
            listed, won, played = [], 0, 0
            for line in lines:
                for at, metric in enumerate(METRICS.values()):
                    wins = sum(
                        _point(judge, subject, "PV-EASY", x, at)
                        < _point(judge, subject, line, x, at)
                        for subject in judge.found.subjects
                        for x in errors
                    )
                    games = len(judge.found.subjects) * len(errors)
                    listed.append(f"{wins} of {games} against {line.split(',')[0]} by {metric}")
                    won, played = won + wins, played + games
            yield judge.verdict(
                "beats-easy",
                won == played,
                f"PV-EASY is better at {'; '.join(listed)}{_crossing(judge, lines)}",
                ours=f"{won} of {played} points",
                reading=f"{words}; EASY {reading}",
            )


def _point(judge: Judge, subject: reproduction.Subject, line: str, x: float, at: int) -> float:
    return Estimate(tuple(pair[at] for pair in judge.found.sweep[subject.label, line, x])).mean


def _crossing(judge: Judge, lines: list[str]) -> str:
    """From which error on PV-EASY is better by both metrics, workload by workload."""
    parts = []
    for subject in judge.found.subjects:
        for line in lines:
            better = [
                all(
                    _point(judge, subject, "PV-EASY", x, at) < _point(judge, subject, line, x, at)
                    for at in range(len(METRICS))
                )
                for x in ERRORS
            ]
            first = next((k for k in range(len(ERRORS)) if all(better[k:])), None)
            if first is not None:
                parts.append(f"{subject.label} from {ERRORS[first]:.0%} on ({line.split(',')[0]})")
    return f". Better by both for good: {', '.join(parts) or 'nowhere'}"


def big_blocked(judge: Judge) -> Iterator[Claim]:
    """Group by group above a quarter of the machine, by MBS and by MWBS."""
    first = BORDERS.index(BIG)
    for reading in BOTH:
        counts, listed = [], []
        for metric, name in METRICS.items():
            wins = games = 0
            for subject in judge.found.subjects:
                ours = judge.found.of(subject, r.PV).sizes
                theirs = judge.found.of(subject, r.easy(reading)).sizes
                assert ours is not None and theirs is not None
                for a, b in zip(ours.groups[first:], theirs.groups[first:], strict=True):
                    if a.jobs and b.jobs:
                        games += 1
                        wins += getattr(a, metric) < getattr(b, metric)
                big = (getattr(ours.big, metric), getattr(theirs.big, metric))
                small = (getattr(ours.small, metric), getattr(theirs.small, metric))
                listed.append(
                    f"{name} on {subject.label} {_pair(big)} (big), {_pair(small)} (small)"
                )
            counts.append((wins, games))
        yield judge.verdict(
            "big-blocked",
            all(2 * wins > games for wins, games in counts),
            f"PV-EASY against EASY: {'; '.join(listed)}",
            ours=" and ".join(f"{wins} of {games}" for wins, games in counts) + " groups better",
            reading=f"EASY {reading}",
        )


def _pair(values: tuple[float | None, float | None]) -> str:
    return " against ".join("none" if value is None else f"{value:.1f}" for value in values)


def same_performance(judge: Judge) -> Iterator[Claim]:
    """Figures 5 and 6."""
    for reading in BOTH:
        wrong, listed = [], []
        for metric, name in METRICS.items():
            ours = judge.values(r.PV, metric)
            theirs = judge.values(r.easy(reading), metric)
            last = judge.values(r.easy_last(reading), metric)
            for k, subject in enumerate(judge.found.subjects):
                listed.append(f"{name} on {subject.label} {ours[k]:.1f} / {theirs[k]:.1f}"
                            f" / {last[k]:.1f}")  # fmt: skip
                smaller = subject.label == "SDSC-BLUE"
                if (ours[k] >= theirs[k]) if smaller else (ours[k] > (1 + NEAR) * theirs[k]):
                    aim = "not smaller" if smaller else "not similar"
                    wrong.append(f"{name} on {subject.label} is {aim}")
                if metric == "mwbs" and last[k] <= max(ours[k], theirs[k]):
                    wrong.append(f"EASY-Last is not the worst by MWBS on {subject.label}")
        yield judge.verdict(
            "same-performance",
            not wrong,
            f"PV-EASY / EASY / EASY-Last: {'; '.join(listed)}. "
            f"{'; '.join(wrong) or 'All parts hold'}",
            ours=f"{9 - len(wrong)} of 9 parts hold" if judge.complete else "",
            reading=f"EASY and EASY-Last {reading}",
        )


def estimates_win(judge: Judge) -> Iterator[Claim]:
    """User estimates against predictions inside EASY (section 6)."""
    for reading in BOTH:
        line = "FCFS-EASY" if reading == r.DEFINED else "FCFS-EASY, loose and fixed"
        parts, listed = [], []
        for at, (metric, name) in enumerate(METRICS.items()):
            own = judge.values(r.easy(reading), metric)
            last = judge.values(r.easy_last(reading), metric)
            for k, subject in enumerate(judge.found.subjects):
                virtual = [_point(judge, subject, line, x, at) for x in ERRORS if x <= TEN]
                parts.append((own[k] < last[k], own[k] < min(virtual)))
                listed.append(
                    f"{name} on {subject.label} {own[k]:.1f}, EASY-Last {last[k]:.1f}, "
                    f"virtual {min(virtual):.1f}-{max(virtual):.1f}"
                )
        beaten = [sum(part[side] for part in parts) for side in (0, 1)]
        yield judge.verdict(
            "estimates-win",
            all(all(part) for part in parts),
            f"user estimates: {'; '.join(listed)}",
            ours=f"better in {beaten[0]} of {len(parts)} against EASY-Last, in {beaten[1]} against "
            "the virtual predictor",
            reading=f"EASY {reading}",
        )


def paper_claims(found: Findings) -> tuple[Claim, ...]:
    """The claims in the order of the published list."""
    judge = Judge(found, published.claims("pv_easy"))
    makers = (
        _delay_max,
        _violation_max,
        _wasted_load,
        _unfair_share,
        _no_violation,
        beats_easy,
        _predictor_error,
        big_blocked,
        same_performance,
        _preempted_cost,
        _ten_repetitions,
        _default_installed,
        _same_makespan,
        estimates_win,
    )
    return tuple(claim for make in makers for claim in make(judge))


def _delay_max(judge: Judge) -> Iterator[Claim]:
    policies = {f"EASY {reading}": r.easy(reading) for reading in (r.DEFINED, r.NEAREST)}
    words = "longest delay beyond FST2 in h"
    yield from _longest(judge, "delay-max", policies, "fst2_delay_max_s", 90.7, words)


def _violation_max(judge: Judge) -> Iterator[Claim]:
    readings = (r.DEFINED, "fixed", "fixed until missed")
    policies = {f"EASY-Last {reading}": r.easy_last(reading) for reading in readings}
    words = "longest delay from the first reservation in h"
    yield from _longest(judge, "violation-max", policies, "violation_delay_max_s", 32.9, words)


def _longest(
    judge: Judge, key: str, policies: dict[str, str], metric: str, paper: float, words: str
) -> Iterator[Claim]:
    for reading, policy in policies.items():
        hours = judge.values(policy, metric, 1 / 3600)
        evidence, ours = f"{words}: {judge.each(hours, '.1f')}", f"{max(hours):.1f} h"
        holds = near(max(hours), paper)
        yield judge.verdict(key, holds, evidence, ours=ours, reading=reading)


def _wasted_load(judge: Judge) -> Iterator[Claim]:
    lost = judge.values(r.PV, "wasted_load", 100.0)
    yield judge.verdict(
        "wasted-load",
        near(min(lost), 2.48) and near(max(lost), 5.66),
        f"wasted load in %: {judge.each(lost, '.2f')}",
        ours=f"{judge.span(lost, '.2f')} %",
    )


def _unfair_share(judge: Judge) -> Iterator[Claim]:
    for reading in (r.DEFINED, r.NEAREST):
        late = judge.values(r.easy(reading), "fst2_delayed", 100.0)
        blocked = judge.values(r.easy(reading), "blocked")
        shares = [one / max(many, 1.0) for one, many in zip(late, blocked, strict=True)]
        strict = [
            one / max(many, 1.0)
            for one, many in zip(
                judge.values(r.easy(reading), "fst_delayed", 100.0), blocked, strict=True
            )
        ]
        yield judge.verdict(
            "unfair-share",
            all(15.0 <= share <= 25.0 for share in shares),
            f"blocked jobs delayed beyond FST2 in %: {judge.each(shares, '.1f')} (the paper's own "
            "counts give 19.2, 17.0, 19.9; 'around' is taken as 15 to 25); by strict fairness "
            f"(FST): {judge.each(strict, '.1f')}",
            ours=f"{judge.span(shares, '.0f')} %",
            reading=f"EASY {reading}",
        )


def _no_violation(judge: Judge) -> Iterator[Claim]:
    """A theorem: judged on any workload."""
    found, failures, runs = judge.found, [], 0
    for subject in found.subjects:
        for policy in r.PREDICTORS.values():
            result = found.of(subject, policy)
            runs += 1
            count = result.metrics["violations"]
            broken = [*(result.unproved or ()), *([f"{count:g} violations"] if count else [])]
            failures += [f"{subject.label}, {policy}: {what}" for what in broken]
    evidence = (
        f"no violation in {runs} runs ({len(r.PREDICTORS)} predictors on each workload), and check "
        f"proves {', '.join(FAIR)} of every one"
    )
    yield judge.published["no-violation"].judged(
        not failures, "; ".join(failures) or evidence, ours=str(len(failures))
    )


def _predictor_error(judge: Judge) -> Iterator[Claim]:
    known = {"Last Model": r.PV, "last two runs": "easy++"}
    errors = {}
    for label, policy in known.items():
        for subject in judge.found.subjects:
            accuracy = judge.found.of(subject, policy).accuracy
            assert accuracy is not None
            errors[f"{label} on {subject.label}"] = accuracy.overall["prediction_error_mean"]
    listed = ", ".join(f"{name} {100 * error:,.0f} %" for name, error in errors.items())
    yield judge.verdict(
        "predictor-error",
        min(errors.values()) > 0.20,
        f"mean absolute error: {listed}. These are the predictors at hand: the techniques that the "
        "paper cites were not run",
        ours=f"{100 * min(errors.values()):,.0f} % and more",
    )


def _preempted_cost(judge: Judge) -> Iterator[Claim]:
    kills, lost = judge.values(r.PV, "mkt"), judge.values(r.PV, "rtw_mean", 100.0)
    yield judge.verdict(
        "preempted-cost",
        max(kills) < 2 and all(round(share, -1) in (40.0, 50.0) for share in lost),
        f"kills of a preempted job: {judge.each(kills, '.2f')}; additional time in %, to be "
        f"rounded to tens: {judge.each(lost, '.1f')} (the paper's own lie between 38.95 and 48.27)",
        ours=f"{max(kills):.2f}; {judge.span(lost, '.0f')} %",
    )


def _ten_repetitions(judge: Judge) -> Iterator[Claim]:
    seeds = len(judge.found.seeds)
    yield judge.published["ten-repetitions"].judged(
        None,
        f"it says how the paper measured; here every point is the mean of {seeds} seeds, drawn "
        "once per job",
        ours=str(seeds),
    )


def _default_installed(judge: Judge) -> Iterator[Claim]:
    yield judge.published["default-installed"].judged(
        None, "a survey of installations, which no simulation can judge"
    )


def _same_makespan(judge: Judge) -> Iterator[Claim]:
    ours, theirs = judge.values(r.PV, "makespan_s"), judge.values(r.easy(), "makespan_s")
    changes = [100 * (a / b - 1) for a, b in zip(ours, theirs, strict=True)]
    yield judge.verdict(
        "same-makespan",
        all(abs(change) <= 1.0 for change in changes),
        f"PV-EASY's makespan against EASY's in %: {judge.each(changes, '+.3f')}",
        ours=f"within {max(map(abs, changes)):.3f} %",
    )
