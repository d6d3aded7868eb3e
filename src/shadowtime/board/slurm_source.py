"""Slurm polled for the board: squeue and sinfo, the names of new jobs, and what is private."""

from __future__ import annotations

import os
import pwd
import secrets
from collections.abc import Iterator, Mapping, Sequence

from shadowtime.board.view import Hidden, Job, Node, View
from shadowtime.errors import ClusterError
from shadowtime.live.clock import Clock, SystemClock
from shadowtime.live.port import PortError
from shadowtime.live.runner import Commands, checked
from shadowtime.live.slurm.answers import Answers
from shadowtime.live.slurm.drive import Where, commands
from shadowtime.live.slurm.forecast import Seen
from shadowtime.live.slurm.state import HOLDS
from shadowtime.live.slurm.why import why_waiting
from shadowtime.slurmtext.conf import parse_config
from shadowtime.slurmtext.hostlist import expand
from shadowtime.slurmtext.sacct_rows import BETWEEN as IN_SACCT
from shadowtime.slurmtext.squeue import NONE, QUEUE, NodeRow, QueueRow

AGAIN = 300.0
"""Seconds between two looks at Slurm's configuration."""
AT_ONCE = 50
"""So many jobs are named in a command; of more, all are asked for."""
PRIVATE = {"jobs": frozenset({"names", "users"}), "users": frozenset({"users"})}
"""What is hidden where PrivateData names it."""


class SlurmSource:
    """Polls Slurm with two commands, and a third for the names of jobs that were not seen before.

    Rules
    -----
    Whoever runs it needs no rights: what squeue does not tell this user is not on the board. If
    PrivateData keeps jobs or users private and the user may see them all the same (root,
    SlurmUser, an operator), they are hidden unless told otherwise.
    """

    def __init__(self, where: Where, *, run: Commands | None = None, clock: Clock | None = None):
        self.run = run or commands(where)
        self.clock = clock or SystemClock()
        self._secret = secrets.token_hex(5)
        self.answers = Answers(self.run, self.clock, secret=self._secret)
        self._names: dict[str, str] = {}
        self._rows: list[QueueRow] = []
        self._config: tuple[float, Mapping[str, str]] = (float("-inf"), {})
        self._privileged: bool | None = None

    def poll(self) -> View:
        """The jobs and nodes that this user may see."""
        rows, nodes = self.answers.poll()
        now = int(self.clock.now())
        config = self._configuration()
        listed = {row.id for row in rows}
        if new := sorted(listed - self._names.keys()):
            self._ask_names(new)
        self._names = {job: name for job, name in self._names.items() if job in listed}
        self._rows = rows
        hidden, why = self._private(config)
        return View(
            cluster=config.get("ClusterName", "slurm"),
            system=f"Slurm {config.get('SLURM_VERSION', '')}".strip(),
            now=now,
            jobs=tuple(job_of(row, self._names.get(row.id, "")) for row in rows),
            nodes=tuple(node_of(row) for row in nodes),
            private=hidden,
            private_why=why,
        )

    def why(self, job: str, site: object) -> str:
        """What stands in a waiting job's way."""
        row = next((one for one in self._rows if one.id == job and one.state == "PENDING"), None)
        if row is None or site is None:
            return ""
        seen = Seen(now=int(self.clock.now()), site=site, rows=tuple(self._rows))  # type: ignore[arg-type]
        return why_waiting(row, seen)

    def _configuration(self) -> Mapping[str, str]:
        at, known = self._config
        if self.clock.steady() - at >= AGAIN:
            known = parse_config(self.answers.text(("scontrol", "show", "config")))
            self._config = self.clock.steady(), known
        return known

    def _ask_names(self, jobs: Sequence[str]) -> None:
        """Names are free text: a separator that nobody knows is in the environment."""
        between = f"\x1f{self._secret}"
        run = self.run.knowing(SQUEUE_FORMAT2=f"JobArrayID:{between},Name:{between}")
        some = (f"--jobs={','.join(jobs)}",) if len(jobs) <= AT_ONCE else ()
        try:
            answer = checked(run, (*QUEUE, *some))
        except PortError:  # one of them is gone meanwhile
            answer = checked(run, QUEUE)
        for line in answer.split(f"{between}\n"):
            job, found, name = line.partition(between)
            if found:
                self._names[job] = name

    def _private(self, config: Mapping[str, str]) -> tuple[Hidden, str]:
        words = {word.strip().lower() for word in config.get("PrivateData", "").split(",")}
        hidden = frozenset().union(*(PRIVATE[word] for word in words & PRIVATE.keys()))
        if not hidden:
            return frozenset(), ""
        if self._privileged is None:
            self._privileged = self._may_see_all(config)
        if not self._privileged:
            return frozenset(), ""
        named = " and ".join(sorted(words & PRIVATE.keys()))
        return hidden, f"PrivateData keeps {named} private, and the board's user may see them"

    def _may_see_all(self, config: Mapping[str, str]) -> bool:
        """Whether Slurm shows this user what it keeps from others."""
        uid = os.geteuid()
        owner = config.get("SlurmUser", "").partition("(")[2].rstrip(")")
        if uid == 0 or owner == str(uid):
            return True
        try:
            name = pwd.getpwuid(uid).pw_name
            ask = ("sacctmgr", "-nP", "show", "user", f"name={name}", "format=AdminLevel")
            level = self.answers.text(ask).strip()
        except (KeyError, PortError):
            return False
        return level in ("Operator", "Administrator", "Admin")


def job_of(row: QueueRow, name: str) -> Job:
    """A row of squeue as the board shows it."""
    running = row.state in HOLDS or row.state == "COMPLETING"
    waiting = row.state == "PENDING"
    reason = "" if row.reason in (*NONE, "None") else row.reason
    hosts = () if waiting else hosts_of(row.nodes)
    # One that was cancelled while it waited has its end as its start.
    started = running or (not waiting and bool(hosts))
    return Job(
        id=row.id,
        state="waiting" if waiting else "running" if running else "ended",
        name=name,
        user=row.user,
        account="" if row.account in NONE else row.account,
        partition=row.partition,
        reason=reason if waiting else row.state.lower(),
        cpus=row.cpus,
        nodes=max(1, row.node_count),
        whole_nodes=row.sharing == "NO",
        submit=row.submit,
        start=row.start if started else -1,
        end=row.end if not waiting and not running else -1,
        limit=row.limit,
        priority=float(row.priority),
        planned=row.start if waiting else -1,
        hosts=hosts,
    )


def hosts_of(text: str) -> tuple[str, ...]:
    """Names in a host list; none where it cannot be read."""
    try:
        return tuple(expand(text)) if text not in NONE else ()
    except ClusterError:
        return ()


def node_of(row: NodeRow) -> Node:
    """A node of sinfo."""
    return Node(
        name=row.name,
        cpus=max(1, row.cpus),
        state=row.state,
        usable=row.open,
        partitions=tuple(dict.fromkeys(row.partitions)),
    )


def past_jobs(sacct: str, since: int) -> Iterator[Job]:
    """Jobs of an export of accounting that ended after a time.

    Examples
    --------
    >>> head = "JobID|JobName|User|Start|End|NCPUS|NodeList|State".replace("|", IN_SACCT)
    >>> row = "7|a|eva|100|250|4|n[1-2]|COMPLETED".replace("|", IN_SACCT)
    >>> [(one.id, one.hosts) for one in past_jobs(f"{head}\\n{row}\\n", 200)]
    [('7', ('n1', 'n2'))]
    """
    head, *lines = sacct.split("\n")
    columns = [name.lower() for name in head.split(IN_SACCT)]
    for line in lines:
        cell = dict(zip(columns, line.split(IN_SACCT), strict=False))
        start, end = _second(cell.get("start", "")), _second(cell.get("end", ""))
        if end < since or end < 0 or (start < 0 and _second(cell.get("submit", "")) < 0):
            continue
        hosts = hosts_of(cell.get("nodelist", "").replace("None assigned", ""))
        cpus = cell.get("ncpus", cell.get("alloccpus", ""))
        yield Job(
            id=cell.get("jobid", ""),
            state="ended",
            name=cell.get("jobname", ""),
            user=cell.get("user", ""),
            account=cell.get("account", ""),
            partition=cell.get("partition", ""),
            reason=cell.get("state", "").split(" ")[0].lower(),
            cpus=int(cpus) if cpus.isdecimal() and int(cpus) else 1,
            nodes=max(1, len(hosts)),
            submit=_second(cell.get("submit", "")),
            start=start if hosts else -1,
            end=end,
            hosts=hosts if start >= 0 else (),
        )


def _second(text: str) -> int:
    return int(text) if text.isdecimal() else -1
