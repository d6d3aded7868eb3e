"""Studies: comparisons of policies, and replays of the log's own scheduler."""

from shadowtime.metrics.intervals import Interval
from shadowtime.study.compare import compare
from shadowtime.study.comparison import Comparison, Setting
from shadowtime.study.replicas import Load, Replicas

__all__ = ["Comparison", "Interval", "Load", "Replicas", "Setting", "compare"]
