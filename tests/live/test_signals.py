"""A signal ends a loop at once, even one whose pass never returns from compiled code."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from shadowtime.live.signals import Interrupted, Signals

SPIN = """
import ctypes, sys
from contextlib import nullcontext
from shadowtime.live.signals import Interrupted, Signals
libc = ctypes.PyDLL(None)  # keeps the interpreter's lock, as compiled code does
with Signals() as signals:
    with signals.{section}():
        print("begins", flush=True)
        libc.{call}
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_compiled_code_does_not_keep_a_loop_from_ending(number: int) -> None:
    """It never returns to Python's handlers: the signal ends the process by itself."""
    code = SPIN.format(section="computing", call="sem_wait(ctypes.byref((ctypes.c_long * 8)()))")
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"begins\n"
        process.send_signal(number)
        assert process.wait(timeout=30) == -number
    finally:
        process.kill()
        process.communicate()


def test_waiting_is_given_up_and_acting_is_finished() -> None:
    """A signal raises at once, or after the current command if one is being carried out."""
    done = []
    with Signals() as signals:
        with pytest.raises(Interrupted):
            os.kill(os.getpid(), signal.SIGTERM)
            done.append("never")
        with pytest.raises(Interrupted), signals.acting():
            os.kill(os.getpid(), signal.SIGTERM)
            done.append("to the end")
        with pytest.raises(Interrupted), signals.acting():
            os.kill(os.getpid(), signal.SIGTERM)
            signal.pause()  # an answer that does not come
            done.append("never")
    assert done == ["to the end"]


def test_a_signal_after_the_pass_is_heard_again() -> None:
    """The default effect lasts only as long as the pass."""
    with Signals() as signals:
        with signals.computing():
            assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
        with pytest.raises(Interrupted):
            os.kill(os.getpid(), signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
