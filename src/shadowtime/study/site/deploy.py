"""The changes of a what-if on the real cluster: files to change, commands to run, and the undo."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shadowtime.cluster.amounts import COUNTED
from shadowtime.cluster.site import Limits, Site
from shadowtime.slurm.tally import SAME_NAME
from shadowtime.slurmtext.hostlist import expand
from shadowtime.study.site import conf_edit, keys, settings
from shadowtime.study.site.changes import Change, add_nodes, apply_all, like_kind
from shadowtime.study.site.world import SiteWorld


@dataclass(frozen=True, kw_only=True)
class Deployment:
    """The difference to slurm.conf, commands to run after it, how to undo both, and notes."""

    first: tuple[str, ...] = ()
    """Commands to run before the files change."""
    slurm_conf: tuple[str, ...]
    """Unified differences of the files; without slurm.conf in the folder, the lines to set."""
    commands: tuple[str, ...]
    undo: tuple[str, ...]
    notes: tuple[str, ...]

    def __str__(self) -> str:
        parts: list[str] = []
        for title, lines in (
            ("# first run", self.first),
            ("# slurm.conf", self.slurm_conf),
            ("# then run", self.commands),
            ("# to undo", self.undo),
            ("# not covered", tuple(f"# {note}" for note in self.notes)),
        ):
            if lines:
                parts += [title, *lines, ""]
        return "\n".join(parts).rstrip() + "\n"


def deployment(
    world: SiteWorld, changes: Sequence[Change], *, files: Mapping[str, str] | None = None
) -> Deployment:
    """How to make changes on the real cluster.

    Rules
    -----
    Nothing is run. ``files`` are the site's slurm.conf, what it includes, gres.conf and
    topology.conf by name; settings, partitions and nodes become a difference to them, limits of
    QOS, accounts and users become sacctmgr commands, reservations and drains scontrol commands.
    The undo sets what the site has now.

    Examples
    --------
    >>> from zoneinfo import ZoneInfo
    >>> from shadowtime.cluster.site import Node, Site
    >>> from shadowtime.study.site.world import SiteWorld
    >>> site = Site(nodes=(Node(name="n", amounts=(4,)),),
    ...             config={"SchedulerParameters": "bf_interval=30"})
    >>> world = SiteWorld(site=site, jobs=None, policy=None, zone=ZoneInfo("UTC"))
    >>> made = deployment(world, [Change("set", "bf_interval=60")],
    ...                   files={"slurm.conf": "SchedulerParameters=bf_interval=30\\n"})
    >>> print("\\n".join(made.slurm_conf[-2:]))
    -SchedulerParameters=bf_interval=30
    +SchedulerParameters=bf_interval=60
    >>> made.commands
    ('scontrol reconfigure',)
    """
    changed = apply_all(world, changes)  # every change is checked before anything is printed
    plan = _Plan(world.site, changed.site, conf_edit.ConfFiles(files or {}))
    for change in changes:
        if change.kind == "set":
            plan.set(change)
        else:
            plan.other(change)
    return plan.made()


class _Plan:
    """Gathers lines and commands."""

    def __init__(self, site: Site, changed: Site, files: conf_edit.ConfFiles) -> None:
        self.site, self.changed, self.files = site, changed, files
        self.first: list[str] = []
        self.commands: list[str] = []
        self.back: list[str] = []
        self.notes: list[str] = []
        self.lines: list[str] = []
        """Settings without a slurm.conf to show them in."""
        self.parameters = site.setting("SchedulerParameters")
        self.grown = site
        """With the nodes that were added so far."""
        self.restart = False
        """Nodes come or go: every daemon has to read the files anew."""

    def set(self, change: Change) -> None:
        scope, _, rest = change.key.partition(".")
        if scope == "partition":
            name, _, key = rest.rpartition(".")
            self._line("PartitionName", name, key, change.value)
        elif scope in ("qos", "account", "user"):
            name, _, key = rest.rpartition(".")
            self._sacctmgr(scope, name, key, change.value)
        elif scope == "node":
            name, _, key = rest.rpartition(".")
            self._node(name, key, change.value)
        elif scope == "reservation":
            self.commands.append(
                f"scontrol create reservation ReservationName={rest} {change.value}"
            )
            self.back.append(f"scontrol delete ReservationName={rest}")
        elif change.key in keys.PARAMETERS:
            self.parameters = settings.with_parameter(self.parameters, change.key, change.value)
            self._setting("SchedulerParameters", self.parameters)
        elif kind := next((one for one in COUNTED if one.setting == change.key), None):
            if kind.of_slurm:
                self._setting(change.key, kind.cell(self.changed.amounts.items()))
            else:
                self.notes.append(f"{change.label}: Slurm has no such setting")
        else:
            self._setting(change.key, self.changed.setting(change.key))

    def other(self, change: Change) -> None:
        if change.kind == "remove-nodes":
            nodes = change.value
            drain = f"scontrol update NodeName={shlex.quote(nodes)} State=DRAIN Reason=whatif"
            self.first.append(f"{drain}  # and wait until no job runs there")
            self.back.append(f"scontrol update NodeName={shlex.quote(nodes)} State=RESUME")
            self.files.remove_nodes(expand(nodes))
            self.restart = True
            if not self.files:
                self.notes.append(f"{nodes}: once drained, remove them from slurm.conf")
        elif change.kind == "add-nodes":
            self._more_nodes(change)
        elif change.kind == "max-limit":
            self.notes.append(
                f"{change.label}: --set partition.NAME.MaxTime=... prints it for a partition"
            )
        elif change.kind == "policy":
            self.notes.append(f"{change.label}: shadowtime live slurm --policy {change.value!r}")
        else:
            self.notes.append(f"{change.label} is not a setting")

    def _more_nodes(self, change: Change) -> None:
        kind = change.value.rpartition("=")[0].strip()
        more = add_nodes(self.grown, change.text)
        new = [one.name for one in more.nodes[len(self.grown.nodes) :]]
        inside = [one.name for one in more.partitions if new[0] in one.nodes]
        like = like_kind(self.grown, kind).name
        self.grown = more
        self.restart = True
        notes = self.files.add_nodes(like, new, inside)
        self.notes += [f"{change.label}: {note}" for note in notes]

    def _setting(self, name: str, value: str) -> None:
        if self.files:
            self.files.set(name, value)
        else:
            self.lines = [one for one in self.lines if one.partition("=")[0] != name]
            self.lines.append(f"{name}={value}")

    def _line(self, kind: str, name: str, key: str, value: str) -> None:
        """Set a key on the line of a partition."""
        if not self.files.set_on(f"{kind}={name}", key, value):
            self.lines.append(f"{kind}={name} ... {key}={value}")

    def _sacctmgr(self, scope: str, name: str, key: str, value: str) -> None:
        if key == "MaxNodes":
            self.notes.append(
                f"user.{name}.MaxNodes={value} describes the user's behaviour, not a setting"
            )
            return
        command = f"sacctmgr -i modify {scope} {shlex.quote(name)} set"
        self.commands.append(f"{command} {key}={value}")
        self.back.append(f"{command} {key}={self._now(scope, name, key, value)}")

    def _now(self, scope: str, name: str, key: str, value: str) -> str:
        """What the site has, in the form that sacctmgr takes; -1 is no bound."""
        if scope == "qos":
            qos = next(one for one in self.site.qos if one.name.lower() == name.lower())
            if key in keys.QOS_LIMITS:
                return _bound(qos.limits, keys.QOS_LIMITS[key], value)
            found = getattr(qos, keys.QOS[key])
            return ",".join(found) if isinstance(found, tuple) else str(found or "")
        chosen = [
            one for one in self.site.associations
            if (one.user == name if scope == "user" else one.account == name and not one.user)
        ]  # fmt: skip
        if key in keys.ASSOCIATION_LIMITS and chosen:
            return _bound(chosen[0].limits, keys.ASSOCIATION_LIMITS[key], value)
        if key == "Fairshare" and chosen:
            return "parent" if chosen[0].shares is None else str(chosen[0].shares)
        if key == "DefaultQOS" and chosen:
            return chosen[0].default_qos or "-1"
        return "-1"

    def _node(self, name: str, key: str, value: str) -> None:
        if key in ("Drain", "Down"):
            first = value.partition("/")[0]
            command = f"scontrol update NodeName={shlex.quote(name)} State={key.upper()}"
            self.commands.append(f"{command} Reason=whatif  # at {first}")
            self.back.append(f"scontrol update NodeName={shlex.quote(name)} State=RESUME")
            return
        self.commands.append(f"scontrol update NodeName={shlex.quote(name)} {key}={value}")
        self.notes.append(f"node.{name}.{key}: set it in slurm.conf too, or a restart loses it")
        nodes = [one for one in self.site.nodes if one.name == name]
        if nodes:
            now = str(nodes[0].weight) if key == "Weight" else ",".join(sorted(nodes[0].features))
            self.back.append(f"scontrol update NodeName={shlex.quote(name)} {key}={now}")

    def made(self) -> Deployment:
        shown = self.files.difference()
        changed = bool(shown)
        again = ["scontrol reconfigure"] if changed or self.lines else []
        if self.restart and changed:
            again = ["systemctl restart slurmctld  # nodes change; slurmd on every node too"]
        restart = any(
            line.partition("=")[0].strip() in ("SchedulerType", "PriorityType", "PreemptType")
            for line in (*self.files.added, *self.lines)
        )
        if restart:
            again = ["systemctl restart slurmctld  # a plugin changes: reconfigure is not enough"]
        undo = list(reversed(self.back))
        if changed or self.lines:
            undo = ["restore your present slurm.conf, then:", *again, *undo]
            undo[0] = f"# {undo[0]}"
        return Deployment(
            first=tuple(self.first),
            slurm_conf=tuple([*shown, *self.lines]),
            commands=tuple([*again, *self.commands]),
            undo=tuple(undo),
            notes=tuple(self.notes),
        )


def _bound(limits: Limits, field: str, value: str) -> str:
    """A bound as it is now; of a list of resources those that the change names."""
    found = getattr(limits, field)
    if not isinstance(found, dict):
        return "-1" if found is None else str(found if "wall" not in field else -(-found // 60))
    named = [part.partition("=")[0].strip() for part in value.split(",") if part.strip()]
    now = {SAME_NAME.get(name, f"gres/{name}"): amount for name, amount in found.items()}
    now = {name: (f"{n // 1024}M" if name == "mem" else str(n)) for name, n in now.items()}
    return ",".join(f"{name}={now.get(name, '-1')}" for name in named) or "-1"
