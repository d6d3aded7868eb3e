"""How far a what-if on a log can be trusted: one table of rules, and the verdict they give.

Every rule measures one aspect of a replay and grades it by two bounds. *Agreement* rules measure
how close the simulated waits are to the recorded ones, relative to run times. *Cause* rules look
for what a simulation cannot know: they explain why the two differ, and what to do about it.

The verdict is the worst grade of the agreement rules; a bad cause caps it at fair, because what it
distorts may only show under another policy. The bounds are calibrated on recorded runs of a real
Slurm (``benchmarks/trust_calibration.py``, docs/decisions/trust.md). Every sentence about a verdict
is here, for the terminal and the page alike.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Grade = Literal["good", "fair", "poor"]
GRADES: tuple[Grade, ...] = ("good", "fair", "poor")
QUESTION = "How far to trust a what-if"

MEANING: Mapping[str, str] = {
    "good": "Groups of jobs wait as long as they did on the machine: mean waits of a what-if can "
    "be used directly, single starts cannot.",
    "fair": "Use a what-if as a direction and to compare policies with each other; "
    "do not quote its minutes.",
    "poor": "The machine followed rules that this simulation does not model: a what-if can compare "
    "policies on this log's jobs, but does not predict this machine's waits.",
}


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One line of the table. ``good`` and ``fair`` are the bounds of these grades."""

    name: str
    topic: str
    kind: Literal["agreement", "cause"]
    measures: str
    good: float
    fair: float
    higher_is_better: bool = False
    unit: Literal["share", "factor", ""] = "share"
    reason: str = ""
    """What it means if it is not good, and what to do."""

    def grade(self, value: float) -> Grade:
        """The grade of a value; one that could not be measured counts as good.

        Examples
        --------
        >>> [BY_NAME["wait_correlation"].grade(rho) for rho in (0.9, 0.5, 0.1)]
        ['good', 'fair', 'poor']
        """
        if math.isnan(value):
            return "good"
        if self.higher_is_better:
            return "good" if value >= self.good else "fair" if value >= self.fair else "poor"
        return "good" if value <= self.good else "fair" if value <= self.fair else "poor"


RULES: tuple[Rule, ...] = (
    Rule(
        name="wait_correlation",
        topic="which jobs wait",
        kind="agreement",
        measures="rank correlation (Spearman) of recorded and simulated waits; waits below a "
        "twentieth of the mean run time rank as zero",
        good=0.65,
        fair=0.4,
        higher_is_better=True,
        unit="",
        reason="long waits affect other jobs than in the log",
    ),
    Rule(
        name="mean_wait_factor",
        topic="how long",
        kind="agreement",
        measures="recorded over simulated mean wait, or the reverse, a tenth of the mean run time "
        "added to both",
        good=1.25,
        fair=2.0,
        unit="factor",
        reason="waits are longer or shorter overall than in the log",
    ),
    Rule(
        name="group_wait_error",
        topic="waits by group",
        kind="agreement",
        measures="difference of mean waits over the smaller mean response time, average over "
        "groups of jobs (size, run time, part of the log, user, group, queue, partition)",
        good=0.15,
        fair=0.35,
        reason="groups of jobs wait longer or shorter than in the log",
    ),
    Rule(
        name="worst_group_error",
        topic="the worst group",
        kind="agreement",
        measures="the same in the group with the largest difference",
        good=0.5,
        fair=1.0,
        reason="some jobs follow rules that the simulation does not model: priorities, "
        "limits, partitions",
    ),
    Rule(
        name="no_start",
        topic="recorded starts",
        kind="cause",
        measures="jobs without a recorded start",
        good=0.01,
        fair=0.1,
        reason="they cannot be compared; the verdict is about the others",
    ),
    Rule(
        name="beyond_machine",
        topic="size of the machine",
        kind="cause",
        measures="recorded processor-time above the size of the machine",
        good=0.001,
        fair=0.02,
        reason="the machine was larger, or jobs shared processors: give --cluster its true "
        "size, or slice the log where it changed",
    ),
    Rule(
        name="machine_changed",
        topic="changes of the machine",
        kind="cause",
        measures="how much smaller the machine appears in the leanest part of the log than in the "
        "fullest (processors in use while jobs wait)",
        good=0.1,
        fair=0.3,
        reason="processors were added, removed or down during the log: slice it into parts",
    ),
    Rule(
        name="idle_while_waiting",
        topic="hidden rules",
        kind="cause",
        measures="recorded share of the machine idle while a waiting job would have fitted, minus "
        "the simulated one",
        good=0.05,
        fair=0.15,
        reason="the scheduler delayed jobs for reasons that are not in the log: limits per "
        "user or queue, reservations, kinds of nodes, nodes that were down",
    ),
    Rule(
        name="held",
        topic="holds and dependencies",
        kind="cause",
        measures="jobs that became eligible later than submitted (by more than a hundredth of the "
        "mean run time), or follow another",
        good=0.01,
        fair=0.1,
        reason="dependencies and holds look like waits: let jobs arrive when they became eligible "
        "(--release eligible)",
    ),
    Rule(
        name="no_request",
        topic="requested times",
        kind="cause",
        measures="jobs without a requested time, for which the run time is used",
        good=0.01,
        fair=0.1,
        reason="backfilling then knows the future: model their estimates",
    ),
    Rule(
        name="overrun",
        topic="kept limits",
        kind="cause",
        measures="jobs that ran longer than they had requested",
        good=0.01,
        fair=0.1,
        reason="the request was not a hard limit: choose how to treat them (--overrun)",
    ),
    Rule(
        name="dropped",
        topic="lines dropped",
        kind="cause",
        measures="lines of the log dropped in cleaning",
        good=0.01,
        fair=0.1,
        reason="they queued or ran, but are missing in the simulation",
    ),
    Rule(
        name="elsewhere",
        topic="one partition",
        kind="cause",
        measures="jobs outside the largest partition of the log",
        good=0.01,
        fair=0.1,
        reason="each partition is a separate machine: replay them one by one",
    ),
    Rule(
        name="not_modelled",
        topic="options not modelled",
        kind="cause",
        measures="core-hours of jobs submitted with an option that is not modelled",
        good=0.01,
        fair=0.1,
        reason="they run as if it were not there: doctor names the options",
    ),
    Rule(
        name="offered_load",
        topic="load",
        kind="cause",
        measures="offered load",
        good=0.95,
        fair=1.3,
        unit="",
        reason="close to and above 1 a small error grows as long as jobs arrive",
    ),
)
"""The rules, agreement first."""

BY_NAME: Mapping[str, Rule] = {rule.name: rule for rule in RULES}


@dataclass(frozen=True)
class Finding:
    """A rule and what it found."""

    rule: Rule
    value: float
    grade: Grade

    @property
    def shown(self) -> str:
        """The value for people.

        Examples
        --------
        >>> Finding(BY_NAME["mean_wait_factor"], 1.5, "fair").shown
        '1.50 x'
        """
        if self.rule.unit == "share":
            return f"{100 * self.value:.1f}%"
        return f"{self.value:.2f}{' x' if self.rule.unit == 'factor' else ''}"

    def as_dict(self) -> dict[str, Any]:
        """For results."""
        return {
            "rule": self.rule.name,
            "kind": self.rule.kind,
            "measures": self.rule.measures,
            "value": self.value,
            "grade": self.grade,
            "reason": "" if self.grade == "good" else self.rule.reason,
        }


@dataclass(frozen=True)
class Trust:
    """The verdict and everything it rests on; ``policy`` is what was simulated."""

    grade: Grade
    findings: tuple[Finding, ...]
    policy: str = ""

    @property
    def headline(self) -> str:
        """The verdict in a sentence.

        Examples
        --------
        >>> judge({"wait_correlation": 0.5}, policy="easy").headline
        'How far to trust a what-if: fair.'
        """
        return f"{QUESTION}: {self.grade}."

    @property
    def basis_sentence(self) -> str:
        """What the verdict compares: the machine is assumed to have run the policy."""
        beside = f" beside those of {self.policy}" if self.policy else ""
        return f"From the recorded waits{beside}; shadowtime replay gives the reasons."

    @property
    def nothing_wrong(self) -> str:
        """The topics of the good findings, as a clause; empty if none is good."""
        topics = [finding.rule.topic for finding in self.findings if finding.grade == "good"]
        return f"nothing wrong: {', '.join(topics)}" if topics else ""

    @property
    def meaning(self) -> str:
        """What the verdict permits."""
        return MEANING[self.grade]

    @property
    def reasons(self) -> tuple[Finding, ...]:
        """Why not, the worst first, agreement before causes."""
        wrong = [finding for finding in self.findings if finding.grade != "good"]
        return tuple(sorted(wrong, key=lambda f: (f.rule.kind, -GRADES.index(f.grade))))

    def as_dict(self) -> dict[str, Any]:
        """For results."""
        return {
            "verdict": self.grade,
            "meaning": self.meaning,
            **({"policy": self.policy} if self.policy else {}),
            "findings": [finding.as_dict() for finding in self.findings],
        }

    @staticmethod
    def from_dict(stored: Mapping[str, Any]) -> Trust:
        """The verdict that as_dict() wrote, recomputed with the current rules.

        Examples
        --------
        >>> found = judge({"wait_correlation": 0.5}, policy="easy")
        >>> Trust.from_dict(found.as_dict()) == found
        True
        """
        values = {
            item["rule"]: math.nan if item["value"] is None else float(item["value"])
            for item in stored.get("findings", ())
        }
        return judge(values, policy=str(stored.get("policy", "")))


def judge(measured: Mapping[str, float], *, policy: str = "") -> Trust:
    """The verdict on what was measured; a rule without a number is omitted.

    Examples
    --------
    >>> judge({"group_wait_error": 0.04, "wait_correlation": 0.9}).grade
    'good'
    >>> judge({"group_wait_error": 0.04, "no_request": 0.4}).grade
    'fair'
    >>> judge({"group_wait_error": 0.9}).grade
    'poor'
    """
    findings = tuple(
        Finding(rule, measured[rule.name], rule.grade(measured[rule.name]))
        for rule in RULES
        if rule.name in measured
    )
    agreement = _worst([f.grade for f in findings if f.rule.kind == "agreement"])
    causes = _worst([f.grade for f in findings if f.rule.kind == "cause"])
    capped: Grade = "fair" if causes == "poor" and agreement == "good" else agreement
    return Trust(capped, findings, policy)


def group_grade(difference: float) -> Grade:
    """The verdict on one group of jobs: its difference of mean waits over its response time.

    The bounds are those of the worst group, since any group may be it.

    Examples
    --------
    >>> group_grade(-0.1), group_grade(0.7), group_grade(3.0)
    ('good', 'fair', 'poor')
    """
    return BY_NAME["worst_group_error"].grade(abs(difference))


def _worst(grades: Sequence[Grade]) -> Grade:
    return max(grades, key=GRADES.index, default="good")
