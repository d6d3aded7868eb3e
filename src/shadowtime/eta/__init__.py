"""When waiting jobs will start: a distribution, drawn and calibrated (spec: estimates 2).

Shares of limits are learned from accounting (:mod:`.shares`), run times and submissions are drawn
(:mod:`.draws`, :mod:`.arrivals`), the site's own scheduler is simulated once per draw
(:mod:`.starts`), and the answer is the median with a range that is corrected by how earlier answers
came true (:mod:`.ranges`, :mod:`.scores`).
"""
