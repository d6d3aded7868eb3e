"""Studies: policies compared, and the log's own scheduler beside them."""

from shadowtime.study.compare import compare
from shadowtime.study.comparison import Cell, Comparison, Setting
from shadowtime.study.intervals import Interval
from shadowtime.study.loads import Load
from shadowtime.study.replicas import Replicas

__all__ = ["Cell", "Comparison", "Interval", "Load", "Replicas", "Setting", "compare"]
