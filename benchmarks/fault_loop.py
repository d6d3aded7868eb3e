"""The live loop under the fault injector: a process of its own, restarted as systemd would."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from shadowtime.live.heartbeat import heartbeat_of, read_beat
from shadowtime.live.slurm.setup import NICE

if TYPE_CHECKING:
    import signal

ROOT = Path(__file__).resolve().parent.parent


@dataclass
class LoopProcess:
    """The live loop as a process of its own, restarted when it ends, as systemd would."""

    policy: str
    state: Path
    offset: Path
    log: Path
    env: dict[str, str]
    options: tuple[str, ...] = ()
    """Further words of its command."""
    backend: str = "slurm"
    """slurm or condor."""
    process: subprocess.Popen[bytes] | None = None
    starts: int = 0
    ended: list[int] = field(default_factory=list)
    """Exit codes of loops that were not stopped on purpose."""

    def start(self) -> None:
        """Start it with the wrapper that turns its clock; nothing without a policy."""
        if not self.policy:
            return
        wrapper = ROOT / "benchmarks" / "fault_injection.py"
        first = ["nice", "-n", str(NICE)] if os.geteuid() == 0 else []  # as its unit does
        command = [*first, sys.executable, str(wrapper), "--as-loop", str(self.offset)]
        command += [self.backend]
        command += ["--policy", self.policy, "--apply", "--state", str(self.state)]
        command += ["--record", str(self.state.with_name("passes.jsonl")), *self.options]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command,
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        # Linux weighs sessions before processes, as systemd weighs units (CPUWeight).
        with contextlib.suppress(OSError):
            Path(f"/proc/{self.process.pid}/autogroup").write_text(str(NICE))
        self.starts += 1

    def end(self, sign: signal.Signals) -> float:
        """Send a signal; how many seconds the loop took to end."""
        if self.process is None:
            return 0.0
        began = time.monotonic()
        self.process.send_signal(sign)
        try:
            self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        return time.monotonic() - began

    def up(self) -> bool:
        """True once the loop has polled: a loop that is still starting cannot be tested."""
        if not self.policy:
            return True
        beat = read_beat(heartbeat_of(self.state))
        return self.process is not None and beat is not None and beat.pid == self.process.pid

    def keep_up(self) -> None:
        """Start it again if it has ended by itself."""
        if self.process is not None and self.process.poll() is not None:
            self.ended.append(self.process.returncode)
            self.start()
