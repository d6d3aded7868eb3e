"""What is run: the paper's seven, what the limit alone does, and what its authors wanted next."""

from __future__ import annotations

COLUMNS = ("FF", "LC", "LCT=1", "LCT=1.15", "LCT=1.25", "LCT=1.5")
"""The columns of Tables 1 to 7, all of them SJBF."""
RUA = "RUA"

POLICIES = {
    "FF": "easy-sjbf(place=first-fit)",
    "LC": "easy-sjbf(place=less-consume)",
    "LCT=1": "easy-sjbf(place=less-consume(threshold=1))",
    "LCT=1.15": "easy-sjbf(place=less-consume(threshold=1.15))",
    "LCT=1.25": "easy-sjbf(place=less-consume(threshold=1.25))",
    "LCT=1.5": "easy-sjbf(place=less-consume(threshold=1.5))",
    RUA: "rua",
}

LIMIT = {
    "RUA, limit = request": "rua(limit=req)",
    "FF, limit = request x factor": "easy-sjbf(place=first-fit(limit=pf))",
}
"""The ablation: which policies profit from the better places, which from the longer limit."""

BEYOND = {
    "thresholds by load": "rua(by=load)",
    "predicted run times": "rua(estimate=last-two)",
    "true run times": "rua(estimate=actual)",
    "demand wrong by 10 %": "rua(estimate=noisy-demand(x=0.1))",
    "demand wrong by 20 %": "rua(estimate=noisy-demand(x=0.2))",
    "demand wrong by 50 %": "rua(estimate=noisy-demand(x=0.5))",
}
"""The paper's future work (its sections 5 and 9)."""

READINGS = ("FF", "LCT=1.15", RUA)
"""Run again where a choice of ours is turned round: the stretch, the size of CTC."""

KEPT = ("FF", "LCT=1.15", RUA)
"""Schedules that are kept for the report and the result folder."""
