"""What a loop puts right in one session: the lines for scontrol, and what was done, in words."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from shadowtime.live.slurm.act import hand_over_lines, take_back_lines, to_the_gate_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from shadowtime.slurmtext.squeue import QueueRow


@dataclass(frozen=True, kw_only=True)
class Repairs:
    """Jobs by what is wrong with them."""

    beyond: Mapping[str, str]
    """To be handed to Slurm, and why."""
    taken: list[str]
    """Released and did not start."""
    delayed: list[str]
    """Requeued by Slurm with a delay."""
    slipped: list[str]
    """Bypassed the gate."""
    relabelled: list[str]
    """Held by the gate, reported by Slurm as an operator's hold."""
    stopped: list[str]
    """Stopped by the loop, and not at the gate yet."""

    def lines(self, undo: Callable[[str], str]) -> list[list[str]]:
        """The lines of each job; ``undo`` restores the job's own request."""
        lines = [hand_over_lines(job, undo(job)) for job in self.beyond]
        lines += [take_back_lines(job, undo(job)) for job in (*self.taken, *self.delayed)]
        lines += [[f"uhold {job}"] for job in (*self.slipped, *self.relabelled)]
        return lines + [to_the_gate_lines(job) for job in self.stopped]

    def only(self, changeable: Callable[[Iterable[str]], list[str]]) -> Repairs:
        """Those that slurmctld has not refused."""
        return replace(
            self,
            beyond={job: self.beyond[job] for job in changeable(self.beyond)},
            taken=changeable(self.taken),
            delayed=changeable(self.delayed),
            slipped=changeable(self.slipped),
            relabelled=changeable(self.relabelled),
        )

    def words(
        self, handed: Mapping[str, str], released: Mapping[str, str], rows: Mapping[str, QueueRow]
    ) -> list[str]:
        """What was done; ``handed`` are the jobs that Slurm had before, and why."""
        done = [
            f"handed {job} to Slurm: {why}"
            for job, why in self.beyond.items()
            if handed.get(job) != why
        ]
        done += [f"took back {job}, which did not start ({released[job]})" for job in self.taken]
        done += [
            f"brought {job} back to the gate, which Slurm has requeued" for job in self.delayed
        ]
        done += [
            f"restored the gate's hold of {job}, which Slurm reported as {rows[job].reason}"
            for job in self.relabelled
        ]
        return done + [f"brought {job} to the gate, which it had come past" for job in self.slipped]
