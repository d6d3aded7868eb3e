"""Edits of a site's configuration: slurm.conf with what it includes, gres.conf, topology.conf.

Lines keep their words, their order and their comments; only what changes is written anew.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from shadowtime.errors import ClusterError
from shadowtime.slurmtext.hostlist import compress, expand

MAIN = "slurm.conf"
LISTS = {"nodename": "nodename", "partitionname": "nodes", "nodeset": "nodes",
         "switchname": "nodes"}  # fmt: skip
"""Where each kind of line lists its nodes."""
OWN_TO_A_NODE = ("nodeaddr", "nodehostname", "bcastaddr", "port")
"""What a node that is added cannot take over from the one it is like."""


class ConfFiles:
    """The files by name, as they are and as they shall be.

    Examples
    --------
    >>> lines = "NodeName=n[1-2] CPUs=4", "PartitionName=p Nodes=n[1-2]"
    >>> files = ConfFiles({"slurm.conf": "\\n".join(lines)})
    >>> files.add_nodes("n2", ["n3", "n4"], ["p"])
    []
    >>> print("\\n".join(files.difference()[3:]))
     NodeName=n[1-2] CPUs=4
    -PartitionName=p Nodes=n[1-2]
    +NodeName=n[3-4] CPUs=4
    +PartitionName=p Nodes=n[1-4]
    """

    def __init__(self, files: Mapping[str, str]) -> None:
        self.before = {name: text.splitlines() for name, text in files.items()}
        self.after = {name: list(lines) for name, lines in self.before.items()}

    def __bool__(self) -> bool:
        return MAIN in self.before

    @property
    def added(self) -> list[str]:
        """Lines that were not there before."""
        return [line for name in self.after for line in self.after[name]
                if line not in self.before[name]]  # fmt: skip

    def set(self, name: str, value: str) -> None:
        """A setting of the whole site: where it stands last, else at the end of slurm.conf."""
        found = [
            (file, at)
            for file, at, line in self._lines(every=True)
            if line.strip().partition("=")[0].strip().lower() == name.lower()
        ]
        if found:
            file, at = found[-1]
            self.after[file][at] = f"{name}={value}"
        else:
            self.after[MAIN].append(f"{name}={value}")

    def set_on(self, head: str, key: str, value: str) -> bool:
        """A key on the line that begins with ``head``; False if there is none."""
        for file, at, line in self._lines():
            if line.split()[0].lower() == head.lower():
                word = re.compile(rf"(?i)(?<=\s){re.escape(key)}=(\"[^\"]*\"|\S*)")
                body, note = _apart(line)
                pair = f"{key}={value}"
                body = word.sub(pair, body, 1) if word.search(body) else f"{body.rstrip()} {pair}"
                self.after[file][at] = body + note
                return True
        return False

    def add_nodes(self, like: str, names: Sequence[str], partitions: Collection[str]) -> list[str]:
        """Nodes like one that is there, in these partitions; sentences about what is left to do."""
        found = [
            (file, at, line) for file, at, line in self._lines() if like in _nodes(line, "nodename")
        ]
        if not any(file != "gres.conf" for file, _, _ in found):
            return [f"add a NodeName line for {compress(names)}, like that of {like}"]
        notes = []
        for file, at, line in reversed(found):
            body, _ = _apart(line)
            words = body.split()
            own = [one for one in words if one.partition("=")[0].lower() in OWN_TO_A_NODE]
            kept = [f"NodeName={compress(names)}" if one.lower().startswith("nodename=") else one
                    for one in words if one not in own]  # fmt: skip
            self.after[file].insert(at + 1, " ".join(kept))
            if own:
                notes.append(f"{file}: give {compress(names)} their own {', '.join(own)}")
        wanted = {one.lower() for one in partitions}
        for kind in ("partitionname", "nodeset", "switchname"):
            for file, at, line in self._lines():
                here = _pairs(line)
                listed = _nodes(line, kind)
                named = kind != "partitionname" or here[kind].lower() in wanted if listed else False
                if named and like in listed:
                    self._relist(file, at, "nodes", [*listed, *names])
        return notes

    def remove_nodes(self, names: Collection[str]) -> None:
        """Without these nodes; a line that would have none is left out."""
        gone = set(names)
        for kind, key in LISTS.items():
            for file, at, line in reversed(list(self._lines())):
                listed = _nodes(line, kind)
                left = [one for one in listed if one not in gone]
                if len(left) == len(listed):
                    continue
                if left or kind == "partitionname":
                    self._relist(file, at, key, left)
                else:
                    del self.after[file][at]

    def difference(self) -> list[str]:
        """Unified differences, file by file."""
        found: list[str] = []
        for name, before in self.before.items():
            after = self.after[name]
            found += difflib.unified_diff(before, after, name, name, "", "", 1, "")
        return found

    def _relist(self, file: str, at: int, key: str, names: Sequence[str]) -> None:
        pattern = re.compile(rf"(?i)(?<![^\s]){key}=\S+")
        spelt = {"nodename": "NodeName", "nodes": "Nodes"}[key]
        self.after[file][at] = pattern.sub(f"{spelt}={compress(names)}", self.after[file][at], 1)

    def _lines(self, *, every: bool = False) -> Iterator[tuple[str, int, str]]:
        """Lines with content; ``every``: those of slurm.conf and what it includes alone."""
        for file, lines in self.after.items():
            if every and file in ("gres.conf", "topology.conf"):
                continue
            for at, line in enumerate(lines):
                if _apart(line)[0].strip():
                    yield file, at, line


def _apart(line: str) -> tuple[str, str]:
    """A line and its comment."""
    found = re.search(r"\s*(?<!\\)#.*", line)
    return (line[: found.start()], found[0]) if found else (line, "")


def _pairs(line: str) -> dict[str, str]:
    words = _apart(line)[0].split()
    return {word.partition("=")[0].lower(): word.partition("=")[2] for word in words}


def _nodes(line: str, kind: str) -> list[str]:
    """The nodes that a line of a kind lists; none where it lists all, or sets of nodes."""
    here = _pairs(line)
    text = here.get(LISTS[kind], "") if kind in here else ""
    if not text or text.upper() in ("ALL", "DEFAULT"):
        return []
    try:
        return list(expand(text))
    except ClusterError:
        return []
