"""What a tuned policy has to beat: its own template, the catalogue's policies of its kind, and
the baseline; and the answer whether it does."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from shadowtime.metrics.intervals import Interval, interval
from shadowtime.policy import catalogue, make_policy, parse
from shadowtime.policy.part import SLOTS
from shadowtime.study.tune.space import Space

Kind = Literal["tuned", "template", "catalogue", "baseline"]
Answer = Literal["tune", "do not tune", "undecided"]
TUNED = "tuned"


@dataclass(frozen=True, kw_only=True)
class Rival:
    """A policy in the table of an experiment, with its objectives in every period.

    Gains are advantages of the tuned policy over this one, period by period.
    """

    name: str
    kind: Kind
    values: Mapping[str, tuple[float, ...]]
    gains: Mapping[str, tuple[float, ...]]
    unstarted: tuple[float, ...] = ()
    """Jobs that it never starts, in every period."""

    def mean(self, metric: str) -> float:
        """The mean of an objective over the periods."""
        found = self.values[metric]
        return sum(found) / len(found)

    def gain(self, metric: str) -> Interval | None:
        """The tuned policy's mean gain on this one, with its interval over the periods."""
        return interval(self.gains[metric])

    def beaten(self, metric: str) -> bool:
        """True if the tuned policy is better, and not by chance."""
        found = self.gain(metric)
        return found is not None and found.low > 0

    def as_dict(self) -> dict[str, Any]:
        """For ``--json``."""
        return {
            "policy": self.name,
            "kind": self.kind,
            "unstarted": list(self.unstarted),
            "objectives": {
                name: {
                    "mean": self.mean(name),
                    "periods": list(values),
                    "gain_of_tuning": list(self.gains[name]) if self.kind != TUNED else None,
                    "interval": found.as_dict()
                    if self.kind != TUNED and (found := self.gain(name))
                    else None,
                }
                for name, values in self.values.items()
            },
        }


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Whether tuning is worth it, by the first objective."""

    answer: Answer
    instead: str | None
    """The policy to use instead of a tuned one."""
    sentence: str

    def as_dict(self) -> dict[str, Any]:
        """For ``--json``."""
        return {"answer": self.answer, "instead": self.instead, "sentence": self.sentence}


def same_kind(space: Space) -> list[str]:
    """The catalogue's policies that differ from the template only in what is tuned.

    Examples
    --------
    >>> from shadowtime.study.tune.space import Space
    >>> same_kind(Space.of("easy(order=weighted)", ["expansion=0..1"]))[:4]
    ['easy', 'lxf', 'sjf', 'wfp3']
    """
    template = make_policy(space.base)
    tuned = {a.name if a.name in SLOTS else parse.slot_with(template, a.name) for a in space.axes}
    return [
        one.name
        for one in catalogue()
        if all(part == one.parts[slot] for slot, part in template.parts.items()
               if slot not in tuned)
    ]  # fmt: skip


def gain(value: float, base: float, sign: int) -> float:
    """The share by which a value improves on another; ``sign`` is 1 where lower is better.

    Examples
    --------
    >>> gain(8.0, 10.0, 1), gain(0.9, 0.75, -1)
    (0.2, 0.2)
    """
    return round(sign * (base - value) / abs(base), 12) if base else 0.0


def advantage(value: float, other: float, sign: int) -> float:
    """How much better a value is than another, as a share of the larger one.

    Two policies that change places change the sign only, so a mean over periods favours neither.

    Examples
    --------
    >>> advantage(8.0, 10.0, 1), advantage(10.0, 8.0, 1), advantage(0.0, 0.0, 1)
    (0.2, -0.2, 0.0)
    """
    largest = max(abs(value), abs(other))
    return round(sign * (other - value) / largest, 12) if largest else 0.0


def verdict(rivals: Sequence[Rival], metric: str) -> Verdict:
    """Is the tuned policy better than each of the others?

    A policy that never starts more jobs than the tuned one is no rival; one that never starts fewer
    is better, whatever the metrics of the started jobs are.

    Examples
    --------
    >>> def of(name, kind, *gains):
    ...     return Rival(name=name, kind=kind, values={"m": (1.0,) * 3}, gains={"m": gains})
    >>> easy = of("easy", "baseline", 0.3, 0.31, 0.29)
    >>> verdict([easy, of("lxf", "catalogue", 0.1, -0.2, 0.1)], "m").sentence
    'Do not tune: lxf is as good (tuning gains 0.0 % ± 43.0 % on it over 3 periods).'
    >>> verdict([easy], "m").answer
    'tune'
    """
    never = next((sum(one.unstarted) for one in rivals if one.kind == TUNED), math.inf)
    others = [one for one in rivals if one.kind != TUNED and sum(one.unstarted) <= never]
    if not others:
        text = "Tune: each of the others never starts some jobs that the tuned policy starts."
        return Verdict(answer="tune", instead=None, sentence=text)
    most = min(others, key=lambda one: sum(one.unstarted))
    if sum(most.unstarted) < never < math.inf:
        text = f"Do not tune: {most.name} starts more jobs than the tuned policy."
        return Verdict(answer="do not tune", instead=most.name, sentence=text)
    periods = len(others[0].gains[metric])
    if periods < 2:
        text = "Undecided: one period is not enough to tell tuning from chance; use a longer log."
        return Verdict(answer="undecided", instead=None, sentence=text)
    best = min(others, key=lambda one: sum(one.gains[metric]))
    worse = _mean_gain(best, metric).high < 0
    if not worse:  # of two rivals, the gain on the better one may be certain, on the other not
        doubtful = [one for one in others if not one.beaten(metric)]
        best = min(doubtful or others, key=lambda one: sum(one.gains[metric]))
    found = _mean_gain(best, metric)
    share = f"{100 * (-found.mean if worse else found.mean):.1f} % ± {100 * found.half:.1f} %"
    called = f"{best.name}, as it is," if best.kind == "template" else best.name
    if best.beaten(metric):
        text = f"Tune: it gains {share} on the best of {len(others)} others, {best.name}, over"
        return Verdict(answer="tune", instead=None, sentence=f"{text} {periods} periods.")
    among = f", the best of {len(others)} others," if len(others) > 1 else ""
    text = f"is better by {share} over {periods} periods."
    if worse:
        called = f"{best.name}{among}"
    else:
        text = f"is as good (tuning gains {share} on it over {periods} periods)."
    return Verdict(
        answer="do not tune", instead=best.name, sentence=f"Do not tune: {called} {text}"
    )


def _mean_gain(rival: Rival, metric: str) -> Interval:
    """The gain on a rival; without limits where a period has no value."""
    return rival.gain(metric) or Interval(0.0, -math.inf, math.inf, len(rival.gains[metric]))
