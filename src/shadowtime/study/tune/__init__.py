"""Tune a policy's parameters on the past, choose on later jobs, report on the last ones once."""

from shadowtime.study.tune.parts import Parts
from shadowtime.study.tune.run import Tuned, tune
from shadowtime.study.tune.space import Space

__all__ = ["Parts", "Space", "Tuned", "tune"]
