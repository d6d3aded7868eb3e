"""The same source, the same answers: jit off, bounds checked, and after an edited callee."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from numba.core import config

import shadowtime
from conftest import thorough
from engine.modes_worker import WORDS, digests

HERE = Path(__file__).parent
PACKAGE = Path(shadowtime.__file__).parent


def in_a_process(*words: str, **environment: str) -> dict[str, object]:
    """The digests from a separate process, and whether it was compiled."""
    done = subprocess.run(
        [sys.executable, str(HERE / "modes_worker.py"), *words],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def test_without_the_compiler():
    """The kernels are plain Python too, for debugging and coverage.

    NumPy checks every index there by the rule of Numba's bounds checks (negative ones count from
    the end), so this also shows that no kernel of any policy reads or writes beyond its arrays.
    """
    assert not config.DISABLE_JIT, "else compiled is compared with nothing"
    plain = in_a_process(NUMBA_DISABLE_JIT="1")
    assert plain == {"compiled": False, "digests": digests()}


def test_without_the_compiler_when_thousands_wait():
    """No count overflows in plain Python, however many jobs wait."""
    assert not config.DISABLE_JIT
    word = "crowded" if thorough() else "crowded-less"
    plain = in_a_process(word, NUMBA_DISABLE_JIT="1")
    assert plain == {"compiled": False, "digests": WORDS[word]()}


def test_with_bounds_checks(tmp_path):
    """Bounds-checked code gives the same schedules and has a cache of its own.

    One policy shows it: compiling all of them once more takes minutes, and the plain run above
    checks the same indexes. In a quick run the rows of a schedule show it, which compile faster.
    """
    word = "few" if thorough() else "rows"
    checked = in_a_process(word, NUMBA_BOUNDSCHECK="1", SHADOWTIME_CACHE=str(tmp_path))
    assert checked == {"compiled": True, "digests": WORDS[word]()}
    folders = [path.name for path in (tmp_path / "kernels").iterdir()]
    assert folders
    assert all("-checked" in name for name in folders)


def test_an_edited_callee_is_seen(tmp_path):
    """The cache rule: Numba's own key would miss a change in another file."""
    copy = tmp_path / "shadowtime"
    for name in ("__init__.py", "later.py", "types.py", "errors.py", "private.py"):
        copy.mkdir(exist_ok=True)
        shutil.copy(PACKAGE / name, copy / name)
    shutil.copytree(PACKAGE / "kernel", copy / "kernel")
    callee, caller = copy / "kernel" / "callee.py", copy / "kernel" / "caller.py"
    head = "from shadowtime.kernel.jit import entry, kernel\n"
    caller.write_text(
        head + "from shadowtime.kernel.callee import answer\n\n"
        "@entry\ndef ask(x):\n    return answer(x)\n"
    )

    def ask(text: str) -> str:
        callee.write_text(head + f"\n@kernel\ndef answer(x):\n    return x + {text}\n")
        code = (
            "from shadowtime.kernel.caller import ask; "
            "print(ask(1), sum(ask.dispatcher.stats.cache_hits.values()))"
        )
        return subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONPATH": str(tmp_path), "SHADOWTIME_CACHE": str(tmp_path / "c")},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()

    assert ask("1") == "2 0"
    assert ask("1") == "2 1", "the second process must load what the first one compiled"
    assert ask("41") == "42 0"
