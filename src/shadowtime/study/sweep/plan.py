"""A plan: every run of a sweep as a value with a key."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from shadowtime.engine.semantics import SEMANTICS
from shadowtime.errors import InputError, PolicyError, UsageError, near
from shadowtime.metrics import REGISTRY, Window
from shadowtime.metrics.window import ALL
from shadowtime.policy import make_policy, parse_policy
from shadowtime.policy.files import with_files
from shadowtime.study.replicas import AS_RECORDED, SEED, Load, Replicas
from shadowtime.study.sweep.keys import (
    canonical,
    digest,
    of_machine,
    of_path,
    of_policy,
    of_workload,
)
from shadowtime.study.sweep.ranges import expand
from shadowtime.trace._bytes import stem
from shadowtime.workload import Workload

CHANGED = "changed since the sweep began: run it again, and what has changed gets runs of its own"


@dataclass(frozen=True, kw_only=True)
class Log:
    """A log on a machine: their sources, how they are read, and a digest of all that."""

    name: str
    digest: str
    trace: str
    """Digest of the log's own content."""
    path: str | None = None
    jobs: Workload | None = field(default=None, repr=False, compare=False)
    """Jobs in memory instead of in a file."""
    cluster: Any = None
    first: int | None = None
    """The number of jobs to use from the beginning; None: all."""
    cleaning: tuple[tuple[str, Any], ...] = ()
    demand: str | None = None

    @staticmethod
    def of(
        source: str | os.PathLike[str] | Workload,
        cluster: Any = None,
        *,
        name: str | None = None,
        first: int | None = None,
        cleaning: Mapping[str, Any] | None = None,
        demand: str | None = None,
    ) -> Log:
        """From a path (or a workload) and what ``--cluster`` takes (or a machine)."""
        if first is not None and first < 1:
            raise UsageError(f"the number of jobs to take is {first}; give at least 1")
        rules = tuple(sorted((cleaning or {}).items()))
        machine = os.fspath(cluster) if isinstance(cluster, os.PathLike) else cluster
        if isinstance(source, str | os.PathLike):
            path, jobs = os.path.abspath(os.fspath(source)), None
            trace, called = of_path(path), stem(path)
        else:
            path, jobs, trace, called = None, source, of_workload(source), source.name
        if isinstance(machine, str) and os.path.exists(machine):
            machine = os.path.abspath(machine)
        named = isinstance(machine, str | None)
        known = of_machine(machine) if named else digest(*canonical(machine))
        files = [one.partition("=")[2] for one in (cleaning or {}).get("series", ())]
        read = [of_path(file) for file in files]  # their names are in the rules, not their content
        return Log(
            name=name or called, trace=trace, path=path, jobs=jobs, cluster=machine, first=first,
            cleaning=rules, demand=demand,
            digest=digest("log", trace, known, str(first), repr(rules), str(demand), *read),
        )  # fmt: skip

    def refuse_changed(self) -> None:
        """Reject files that are no longer those that the digest is of."""
        now = Log.of(
            self.path or cast("Workload", self.jobs), self.cluster, first=self.first,
            cleaning=dict(self.cleaning), demand=self.demand,
        )  # fmt: skip
        if now.digest != self.digest:
            what = self.machine if now.trace == self.trace else self.path
            raise InputError(f"has {CHANGED}", path=what)

    @property
    def machine(self) -> str:
        """The machine as the user wrote it; empty if the log's header gives it."""
        if self.cluster is None:
            return ""
        named = self.cluster if isinstance(self.cluster, str) else self.cluster.name
        return os.path.basename(named) if os.sep in named else str(named)


@dataclass(frozen=True, kw_only=True)
class Variant:
    """A policy of the plan, the text with ranges that it comes from, and its values."""

    name: str
    template: str
    digest: str
    settings: tuple[tuple[str, str], ...] = ()
    given: Any = field(default=None, repr=False, compare=False)
    """The policy itself, if it is not a text."""

    @staticmethod
    def of(policy: Any) -> list[Variant]:
        """Every policy that a text with ranges (or a policy) represents."""
        if not isinstance(policy, str):
            made = make_policy(policy)
            name = str(getattr(made, "name", type(made).__name__))
            return [Variant(name=name, template=name, digest=of_policy(made), given=made)]
        found = []
        for one in expand(policy):
            text = _absolute(one.text)
            found.append(
                Variant(
                    name=_called(one.text), template=_called(one.template), given=text,
                    digest=of_policy(parse_policy(text), text), settings=one.settings,
                )
            )  # fmt: skip
        return found

    def at_offsets(self, count: int) -> list[Variant]:
        """This policy with its passes at each of several offsets; unchanged if it has no offsets.

        Examples
        --------
        >>> [slurm] = Variant.of("slurm(bf_interval=30)")
        >>> [one.name for one in slurm.at_offsets(2)]
        ['slurm(bf_interval=30, phase=0, phases=2)', 'slurm(bf_interval=30, phase=1, phases=2)']
        >>> [easy] = Variant.of("easy")
        >>> easy.at_offsets(2) == [easy]
        True
        """
        policy = self.make()
        if not hasattr(policy, "offsets"):
            return [self]
        found = []
        for number, one in enumerate(policy.offsets(count)):
            more = f"phase={number}, phases={count}"
            text = (
                f"{self.name[:-1]}, {more})" if self.name.endswith(")") else f"{self.name}({more})"
            )
            found.append(
                Variant(
                    name=text, template=self.template, digest=of_policy(one), given=one,
                    settings=(*self.settings, ("phase", str(number))),
                )
            )  # fmt: skip
        return found

    def make(self) -> Any:
        """The policy; a file of its that is no longer the one of the digest is rejected."""
        if not isinstance(self.given, str):
            return self.given
        made = parse_policy(self.given)
        if of_policy(made, self.given) != self.digest:
            raise PolicyError(f"{self.name} has {CHANGED}")
        return made


def _called(text: str) -> str:
    """A policy's name in results: without the folders of its files, and with single blanks."""
    if text.endswith(".toml"):
        return os.path.basename(text).removesuffix(".toml")
    return " ".join(with_files(text, os.path.basename).split())


def _absolute(text: str) -> str:
    """A policy text whose files are found from any folder."""
    return os.path.abspath(text) if text.endswith(".toml") else with_files(text, os.path.abspath)


def _with_phases(variants: Sequence[Variant], count: int) -> list[Variant]:
    """Policies whose passes run at offsets, at each of several; the others unchanged."""
    found = [one for variant in variants for one in variant.at_offsets(count)]
    if len(found) == len(variants) and count > 1:
        raise UsageError(
            f"phases = {count} changes no policy of the plan: only slurm runs its passes at "
            "offsets; remove it"
        )
    for variant in variants:
        if "phase" in variant.name and hasattr(variant.make(), "offsets"):
            raise UsageError(f"{variant.name} sets its own phase: remove that or phases")
    return found


@dataclass(frozen=True, kw_only=True)
class Case:
    """One run."""

    key: str
    log: Log
    variant: Variant
    load: Load
    kind: str
    copy: int
    seed: int
    """0 for the unmodified log, which no seed changes."""
    window: Window
    metrics: tuple[str, ...]
    check: bool = False
    """Prove the schedule; the row records whether it was proved."""
    held_out: float = 0.0
    """Also measure this last share of the jobs separately."""

    def row(self) -> dict[str, Any]:
        """What a row of results contains about the run itself."""
        return {
            "key": self.key,
            "log": self.log.name,
            "trace": self.log.trace,
            "machine": self.log.machine,
            "policy": self.variant.name,
            "template": self.variant.template,
            "policy_digest": self.variant.digest,
            "load": str(self.load),
            "kind": self.kind,
            "copy": self.copy,
            "seed": self.seed,
            "window": str(self.window),
            "semantics": SEMANTICS,
            **{f"set_{name}": value for name, value in self.variant.settings},
        }


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Logs x policies x phases x loads x copies x seeds.

    Examples
    --------
    >>> from shadowtime.workload.embedded import demo_workload
    >>> plan = Plan.of([Log.of(demo_workload(), "pool:256")], ["easy(reserve=1..3)", "fcfs"],
    ...                shake=2)
    >>> len(list(plan.cases())), [variant.name for variant in plan.variants][-1]
    (12, 'fcfs')
    """

    logs: tuple[Log, ...]
    variants: tuple[Variant, ...]
    loads: tuple[Load, ...] = (AS_RECORDED,)
    replicas: tuple[Replicas, ...] = (Replicas(),)
    """One for each kind of copies and seed."""
    window: Window = ALL
    metrics: tuple[str, ...] = ()
    """Which metrics are kept; empty: every one."""
    check: bool = False
    held_out: float = 0.0

    @staticmethod
    def of(
        logs: Sequence[Log],
        policies: Sequence[Any],
        *,
        loads: Sequence[str | float | Load] = ("1",),
        shake: int = 0,
        resample: int = 0,
        seeds: Sequence[int] = (SEED,),
        phases: int = 0,
        window: str | Window | None = None,
        metrics: Sequence[str] = (),
        check: bool = False,
        held_out: float = 0.0,
    ) -> Plan:
        """From a plan file or a call; policies may contain ranges.

        With ``phases``, Slurm's own policy runs with its passes at each of that many offsets.
        """
        if not logs or not policies or not loads or not seeds:
            missing = "log" if not logs else "policy" if not policies else "load"
            raise UsageError(f"the plan has no {missing}: name at least one")
        if not 0 <= held_out < 1:
            raise UsageError(
                f"held_out is {held_out}; give a share of the jobs below 1, such as 0.2"
            )
        for name in metrics:
            if name not in REGISTRY:
                raise UsageError(f"there is no metric {name!r}{near(name, REGISTRY)}")
        copies = [
            Replicas.of(seed=seed, **{kind: count})
            for kind, count in (("shake", shake), ("resample", resample))
            for seed in seeds
            if count
        ]
        variants = [one for policy in policies for one in Variant.of(policy)]
        return Plan(
            logs=tuple(logs),
            variants=tuple(_with_phases(variants, phases) if phases else variants),
            loads=tuple(one if isinstance(one, Load) else Load.parse(str(one)) for one in loads),
            replicas=tuple(copies) or (Replicas(),),
            window=window if isinstance(window, Window) else Window.parse(window or "all"),
            metrics=tuple(dict.fromkeys(metrics)),
            check=check,
            held_out=held_out,
        )

    def cases(self, shard: str | None = None) -> Iterator[Case]:
        """Every run once, in an order that reads each log and creates each copy once.

        Two policies with the same parts are one run, under the name of the first. ``shard`` selects
        the runs of one of N tasks: ``3/64`` is the third of 64 stretches of nearly equal length.
        Every run is in exactly one, whatever is already done, so tasks never share one; the others
        are skipped without being made.
        """
        named = {one.digest: one for one in reversed(self.variants)}
        variants = [named[one] for one in dict.fromkeys(one.digest for one in self.variants)]
        inputs = list(self._distinct_inputs().items())
        stretch = _stretch(shard, len(inputs) * len(variants))
        for place, number in (divmod(at, len(variants)) for at in stretch):
            where, (log, load, (kind, copy, seed)) = inputs[place]
            yield Case(
                key=digest(where + variants[number].digest), log=log, variant=variants[number],
                load=load, kind=kind, copy=copy, seed=seed, window=self.window,
                metrics=self.metrics, check=self.check, held_out=self.held_out,
            )  # fmt: skip

    def keys(self) -> Iterator[str]:
        """The keys of all runs."""
        variants = dict.fromkeys(one.digest for one in self.variants)
        return (digest(where + one) for where in self._distinct_inputs() for one in variants)

    def _distinct_inputs(self) -> dict[str, tuple[Log, Load, tuple[str, int, int]]]:
        """Log, load and copy of the runs, by what their keys begin with."""
        common = digest(
            str(SEMANTICS), repr(self.window), repr((self.check, self.held_out)), *self.metrics
        )
        found: dict[str, tuple[Log, Load, tuple[str, int, int]]] = {}
        for log in self.logs:
            for load in self.loads:
                for copy in self._inputs():
                    where = "|".join([log.digest, repr(load), *map(str, copy), common, ""])
                    found.setdefault(where, (log, load, copy))
        return found

    def _inputs(self) -> list[tuple[str, int, int]]:
        """Kind, number and seed of every copy; the unmodified log occurs once."""
        found = [("none", 0, 0)]
        for one in self.replicas:
            found += [(one.kind, number, one.seed) for number in range(1, one.count + 1)]
        return found

    @property
    def digest(self) -> str:
        """The digest of the plan."""
        return digest(*self.keys())


def _stretch(shard: str | None, runs: int) -> range:
    """The places of the runs of a task.

    Examples
    --------
    >>> [list(_stretch(one, 5)) for one in ("1/2", "2/2", None)]
    [[0, 1], [2, 3, 4], [0, 1, 2, 3, 4]]
    """
    if shard is None:
        return range(runs)
    number, slash, count = shard.partition("/")
    if not (slash and number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
        raise UsageError(f"the shard {shard!r} is not i/N with i from 1 to N, as in 3/64")
    return range(runs * (int(number) - 1) // int(count), runs * int(number) // int(count))
