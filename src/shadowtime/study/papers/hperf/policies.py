"""The four policies of the thesis under its two rules for the end of a job."""

from __future__ import annotations

POLICIES = {
    "ConsRes": "consres",
    "LessC": "lessc",
    "HPerf": "hperf",
    "HPerf_preloaded": "hperf(preloaded=yes)",
}
"""As the published tables call them."""

UNLIMITED, GRACE = "unlimited time", "5 minutes of grace"
RULES = {UNLIMITED: "unlimited", GRACE: "300"}

TABLES = {
    ("High", UNLIMITED): 1,
    ("High", GRACE): 2,
    ("Medium", UNLIMITED): 3,
    ("Medium", GRACE): 4,
}
"""Tables 4.1 to 4.4."""

MEASURES = {
    "duration": "Duration",
    "running": "Running",
    "extra_requested": "Extra requested",
    "waiting": "Waiting",
    "extra_used": "Extra used",
    "killed": "Killed",
}


def text_of(policy: str, rule: str, **others: str) -> str:
    """A policy of the thesis as it can be typed.

    Examples
    --------
    >>> text_of("HPerf_preloaded", GRACE)
    'hperf(grace=300, preloaded=yes)'
    """
    name, _, rest = POLICIES[policy].rstrip(")").partition("(")
    settings = [f"grace={RULES[rule]}", *([rest] if rest else [])]
    if name == "hperf":
        settings += [f"{key}={value}" for key, value in others.items()]
    return f"{name}({', '.join(settings)})"
