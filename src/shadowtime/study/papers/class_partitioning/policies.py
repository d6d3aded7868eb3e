"""The policies that the study runs, and the months they run on."""

from __future__ import annotations

from shadowtime.workload.o2k_tables import MONTHS

MONTH_NAMES = dict(zip(("Dec02", "Jan03", "Feb03", "Mar03"), MONTHS, strict=True))
"""The paper's names of the months, and the generator's."""

HEAVY = ("Jan03", "Feb03")
LATER = ("Jan03", "Feb03", "Mar03")
"""The months of 2003."""

DEPTHS = (1, 2, 4, 10, 15, 20, 25, 40)
"""Numbers of reservations: those of Figure 2 and of the text."""

ORDERS = {"LXF&W": "lxfw", "FCFS": "easy", "LXF&W&P": "lxfwp", "LPF": "lpf"}
"""The paper's orders and the policies that have them."""

STAR = {"Dec02": 25, "Jan03": 10, "Feb03": 10, "Mar03": 10}
"""Reservations of single-class*: the best by the paper."""

SINGLE = "single-class*"
L_SM_5, L_SM_50 = "part-L/SM(3H,5h)", "part-L/SM(3H,50h)"
L_A_5, L_A_50 = "part-L/A(2H,5h)", "part-L/A(3H,50h)"
PARTITIONED = {
    L_SM_5: "part-l-sm(hosts=3, hours=5)",
    L_SM_50: "part-l-sm(hosts=3, hours=50)",
    L_A_5: "part-l-a(hosts=2, hours=5)",
    L_A_50: "part-l-a(hosts=3, hours=50)",
}
ONCE = "part-l-sm(hosts=3, hours=50, times=1)"
"""part-L/SM(3H,50h) with reservations in class one up to once each host's resources."""


def with_depth(order: str, depth: int) -> str:
    """An order with K reservations.

    Examples
    --------
    >>> with_depth("LXF&W", 10), with_depth("FCFS", 1)
    ('lxfw(reserve=10)', 'easy(reserve=1)')
    """
    return f"{ORDERS[order]}(reserve={depth})"


def policy_of(name: str, month: str) -> str:
    """The text of a policy under the paper's name; single-class* differs from month to month.

    Examples
    --------
    >>> policy_of("single-class*", "Dec02"), policy_of("part-L/A(2H,5h)", "Dec02")
    ('lxfw(reserve=25)', 'part-l-a(hosts=2, hours=5)')
    """
    return with_depth("LXF&W", STAR[month]) if name == SINGLE else PARTITIONED[name]
