"""The options of a submission as it was typed, ``sbatch -N 2-4 --gres=gpu:1 job.sh``, and the
request that they make by Slurm's rules.

Accounting keeps less than was asked for; the line (sacct's SubmitLine) has what stood on the
command line. What stands in the script (``#SBATCH``) is not in it, so an option that is missing
here may still have been given.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

from shadowtime.errors import ClusterError
from shadowtime.slurmtext.fields import parse_memory
from shadowtime.slurmtext.hostlist import expand
from shadowtime.slurmtext.job_id import parse_array
from shadowtime.slurmtext.times import parse_begin, parse_limit
from shadowtime.slurmtext.tres import asked_gres, parse_licences
from shadowtime.workload.request import Dependency, Gres, Request

_SHORT = {
    "N": "nodes", "n": "ntasks", "c": "cpus-per-task", "G": "gpus", "w": "nodelist",
    "x": "exclude", "C": "constraint", "d": "dependency", "a": "array", "L": "licenses",
    "p": "partition", "q": "qos", "A": "account", "t": "time", "b": "begin", "J": "job-name",
    "D": "chdir", "e": "error", "i": "input", "o": "output", "m": "distribution", "M": "clusters",
    "S": "core-spec", "B": "extra-node-info", "F": "nodefile",
}  # fmt: skip
_SHORT_FLAGS = {
    "H": "hold", "s": "oversubscribe", "k": "no-kill", "O": "overcommit", "W": "wait",
    "Q": "quiet", "v": "verbose",
}  # fmt: skip
_FLAGS = {
    "hold", "oversubscribe", "share", "overcommit", "quiet", "verbose", "wait", "contiguous",
    "requeue", "no-requeue", "ignore-pbs", "parsable", "test-only", "spread-job", "use-min-nodes",
    "reboot", "no-kill", "kill-on-invalid-dep", "get-user-env", "exclusive", "nice", "help",
    "usage", "propagate", "pty", "label", "unbuffered", "multi-prog", "overlap", "exact",
}  # fmt: skip
"""Options without a value, or with one only after an equals sign."""
READ = frozenset((
    "nodes", "ntasks", "cpus-per-task", "ntasks-per-node", "mem", "mem-per-cpu", "gres", "gpus",
    "gpus-per-node", "gpus-per-task", "cpus-per-gpu", "constraint", "exclusive", "contiguous",
    "overcommit", "spread-job", "use-min-nodes", "mincpus", "qos", "account", "reservation",
    "partition", "nodelist", "exclude", "licenses", "begin", "nice", "time", "time-min", "array",
    "dependency", "hold", "requeue", "no-requeue", "uid",
))  # fmt: skip
"""Options that are modelled."""
NO_EFFECT = frozenset((
    "job-name", "chdir", "error", "input", "output", "open-mode", "comment", "admin-comment",
    "extra", "wrap", "export", "export-file", "mail-type", "mail-user", "parsable", "quiet",
    "verbose", "wait", "get-user-env", "propagate", "signal", "distribution", "clusters", "wckey",
    "gid", "container", "container-id", "profile", "acctg-freq", "cpu-freq", "gpu-freq", "cpu-bind",
    "gpu-bind", "mem-bind", "no-kill", "ignore-pbs", "kill-on-invalid-dep", "test-only", "pty",
    "label", "unbuffered", "multi-prog", "overlap", "exact", "mpi", "help", "usage", "version",
    "x11", "bell", "no-bell", "no-shell", "immediate", "kill-on-bad-exit", "task-prolog",
    "task-epilog", "umask", "tres-bind",
))  # fmt: skip
"""Options that change neither when nor where a job runs; any other one is not modelled."""
_SAME = {"tasks-per-node": "ntasks-per-node", "share": "oversubscribe", "workdir": "chdir"}
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")
_PER: dict[str, Literal["node", "task", "job"]] = {
    "gres": "node", "gpus": "job", "gpus-per-node": "node", "gpus-per-task": "task",
}  # fmt: skip
_DEPENDENCY = re.compile(r"(after\w*)((?::\d+(?:_\d+)?(?:\+\d+)?)+)", re.IGNORECASE)


@lru_cache(maxsize=1 << 14)
def parse_line(line: str, part: int = -1) -> Mapping[str, str]:
    """Options by their long names, up to the script; flags are "".

    Options of no meaning here are kept too. sacct's SubmitLine has the words as the shell left
    them, without quotes: a line that no shell would take is cut at its blanks. Of a heterogeneous
    job (``sbatch -n 1 : -n 8 job.sh``) those of one ``part``, counted from 0, which are none
    where the script tells its parts; -1 is a job of which no more than the line is known.

    Examples
    --------
    >>> dict(parse_line("sbatch -N2-4 -n 8 --gres=gpu:1 --exclusive -p a,b job.sh -N 9"))
    {'nodes': '2-4', 'ntasks': '8', 'gres': 'gpu:1', 'exclusive': '', 'partition': 'a,b'}
    >>> dict(parse_line("sbatch -n 1 : -n 8 job.sh", 1))
    {'ntasks': '8', 'heterogeneous job': ''}
    """
    parts = parse_parts(line)
    found = dict(parts[max(part, 0)]) if part < len(parts) else {}
    if part >= 0 or len(parts) > 1:
        found["heterogeneous job"] = ""
    return found


def parse_parts(line: str) -> list[dict[str, str]]:
    """Options by their long names, of each part of a heterogeneous job; of any other job one.

    Examples
    --------
    >>> parse_parts("sbatch -n 1 -H : -n 8 job.sh : -n 9")
    [{'ntasks': '1', 'hold': ''}, {'ntasks': '8'}]
    """
    words = line.split()
    if "'" in line or '"' in line or "\\" in line:
        with suppress(ValueError):
            words = shlex.split(line)
    if words and not words[0].startswith("-"):
        words = words[1:]  # the command, wherever it lies
    found, rest = parse_words(words)
    parts = [found]
    while rest[:1] == [":"]:
        found, rest = parse_words(rest[1:])
        parts.append(found)
    return parts


def parse_words(words: list[str]) -> tuple[dict[str, str], list[str]]:
    """Options by their long names, and what follows them."""
    found: dict[str, str] = {}
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] not in ("-", "--"):
        word = words[at]
        at += 1
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            name = _SAME.get(name, name)
            if not equals and name not in _FLAGS and at < len(words):
                value = words[at]
                at += 1
            found[name] = value
            continue
        while len(word) > 1:  # short ones may stand together: -Hn4
            letter, word = word[1], f"-{word[2:]}"
            if letter in _SHORT:
                value = word[1:].removeprefix("=")
                if not value and at < len(words):
                    value = words[at]
                    at += 1
                found[_SHORT[letter]] = value
                break
            found[_SHORT_FLAGS.get(letter, letter)] = ""
    return found, words[at:]


def not_modelled(options: Mapping[str, str]) -> tuple[str, ...]:
    """The options that may decide and are not modelled, by name.

    Examples
    --------
    >>> not_modelled(parse_line("sbatch -N 2 --switches=1 -o x --exclusive=mcs a.sh"))
    ('exclusive=mcs', 'switches')
    """
    found = {name for name in options if name not in READ and name not in NO_EFFECT}
    if "mincpus" in options and "ntasks" not in options:
        found.add("mincpus without ntasks")
    if options.get("exclusive", "") not in ("", "exclusive", "user"):
        found.add(f"exclusive={options['exclusive'][:20]}")
    return tuple(sorted(found))


def deciding(options: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """The options that may decide when and where a job runs.

    Examples
    --------
    >>> deciding(parse_line("sbatch -N 2 -J x --switches=1 -o x a.sh"))
    (('nodes', '2'), ('switches', '1'))
    """
    return tuple((name, value) for name, value in options.items() if name not in NO_EFFECT)


def apply_options(options: Mapping[str, str], request: Request) -> Request:
    """The request with what the options say; the rest stays as accounting has it.

    Rules
    -----
    ``-N k`` is both bounds, ``-N k-m`` one each. Tasks are -n, else the nodes. A number of tasks
    per node raises the minimum number of nodes; with --overcommit a job has a cpu a node. An
    invalid value is ignored.

    Examples
    --------
    >>> asked = apply_options(parse_line("sbatch -N 2-4 -n 8 -c 2 --mem-per-cpu=1G"), Request())
    >>> asked.nodes, asked.max_nodes, asked.tasks, asked.cpus_per_task, asked.memory_per
    (2, 4, 8, 2, 'cpu')
    """
    changes: dict[str, Any] = {}
    nodes = _RANGE.fullmatch(options.get("nodes", ""))
    if nodes:
        changes["nodes"] = max(int(nodes[1]), 1)
        changes["max_nodes"] = int(nodes[2] or nodes[1])
    each = _count(options, "cpus-per-task")
    if each:
        changes["cpus_per_task"] = each
    tasks = _count(options, "ntasks")
    per_node = _count(options, "ntasks-per-node")
    if tasks:
        changes["tasks"] = tasks
    elif per_node and (nodes or request.nodes):
        changes["tasks"] = per_node * changes.get("nodes", request.nodes)
    elif nodes:
        changes["tasks"] = changes["nodes"]
    elif each:
        changes["tasks"] = max(request.cpus // each, 1)
    if per_node:
        changes["tasks_per_node"] = per_node
        least = -(-changes.get("tasks", request.tasks) // per_node)
        changes["nodes"] = max(changes.get("nodes", 1), least)
    if "overcommit" in options:  # one cpu a node, on as few as it may have
        changes["tasks"] = changes.get("nodes", request.nodes)
        if tasks and not nodes:
            changes |= {"max_nodes": tasks, "aim": "least"}
    changes |= _memory(options) | _lists(options)
    gres = _gres(options)
    if gres:
        changes["gres"] = gres
    for option, field in (("cpus-per-gpu", "cpus_per_gpu"), ("mincpus", "least_cpus")):
        if _count(options, option):
            changes[field] = _count(options, option)
    if each == 1 and gres:
        changes.setdefault("cpus_per_gpu", 0)  # -c bars the partition's default
    if "constraint" in options:
        changes["features"] = options["constraint"]
    if options.get("exclusive", "no") in ("", "exclusive"):
        changes["exclusive"] = "exclusive" in options or request.exclusive
    if options.get("exclusive") == "user":
        changes["exclusive_user"] = True
    if "contiguous" in options:
        changes["contiguous"] = True
    for option, aim in (("use-min-nodes", "least"), ("spread-job", "spread")):
        if option in options:
            changes["aim"] = aim
    for option in ("qos", "account", "reservation"):
        if options.get(option) and not getattr(request, option):
            changes[option] = options[option]
    if options.get("partition"):
        changes["partitions"] = tuple(p for p in options["partition"].split(",") if p)
    wanted = changes.get("wanted", ())
    if len(wanted) > changes.get("nodes", request.nodes):
        changes["nodes"] = len(wanted)
    if changes.get("max_nodes") is not None:
        most = min(changes["max_nodes"], tasks or changes["max_nodes"])
        changes["max_nodes"] = max(most, changes.get("nodes", 1))
    return replace(request, **changes)


def _count(options: Mapping[str, str], name: str) -> int:
    text = options.get(name, "")
    return int(text) if re.fullmatch(r"[0-9]{1,9}", text) else 0


def _memory(options: Mapping[str, str]) -> dict[str, Any]:
    for name, per in (("mem", "node"), ("mem-per-cpu", "cpu")):
        if name in options:
            try:
                return {"memory": parse_memory(options[name], bare="M"), "memory_per": per}
            except ClusterError:
                continue
    return {}


def _lists(options: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, field in (("nodelist", "wanted"), ("exclude", "excluded")):
        if options.get(name):
            try:
                found[field] = tuple(expand(options[name]))
            except ClusterError:
                continue
    if options.get("licenses"):
        with suppress(ClusterError):
            found["amounts"] = tuple(parse_licences(options["licenses"]).items())
    return found


def _gres(options: Mapping[str, str]) -> tuple[Gres, ...]:
    found: list[Gres] = []
    for option, per in _PER.items():
        for part in options.get(option, "").split(","):
            word = f"gpu:{part.strip()}" if part.strip() and option != "gres" else part
            found += [
                Gres(name=name, count=count, per=per) for name, count in asked_gres(word).items()
            ]
    return tuple(one for one in found if one.count)


def begin_of(options: Mapping[str, str], submit: int) -> int:
    """Seconds since 1970 of ``--begin=now+60``; -1 where it is not given or a time of some clock.

    Examples
    --------
    >>> begin_of({"begin": "now+2hours"}, 100), begin_of({"begin": "teatime"}, 100)
    (7300, -1)
    """
    text = options.get("begin", "").strip()
    with suppress(ValueError):
        return parse_begin(text, submit) if text[:3].lower() == "now" else -1
    return -1


def least_time_of(options: Mapping[str, str]) -> int:
    """Seconds of --time-min, -1 without."""
    try:
        return parse_limit(options.get("time-min", "")) or -1
    except ClusterError:
        return -1


def nice_of(options: Mapping[str, str]) -> int:
    """--nice; the bare option is 100."""
    text = options.get("nice")
    if text is None:
        return 0
    return int(text) if re.fullmatch(r"-?[0-9]{1,10}", text) else 100 if text == "" else 0


def throttle_of(options: Mapping[str, str]) -> int:
    """Tasks of an array that may run at once, 0 for no bound."""
    last = options.get("array", "").partition("%")[2]
    return int(last) if re.fullmatch(r"[0-9]{1,9}", last) else 0


def dependencies_of(options: Mapping[str, str]) -> tuple[list[tuple[str, tuple[int, ...]]], bool]:
    """Kinds with the ids they wait for, and whether one of them suffices.

    Examples
    --------
    >>> dependencies_of({"dependency": "afterok:3:4,singleton"})
    ([('afterok', (3, 4)), ('singleton', ())], False)
    """
    text = options.get("dependency", "")
    found: list[tuple[str, tuple[int, ...]]] = []
    for part in re.split(r"[,?]", text):
        if part.strip().lower() == "singleton":
            found.append(("singleton", ()))
        match = _DEPENDENCY.fullmatch(part.strip())
        if match:
            ids = tuple(int(re.split(r"[_+]", one)[0]) for one in match[2][1:].split(":"))
            found.append((match[1].lower(), ids))
    return found, "?" in text


def dependencies(options: Mapping[str, str], job: int) -> list[Dependency]:
    """What a job waits for; ``job`` is its row."""
    kinds, either = dependencies_of(options)
    return [Dependency(job=job, kind=kind, on=ids, any_of=either) for kind, ids in kinds]


@dataclass(frozen=True, kw_only=True)
class Submitted:
    """A request and what differs from job to job."""

    request: Request
    limit: int | None = None
    """Seconds."""
    least_time: int = 0
    user: str = ""
    name: str = ""
    begin: str = ""
    dependency: str = ""
    array: tuple[int, ...] = ()
    throttle: int = 0
    held: bool = False
    requeue: bool = True


def parse_options(text: str) -> Submitted:
    """A whole submission from the options of one sbatch call.

    Examples
    --------
    >>> job = parse_options("-t 2 -N 1-3 -n 16 --array=1-4%2 -p short,long")
    >>> job.limit, job.request.nodes, job.request.max_nodes, job.array, job.throttle
    (120, 1, 3, (1, 2, 3, 4), 2)
    """
    return submitted(parse_line(f"sbatch {text}"))


def submitted(given: Mapping[str, str]) -> Submitted:
    """A whole submission from its options by their long names."""
    array, throttle = parse_array(given["array"]) if "array" in given else ((), 0)
    return Submitted(
        request=apply_options(given, Request()),
        limit=parse_limit(given["time"]) if "time" in given else None,
        least_time=max(least_time_of(given), 0),
        user=given.get("uid", ""),
        name=given.get("job-name", ""),
        begin=given.get("begin", ""),
        dependency=given.get("dependency", ""),
        array=array,
        throttle=throttle,
        held="hold" in given,
        requeue="no-requeue" not in given,
    )
