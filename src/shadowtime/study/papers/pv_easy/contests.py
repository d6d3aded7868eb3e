"""Claims that one scheduler does better than another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.study.papers.claims import NEAR
from shadowtime.study.papers.pv_easy import policies as p
from shadowtime.study.papers.pv_easy.figures import METRICS, mean
from shadowtime.study.papers.pv_easy.runs import ERRORS
from shadowtime.study.papers.pv_easy.sizes import BIG, BORDERS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shadowtime.study.papers.claims import Claim
    from shadowtime.study.papers.pv_easy.judge import Judge
    from shadowtime.study.papers.subjects import Subject

BOTH = (p.DEFINED, p.NEAREST)
TEN = 0.1


def beats_easy(judge: Judge) -> Iterator[Claim]:
    """Both readings of the paper (spec 9), against both readings of EASY."""
    grids = {
        "section 5.2.2: errors up to 10 %": tuple(x for x in ERRORS if x <= TEN),
        "section 7: errors of 10 % and more": tuple(x for x in ERRORS if x >= TEN),
    }
    for words, errors in grids.items():
        for reading in BOTH:
            lines = [line for line, (_, of) in p.FIGURE_4.items() if of == reading]
            told, won, played = [], 0, 0
            for line in lines:
                for at, metric in enumerate(METRICS.values()):
                    wins = sum(
                        _point(judge, subject, "PV-EASY", x, at)
                        < _point(judge, subject, line, x, at)
                        for subject in judge.found.subjects
                        for x in errors
                    )
                    games = len(judge.found.subjects) * len(errors)
                    told.append(f"{wins} of {games} against {line.split(',')[0]} by {metric}")
                    won, played = won + wins, played + games
            yield judge.verdict(
                "beats-easy",
                won == played,
                f"PV-EASY is better at {'; '.join(told)}{_crossing(judge, lines)}",
                ours=f"{won} of {played} points",
                reading=f"{words}; EASY {reading}",
            )


def _point(judge: Judge, subject: Subject, line: str, x: float, at: int) -> float:
    return mean([pair[at] for pair in judge.found.sweep[subject.label, line, x]])


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
        counts, told = [], []
        for metric, name in METRICS.items():
            wins = games = 0
            for subject in judge.found.subjects:
                ours = judge.found.of(subject, p.PV).sizes
                theirs = judge.found.of(subject, p.easy(reading)).sizes
                assert ours is not None and theirs is not None
                for a, b in zip(ours.groups[first:], theirs.groups[first:], strict=True):
                    if a.jobs and b.jobs:
                        games += 1
                        wins += getattr(a, metric) < getattr(b, metric)
                big = (getattr(ours.big, metric), getattr(theirs.big, metric))
                small = (getattr(ours.small, metric), getattr(theirs.small, metric))
                told.append(f"{name} on {subject.label} {_pair(big)} (big), {_pair(small)} (small)")
            counts.append((wins, games))
        yield judge.verdict(
            "big-blocked",
            all(2 * wins > games for wins, games in counts),
            f"PV-EASY against EASY: {'; '.join(told)}",
            ours=" and ".join(f"{wins} of {games}" for wins, games in counts) + " groups better",
            reading=f"EASY {reading}",
        )


def _pair(values: tuple[float | None, float | None]) -> str:
    return " against ".join("none" if value is None else f"{value:.1f}" for value in values)


def same_performance(judge: Judge) -> Iterator[Claim]:
    """Figures 5 and 6."""
    for reading in BOTH:
        wrong, told = [], []
        for metric, name in METRICS.items():
            ours = judge.values(p.PV, metric)
            theirs = judge.values(p.easy(reading), metric)
            last = judge.values(p.easy_last(reading), metric)
            for k, subject in enumerate(judge.found.subjects):
                told.append(f"{name} on {subject.label} {ours[k]:.1f} / {theirs[k]:.1f}"
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
            f"PV-EASY / EASY / EASY-Last: {'; '.join(told)}. "
            f"{'; '.join(wrong) or 'All parts hold'}",
            ours=f"{9 - len(wrong)} of 9 parts hold" if judge.complete else "",
            reading=f"EASY and EASY-Last {reading}",
        )


def estimates_win(judge: Judge) -> Iterator[Claim]:
    """User estimates against predictions inside EASY (section 6)."""
    for reading in BOTH:
        line = "FCFS-EASY" if reading == p.DEFINED else "FCFS-EASY, loose and fixed"
        parts, told = [], []
        for at, (metric, name) in enumerate(METRICS.items()):
            own = judge.values(p.easy(reading), metric)
            last = judge.values(p.easy_last(reading), metric)
            for k, subject in enumerate(judge.found.subjects):
                virtual = [_point(judge, subject, line, x, at) for x in ERRORS if x <= TEN]
                parts.append((own[k] < last[k], own[k] < min(virtual)))
                told.append(
                    f"{name} on {subject.label} {own[k]:.1f}, EASY-Last {last[k]:.1f}, "
                    f"virtual {min(virtual):.1f}-{max(virtual):.1f}"
                )
        beaten = [sum(part[side] for part in parts) for side in (0, 1)]
        yield judge.verdict(
            "estimates-win",
            all(all(part) for part in parts),
            f"user estimates: {'; '.join(told)}",
            ours=f"better in {beaten[0]} of {len(parts)} against EASY-Last, in {beaten[1]} against "
            "the virtual predictor",
            reading=f"EASY {reading}",
        )
