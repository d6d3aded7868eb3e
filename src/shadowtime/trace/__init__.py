"""Job logs: one format per file, a pure parser and a thin opener each."""

from shadowtime.trace.read import read, read_raw
from shadowtime.trace.sacct import RECOMMENDED_COMMAND, parse_sacct, read_sacct
from shadowtime.trace.swf import parse_swf, read_swf
from shadowtime.trace.swf_write import to_swf, write_swf

__all__ = [
    "RECOMMENDED_COMMAND",
    "parse_sacct",
    "parse_swf",
    "read",
    "read_raw",
    "read_sacct",
    "read_swf",
    "to_swf",
    "write_swf",
]
