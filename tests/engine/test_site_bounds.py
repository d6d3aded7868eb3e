"""No kernel of the site reads or writes outside of its tables, and compiled ones decide alike."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba.core import config

from engine.site_bounds_worker import checked, digests

WORKER = Path(__file__).with_name("site_bounds_worker.py")


def test_site_kernels_stay_within_their_tables() -> None:
    assert not config.DISABLE_JIT, "else plain Python is compared with itself"
    done = subprocess.run(
        [sys.executable, str(WORKER)],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout) == digests()


def test_a_checked_table_rejects_what_lies_outside() -> None:
    table = checked((np.zeros((2, 3)),))[0]
    for at in ((-1, 0), (0, 3), -1, 2):
        with pytest.raises(IndexError):
            table[at]
        with pytest.raises(IndexError):
            table[at] = 1
    with pytest.raises(IndexError):
        table[1][-1] = 0
