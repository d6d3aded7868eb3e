"""The policies that the study runs, under the names its tables use.

Which EASY the authors ran is not known: their counts are not those of EASY as it is usually
defined. So every statement about EASY is made for each reading: whether extra processors are used
up within a pass, and whether the head's first reservation stays (spec: algorithms 1.2, 2.9).
"""

from __future__ import annotations

READINGS = {
    "as defined": "",
    "loose": "extra_update=no",
    "fixed": "fixed_reservation=yes",
    "loose and fixed": "fixed_reservation=yes, extra_update=no",
}
"""Readings of EASY and the switches that make them."""

PROMISES = {**READINGS, "fixed until missed": "fixed_reservation=until-missed"}
"""Readings of EASY-Last in Table 2: a promise that was missed may stand, so that no job is
backfilled until the head starts, or be made anew (spec: algorithms 2.7)."""

DEFINED, NEAREST = "as defined", "loose and fixed"
"""The usual EASY, and the reading whose counts are nearest to the paper's (see notes)."""

PV = "pv-easy"
PRUNED = "pv-easy(prune=yes)"

PREDICTORS = {
    "Last Model": PV,
    "last two runs": "pv-easy(estimate=last-two)",
    "user estimates": "pv-easy(estimate=requested)",
    "true run times": "pv-easy(estimate=actual)",
    "virtual, 10 %": "pv-easy(estimate=noisy(x=0.1, seed=1))",
    "virtual, 40 %": "pv-easy(estimate=noisy(x=0.4, seed=1))",
}
"""PV-EASY with every predictor: strict fairness must not depend on any of them."""

ACCURACY = {
    "user estimates": "easy",
    "Last Model, in PV-EASY": PV,
    "Last Model, in EASY": "easy-last",
    "last two runs, in EASY++": "easy++",
    "virtual, 10 %": PREDICTORS["virtual, 10 %"],
    "virtual, 40 %": PREDICTORS["virtual, 40 %"],
}
"""Predictors whose errors are reported, and the policy in which each was at work."""

ABLATIONS = {
    "PV-EASY": PV,
    "PV-EASY, victims pruned": PRUNED,
    "PV-EASY without venture": "pv-easy(venture=no)",
    "PV-EASY without preemption": "pv-easy(preempt=never)",
    "PV-EASY, user estimates": "pv-easy(estimate=requested)",
    "PV-EASY, last two runs": "pv-easy(estimate=last-two)",
    "PV-EASY, true run times": "pv-easy(estimate=actual)",
    "EASY": "easy",
    "EASY, Last Model": "easy-last",
    "EASY, last two runs": "easy(estimate=last-two)",
    "EASY, true run times": "easy(estimate=actual)",
    "EASY-SJBF": "easy-sjbf",
    "EASY-SJBF, Last Model": "easy-sjbf(estimate=last)",
    "EASY-SJBF, last two runs (EASY++)": "easy++",
    "EASY-SJBF, true run times": "easy-sjbf(estimate=actual)",
}
"""What each part of PV-EASY is worth, and what prediction is worth without it."""


def easy(reading: str = DEFINED, *options: str, base: str = "easy") -> str:
    """The policy text of EASY in a reading.

    Examples
    --------
    >>> easy(), easy("loose"), easy("fixed", "estimate=actual", base="easy-sjbf")
    ('easy', 'easy(extra_update=no)', 'easy-sjbf(fixed_reservation=yes, estimate=actual)')
    """
    arguments = ", ".join(option for option in (PROMISES[reading], *options) if option)
    return f"{base}({arguments})" if arguments else base


def easy_last(reading: str = DEFINED) -> str:
    """EASY on Last-Model predictions, in a reading."""
    return easy(reading, base="easy-last")


def virtual(x: float, seed: int) -> str:
    """The paper's virtual predictor as an option."""
    return f"estimate=noisy(x={x:g}, seed={seed})"


FIGURE_4 = {
    "PV-EASY": (PV, ""),
    "FCFS-EASY": ("easy", DEFINED),
    "SJF-EASY": ("easy-sjbf", DEFINED),
    "FCFS-EASY, loose and fixed": ("easy", NEAREST),
    "SJF-EASY, loose and fixed": ("easy-sjbf", NEAREST),
}
"""The lines of Figure 4: base and reading."""


def with_virtual(line: str, x: float, seed: int) -> str:
    """The policy of a line of Figure 4 at a maximum error and a seed."""
    base, reading = FIGURE_4[line]
    if not reading:
        return f"{base}({virtual(x, seed)})"
    return easy(reading, virtual(x, seed), base=base)
