"""A private Slurm on this machine: N node daemons and a controller on loopback, made to be stopped.

For tests and benchmarks; needs Debian's munge, slurmctld, slurmd and slurm-client. As root the
daemons run as the user slurm and root, else all of them as the caller, who is then the only one
who can submit. Nothing outside the given folder is touched, and no port but on 127.0.0.1. Should
the caller be killed, a watchdog ends the daemons.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from shadowtime.errors import UsageError
from shadowtime.slurmtext.conf import Version, parse_version
from shadowtime.testing.slurm_accounting import Accounting
from shadowtime.testing.slurm_conf import CLUSTER, NodeKind, conf_lines, gres_conf
from shadowtime.testing.watchdog import MARK, watch

PROGRAMS = ("munged", "slurmctld", "slurmd", "squeue", "scontrol", "sbatch")
SBIN = Path("/usr/sbin")
FETCHED = ("24.11", "26.05")
"""Versions besides the system's own that ``scripts/fetch-daemons slurm-VERSION`` unpacks. Debian's
newest moves on: what is asked for as the last of them may be newer."""
SECONDS = 300.0
"""Seconds that a daemon may take to start, even on a slow and busy machine."""
TO_END = 30.0
"""Seconds that a cluster which is stopped waits for its jobs to end: all daemons end anyway."""


def missing_programs() -> list[str]:
    """The programs of Slurm that are not installed here.

    Examples
    --------
    >>> set(missing_programs()) <= set(PROGRAMS)
    True
    """
    return [name for name in PROGRAMS if not shutil.which(name, path=f"{os.defpath}:{SBIN}")]


def slurm_root(version: str) -> Path | None:
    """The folder with the programs of a version that was fetched, None where it was not.

    Examples
    --------
    >>> slurm_root("19.05") is None
    True
    """
    given = os.environ.get("SHADOWTIME_DAEMONS")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "shadowtime"
    folders = [Path(given)] if given else [Path("/var/cache/shadowtime"), cache]
    found = (folder / f"slurm-{version}" for folder in folders)
    return next((root for root in found if (root / "fetched").is_file()), None)


@dataclass(kw_only=True)
class SlurmCluster:
    """A cluster in a folder; :func:`slurm_cluster` starts and stops one.

    ``settings`` are further lines of slurm.conf; ``gres`` is the bandwidth of each node (0: none);
    with ``accounting`` sacct works; ``owner`` is SlurmUser (default: slurm, or the caller if not
    root). ``kinds`` describes different nodes, instead of ``nodes``, ``cpus``, ``memory`` and
    ``gres``. ``root`` is the folder of another Slurm than the system's (:func:`slurm_root`).
    """

    folder: Path
    nodes: int = 8
    cpus: int = 16
    memory: int = 32000
    gres: int = 34000
    settings: Sequence[str] = ()
    accounting: bool = False
    owner: str = ""
    partitions: Sequence[str] = ()
    kinds: Sequence[NodeKind] = ()
    root: Path | None = None
    port: int = 0
    pids: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.kinds:
            self.nodes, self.gres = sum(kind.count for kind in self.kinds), 0
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._watchdog: subprocess.Popen[bytes] | None = None
        self._mark = secrets.token_hex(16)
        self._claims: list[int] = []

    @property
    def conf(self) -> Path:
        """The configuration."""
        return self.folder / "etc" / "slurm.conf"

    @property
    def version(self) -> Version | None:
        """The version of its commands."""
        return parse_version(self.run("scontrol", "--version"))

    @property
    def env(self) -> dict[str, str]:
        """The environment in which Slurm's commands talk to this cluster."""
        path = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin"
        if self.root is not None:
            path = f"{self.folder / 'bin'}:{path}"
        return {**os.environ, "SLURM_CONF": str(self.conf), "PATH": path}

    @property
    def plugins(self) -> Path | None:
        """Where the plug-ins of another Slurm than the system's lie."""
        if self.root is None:
            return None
        return next((self.root / "usr" / "lib").glob("*/slurm-wlm"))

    @property
    def node_range(self) -> str:
        """All nodes as a host list."""
        return f"n[1-{self.nodes}]" if self.nodes > 1 else "n1"

    @property
    def names(self) -> list[str]:
        """The nodes."""
        return [f"n{k}" for k in range(1, self.nodes + 1)]

    def run(
        self,
        *argv: str,
        check: bool = True,
        text: str = "",
        env: Mapping[str, str] | None = None,
    ) -> str:
        """The output of one of Slurm's commands; ``env`` is set besides."""
        done = subprocess.run(
            argv,
            env={**self.env, **(env or {})},
            input=text,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            cwd=self.folder,
            check=False,
        )
        if check and done.returncode:
            raise UsageError(f"{' '.join(argv)}: {(done.stderr or done.stdout).strip()}")
        return done.stdout

    def sbatch(self, *options: str, script: str = "sleep 1", as_user: str = "") -> str:
        """Submit a script; returns the job's id."""
        command = ("sbatch", "--parsable", "--output=/dev/null", *options)
        argv = (*become(as_user), *command) if as_user else command
        return self.run(*argv, text=f"#!/bin/sh\n{script}\n").strip().split(";")[0]

    def clear(self, *, patience: float = SECONDS) -> None:
        """Cancel all jobs, resume all nodes, and wait until nothing is left."""
        users = {line for line in self.run("squeue", "-h", "-a", "-o", "%U").split() if line}
        for user in users:
            self.run("scancel", f"--user={user}", check=False)
        for line in self.run("sinfo", "-h", "-N", "-o", "%N %T").splitlines():
            name, state = line.split()
            if "drain" in state or "down" in state:
                self.run("scontrol", "update", f"NodeName={name}", "State=RESUME", check=False)
        wait_for(lambda: not self.run("squeue", "-h", "-a").strip(), "an empty queue", patience)
        wait_for(self._all_idle, "the nodes to be idle", patience)

    def make(self) -> None:
        """Write the configuration."""
        for name in ("etc", "state", "spool", "log", "run", "munge", "bin"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        self.folder.chmod(0o755)
        # Node GRES are parsed only by programs of exactly these names.
        sbin = SBIN if self.root is None else self.root / "usr" / "sbin"
        programs = dict.fromkeys(("slurmctld", "slurmd", "slurmstepd", "slurmdbd"), sbin)
        if self.root is not None:
            programs |= {path.name: path.parent for path in (self.root / "usr/bin").glob("s*")}
        for name, place in programs.items():
            real = next((p for p in (place / f"{name}-wlm", place / name) if p.exists()), None)
            link = self.folder / "bin" / name
            if real is not None and not link.exists():
                link.symlink_to(real)
        key = self.folder / "munge" / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        self.port = self.port or free_ports(self.nodes + 4, self._claims)
        if self.accounting:
            self.accounting_store().make()
        (self.folder / "etc" / "plugstack.conf").write_text("")
        (self.folder / "etc" / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
        if self.gres:
            line = f"NodeName={self.node_range} Name=membw Count={self.gres} Flags=CountOnly\n"
            (self.folder / "etc" / "gres.conf").write_text(line)
        if self.kinds:
            text = gres_conf(self.kinds, self.folder / "devices")
            (self.folder / "etc" / "gres.conf").write_text(text)
        self.conf.write_text(
            "\n".join(conf_lines(self, owner=self._owner(), as_root=_is_root())) + "\n"
        )
        for name in self.names:
            (self.folder / "spool" / name).mkdir(exist_ok=True)
        if _is_root():
            for name in ("etc", "state", "log", "run", "munge"):
                _give(self.folder / name, self._daemon_user())

    def start(self) -> None:
        """Start all daemons and wait until every node is idle."""
        self._watchdog = watch(f"{MARK}={self._mark}")
        self.start_munge()
        if self.accounting:
            self._start_accounting()
        self.start_controller()
        for name in self.names:
            self.start_node(name)
        wait_for(self._all_idle, "the nodes to be idle", SECONDS + self.nodes / 10)

    def start_munge(self) -> None:
        """Start the authentication daemon."""
        d = self.folder
        self._spawn(
            "munged",
            [
                str(SBIN / "munged"),
                "--foreground",
                "--force",
                f"--socket={d}/run/munge.sock",
                f"--key-file={d}/munge/munge.key",
                f"--log-file={d}/log/munged.log",
                f"--pid-file={d}/run/munged.pid",
                f"--seed-file={d}/munge/munged.seed",
                "--num-threads=4",
            ],
            user=self._daemon_user(),
        )
        wait_for(lambda: (d / "run" / "munge.sock").exists(), "munged")

    def _start_accounting(self) -> None:
        """Start MariaDB and slurmdbd, and register this cluster."""
        made = self.accounting_store()
        self._spawn("mariadbd", made.database())

        def wait_for_database(answers: Callable[[], bool], what: str) -> float:
            def answered() -> bool:
                if self._processes["mariadbd"].poll() is not None:
                    # A connection of another program had its port for a moment.
                    self._spawn("mariadbd", made.database())
                return answers()

            return wait_for(answered, what)

        made.let_slurm_in(wait_for_database)
        self.start_slurmdbd()

        def known() -> bool:
            self.run("sacctmgr", "--immediate", "add", "cluster", CLUSTER, check=False)
            output = self.run("sacctmgr", "--noheader", "show", "cluster", check=False)
            return CLUSTER in output

        wait_for(known, "slurmdbd")

    def start_slurmdbd(self) -> None:
        """Start the daemon of the accounting; its database runs already."""
        self._spawn("slurmdbd", [self._bin("slurmdbd"), "-D"], user=self._daemon_user())

    def start_controller(self) -> None:
        """Start slurmctld and wait until it answers."""
        self._spawn("slurmctld", [self._bin("slurmctld"), "-D"], user=self._daemon_user())
        wait_for(lambda: "UP" in self.run("scontrol", "ping", check=False), "slurmctld")

    def start_node(self, name: str) -> None:
        """Start the daemon of a node."""
        argv = [self._bin("slurmd"), "-D", "-N", name, "-d", self._bin("slurmstepd")]
        self._spawn(f"slurmd-{name}", argv)

    def kill(self, name: str, sign: int = signal.SIGKILL) -> None:
        """End one daemon by its name."""
        process = self._processes.pop(name, None)
        if process is None:
            return
        self.pids.pop(name, None)
        process.send_signal(sign)
        try:
            process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def stop(self) -> None:
        """Cancel what runs and end all daemons."""
        with contextlib.suppress(UsageError, subprocess.TimeoutExpired):
            self.clear(patience=TO_END)
        last = ("slurmdbd", "mariadbd", "munged")
        for name, process in self._processes.items():
            if name not in last:
                process.terminate()
        for name in [*(n for n in self._processes if n not in last), *last]:
            self.kill(name, signal.SIGTERM)
        if self._watchdog is not None:
            self._watchdog.communicate()
        while self._claims:
            os.close(self._claims.pop())

    def accounting_store(self) -> Accounting:
        """The slurmdbd and the database of the cluster."""
        port = self.port + self.nodes + 2
        return Accounting(self.folder, port, self._owner(), self.plugins)

    def _bin(self, name: str) -> str:
        return str(self.folder / "bin" / name)

    def _spawn(self, name: str, argv: Sequence[str], *, user: str = "") -> None:
        command = [*(become(user) if user and _is_root() else ()), *argv]
        with (self.folder / "log" / f"{name}.out").open("ab") as log:
            process = subprocess.Popen(
                command,
                env={**self.env, MARK: self._mark},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                cwd=self.folder,
            )
        self._processes[name] = process
        self.pids[name] = process.pid

    def _all_idle(self) -> bool:
        output = self.run("sinfo", "-h", "-N", "-o", "%N %t", check=False)
        lines = output.splitlines()
        free = {line.split()[0] for line in lines if line.endswith((" idle", " resv"))}
        return len(free) == self.nodes

    def _daemon_user(self) -> str:
        return self.owner or ("slurm" if _is_root() else "")

    def _owner(self) -> str:
        return self._daemon_user() or pwd.getpwuid(os.getuid()).pw_name


@contextlib.contextmanager
def slurm_cluster(
    folder: Path, *, prepare: Callable[[SlurmCluster], None] | None = None, **options: object
) -> Iterator[SlurmCluster]:
    """A running cluster in a folder; ``prepare`` may change its configuration before the start."""
    cluster = SlurmCluster(folder=folder, **options)  # type: ignore[arg-type]
    cluster.make()
    if prepare is not None:
        prepare(cluster)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


def wait_for(condition: Callable[[], bool], what: str, seconds: float = SECONDS) -> float:
    """Wait until a condition holds; returns how long it took."""
    began = time.monotonic()
    while not condition():
        if time.monotonic() - began > seconds:
            raise UsageError(f"waited {seconds:g} seconds for {what}, which did not happen")
        time.sleep(0.05)
    return time.monotonic() - began


def free_ports(count: int, claims: list[int]) -> int:
    """The first of several consecutive ports that are free on loopback.

    Below those that the system gives to outgoing connections: one of these could take a port
    between this look and the daemon's start. As another cluster could, each port is claimed by a
    name that no two processes can hold: ``claims`` gets the files to close when it is over.
    """
    low, span = 20000, 32768 - 20000 - count
    first = low + os.getpid() * 41 % span
    while True:
        named: list[socket.socket] = []
        with contextlib.ExitStack() as stack:
            try:
                for port in range(first, first + count):
                    named.append(socket.socket(socket.AF_UNIX))
                    named[-1].bind(f"\0shadowtime-port-{port}")
                    one = stack.enter_context(socket.socket())
                    one.bind(("127.0.0.1", port))
                claims += [claim.detach() for claim in named]
                return first
            except OSError:
                first = low + (first + count - low) % span
                for claim in named:
                    claim.close()


def _is_root() -> bool:
    return os.geteuid() == 0


def become(user: str) -> tuple[str, ...]:
    """What goes before a command that another user is to run."""
    known = pwd.getpwnam(user)
    return ("setpriv", f"--reuid={known.pw_uid}", f"--regid={known.pw_gid}", "--init-groups")


def _give(path: Path, user: str) -> None:
    owner = pwd.getpwnam(user)
    for entry in (path, *path.rglob("*")):
        os.chown(entry, owner.pw_uid, owner.pw_gid)
