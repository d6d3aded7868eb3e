"""Every claim of the paper's text, judged by means over the seeds, for both values of high demand.

Rules: a number is met within 10 %; a comparison must hold in every center and workload it is made
for. Killed jobs are those that contention killed (run < request). Without both logs nothing is
judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from shadowtime.study.papers import published
from shadowtime.study.papers.rua.runs import COLUMNS, HIGHS, RUA, Findings
from shadowtime.study.papers.values import Claim, Published, near

BSLD, WAIT = "bsld_finished_p95", "wait_finished_p95_s"
PENALISED, KILLED = "penalised_p95", "killed_contention"
CENTERS = ("CTC", "SDSC")
EVERYWHERE = tuple((center, name) for center in CENTERS for name in ("HIGH", "MED", "LOW"))
PRESSED = tuple((center, name) for center in CENTERS for name in ("HIGH", "MED"))


@dataclass(frozen=True)
class Judge:
    """The findings for one value of high demand."""

    found: Findings
    published: dict[str, Published]
    high: int

    @property
    def complete(self) -> bool:
        """Both logs, all workloads, this value of high demand."""
        there = {(key.center, key.scenario) for key in self.found.outcomes if key.high == self.high}
        return set(EVERYWHERE) <= there

    def mean(self, place: tuple[str, str], policy: str, metric: str, scale: float = 1.0) -> float:
        """Mean over the seeds."""
        return self.found.mean(*place, policy, metric, high=self.high, scale=scale)

    def ratio(self, place: tuple[str, str], metric: str, one: str, other: str) -> float:
        """One policy's mean over another's; infinite where that is 0."""
        below = self.mean(place, other, metric)
        return self.mean(place, one, metric) / below if below else float("inf")

    def spread(self, place: tuple[str, str], metric: str, one: str, other: str) -> str:
        """The same ratio seed by seed, from the least to the greatest."""
        pair = [self.found.of(*place, name, metric, high=self.high) for name in (one, other)]
        if pair[0] is None or pair[1] is None:
            return "not measured"
        each = [
            a / b if b else float("inf")
            for a, b in zip(pair[0].values, pair[1].values, strict=True)
        ]
        return f"{min(each):.2f} to {max(each):.2f}"

    def verdict(self, key: str, holds: bool, evidence: str, ours: str) -> Claim:
        """A verdict with the evidence; one seed gives no statement on chance."""
        return self.published[key].judged(holds, evidence, ours=ours, reading=f"high = {self.high}")


def paper_claims(found: Findings) -> tuple[Claim, ...]:
    """The claims in the order of the published list, for each value of high demand."""
    known = published.claims("rua")
    judges = [judge for high in HIGHS if (judge := Judge(found, known, high)).complete]
    if not judges:
        why = (
            "on a generated workload alone"
            if found.generated
            else "not all of the paper's workloads were run"
        )
        return tuple(claim.judged(None, why) for claim in known.values())
    makers: dict[str, Callable[[Judge], tuple[bool, str, str]]] = {
        "killed-four-to-six": _four_to_six,
        "thresholds-twenty": _twenty,
        "ctc-high-bsld": _ctc_bsld,
        "sdsc-high-penalised": _sdsc_penalised,
        "ctc-high-killed": _ctc_killed,
        "killed-factor-four": _factor_four,
        "balance-at-115": _balance,
        "good-thresholds": _good_thresholds,
        "rua-bsld": _rua_bsld,
        "finished-400": _finished,
        "ctc-high-wait": _ctc_wait,
        "sdsc-killed": lambda judge: _fewer_killed(judge, "SDSC", 5.0),
        "ctc-killed": lambda judge: _fewer_killed(judge, "CTC", 3.0),
        "sdsc-penalised": _half,
    }
    return tuple(
        judge.verdict(key, *maker(judge)) for key, maker in makers.items() for judge in judges
    )


def _named(values: dict[tuple[str, str], float], form: str = ".2f") -> str:
    return ", ".join(f"{' '.join(place)} {value:{form}}" for place, value in values.items())


def _span(values: Iterator[float] | list[float], form: str = ".1f") -> str:
    each = list(values)
    return f"{min(each):{form}} to {max(each):{form}}"


def _four_to_six(judge: Judge) -> tuple[bool, str, str]:
    best = {
        place: max(judge.ratio(place, KILLED, "FF", policy) for policy in COLUMNS[1:])
        for place in EVERYWHERE
    }
    return (
        all(value >= 3.6 for value in best.values()),
        "first fit's killed jobs over those of the best LessConsume policy (4 or more, met within "
        f"10 %): {_named(best)}",
        f"{_span(list(best.values()))} times",
    )


def _twenty(judge: Judge) -> tuple[bool, str, str]:
    more = {place: 100 * (judge.ratio(place, BSLD, "LCT=1", "LCT=1.5") - 1) for place in EVERYWHERE}
    return (
        all(10 <= value <= 30 for value in more.values()),
        "95th percentile of the bounded slowdown, factor 1 above factor 1.5 in % ('around 20' is "
        f"10 to 30): {_named(more, '.0f')}; the paper's own Table 1 gives 51, 20, 3, 21, 8, 35",
        f"{_span(list(more.values()), '.0f')} %",
    )


def _ctc_bsld(judge: Judge) -> tuple[bool, str, str]:
    theirs = {"FF": 4.2, "LC": 5.94, "LCT=1": 7.92, "LCT=1.5": 5.23}
    ours = {policy: judge.mean(("CTC", "HIGH"), policy, BSLD) for policy in theirs}
    listed = "; ".join(f"{value:.2f}" for value in ours.values())
    order = sorted(ours, key=ours.__getitem__)
    return (
        all(near(ours[policy], theirs[policy]) for policy in theirs),
        f"ours {listed}; in ascending order: {', '.join(order)} (the paper's: FF, LCT=1.5, LC, "
        "LCT=1)",
        listed,
    )


def _sdsc_penalised(judge: Judge) -> tuple[bool, str, str]:
    place = ("SDSC", "HIGH")
    low, high = (judge.mean(place, name, PENALISED, 100.0) for name in ("LCT=1", "LCT=1.5"))
    mean_low, mean_high = (
        judge.mean(place, name, "penalised_mean", 100.0) for name in ("LCT=1", "LCT=1.5")
    )
    return (
        near(low, 8.31) and near(high, 11.64),
        f"95th percentile {low:.2f} % and {high:.2f} %, which can only lie on the few levels of "
        f"the model; the average rises from {mean_low:.2f} % to {mean_high:.2f} %",
        f"{low:.2f} %; {high:.2f} %",
    )


def _ctc_killed(judge: Judge) -> tuple[bool, str, str]:
    place = ("CTC", "HIGH")
    first, strict = (judge.mean(place, name, KILLED) for name in ("FF", "LCT=1"))
    anyway = judge.mean(place, "FF", "killed_anyway")
    return (
        near(first, 428) and near(strict, 70),
        f"killed by contention: first fit {first:.0f}, LCT(1) {strict:.0f}; killed anyway under "
        f"first fit: {anyway:.0f}",
        f"{first:.0f}; {strict:.0f}",
    )


def _factor_four(judge: Judge) -> tuple[bool, str, str]:
    cut = {place: judge.ratio(place, KILLED, "FF", "LC") for place in PRESSED}
    return (
        all(value >= 3.6 for value in cut.values()),
        f"first fit's killed jobs over LessConsume's (4, met within 10 %): {_named(cut)}",
        f"{_span(list(cut.values()))} times",
    )


def _balance(judge: Judge) -> tuple[bool, str, str]:
    parts, good = [], True
    for place in (("CTC", "HIGH"), ("CTC", "MED"), ("CTC", "LOW")):
        shares = {}
        for name, metric in (("slowdown", BSLD), ("killed", KILLED)):
            low, middle, high = (
                judge.mean(place, policy, metric) for policy in ("LCT=1", "LCT=1.15", "LCT=1.5")
            )
            shares[name] = (middle - low) / (high - low) if high != low else 0.0
        good &= shares["slowdown"] >= 0.5 >= shares["killed"]
        parts.append(
            f"{' '.join(place)}: {shares['slowdown']:.0%} of the slowdown's way from factor 1 to "
            f"1.5, {shares['killed']:.0%} of the killed jobs'"
        )
    return (
        good,
        "balanced if at 1.15 most of the slowdown is won and less than half of the kills are "
        f"paid: {'; '.join(parts)}",
        "see evidence",
    )


def _good_thresholds(judge: Judge) -> tuple[bool, str, str]:
    worse = [
        f"{' '.join(place)} {policy}: {what}"
        for place in EVERYWHERE
        for policy in ("LCT=1.15", "LCT=1.25")
        for what, bad in (
            ("more killed than first fit", judge.ratio(place, KILLED, policy, "FF") > 1),
            ("slower than factor 1", judge.ratio(place, BSLD, policy, "LCT=1") > 1),
        )
        if bad
    ]
    return (
        not worse,
        "good is fewer killed jobs than first fit and a smaller bounded slowdown than factor 1; "
        + ("not so: " + "; ".join(worse) if worse else "so in every workload"),
        f"{12 - len({w.split(':')[0] for w in worse})} of 12",
    )


def _rua_bsld(judge: Judge) -> tuple[bool, str, str]:
    more = {place: 100 * (judge.ratio(place, BSLD, RUA, "FF") - 1) for place in EVERYWHERE}
    seeds = judge.spread(("CTC", "HIGH"), BSLD, RUA, "FF")
    place = ("SDSC", "HIGH")
    pair = "; ".join(f"{judge.mean(place, policy, BSLD):.0f}" for policy in ("FF", RUA))
    return (
        all(value <= 5 for value in more.values()),
        f"RUA against first fit in %: {_named(more, '+.1f')}; seed by seed on CTC HIGH the ratio "
        f"goes from {seeds}; SDSC HIGH: {pair}",
        f"{_span(list(more.values()), '+.0f')} %",
    )


def _finished(judge: Judge) -> tuple[bool, str, str]:
    place = ("SDSC", "HIGH")
    more = judge.mean(place, RUA, "finished") - judge.mean(place, "FF", "finished")
    anyway = judge.mean(place, "FF", "killed_anyway") - judge.mean(place, RUA, "killed_anyway")
    return (
        near(more, 400),
        f"{more:.0f} more of 10,000 finish under RUA, {anyway:.0f} of them with run >= request, "
        "whom only the longer limit saves",
        f"{more:.0f}",
    )


def _ctc_wait(judge: Judge) -> tuple[bool, str, str]:
    waits = {policy: judge.mean(("CTC", "HIGH"), policy, WAIT) for policy in ("FF", RUA, "LC")}
    listed = ", ".join(f"{policy} {value:,.0f} s" for policy, value in waits.items())
    return (
        all(3600 <= waits[name] <= 5500 for name in ("FF", RUA)) and near(waits["LC"], 7000),
        f"{listed}; the paper's own Table 3 has 10,286 s for FF and 12,588 s for LC",
        listed,
    )


def _fewer_killed(judge: Judge, center: str, times: float) -> tuple[bool, str, str]:
    place = (center, "HIGH")
    ratio = judge.ratio(place, KILLED, "FF", RUA)
    short = judge.ratio(place, KILLED, "FF", "RUA, limit = request") if judge.high == 2000 else 0.0
    alone = f"; with its limit kept at the request RUA would come to {short:.2f}" if short else ""
    return (
        ratio >= 0.9 * times,
        f"first fit kills {judge.mean(place, 'FF', KILLED):.0f}, RUA "
        f"{judge.mean(place, RUA, KILLED):.0f}: {ratio:.2f} times as many (read as {times:g} times "
        f"or more, met within 10 %){alone}",
        f"{ratio:.1f} times",
    )


def _half(judge: Judge) -> tuple[bool, str, str]:
    place = ("SDSC", "MED")
    cut = {
        name: 100 * (1 - judge.ratio(place, metric, RUA, "FF"))
        for name, metric in (("average", "penalised_mean"), ("95th percentile", PENALISED))
    }
    listed = ", ".join(f"{name} {value:.0f} %" for name, value in cut.items())
    return (
        max(cut.values()) >= 45,
        f"penalised run time lower by: {listed} (half, met within 10 %)",
        listed,
    )
