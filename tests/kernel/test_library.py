"""The library of compiled entries: the same results without Numba, and Numba where it has no entry.

The library of a checkout is made by ``scripts/build library``; these tests make a small one with a
single entry in it, which takes a few seconds.
"""

from __future__ import annotations

import ast
import ctypes
import json
import os
import pickle
import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from conftest import ROOT, made_once, program
from engine.modes_worker import digests
from shadowtime.kernel import library
from shadowtime.kernel.sources import CODE, PACKAGE
from shadowtime.report.rows import colour

ENTRY = "report/rows.py:colour"
FILLER = "policy/catalogue/tang.py:wfp3"
MODES = ROOT / "tests" / "engine" / "modes_worker.py"

CALL = """
import json, sys
import numpy as np
from shadowtime.kernel import library
from shadowtime.report.rows import colour

kind = np.dtype(sys.argv[1])
events = np.array([0, 1, ~0, 2, ~1, ~2], kind)
width = np.array([3, 2, 4], kind)
first, count, rows, size = (np.zeros(n, kind) for n in (3, 3, 9, 9))
gap_row, gap_width = np.zeros(8, kind), np.zeros(8, kind)
gap_width[0] = 5
arguments = (events, width, first, count, rows, size, gap_row, gap_width)
run = colour.py_func if sys.argv[2:] else colour
result = [int(run(*arguments)), *(column.tolist() for column in arguments)]
print(json.dumps({"result": result, "numba": "numba" in sys.modules, "stale": library.stale()}))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with one entry and one function of the catalogue, built by the first worker."""
    program("cc")
    return made_once(tmp_path_factory, "library", build)


def build(made: Path) -> None:
    """Build it."""
    wanted = ("--only", ENTRY, "--only", FILLER)
    done = subprocess.run(
        [sys.executable, "distribution/library/build.py", "--folder", str(made), *wanted],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]


def call(folder: Path | str, kind: str = "int64", *plain: str) -> dict[str, object]:
    """The entry's result in a separate process."""
    done = subprocess.run(
        [sys.executable, "-c", CALL, kind, *plain],
        env=os.environ | {"SHADOWTIME_PREBUILT": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, object] = json.loads(done.stdout)
    return found


def test_an_entry_is_called_without_numba(folder: Path) -> None:
    """The same result, and every array written as plain Python writes it."""
    found, plain = call(folder), call(folder, "int64", "plain")
    assert found == plain
    assert found["numba"] is False and found["stale"] == []


HELD = """
import ctypes, json, sys
import numpy as np
import shadowtime as st
from shadowtime.engine.custom import own_of
from shadowtime.kernel import library

jobs = st.Workload.build(submit=[0, 1, 5], run=[9, 5, 4], procs=[3, 4, 2], request=[9, 8, 4])
made = own_of(st.policy("wfp3"), jobs).pointer
print(json.dumps({"held": isinstance(made, library.Held), "numba": "numba" in sys.modules}))
"""


def test_an_example_calls_every_entry(tmp_path: Path) -> None:
    """Else the whole build fails, or users compile what no example has called."""
    record = tmp_path / "record.pickle"
    environment = {name: value for name, value in os.environ.items() if "NUMBA" not in name}
    subprocess.run(
        [sys.executable, "distribution/library/record.py", str(record)],
        cwd=ROOT, env=environment, check=True, capture_output=True,
    )  # fmt: skip
    entries, pointers, fillers = pickle.loads(record.read_bytes())
    assert [name for name, (_, kinds) in entries.items() if not kinds] == []
    assert entries
    assert pointers
    assert fillers


def test_the_catalogue_s_own_functions_are_in_the_library(folder: Path) -> None:
    """A policy whose order is one of our functions compiles nothing; other parameters do."""
    for policy, held in (("wfp3", True), ("f1(weight=3)", False)):
        done = subprocess.run(
            [sys.executable, "-c", HELD.replace("wfp3", policy)],
            env=os.environ | {"SHADOWTIME_PREBUILT": str(folder)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert json.loads(done.stdout) == {"held": held, "numba": not held}


def test_a_function_is_held_for_its_text_and_its_sources(folder: Path) -> None:
    """The same function in another generated text, or one of a user's, is a different one."""
    from shadowtime.policy.catalogue.tang import wfp3

    assert library.filler_name((wfp3,), "a") != library.filler_name((wfp3,), "b")
    assert library.filler_name((wfp3, call), "a") is None
    (name,) = json.loads((folder / "kernels.json").read_text())["fillers"]
    assert name.startswith(f"{FILLER}-")


def test_memory_of_the_library_is_laid_out_as_numba_reads_it() -> None:
    """One reference, no destructor, aligned data behind the head, the size."""
    sys.path.insert(0, str(ROOT / "distribution" / "library"))
    try:
        runtime = import_module("runtime")
    finally:
        sys.path.pop(0)
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly(str(runtime.runtime_module()))
    module.verify()
    machine = llvm.Target.from_default_triple().create_target_machine()
    with llvm.create_mcjit_compiler(module, machine) as engine:
        engine.finalize_object()
        made = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint32)(
            engine.get_function_address("NRT_MemInfo_alloc_aligned")
        )
        gone = ctypes.CFUNCTYPE(None, ctypes.c_uint64)(
            engine.get_function_address("NRT_MemInfo_call_dtor")
        )
        for size, align in ((1, 8), (1000, 32), (40, 64)):
            at = made(size, align)
            references, *nothing, data, held, _ = (ctypes.c_uint64 * 6).from_address(at)
            assert (references, nothing, held) == (1, [0, 0], size)
            assert data % align == 0 and at + runtime.HEAD <= data < at + runtime.HEAD + align
            gone(at)


def test_other_arguments_are_left_to_numba(folder: Path) -> None:
    """The library holds 64-bit arrays; narrower ones are compiled."""
    found = call(folder, "int32")
    assert found["numba"] is True
    assert found["result"] == call(folder, "int32", "plain")["result"]


def test_a_changed_source_is_left_to_numba(folder: Path, tmp_path: Path) -> None:
    """Code made from other sources is never run, and the file is named."""
    copy = Path(shutil.copytree(folder, tmp_path / "stale"))
    listed = json.loads((copy / "kernels.json").read_text())
    listed["entries"][ENTRY]["digest"] = "0" * 16
    (copy / "kernels.json").write_text(json.dumps(listed))
    found = call(copy)
    assert found["numba"] is True and found["stale"] == ["rows.py"]


@pytest.mark.parametrize("what", ["kernels.so", "kernels.json"])
def test_a_broken_library_is_left_to_numba(folder: Path, tmp_path: Path, what: str) -> None:
    """A file that cannot be loaded, or none at all, costs only time."""
    copy = Path(shutil.copytree(folder, tmp_path / "broken"))
    (copy / what).write_text("{")
    assert call(copy)["numba"] is True


def test_what_fits_a_version() -> None:
    """Types, dimensions, memory order and writability all have to match."""
    needed = library.CONTIGUOUS | library.ALIGNED | library.WRITEABLE
    version = library.Version(
        leaves=(library.Leaf("array", np.dtype("int64"), 2, needed), library.Leaf("int")),
        returns="void",
        run=lambda slots: 0,
    )
    table = np.zeros((2, 3), np.int64)
    frozen = table.copy()
    frozen.flags.writeable = False
    assert version.values([(table,), np.int32(7)]) is not None
    for wrong in (table[0], table.T, table[:, ::2], frozen, table.astype(">i8"), 5):
        assert version.values([(wrong,), 7]) is None
    assert version.values([(table,), 7.0]) is None
    assert version.values([(table,), True]) is None
    assert version.values([table]) is None


def test_arrays_lie_where_the_library_reads_them() -> None:
    """NumPy's array object in this Python has its fields after the header, in the known order."""
    assert library.arrays_are_as_known()


def test_schedules_of_the_library_equal_plain_python() -> None:
    """Every policy on the small worlds, where the checkout has its library."""
    if not library.holds(getattr(colour, "py_func", colour)):
        pytest.skip("no library for these sources (scripts/build library makes it)")
    done = subprocess.run(
        [sys.executable, str(MODES)],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout)["digests"] == digests()


def test_compiled_code_takes_constants_from_few_rooms() -> None:
    """Constants of compiled files come from the packages whose edits make code stale."""
    declared = re.compile(r"^@(kernel|routine|entry|pointer|cached_cfunc)\b", re.MULTILINE)
    looked = 0
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text()
        if not declared.search(text):
            continue
        looked += 1
        for node in ast.parse(text).body:
            if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith(
                "shadowtime."
            ):
                continue
            place = "/".join(str(node.module).split(".")[1:])
            if f"{place}/".startswith(CODE) or f"{place}.py" in CODE:
                continue
            source = import_module(str(node.module))
            for alias in node.names:
                value = getattr(source, alias.name)
                plain = isinstance(value, int | float | tuple | np.ndarray)
                assert not plain, f"{path.name} compiles {alias.name} of {node.module}"
    assert looked > 30
