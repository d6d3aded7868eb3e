"""Tables of nodes and partitions (CSV or Parquet) in the words of scontrol.

Their columns are found by name: a node's name, processors, memory, GPUs, their model, features and
partitions; a partition's name, nodes and longest run. Everything else about a site is then read as
if Slurm had written it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shadowtime.errors import ClusterError, optional

UNITS = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), "s"),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), "min"),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), "h"),
    **dict.fromkeys(("d", "day", "days"), "d"),
    **dict.fromkeys(("ms", "msec", "millis", "milliseconds"), "ms"),
    **{"us": "us", "usec": "us", "ns": "ns", "nsec": "ns", "milli": "milli", "millicores": "milli"},
    **dict.fromkeys(("b", "byte", "bytes"), "B"), **dict.fromkeys(("kb", "kib"), "KB"),
    **dict.fromkeys(("mb", "mib"), "MB"), **dict.fromkeys(("gb", "gib"), "GB"),
    **dict.fromkeys(("tb", "tib"), "TB"),
}  # fmt: skip
"""Words at the end of a column's name, and the units they mean."""
MEGABYTES = {"B": 1 / (1 << 20), "KB": 1 / 1024, "MB": 1.0, "": 1.0, "GB": 1024.0, "TB": 1 << 20}
_NODE = {
    "name": r"(node|host)_?(name|id)?|hostname|name|sn|machine(_id)?",
    "cpus": r"(num_|n_?|total_)?(cpus?|cores?|processors?|procs)(_(total|tot|count|num))?",
    "memory": r"(total_|real_)?(memory|mem|ram)(_(total|size))?",
    "gpus": r"(num_|n_?|total_)?gpus?(_(count|num|total))?",
    "features": r"(gpu_)?(model|type|spec)|features?|gpu_name",
    "partition": r"partitions?|queues?|partition_name",
    "state": r"state|status",
    "weight": r"weight",
}
_PARTITION = {
    "name": r"partition(_?name|_id)?|name|queue(_name)?",
    "nodes": r"nodes?(_list|list|_names)?",
    "max_time": r"max_?(time|walltime|wall_time|duration)|time_?limit|walltime(_limit|_max)?",
    "default": r"(is_)?default",
}
_NOTHING = ("", "nan", "none", "null", "(null)", "n/a")


def plain_name(name: str) -> tuple[str, str]:
    """A column's name in plain words, and the unit that it ends in.

    Examples
    --------
    >>> plain_name("memory_mib"), plain_name("QueuedTimestamp"), plain_name("priority_x")
    (('memory', 'MB'), ('queued_timestamp', ''), ('priority', ''))
    """
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    plain = re.sub(r"[^a-z0-9]+", "_", words.lower()).strip("_")
    stem = re.sub(r"_[xy]$", "", plain)  # of two tables joined on another column
    head, _, last = stem.rpartition("_")
    unit = UNITS.get(last, "") if head else ""
    return (head, unit) if unit else (stem, "")


def is_node_table(path: Path) -> bool:
    """Does the name say that this is a table?"""
    return path.suffix.lower() in (".csv", ".parquet")


def table_text(path: Path) -> str:
    """A table of nodes or of partitions as scontrol would show them."""
    rows = _rows(path)
    nodes = _places(rows[0], _NODE)
    if "name" in nodes and "cpus" in nodes:
        return "".join(_node(row, nodes, f"{path}, line {at}") for at, row in enumerate(rows, 2))
    parts = _places(rows[0], _PARTITION)
    if "name" in parts and ("nodes" in parts or "max_time" in parts):
        return "".join(_partition(row, parts) for row in rows)
    raise ClusterError(
        f"{path}: this is no table of nodes: it needs a column with their names and one with their "
        "processors, such as node and cpus"
    )


def _rows(path: Path) -> Sequence[Mapping[str, Any]]:
    import csv  # most runs have no such table

    try:
        if path.suffix.lower() == ".parquet":
            rows: list[dict[str, Any]] = _parquet(path)
        else:
            with path.open(encoding="utf-8-sig", newline="") as file:
                rows = list(csv.DictReader(file))
    except (OSError, ValueError, csv.Error) as error:
        raise ClusterError(f"{path} cannot be read: {error}") from None
    if not rows:
        raise ClusterError(f"{path}: there is no row in it")
    return rows


def _parquet(path: Path) -> list[dict[str, Any]]:
    pyarrow = optional("pyarrow", "parquet", extra="parquet", purpose="read Parquet")
    found: list[dict[str, Any]] = pyarrow.parquet.read_table(path).to_pylist()
    return found


def _places(row: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Our names: theirs, and its unit."""
    found: dict[str, tuple[str, str]] = {}
    for ours, pattern in names.items():
        for theirs in row:
            plain, unit = plain_name(str(theirs))
            if re.fullmatch(pattern, plain) and ours not in found:
                found[ours] = theirs, unit
    return found


def _word(cell: Any) -> str:
    if isinstance(cell, list | tuple):
        return ",".join(map(str, cell))
    word = "" if cell is None else str(cell).strip()
    return "" if word.lower() in _NOTHING else word


def _node(row: Mapping[str, Any], places: Mapping[str, tuple[str, str]], where: str) -> str:
    def text(ours: str) -> str:
        return _word(row.get(places[ours][0])) if ours in places else ""

    def amount(ours: str) -> int:
        unit, word = places[ours][1] if ours in places else "", text(ours)
        scale = 0.001 if unit == "milli" else MEGABYTES.get(unit, 1.0) if ours == "memory" else 1.0
        try:
            return math.floor(float(word or 0) * scale)
        except (ValueError, OverflowError):
            raise ClusterError(
                f"{where}: {places[ours][0]} must be a number, not {word!r}"
            ) from None

    pairs = {
        "NodeName": text("name"), "CPUTot": amount("cpus"), "CPUAlloc": 0,
        "RealMemory": amount("memory") or 1, "Weight": text("weight") or 1,
        "AvailableFeatures": re.sub(r"\s+", "_", text("features")) or "(null)",
        "Gres": f"gpu:{amount('gpus')}" if amount("gpus") else "(null)",
        "Partitions": re.sub(r"[\s;|]+", ",", text("partition")) or "(null)",
        "State": "DOWN" if text("state").lower() in ("down", "drained", "drain") else "IDLE",
    }  # fmt: skip
    return " ".join(f"{key}={value}" for key, value in pairs.items()) + "\n"


def _partition(row: Mapping[str, Any], places: Mapping[str, tuple[str, str]]) -> str:
    def text(ours: str) -> str:
        return _word(row.get(places[ours][0])) if ours in places else ""

    most = text("max_time")
    if re.fullmatch(r"\d+(\.\d+)?", most):  # a number is minutes for Slurm
        scale = {"s": 1 / 60, "h": 60, "d": 1440}.get(places["max_time"][1], 1)
        most = str(math.ceil(float(most) * scale))
    pairs = {
        "PartitionName": text("name"), "Nodes": re.sub(r"[\s;|]+", ",", text("nodes")),
        "MaxTime": most, "State": "UP",
        "Default": "YES" if text("default").lower() in ("yes", "true", "1") else "",
    }  # fmt: skip
    return " ".join(f"{key}={value}" for key, value in pairs.items() if value) + "\n"
