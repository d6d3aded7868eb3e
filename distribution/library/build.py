"""Build the library of compiled entries: src/shadowtime/kernel/prebuilt/kernels.so and .json.

    python distribution/library/build.py [--cores N] [--folder FOLDER] [--only NAME ...]

Needs a linker (cc). Object files are kept in build/library, by what they are made of, so that
after an edit only what it concerns is compiled again; from nothing it takes some minutes.
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import json
import os
import pickle
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
KEPT = ROOT / "build" / "library"
WRAPPING = "1"
"""To be raised when compile.py makes other code from the same kernel."""

from runtime import runtime_code  # noqa: E402

from shadowtime.kernel.library import FOLDER  # noqa: E402
from shadowtime.kernel.sources import PACKAGE, code_digest, code_files  # noqa: E402

LARGE = ("passes/", "custom", "nodes/passes", "placing", "search", "head")
"""Words in the names of what most runs need: begun first."""


def main(words: list[str] | None = None) -> int:
    """Record, compile what is not kept, link, list."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cores", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="NAME",
        help="such as report/rows.py:colour or policy/catalogue/tang.py:wfp3, with the types of "
        "the examples in its file",
    )
    given = parser.parse_args(words)
    if shutil.which("cc") is None:
        print("build: a linker is needed and there is no cc here (Debian: gcc)", file=sys.stderr)
        return 1
    KEPT.mkdir(parents=True, exist_ok=True)
    record = KEPT / f"record-{os.getpid()}.pickle"
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")
    }
    files = sorted({name.partition(":")[0] for name in given.only})
    subprocess.run(
        [sys.executable, str(HERE / "record.py"), str(record), *files], check=True, env=environment
    )
    entries, pointers, fillers = pickle.loads(record.read_bytes())
    silent = sorted(name for name, (_, seen) in entries.items() if not seen)
    if silent and not given.only:
        record.unlink()
        print(f"build: no example calls {', '.join(silent)}: add one to record.py", file=sys.stderr)
        return 1
    known = [*entries, *pointers, *fillers]
    chosen = set(given.only)
    wanted = [n for n in known if not chosen or chosen & {n, n.rpartition("-")[0]}]
    names = sorted(wanted, key=lambda n: not any(w in n for w in LARGE))
    if lacking := [name for name in names if name in silent]:
        record.unlink()
        print(f"build: no example in its file calls {', '.join(lacking)}", file=sys.stderr)
        return 1
    if not names:
        record.unlink()
        print(f"build: there is no function {', '.join(given.only)}", file=sys.stderr)
        return 1

    def compiled(name: str) -> tuple[dict[str, Any], list[Path]]:
        stem = KEPT / key_of(name, entries.get(name) or pointers.get(name) or fillers[name])
        listed = stem.with_suffix(".json")
        if not listed.is_file():
            print(f"compiling {name}", file=sys.stderr, flush=True)
            own = KEPT / f"{os.getpid()}-{stem.name}"  # two builds may meet here
            done = subprocess.run(
                [sys.executable, str(HERE / "compile.py"), str(record), name, str(own)],
                check=False,
                capture_output=True,
                text=True,
                env=environment,
            )
            if done.returncode != 0:
                raise SystemExit(f"build: {name} could not be compiled:\n{done.stderr}")
            for made in KEPT.glob(f"{own.name}*.o"):
                made.replace(KEPT / made.name.removeprefix(f"{os.getpid()}-"))
            own.with_suffix(".json").write_text(done.stdout)
            own.with_suffix(".json").replace(listed)
        return json.loads(listed.read_text()), sorted(KEPT.glob(f"{stem.name}*.o"))

    found: dict[str, Any] = {"entries": {}, "pointers": {}, "fillers": {}}
    objects: list[Path] = []
    with ThreadPoolExecutor(given.cores) as pool:
        for about, files in pool.map(compiled, names):
            for kind, listed in about.items():
                for name, each in listed.items():
                    homes = homes_of(name, fillers.get(name))
                    each["files"] = [f.relative_to(PACKAGE).as_posix() for f in code_files(*homes)]
                found[kind] |= listed
            objects += files
    record.unlink()
    size = link(given.folder, objects, found) / 1e6
    print(f"built kernels.so: {len(names)} functions, {size:.1f} MB", file=sys.stderr)
    return 0


def link(folder: Path, objects: list[Path], listed: dict[str, Any]) -> int:
    """Write the library and its list, and see that it can be loaded; returns its size."""
    runtime = KEPT / f"{os.getpid()}-runtime.o"
    runtime.write_bytes(runtime_code())
    folder.mkdir(parents=True, exist_ok=True)
    made, library = folder / "kernels.new", folder / "kernels.so"
    # No library is named: what the code needs (memcpy, pow) every Python process has.
    subprocess.run(
        ["cc", "-shared", "-nostdlib", "-s", "-Wl,-z,noexecstack", "-o", made, runtime, *objects],
        check=True,
    )
    runtime.unlink()
    ctypes.CDLL(str(made))  # an error here is better than a library that nobody can load
    made.replace(library)  # a process that runs the old one keeps it
    (folder / "kernels.json").write_text(json.dumps(listed, indent=1) + "\n")
    return library.stat().st_size


def homes_of(name: str, recorded: Any) -> tuple[Path, ...]:
    """The files in which a function is written."""
    files = recorded[0] if recorded else None
    return files if isinstance(files, tuple) else (PACKAGE / name.partition(":")[0],)


def key_of(name: str, recorded: Any) -> str:
    """What the code of a function depends on: its sources, types, compiler and wrapper."""
    kinds = recorded[1]
    parts = (
        code_digest(*homes_of(name, recorded)),
        str(kinds),
        version("numba"),
        version("llvmlite"),
        WRAPPING,
        name,
    )
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
    return f"{name.rpartition(':')[2]}-{digest}"


if __name__ == "__main__":
    sys.exit(main())
