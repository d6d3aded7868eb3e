"""What a loop puts right in one session: the lines for scontrol, and what was done, in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from shadowtime.live.slurm.act import gate_lines, hand_over_lines, together


@dataclass(frozen=True, kw_only=True)
class Repairs:
    """Jobs by what is wrong with them."""

    beyond: Mapping[str, str]
    """To be handed to Slurm, and why."""
    taken: list[str]
    """Released and did not start."""
    delayed: list[str]
    """Requeued by Slurm with a delay, or about to reach the begin time that their users chose."""
    slipped: list[str]
    """Eligible although the loop has not released them: past the gate, or past a lease."""
    stopped: list[str]
    """Stopped by the loop, and not at the gate yet."""
    mislabelled: list[str]
    """At the gate, and held by Slurm, which took them for impossible."""
    halted: list[str]
    """Suspended by a loop, and to go on."""

    def lines(
        self, undo: Callable[[str], str], begin: str, *, held: Callable[[str], bool]
    ) -> list[list[str]]:
        """The lines of each job.

        ``undo`` restores its own request, ``begin`` is a new lease, ``held`` whether Slurm holds
        it.
        """
        lines = [hand_over_lines(job, undo(job), held=held(job)) for job in self.beyond]
        lines += [gate_lines(job, begin, undo(job)) for job in (*self.taken, *self.delayed)]
        lines += [[f"release {job}"] for job in self.mislabelled]
        lines += [[f"resume {job}"] for job in self.halted]
        return lines + [gate_lines(job, begin) for job in together((*self.slipped, *self.stopped))]

    def only(self, changeable: Callable[[Iterable[str]], list[str]]) -> Repairs:
        """Those that slurmctld has not refused."""
        return replace(
            self,
            beyond={job: self.beyond[job] for job in changeable(self.beyond)},
            taken=changeable(self.taken),
            delayed=changeable(self.delayed),
            slipped=changeable(self.slipped),
            stopped=changeable(self.stopped),
            halted=changeable(self.halted),
        )

    def words(
        self,
        handed: Mapping[str, str],
        released: Mapping[str, str],
        requeued: Callable[[str], bool],
    ) -> list[str]:
        """What was done; ``handed`` are the jobs that Slurm had before, and why."""
        done = [
            f"handed {job} to Slurm: {why}"
            for job, why in self.beyond.items()
            if handed.get(job) != why
        ]
        done += [f"took back {job}, which did not start ({released[job]})" for job in self.taken]
        done += [
            f"brought {job} back to the gate, which Slurm has requeued"
            for job in self.delayed
            if requeued(job)
        ]
        done += [f"let {job} go on, which a loop had suspended" for job in self.halted]
        return done + [f"brought {job} to the gate, which it had come past" for job in self.slipped]
