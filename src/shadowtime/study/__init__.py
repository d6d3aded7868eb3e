"""Studies: comparisons of policies, and replays of the log's own scheduler."""

from shadowtime.metrics.intervals import Interval
from shadowtime.study.compare import compare
from shadowtime.study.comparison import Comparison, Setting
from shadowtime.study.loads import Load
from shadowtime.study.replicas import Replicas

__all__ = ["Comparison", "Interval", "Load", "Replicas", "Setting", "compare"]
