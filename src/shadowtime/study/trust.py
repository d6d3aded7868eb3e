"""How far a what-if on a log can be trusted: the expected error of its mean waits, and why.

The verdict is a number: within which error mean waits are expected on another log of the machine
(:mod:`shadowtime.study.expected_error`), for all jobs and for most groups, with the groups for
which it is larger. *Causes* look for what a simulation cannot know: they explain why waits differ,
and what to do about it; those that are a share of the log which the model lacks add to the error.
Every sentence about a verdict is here, for the terminal and the page alike.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from shadowtime.study.expected_error import LEVEL, Expected, within

QUESTION = "How far to trust a what-if"
NAMED = 3
"""Groups that a sentence names."""
SURE, ROUGH = 0.1, 0.25
"""Errors up to which a number is shown in green, and up to which its minutes can be quoted."""


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A cause. Up to ``bound`` it is nothing to mention."""

    name: str
    topic: str
    measures: str
    bound: float
    unit: Literal["share", ""] = "share"
    adds: bool = False
    """True for a share of the log that the model lacks: it is part of the expected error."""
    reason: str
    """What it means, and what to do."""


RULES: tuple[Rule, ...] = (
    Rule(
        name="no_start",
        topic="recorded starts",
        measures="jobs without a recorded start",
        bound=0.01,
        adds=True,
        reason="they cannot be compared; the verdict is about the others",
    ),
    Rule(
        name="beyond_machine",
        topic="size of the machine",
        measures="recorded processor-time above the size of the machine",
        bound=0.001,
        reason="the machine was larger, or jobs shared processors: give --cluster its true "
        "size, or slice the log where it changed",
    ),
    Rule(
        name="machine_changed",
        topic="changes of the machine",
        measures="how much smaller the machine appears in the leanest part of the log than in the "
        "fullest (processors in use while jobs wait)",
        bound=0.1,
        reason="processors were added, removed or down during the log: slice it into parts",
    ),
    Rule(
        name="idle_while_waiting",
        topic="hidden rules",
        measures="recorded share of the machine idle while a waiting job would have fitted, minus "
        "the simulated one",
        bound=0.05,
        reason="the scheduler delayed jobs for reasons that are not in the log: limits per "
        "user or queue, reservations, kinds of nodes, nodes that were down",
    ),
    Rule(
        name="held",
        topic="holds and dependencies",
        measures="jobs that became eligible later than submitted (by more than a hundredth of the "
        "mean run time), or follow another",
        bound=0.01,
        reason="dependencies and holds look like waits: let jobs arrive when they became eligible "
        "(--release eligible)",
    ),
    Rule(
        name="no_request",
        topic="requested times",
        measures="jobs without a requested time, for which the run time is used",
        bound=0.01,
        reason="backfilling then knows the future: model their estimates",
    ),
    Rule(
        name="overrun",
        topic="kept limits",
        measures="jobs that ran longer than they had requested",
        bound=0.01,
        reason="the request was not a hard limit: choose how to treat them (--overrun)",
    ),
    Rule(
        name="dropped",
        topic="lines dropped",
        measures="lines of the log dropped in cleaning",
        bound=0.01,
        adds=True,
        reason="they queued or ran, but are missing in the simulation",
    ),
    Rule(
        name="elsewhere",
        topic="one partition",
        measures="jobs outside the largest partition of the log",
        bound=0.01,
        adds=True,
        reason="each partition is a separate machine: replay them one by one",
    ),
    Rule(
        name="not_modelled",
        topic="what is not modelled",
        measures="core-hours of jobs with an option, or in a partition, QOS, account or "
        "reservation with a setting, that is not modelled",
        bound=0.01,
        adds=True,
        reason="they run as if it were not there: doctor names it",
    ),
    Rule(
        name="settings",
        topic="settings of the site",
        measures="settings of the whole site that may decide and are not modelled, 5 % each",
        bound=0.01,
        adds=True,
        reason="they may act on another log: doctor names them",
    ),
    Rule(
        name="offered_load",
        topic="load",
        measures="offered load",
        bound=0.95,
        unit="",
        reason="close to and above 1 a small error grows as long as jobs arrive",
    ),
)
"""Every cause."""

BY_NAME: Mapping[str, Rule] = {rule.name: rule for rule in RULES}


@dataclass(frozen=True)
class Finding:
    """A cause and what it measured."""

    rule: Rule
    value: float

    @property
    def wrong(self) -> bool:
        """True if it is worth mentioning; what could not be measured is not."""
        return self.value > self.rule.bound

    @property
    def shown(self) -> str:
        """The value for people.

        Examples
        --------
        >>> Finding(BY_NAME["dropped"], 0.25).shown, Finding(BY_NAME["offered_load"], 1.2).shown
        ('25.0%', '1.20')
        """
        return f"{100 * self.value:.1f}%" if self.rule.unit == "share" else f"{self.value:.2f}"

    def as_dict(self) -> dict[str, Any]:
        """For results."""
        return {
            "rule": self.rule.name,
            "measures": self.rule.measures,
            "value": self.value,
            "reason": self.rule.reason if self.wrong else "",
        }


@dataclass(frozen=True)
class Trust:
    """The verdict and everything it rests on; ``policy`` is what was simulated."""

    expected: Expected
    findings: tuple[Finding, ...] = ()
    policy: str = ""

    @property
    def headline(self) -> str:
        """The verdict in a sentence.

        Examples
        --------
        >>> Trust(Expected(error=0.078, by_group=0.2)).headline
        'How far to trust a what-if: mean waits within 8 % for all jobs, 20 % by group.'
        """
        whole, groups = within(self.expected.error), within(self.expected.by_group)
        if whole == groups:
            return f"{QUESTION}: mean waits within {whole}."
        return f"{QUESTION}: mean waits within {whole} for all jobs, {groups} by group."

    @property
    def meaning(self) -> str:
        """What the number says, and for which groups it does not hold.

        Examples
        --------
        >>> Trust(Expected(error=0.4, by_group=0.4)).meaning
        'At most 15 of 100 mean waits of another log should be further off. Use a what-if as a \
direction: do not quote its minutes.'
        """
        rest = f"{100 - 100 * LEVEL:.0f} of 100"
        said = f"At most {rest} mean waits of another log should be further off."
        usual = within(self.expected.by_group)
        beyond = [one for one in self.expected.beyond if within(one.error) != usual]
        if beyond:
            more = f" and {len(beyond) - NAMED} more" if len(beyond) > NAMED else ""
            said += f" Larger for {', '.join(map(str, beyond[:NAMED]))}{more}."
        if self.expected.error > ROUGH:
            said += " Use a what-if as a direction: do not quote its minutes."
        return said

    @property
    def basis_sentence(self) -> str:
        """What the verdict compares: the machine is assumed to have run the policy."""
        beside = f" beside those of {self.policy}" if self.policy else ""
        return f"From the recorded waits{beside}; shadowtime replay gives the reasons."

    @property
    def shade(self) -> Literal["good", "fair", "poor"]:
        """The colour of the number; no word for people."""
        return shade(self.expected.error)

    @property
    def nothing_wrong(self) -> str:
        """The topics of what is as it should be, as a clause; empty if nothing is."""
        topics = [finding.rule.topic for finding in self.findings if not finding.wrong]
        return f"nothing wrong: {', '.join(topics)}" if topics else ""

    @property
    def reasons(self) -> tuple[Finding, ...]:
        """What limits the trust, that farthest beyond its bound first."""
        wrong = [finding for finding in self.findings if finding.wrong]
        return tuple(sorted(wrong, key=lambda one: -one.value / one.rule.bound))

    def as_dict(self) -> dict[str, Any]:
        """For results."""
        return {
            **self.expected.as_dict(),
            "meaning": self.meaning,
            **({"policy": self.policy} if self.policy else {}),
            "findings": [finding.as_dict() for finding in self.findings],
        }

    @staticmethod
    def from_dict(stored: Mapping[str, Any]) -> Trust:
        """What as_dict() wrote.

        Examples
        --------
        >>> found = Trust(Expected(error=0.1, by_group=0.2), (Finding(BY_NAME["held"], 0.5),))
        >>> Trust.from_dict(found.as_dict()) == found
        True
        """
        values = {
            item["rule"]: math.nan if item["value"] is None else float(item["value"])
            for item in stored["findings"]
        }
        return Trust(Expected.from_dict(stored), findings_of(values), str(stored.get("policy", "")))


def findings_of(measured: Mapping[str, float]) -> tuple[Finding, ...]:
    """The causes that were measured, in their order."""
    return tuple(Finding(rule, measured[rule.name]) for rule in RULES if rule.name in measured)


def unknown_share(measured: Mapping[str, float]) -> float:
    """The share of the log that the model lacks, as it adds to an expected error.

    Examples
    --------
    >>> unknown_share({"dropped": 0.3, "not_modelled": 0.4, "offered_load": 1.2})
    0.5
    """
    return math.hypot(*(measured.get(rule.name, 0.0) for rule in RULES if rule.adds))


def shade(error: float) -> Literal["good", "fair", "poor"]:
    """The colour of an error.

    Examples
    --------
    >>> shade(0.05), shade(0.2), shade(0.9)
    ('good', 'fair', 'poor')
    """
    return "good" if error <= SURE else "fair" if error <= ROUGH else "poor"
