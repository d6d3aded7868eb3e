"""``--set KEY=VALUE`` on a site: settings, partitions, QOS, accounts, users, nodes, ..."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from shadowtime.cluster import amounts, slurm_site
from shadowtime.cluster.sacctmgr import limits_of
from shadowtime.cluster.site import FOREVER, Limits, Outage, Site
from shadowtime.cluster.slurm_records import parse_partition, parse_reservations, preempting
from shadowtime.errors import ClusterError, PolicyError, UsageError, near
from shadowtime.slurm.parameters import Parameters
from shadowtime.slurmtext import hostlist, times
from shadowtime.slurmtext.scontrol import read_table
from shadowtime.study.site import keys
from shadowtime.study.site.world import SiteWorld, with_user


def with_setting(world: SiteWorld, key: str, value: str) -> SiteWorld:
    """The world with one thing set, by Slurm's names.

    Rules
    -----
    ``KEY`` alone is a line of slurm.conf (PriorityWeightFairshare) or one of its
    SchedulerParameters (bf_max_job_test); ``partition.NAME.KEY``, ``qos.NAME.KEY``,
    ``account.NAME.KEY``, ``user.NAME.KEY`` and ``node.NAME.KEY`` change one of these;
    ``reservation.NAME`` takes the arguments of ``scontrol create reservation``. Names and keys may
    be in any case. An unknown one is rejected with the nearest names.

    Examples
    --------
    >>> from zoneinfo import ZoneInfo
    >>> from shadowtime.cluster.site import Node, Partition, Site
    >>> from shadowtime.study.site.world import SiteWorld
    >>> site = Site(nodes=(Node(name="n", amounts=(4,)),),
    ...             partitions=(Partition(name="long", nodes=("n",)),))
    >>> world = SiteWorld(site=site, jobs=None, policy=None, zone=ZoneInfo("UTC"))
    >>> with_setting(world, "partition.long.MaxTime", "3-00:00:00").site.partitions[0].max_time
    259200
    >>> with_setting(world, "bf_max_job_test", "2000").site.config
    {'SchedulerParameters': 'bf_max_job_test=2000'}
    """
    scope, _, rest = key.partition(".")
    scope = scope.strip().lower()
    try:
        if scope == "reservation" and rest:
            return with_reservation(world, rest, value)
        if scope in keys.SCOPES and rest:
            name, _, last = rest.rpartition(".")
            if not name:
                raise UsageError(f"--set {key}={value}: write {scope}.NAME.KEY=VALUE")
            article = "an" if scope == "account" else "a"
            what = f"{article} {'QOS' if scope == 'qos' else scope}"
            return _SCOPES[scope](world, name, keys.spelt(last, keys.SCOPES[scope], what), value)
        if rest:
            raise UsageError(f"--set {key}{near(scope, [*keys.SCOPES, 'reservation'])}")
        return _global(world, keys.spelt(key, keys.GLOBAL, "Slurm"), value.strip())
    except (ClusterError, PolicyError) as error:
        reason = str(error).removeprefix(f"--set {key}, line 2: ")
        raise UsageError(f"--set {key}={value}: {reason}") from None


def canonical(key: str) -> str:
    """The key as Slurm spells it; SCOPE.NAME.KEY keeps its name.

    Examples
    --------
    >>> canonical("priorityweightfairshare"), canonical("QOS.normal.maxtrespu")
    ('PriorityWeightFairShare', 'qos.normal.MaxTRESPU')
    """
    scope, _, rest = key.partition(".")
    low = scope.strip().lower()
    if not rest:
        return keys.spelt(key, keys.GLOBAL, "Slurm")
    name, _, last = rest.rpartition(".")
    if low not in keys.SCOPES or not name:
        return f"{low}.{rest}"
    return f"{low}.{name}.{keys.spelt(last, keys.SCOPES[low], low)}"


def _global(world: SiteWorld, name: str, value: str) -> SiteWorld:
    if name in keys.PARAMETERS:
        text = with_parameter(world.site.setting("SchedulerParameters"), name, value)
        Parameters.parse(text)
        return _config(world, "SchedulerParameters", text)
    if name in keys.NUMBERS and not re.fullmatch(r"\d{1,10}", value):
        raise ClusterError("it must be a whole number")
    if name in keys.TIMES:
        times.parse_limit(value)
    if name in keys.CHOICES:
        chosen = [
            one for one in keys.CHOICES[name] if value.lower() in (one, one.rpartition("/")[2])
        ]
        chosen = chosen or [one for one in keys.CHOICES[name] if one.lower() == value.lower()]
        if not chosen:
            raise ClusterError(f"it must be one of {', '.join(keys.CHOICES[name])}")
        value = chosen[0]
    changed = _config(world, name, value)
    if name == "SchedulerParameters":
        lost = Parameters.without_effect(value)
        Parameters.parse(value)
        if lost:
            raise ClusterError(f"not modelled: {', '.join(lost)}")
    if name == "AccountingStorageEnforce":
        return changed.on_site(enforce=slurm_site.enforced(value))
    for kind in amounts.COUNTED:
        if name == kind.setting:
            return world.on_site(amounts=amounts.replaced(world.site.amounts, kind, value))
    if name == "JobRequeue":
        return changed.on_site(requeue=value == "1")
    return changed


def with_parameter(text: str, name: str, value: str) -> str:
    """SchedulerParameters with one of them set; a switch is set by ``yes``, removed by ``no``.

    Examples
    --------
    >>> with_parameter("bf_interval=30,bf_continue", "bf_interval", "60")
    'bf_interval=60,bf_continue'
    >>> with_parameter("bf_busy_nodes", "bf_busy_nodes", "no")
    ''
    >>> with_parameter("", "bf_busy_nodes", "yes")
    'bf_busy_nodes'
    """
    words = [word for word in re.split(r"[,\s]+", text.strip()) if word and word != "(null)"]
    is_switch = isinstance(getattr(Parameters(), name), bool)
    low = value.strip().lower()
    if is_switch and low not in ("yes", "no", "1", "0", "true", "false", ""):
        raise UsageError(f"--set {name}={value}: it is a switch: write yes or no")
    new = name if is_switch else f"{name}={value.strip()}"
    wanted = not (is_switch and low in ("no", "0", "false"))
    kept = [word for word in words if word.partition("=")[0] != name]
    if not wanted:
        return ",".join(kept)
    places = [at for at, word in enumerate(words) if word.partition("=")[0] == name]
    at = places[0] if places else len(kept)
    return ",".join([*kept[:at], new, *kept[at:]])


def _config(world: SiteWorld, name: str, value: str) -> SiteWorld:
    config = dict(world.site.config)
    spelling = next((key for key in config if key.lower() == name.lower()), name)
    config[spelling] = value
    return world.on_site(config=config)


def _partition(world: SiteWorld, name: str, key: str, value: str) -> SiteWorld:
    site = world.site
    at = _place([one.name for one in site.partitions], name, "partition")
    old = site.partitions[at]
    ignored: list[str] = []
    if key == "QOS" and value not in {one.name for one in site.qos} and value.lower() != "none":
        raise ClusterError(f"there is no QOS {value}{near(value, [q.name for q in site.qos])}")
    if key == "State" and value.upper() not in ("UP", "DOWN", "DRAIN", "INACTIVE"):
        raise ClusterError("it must be UP or DOWN")
    if key == "PreemptMode" and preempting(value) is None:
        raise ClusterError("it must be OFF, REQUEUE, CANCEL or SUSPEND")
    parsed = parse_partition(
        {"partitionname": old.name, key.lower(): value},
        f"partition {old.name}",
        every=[node.name for node in site.nodes],
        settings={},
        ignore=lambda key, _: ignored.append(key),
    )
    if ignored:
        raise ClusterError(f"not modelled: {', '.join(ignored)}")
    new = replace(old, **{each: getattr(parsed, each) for each in keys.PARTITION[key]})
    partitions = list(site.partitions)
    partitions[at] = new
    if key == "Default" and new.default:
        partitions = [replace(one, default=one is new) for one in partitions]
    return world.on_site(partitions=tuple(partitions))


def _qos(world: SiteWorld, name: str, key: str, value: str) -> SiteWorld:
    site = world.site
    at = _place([one.name for one in site.qos], name, "QOS")
    old = site.qos[at]
    if key in keys.QOS_LIMITS:
        field = keys.QOS_LIMITS[key]
        new = replace(old, limits=_limited(old.limits, field, f"qos.{name}.{key}", key, value))
    else:
        new = replace(old, **{keys.QOS[key]: _qos_value(site, key, value)})
    return world.on_site(qos=(*site.qos[:at], new, *site.qos[at + 1 :]))


def _qos_value(site: Site, key: str, value: str) -> Any:
    if key == "Preempt":
        named = tuple(word for word in value.split(",") if word)
        known = [one.name for one in site.qos]
        for word in named:
            if word not in known:
                raise ClusterError(f"there is no QOS {word}{near(word, known)}")
        return named
    if key == "PreemptMode":
        return preempting(value)
    try:
        return int(value)
    except ValueError:
        raise ClusterError("it must be a number") from None


def _association(world: SiteWorld, account: str, user: str, key: str, value: str) -> SiteWorld:
    """Change the associations of an account (its own) or of a user (in every account)."""
    site = world.site
    chosen = [
        at for at, one in enumerate(site.associations)
        if (one.user == user if user else (one.account == account and not one.user))
    ]  # fmt: skip
    if not chosen:
        what = "user" if user else "account"
        names = sorted({one.user if user else one.account for one in site.associations} - {""})
        raise ClusterError(f"there is no {what} {user or account}{near(user or account, names)}")
    tree = list(site.associations)
    for at in chosen:
        one = tree[at]
        if key == "Fairshare":
            parent = value.lower() == "parent"
            if not parent and not re.fullmatch(r"\d{1,9}", value):
                raise ClusterError("it must be a whole number or parent")
            tree[at] = replace(one, shares=None if parent else int(value))
        else:
            field = keys.ASSOCIATION_LIMITS[key]
            limits = _limited(one.limits, field, key, key, value)
            tree[at] = replace(one, limits=limits)
    return world.on_site(associations=tuple(tree))


def _limited(old: Limits, field: str, where: str, key: str, value: str) -> Limits:
    """As ``sacctmgr modify ... set``: of a TRES list what is named changes, -1 lifts a bound."""
    if "|" in value or "\n" in value:
        raise ClusterError("a limit has no | in it")
    kept = getattr(old, field)
    if not isinstance(kept, dict):
        table = read_table(f"{key}|\n{value}|", path=f"--set {where}")
        return replace(old, **{field: getattr(limits_of(table.rows[0]), field)})
    given: list[str] = []
    lifted: list[str] = []
    for part in filter(None, value.split(",")):
        (lifted if part.partition("=")[2].strip() == "-1" else given).append(part)
    if value.strip() in ("", "-1"):
        return replace(old, **dict[str, Any]({field: {}}))
    for part in (*given, *lifted):
        if not _AMOUNT.fullmatch(part.strip()):
            raise ClusterError(
                f"{part.strip()!r} is not an amount like cpu=512, mem=100G, node=4 or gres/gpu=8"
            )
    texts = [",".join(given), ",".join(f"{part.partition('=')[0]}=1" for part in lifted)]
    found = [
        getattr(limits_of(read_table(f"{key}|x|\n{text}||", path=f"--set {where}").rows[0]), field)
        for text in texts
    ]
    merged = {name: most for name, most in {**kept, **found[0]}.items() if name not in found[1]}
    return replace(old, **dict[str, Any]({field: merged}))


_AMOUNT = re.compile(
    r"(cpu|mem|node|billing|energy|(gres|license)/[\w:.@-]+)=(-1|\d{1,15}[KMGTP]?)", re.IGNORECASE
)


def _user(world: SiteWorld, name: str, key: str, value: str) -> SiteWorld:
    if key in keys.USER:
        return with_user(world, name, key, value.strip())
    return _association(world, "", name, key, value.strip())


def _node(world: SiteWorld, name: str, key: str, value: str) -> SiteWorld:
    site = world.site
    names = [node.name for node in site.nodes]
    chosen = [names[_place(names, one, "node")] for one in hostlist.expand(name)]
    if key in ("Drain", "Down"):
        return with_outage(world, chosen, value, drain=key == "Drain")
    change: dict[str, Any]
    if key == "Weight":
        if not re.fullmatch(r"\d{1,9}", value.strip()):
            raise ClusterError("it must be a whole number")
        change = {"weight": int(value)}
    else:
        change = {"features": frozenset(word for word in value.split(",") if word)}
    nodes = tuple(replace(one, **change) if one.name in chosen else one for one in site.nodes)
    return world.on_site(nodes=nodes)


_SCOPES: dict[str, Callable[[SiteWorld, str, str, str], SiteWorld]] = {
    "partition": _partition,
    "qos": _qos,
    "account": lambda world, name, key, value: _association(world, name, "", key, value.strip()),
    "user": _user,
    "node": _node,
}


def _place(names: Sequence[str], name: str, what: str) -> int:
    if name in names:
        return list(names).index(name)
    low = [one.lower() for one in names]
    if low.count(name.lower()) == 1:
        return low.index(name.lower())
    raise ClusterError(f"there is no {what} {name}{near(name, names)}")


def with_reservation(world: SiteWorld, name: str, words: str) -> SiteWorld:
    """A reservation by the arguments of ``scontrol create reservation``; ``no`` removes one.

    Duration is in Slurm's forms (minutes, days-hours, ...), in place of EndTime.
    """
    site = world.site
    others = tuple(one for one in site.reservations if one.name != name)
    if words.strip().lower() == "no":
        if len(others) == len(site.reservations):
            raise ClusterError(f"there is no reservation {name}")
        return world.on_site(reservations=others)
    given = re.search(r"\bDuration=(\S+)", words, re.IGNORECASE)
    text = re.sub(r"\bDuration=\S+", "", words, flags=re.IGNORECASE)
    ignored: list[str] = []
    found = parse_reservations(
        f"ReservationName={name} {text}", world.zone, path=f"reservation {name}",
        ignore=lambda key, _: ignored.append(key),
    )[0]  # fmt: skip
    if ignored:
        raise ClusterError(f"not modelled: {', '.join(ignored)}")
    known = {node.name for node in site.nodes}
    strange = [node for node in found.nodes if node not in known]
    if strange or not found.nodes:
        raise ClusterError(f"there is no node {strange[0]}" if strange else "give Nodes=...")
    if given:
        lasts = times.parse_limit(given[1])
        found = replace(found, end=FOREVER if lasts is None else found.begin + lasts)
    if found.end <= found.begin:
        raise ClusterError("it ends before it begins: give EndTime or Duration")
    return world.on_site(reservations=(*others, found))


def with_outage(world: SiteWorld, nodes: Sequence[str], value: str, *, drain: bool) -> SiteWorld:
    """Nodes that accept no jobs FROM/UNTIL; running jobs continue if the nodes are drained."""
    first, slash, last = value.partition("/")
    try:
        begin = times.parse_stamp(first.strip(), world.zone)
        end = times.parse_stamp(last.strip(), world.zone) if last.strip() else FOREVER
    except ValueError as error:
        raise ClusterError(str(error)) from None
    if begin < 0 or not slash or end <= begin:
        raise ClusterError("write FROM/UNTIL, as in 2026-05-04T08:00:00/2026-05-04T12:00:00")
    more = tuple(Outage(node=name, begin=begin, end=end, drain=drain) for name in nodes)
    return world.on_site(outages=(*world.site.outages, *more))
