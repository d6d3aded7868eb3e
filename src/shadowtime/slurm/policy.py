"""Slurm's own scheduler as a policy: ``slurm``, ``slurm(bf_interval=60, bf_max_job_test=2000)``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np

from shadowtime.cluster import Cluster
from shadowtime.cluster.site import Node, Site
from shadowtime.engine.watch import Watch
from shadowtime.errors import PolicyError, UsageError
from shadowtime.schedule import Attempts, Schedule
from shadowtime.schedule.places import spelt
from shadowtime.slurm.from_site import model_notes, setting
from shadowtime.slurm.latency import DEFAULT, Latency, measure
from shadowtime.slurm.outcome import SlurmRun
from shadowtime.slurm.parameters import NO_EFFECT, Parameters
from shadowtime.slurm.phase import Phase
from shadowtime.slurm.rules import Rules
from shadowtime.slurm.run import run_slurm
from shadowtime.types import Reason
from shadowtime.workload import Workload
from shadowtime.workload.site_requests import requests_of

OWN = ("phase", "phases", "latency")
"""Parameters of ours beside Slurm's: which of several offsets of the passes is simulated, and how
many milliseconds nodes take to answer after an end (an epilog takes long). Another is the version
whose rules hold."""
AS_MEASURED = -1
"""The latency that the log shows."""


@dataclass(frozen=True, kw_only=True)
class SlurmPolicy:
    """Both passes of slurmctld with the site's own parameters.

    Rules
    -----
    ``settings`` are Slurm's SchedulerParameters by Slurm's names and in Slurm's units; they
    replace those of the site's configuration. A log does not record when passes ran: ``phase`` k
    of ``phases`` picks one of several offsets, and single starts should not be read from one.
    ``version`` is the Slurm whose rules hold (:mod:`shadowtime.slurm.rules`); where it is not
    given, the site's own, else 22.05. ``latency`` is how long nodes stay unusable after an end, in
    milliseconds; where it is not given, what the log shows (:mod:`shadowtime.slurm.latency`), else
    100.

    Examples
    --------
    >>> from shadowtime.cluster.site import Node, Site
    >>> from shadowtime.workload import Workload
    >>> site = Site(nodes=(Node(name="a", amounts=(4,)),))
    >>> jobs = Workload.build(submit=[0, 1, 2], run=[90, 50, 40], procs=[3, 4, 1])
    >>> made = SlurmPolicy.of({"bf_resolution": "1", "bf_interval": "3"}).simulate(jobs, site)
    >>> made.start.tolist()[0], Reason(made.reason[2]).label
    (0, 'backfilled')
    """

    name: str = "slurm"
    settings: tuple[tuple[str, str], ...] = ()
    phase: int = 0
    phases: int = 6
    latency: int = AS_MEASURED
    early: float = AS_MEASURED
    """The share of starts by the main pass that the log records as one second earlier."""
    version: str = ""
    grain: ClassVar[int] = 1
    """Seconds: starts and ends are cut to whole ones, as sacct's are."""
    summary: ClassVar[str] = "Slurm's own main and backfill passes, with the site's parameters"
    paper: ClassVar[str] = "slurmctld 22.05.8, 24.11.5 and 26.05.5, rules verified on the daemons"

    @staticmethod
    def of(given: Mapping[str, str], *, name: str = "slurm") -> SlurmPolicy:
        """With parameters as texts, by Slurm's names."""
        from difflib import get_close_matches

        hidden = {*NO_EFFECT, "rules"}
        known = [one.name for one in fields(Parameters) if one.name not in hidden]
        own: dict[str, Any] = {}
        settings = []
        for key, value in given.items():
            if key == "version":
                own[key] = Rules.of(value).version
            elif key in OWN:
                if not value.isdigit():
                    raise PolicyError(f"slurm: {key} must be a whole number, not {value!r}")
                own[key] = int(value)
            elif key in NO_EFFECT:
                raise PolicyError(f"slurm: {key} is not modelled and would change nothing")
            elif key in known:
                settings.append((key, value))
            else:
                near = get_close_matches(key, [*known, *OWN, "version"], n=2, cutoff=0.5)
                hint = f" Did you mean {' or '.join(near)}?" if near else ""
                raise PolicyError(f"slurm has no parameter {key!r}.{hint}")
        made = SlurmPolicy(name=name, settings=tuple(settings), **own)
        if not 0 <= made.phase < made.phases:
            raise PolicyError(f"slurm: phase must lie between 0 and {made.phases - 1}")
        made.parameters_on({})
        return made

    @property
    def parameters(self) -> dict[str, str]:
        """What differs from the site's own settings."""
        return dict(self.settings) | ({"version": self.version} if self.version else {})

    def offsets(self, count: int) -> list[SlurmPolicy]:
        """This policy with its passes at each of ``count`` offsets."""
        return [replace(self, phase=k, phases=count) for k in range(count)]

    def parameters_on(self, config: Mapping[str, str]) -> Parameters:
        """The site's parameters with ours in their place."""
        given = Parameters.parse(",".join(f"{key}={value}" for key, value in self.settings))
        changes: dict[str, Any] = {key: getattr(given, key) for key, _ in self.settings}
        if self.version:
            changes["rules"] = Rules.of(self.version)
        return replace(Parameters.of_config(config), **changes)

    def notes_on(self, machine: Cluster | Site, workload: Workload | None = None) -> list[str]:
        """Settings of the site that are not modelled, and the latency that the log shows."""
        config = machine.config if isinstance(machine, Site) else {}
        notes = []
        if isinstance(machine, Site):
            notes = [f"{self.name}: {note}" for note in model_notes(machine)]
        if self.parameters_on(config).rules.note:
            notes.append(f"{self.name}: {self.parameters_on(config).rules.note}")
        lost = Parameters.without_effect(setting(config, "SchedulerParameters"))
        if lost:
            notes.append(f"{self.name}: SchedulerParameters without effect: {', '.join(lost)}")
        # Only a log from Slurm records where its jobs ran.
        if workload is not None and "node_list" in workload.extra and self.latency == AS_MEASURED:
            shown = _measured(workload, self.parameters_on(config))
            found = shown or (
                f"start latency {DEFAULT} ms by default: the log has too few starts right after "
                "an end to measure it"
            )
            notes.append(f"{self.name}: {found}; slurm(latency=N) sets it")
        return notes

    def measured_on(self, workload: Workload, site: Site) -> SlurmPolicy:
        """This policy with the latency that a log shows, for runs on copies and changes of it."""
        if self.latency != AS_MEASURED:
            return self
        found = _measured(workload, self.parameters_on(site.config))
        if found is None:
            return replace(self, latency=DEFAULT, early=0.5)
        return replace(self, latency=found.milliseconds, early=found.early)

    def phase_on(self, parameters: Parameters) -> Phase:
        """When this one of the runs makes its passes, once its latency is known."""
        early = self.early if self.early >= 0 else 0.5
        return replace(
            Phase.some(self.phases, parameters.bf_interval)[self.phase],
            latency=self.latency / 1000,
            early=early if parameters.rules.whole_seconds else None,
        )

    def simulate(
        self,
        workload: Workload,
        cluster: Cluster | Site,
        *,
        runs: int = 1,
        usage_at: int = 0,
        watch: Watch | None = None,
    ) -> Schedule:
        """One run of ``runs`` that the caller makes; jobs that never start have start -1.

        ``usage_at``: the second of the log at which the site's usage holds.
        """
        site = cluster if isinstance(cluster, Site) else site_of(cluster)
        parameters = self.parameters_on(site.config)
        run = run_slurm(
            workload,
            site,
            requests_of(workload, site),
            phase=self.measured_on(workload, site).phase_on(parameters),
            parameters=parameters,
            runs=runs,
            usage_at=usage_at,
            watch=watch,
        )
        return self._schedule(workload, site, run)

    def _schedule(self, workload: Workload, site: Site, run: SlurmRun) -> Schedule:
        start = np.array(run.start, np.int64)
        begun = start >= 0
        stopped = np.array([row for row, _, _ in (*run.lost, *run.paused)], np.int64)
        kills = np.bincount(stopped, minlength=len(workload))
        end = np.where(begun, np.array(run.end, np.int64), -1)
        codes = {"main": Reason.HEAD, "backfill": Reason.BACKFILLED, "": Reason.RECORDED}
        return Schedule(
            job_id=workload.job_id,
            submit=workload.submit,
            start=start,
            end=end,
            procs=workload.procs,
            reason=np.where(
                begun, [codes[kind] for kind in run.scheduler], Reason.UNSTARTED
            ).astype(np.int8),
            kills=np.where(begun, kills, 0),
            attempts=_attempts(workload, run) if kills.any() else Attempts.none(),
            killed=np.where(begun & (workload.run > workload.limit), 1, 0).astype(np.int8),
            limit=workload.limit,
            place=[_place(site, run, row) for row in range(len(workload))],
            policy=self.name,
            counters={"passes": run.passes, "preemptions": run.preemptions},
            waited_for={
                int(workload.job_id[row]): why
                for row, why in sorted(run.waited_for.items())
                if begun[row]
            },
        )


def _measured(workload: Workload, parameters: Parameters) -> Latency | None:
    return measure(
        workload,
        batch_sched_delay=parameters.batch_sched_delay,
        whole_seconds=parameters.rules.whole_seconds,
    )


def _attempts(workload: Workload, run: SlurmRun) -> Attempts:
    """Every run of the jobs that were requeued or suspended and went on, by start, then job."""
    rows = []
    for row in sorted({row for row, _, _ in (*run.lost, *run.paused)}):
        if run.start[row] < 0:
            continue
        job = int(workload.job_id[row])
        rows += [(start, job, end, 1, 0) for at, start, end in run.lost if at == row]
        rows += [(start, job, end, 1, end - start) for at, start, end in run.paused if at == row]
        rows.append((run.start[row], job, run.end[row], 0, run.end[row] - run.start[row]))
    if not rows:
        return Attempts.none()
    start, job_id, end, killed, kept = np.array(sorted(rows), np.int64).T
    made = Attempts(job_id=job_id, start=start, end=end, killed=killed.astype(np.int8))
    if not run.paused:
        return made
    return replace(made, kept=kept, overhead=np.zeros_like(kept))


def _place(site: Site, run: SlurmRun, row: int) -> str:
    """The nodes of a job's last run with its cpus there; empty where it has none."""
    if run.start[row] < 0:
        return ""
    shares = run.holding.get(row, ())
    nodes = [site.nodes[share.node] for share in shares]
    cpus = [share.cores.bit_count() * site.nodes[share.node].threads_per_core for share in shares]
    return spelt([(node.name, count) for node, count in zip(nodes, cpus, strict=True)])


def site_of(cluster: Cluster) -> Site:
    """Pools and hosts as a site: one node per host, one partition of all."""
    if cluster.shape == "nodes":
        raise UsageError(
            "slurm does not model shared bandwidth: describe the machine as a site "
            "(a site folder, nodes.txt or a site TOML) instead of shape = 'nodes'"
        )
    return Site(
        name=cluster.name,
        resources=("cpus", *cluster.resources[1:]),
        nodes=tuple(Node(name=host.name, amounts=host.capacity) for host in cluster.hosts),
    )
