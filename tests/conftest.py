"""What tests share: where the real traces are, what must be there, how many random examples to try.

A test that needs something a machine may lack asks for it here. Where it is missing the test is
skipped with the reason, unless the comma list SHADOWTIME_REQUIRE names it: then it fails.
"""

from __future__ import annotations

import fcntl
import gc
import os
import re
import shutil
import signal
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import settings

from shadowtime.testing import slurm, slurm_accounting

ROOT = Path(__file__).resolve().parent.parent

World = TypeVar("World")


def thorough() -> bool:
    """True where everything is tried, as in continuous integration: SHADOWTIME_EXAMPLES=all."""
    wanted = os.environ.get("SHADOWTIME_EXAMPLES", "quick")
    if wanted not in ("quick", "all"):
        raise pytest.UsageError(f"SHADOWTIME_EXAMPLES is quick or all, not {wanted!r}")
    return wanted == "all"


def examples(count: int) -> int:
    """How many random examples a test tries: ``count``, of which a quick run takes a tenth,
    but five at least.

    Examples differ from one run to the next, so a rule that a quick run checks on few of them is
    checked on many in time.
    """
    return count if thorough() else max(min(count, 5), count // 10)


def share(worlds: Sequence[World], turn: int) -> Sequence[World]:
    """The worlds on which one of many policies is tried: all, or in a quick run every third.

    ``turn`` is the number of the policy: the next one begins with the next world, so that every
    world and every policy has its turn.
    """
    return worlds if thorough() else worlds[turn % 3 :: 3]


# How long one example takes depends on what else the machine does, and on what is compiled by then.
settings.register_profile("suite", deadline=None, max_examples=examples(100))
settings.load_profile("suite")


def pytest_configure() -> None:
    """Let Ctrl-C arrive: a suite in the background ignores it, and so would its children."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """Collect garbage less often, and not among what stays to the end: modules and tests.

    With the whole suite in memory a tenth of the time would go into looking through it.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def require(component: str, present: object, reason: str) -> None:
    """Skip where ``present`` is falsy, or fail where SHADOWTIME_REQUIRE names the component."""
    if present:
        return
    required = {name.strip() for name in os.environ.get("SHADOWTIME_REQUIRE", "").split(",")}
    if component in required:
        pytest.fail(f"SHADOWTIME_REQUIRE names {component}: {reason}", pytrace=False)
    pytest.skip(reason)


def trace_path(name: str) -> Path:
    """A real trace by its file name, from SHADOWTIME_TRACES or ../shared/traces."""
    given = os.environ.get("SHADOWTIME_TRACES")
    folder = Path(given) if given else ROOT.parent / "shared" / "traces"
    path = folder / name
    require("traces", path.is_file(), f"no trace {name} (folder: SHADOWTIME_TRACES)")
    return path


def recordings_folder(version: str = "22.05") -> Path:
    """Where recorded runs of a real Slurm lie: the folder slurm-runs beside that of the traces,
    slurm-runs-24.11 for another version than 22.05.
    """
    given = os.environ.get("SHADOWTIME_TRACES")
    folder = Path(given).resolve().parent if given else ROOT.parent / "shared"
    return folder / ("slurm-runs" if version == "22.05" else f"slurm-runs-{version}")


def recording_path(name: str, version: str = "22.05") -> Path:
    """A recorded run of a real Slurm."""
    path = recordings_folder(version) / name
    reason = f"no recording {name} ({path.parent.name} beside the traces)"
    require("recordings", path.is_dir(), reason)
    return path


def program(name: str, *, component: str | None = None) -> str:
    """The path of a program such as chromium."""
    path = shutil.which(name)
    require(component or name, path, f"the program {name} is not installed")
    assert path is not None
    return path


SLURMS = ("system", *slurm.FETCHED)
"""Every Slurm that tests may start: Debian's own of this machine, and those fetched."""


def require_slurm(version: str = "system", *, accounting: bool = True) -> Path | None:
    """The folder of a Slurm to start (None: the system's), where it and what it needs are here."""
    missing = slurm.missing_programs()
    require("slurm", not missing, f"Slurm is not installed here ({', '.join(missing)})")
    if accounting:
        missing = slurm_accounting.missing_programs()
        require("slurmdbd", not missing, f"Slurm's accounting is not here ({', '.join(missing)})")
    if version == "system":
        return None
    root = slurm.slurm_root(version)
    reason = f"Slurm {version} is not here: scripts/install --system gets it"
    require(f"slurm-{version}", root, reason)
    return root


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """A folder that one worker fills and all of them read; the others wait for it."""
    base = factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder = shared / f"made-{name}"
    with open(shared / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            half = Path(tempfile.mkdtemp(prefix=f"half-{name}-", dir=shared))
            make(half)
            half.rename(folder)
    return folder


@pytest.fixture(name="trace_path", scope="session")
def _trace_path() -> Callable[[str], Path]:
    return trace_path


@pytest.fixture(name="recording_path", scope="session")
def _recording_path() -> Callable[[str], Path]:
    return recording_path


@pytest.fixture(name="program", scope="session")
def _program() -> Callable[..., str]:
    return program


@pytest.fixture(params=SLURMS)
def slurm_root(request: pytest.FixtureRequest) -> Path | None:
    """The folder of each Slurm in turn, for :class:`shadowtime.testing.slurm.SlurmCluster`."""
    return require_slurm(request.param)


def written_on(page: str, name: str, folder: Path) -> Path:
    """A file that a page tells the reader to write."""
    text = (ROOT / "docs/ideas" / page).read_text(encoding="utf-8")
    block = re.search(rf"\$ cat > {name} <<END\n(.*?)> END", text, re.DOTALL)
    assert block is not None
    path = folder / name
    path.write_text("".join(line[2:] + "\n" for line in block[1].splitlines()))
    return path
