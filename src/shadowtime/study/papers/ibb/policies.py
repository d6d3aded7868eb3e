"""The policies, and which are compared."""

from __future__ import annotations

ONE_RESOURCE = "EASY, processors"
"""EASY that ignores memory: where memory is scarce it promises what is not there, so it is a bound,
not a competitor."""

POLICIES = {
    "FCFS": "fcfs",
    "Best-fit": "greedy",
    ONE_RESOURCE: "easy",
    "EASY": "easy",
    "BB": "bb",
    "BB*": "bb(per_pass=until-none)",
    "BL": "bl",
    "IBB": "ibb",
    "IBB frozen": "ibb(threshold=frozen)",
}
"""What the tables call a policy, and what it is."""

SHAKEN = ("EASY", "BB", "BB*", "IBB")
"""Those that are run on shaken inputs too."""

DRAWN = ("Best-fit", "EASY", "BB", "BB*", "BL", "IBB", "IBB frozen")
"""Those that the figures show: on the scale of FCFS the others could not be distinguished."""

KEPT = ("EASY", "BB", "IBB")
"""Schedules that are kept for the report and the result folder."""

PAIRS = (
    ("IBB", "BB"),
    ("IBB frozen", "BB"),
    ("IBB", "BB*"),
    ("IBB", "EASY"),
    ("BB", "EASY"),
    ("BB*", "EASY"),
    ("BL", "EASY"),
)
"""Gains that are reported: of the first over the second."""

LEGEND = (
    "BB starts one job in a pass, as the paper reads it; BB* goes on until none is left. IBB's "
    "threshold is live, or frozen at the beginning of a pass. EASY is the one with all resources."
)

METRICS = {
    "wait": "average wait, s",
    "response": "average response, s",
    "slowdown": "average slowdown",
}


def over(pair: tuple[str, str]) -> str:
    """The column heading of a gain.

    Examples
    --------
    >>> over(("IBB", "BB"))
    'IBB/BB'
    """
    return "/".join(pair)
