"""Ours beside the other simulators and readers that are found on this machine."""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.inputs import path_of, title_of, workload_of
from benchmarks.native_code import compiler, twin
from benchmarks.rows import Row
from benchmarks.timing import best_cpu, command, python

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

LISTED = Path(__file__).resolve().parent / "peers.toml"
RUNS = 7
END_TO_END = {"KTH": 0.3, "SDSC-SP2": 0.35, "SDSC-BLUE": 0.7}
"""CPU seconds of the whole command in a fresh process, with the library of compiled kernels."""
READERS = {
    "pandas": (
        "import pandas, sys; pandas.read_csv(sys.argv[1], sep=r'\\s+', comment=';', header=None)"
    ),
    "polars": (
        "import polars, sys; polars.read_csv(sys.argv[1], separator=' ', comment_prefix=';', "
        "has_header=False, truncate_ragged_lines=True, ignore_errors=True)"
    ),
}
"""Packages that read a table of numbers, and how; their import counts, as ours does."""


@dataclass(frozen=True)
class Peer:
    """Another simulator: its name, and the words that run EASY on a log."""

    name: str
    command: tuple[str, ...]

    def words(
        self, log: Path, procs: int, environment: Mapping[str, str] = os.environ
    ) -> list[str] | str:
        """The words to run, or why it cannot be run here.

        Examples
        --------
        >>> peer = Peer("own", ("$HOME_OF/run", "-n{procs}", "{log}"))
        >>> peer.words(Path("a.swf"), 8, {})
        'own: HOME_OF is not set'
        >>> peer.words(Path("a.swf"), 8, {"HOME_OF": "/nowhere"})
        'own: there is no program /nowhere/run'
        """
        found = []
        for word in self.command:
            for name in re.findall(r"\$(\w+)", word):
                if not environment.get(name):
                    return f"{self.name}: {name} is not set"
                word = word.replace(f"${name}", environment[name])
            found.append(word.replace("{log}", str(log)).replace("{procs}", str(procs)))
        if shutil.which(found[0]) is None:
            return f"{self.name}: there is no program {found[0]}"
        return found


def listed(path: Path | None = None) -> list[Peer]:
    """The peers of a file: ``SHADOWTIME_PEERS``, else the one beside this module."""
    given = os.environ.get("SHADOWTIME_PEERS")
    file = path or (Path(given) if given else LISTED)
    content = tomllib.loads(file.read_text())
    return [Peer(one["name"], tuple(one["command"])) for one in content.get("peer", [])]


def peers(folder: Path) -> Iterator[Row]:
    """EASY end to end and alone, and reading, on logs of three sizes."""
    from shadowtime.engine import simulate
    from shadowtime.policy import parse_policy

    easy = parse_policy("easy")
    for name, bar in END_TO_END.items():
        workload, cluster = workload_of(name)
        log = _plain(path_of(name, folder), folder)
        what = f"EASY, {title_of(name)}, end to end"
        words = ("simulate", str(log), "--policy", "easy", "--cluster", f"pool:{cluster.procs}")
        ours = min(command(*words).cpu for _ in range(RUNS))
        yield Row(what=f"{what}: shadowtime", value=ours, unit="s", bar=bar)
        for peer in listed():
            found = peer.words(log, cluster.procs)
            if isinstance(found, str):
                print(f"left out, {found}", file=sys.stderr)
                continue
            spent = min(_cpu(found) for _ in range(RUNS))
            yield Row(
                what=f"{what}: {peer.name}",
                value=spent,
                unit="s",
                note=f"{spent / ours:.2f} x ours",
            )
        simulate(workload, cluster, easy)  # compiles
        timed = [partial(simulate, workload, cluster, easy)]
        if compiler() is not None:
            timed.append(twin("easy", workload, cluster, easy, folder).run)
        alone, *in_c = best_cpu(*(partial(_itself, job) for job in timed), runs=5)
        yield Row(
            what=f"EASY, {title_of(name)}, simulate()", value=alone, unit="s",
            ratio=alone / in_c[0] if in_c else None, ratio_bar=1.5,
        )  # fmt: skip
        yield from _readers(log, title_of(name))


def _readers(log: Path, title: str) -> Iterator[Row]:
    """A process that reads the log, by us and by every package there is."""
    codes = {"shadowtime": "import sys; from shadowtime.trace import read; read(sys.argv[1])"}
    for package, code in READERS.items():
        if find_spec(package) is None:
            print(f"left out, {package}: not installed", file=sys.stderr)
        else:
            codes[package] = code
    for package, code in codes.items():
        spent = min(python(["-c", code, str(log)]).cpu for _ in range(RUNS))
        yield Row(what=f"reading {title}: {package}", value=spent, unit="s")


def _itself(job: Callable[[], Any]) -> Callable[[], Any]:
    return job


def _plain(path: Path, folder: Path) -> Path:
    """The log without compression: not every peer can unpack."""
    if path.suffix != ".gz":
        return path
    import gzip

    plain = folder / path.name.removesuffix(".gz")
    if not plain.is_file():
        plain.write_bytes(gzip.decompress(path.read_bytes()))
    return plain


def _cpu(words: Sequence[str]) -> float:
    """CPU seconds of a command; one that fails ends the benchmark with what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise RuntimeError(f"{words[0]} ended with {done.returncode}: {done.stderr[-2000:]}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
