"""A real HTCondor pool on loopback for the tests: master, collector, negotiator, schedd, startds.

The daemons are those that ``scripts/fetch-daemons`` unpacked. Started as root they run as nobody;
any client is taken for nobody too (CLAIMTOBE), which is acceptable only for a throw-away pool that
listens on loopback.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conftest import ROOT, require

NOBODY = 65534
CPUS, MEMORY = 8, 8192
"""What a node of the pool advertises; it need not be what the machine has."""

PARTITIONABLE = """
SLOT_TYPE_1 = 100%
SLOT_TYPE_1_PARTITIONABLE = True
NUM_SLOTS_TYPE_1 = 1
CLAIM_WORKLIFE = 0
"""
STATIC = """
SLOT_TYPE_1 = 100%
SLOT_TYPE_1_PARTITIONABLE = False
NUM_SLOTS_TYPE_1 = 1
"""
"""One slot a node, taken whole. Claims are kept, as by default: with UNUSED_CLAIM_TIMEOUT = 1 and
CLAIM_WORKLIFE = 0 the dedicated scheduler of 23.9.6 ends in a segmentation fault."""


def condor_folder() -> Path:
    """Where the daemons are."""
    pip_free = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/")}
    given = os.environ.get("SHADOWTIME_DAEMONS")
    where = subprocess.run(
        [str(ROOT / "scripts" / "fetch-daemons"), "condor", "--where"],
        env=pip_free | ({"SHADOWTIME_DAEMONS": given} if given else {}),
        capture_output=True,
        text=True,
        check=True,
    )
    return Path(where.stdout.strip())


def require_condor() -> Path:
    """The folder of the daemons; skips (or fails) where they or the bindings are missing."""
    try:
        folder: Path | None = condor_folder()
    except (OSError, subprocess.CalledProcessError):
        folder = None
    there = folder is not None and (folder / "fetched").is_file()
    require("condor", there, "HTCondor's daemons are not here: scripts/install --system gets them")
    try:
        import htcondor2  # noqa: F401
    except ImportError:
        require("condor", False, "the package htcondor is not installed: pip install htcondor")
    assert folder is not None
    return folder


@dataclass
class Pool:
    """A pool that runs; ``config`` is the file that CONDOR_CONFIG must name."""

    folder: Path
    daemons: Path
    port: int
    nodes: int
    slots: str
    extra: str = ""
    more_schedds: tuple[str, ...] = ()
    """Names of further schedds beside the pool's own."""
    master: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def config(self) -> Path:
        return self.folder / "condor_config"

    def start(self) -> None:
        """Write the configuration, start the master, wait until every node has reported."""
        owner = NOBODY if os.geteuid() == 0 else os.geteuid()
        self.folder.chmod(0o755)
        names = ["log", "spool", "run", "lock", "execute", "jobs"]
        names += [f"execute/n{i}" for i in range(1, self.nodes + 1)]
        names += [f"spool-{name}" for name in self.more_schedds]
        for name in names:
            path = self.folder / name
            path.mkdir(exist_ok=True)
            os.chown(path, owner, owner if owner == NOBODY else -1)
        self.config.write_text(configuration(self, owner))
        self.start_master()

    def start_master(self, *, patience: float = 300) -> None:
        """Start the daemons on what is in the folder, and wait for all of them."""
        drop: dict[str, Any] = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        self.master = subprocess.Popen(
            [self.daemons / "usr/sbin/condor_master", "-f"],
            env={"PATH": "/usr/bin:/bin", "CONDOR_CONFIG": str(self.config)},
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=_end_with_the_tests,
            **(drop if os.geteuid() == 0 else {}),
        )
        self.use()
        self.wait(self.is_up, patience, "the pool to be up")

    def use(self) -> Any:
        """Point the bindings of this process at the pool."""
        import htcondor2

        os.environ["CONDOR_CONFIG"] = str(self.config)
        htcondor2.reload_config()
        return htcondor2

    def is_up(self) -> bool:
        import htcondor2

        if self.master is None or self.master.poll() is not None:
            log = self.folder / "log" / "MasterLog"
            tail = log.read_text()[-2000:] if log.exists() else "no log"
            raise RuntimeError(
                f"condor_master ended with {self.master and self.master.poll()}: {tail}"
            )
        try:
            collector = htcondor2.Collector(f"127.0.0.1:{self.port}")
            slots = collector.query(htcondor2.AdType.Startd, projection=["Machine", "Name"])
            names = {str(slot["Name"]).partition("@")[2] for slot in slots}
            schedds = collector.query(htcondor2.AdType.Schedd, projection=["Name"])
            if len(names) < self.nodes or len(schedds) < 1 + len(self.more_schedds):
                return False
            for schedd in schedds:
                self.schedd(str(schedd["Name"])).query(constraint="false")
        except htcondor2.HTCondorException:
            return False
        return True

    def schedd(self, name: str = "") -> Any:
        """A schedd of the pool, its own unless named, as the collector knows it."""
        import htcondor2

        collector = htcondor2.Collector(f"127.0.0.1:{self.port}")
        return htcondor2.Schedd(collector.locate(htcondor2.DaemonType.Schedd, name or None))

    def wait(self, happened: Any, patience: float, what: str) -> None:
        """Wait for something of the pool to happen, looking ten times a second."""
        until = time.monotonic() + patience
        while not happened():
            if time.monotonic() > until:
                raise TimeoutError(f"waited {patience} s for {what}")
            time.sleep(0.1)

    def pids(self, program: str, *words: str) -> list[int]:
        """The daemons of this pool that run a program with these words on its command line."""
        found = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                line = (entry / "cmdline").read_bytes().decode().split("\0")
                environment = (entry / "environ").read_bytes()
            except (OSError, UnicodeDecodeError):
                continue
            mine = f"CONDOR_CONFIG={self.config}".encode() in environment.split(b"\0")
            if mine and Path(line[0]).name == program and all(word in line for word in words):
                found.append(int(entry.name))
        return found

    def stop(self) -> None:
        """Stop all daemons and whatever jobs still run."""
        if self.master is None:
            return
        self.master.send_signal(signal.SIGQUIT)  # fast: jobs are killed, not waited for
        try:
            self.master.wait(30)
        except subprocess.TimeoutExpired:
            self.master.kill()
            self.master.wait()
        for program in ("condor_schedd", "condor_startd", "condor_collector", "condor_negotiator",
                        "condor_shadow", "condor_starter", "condor_procd"):  # fmt: skip
            for pid in self.pids(program):
                os.kill(pid, signal.SIGKILL)
        self.master = None


def _end_with_the_tests() -> None:
    """Let the kernel stop the master should the tests be killed."""
    ctypes.CDLL(None).prctl(1, signal.SIGQUIT)


def configuration(pool: Pool, owner: int) -> str:
    """The whole condor_config: nothing is inherited from the machine."""
    base, release = pool.folder, pool.daemons / "usr"
    starts = " ".join(f"STARTD_N{i}" for i in range(1, pool.nodes + 1))
    text = f"""
RELEASE_DIR = {release}
LOCAL_DIR = {base}
LOG = {base}/log
SPOOL = {base}/spool
RUN = {base}/run
LOCK = {base}/lock
EXECUTE = {base}/execute
ETC = {base}
BIN = $(RELEASE_DIR)/bin
SBIN = $(RELEASE_DIR)/sbin
LIB = $(RELEASE_DIR)/lib
LIBEXEC = $(RELEASE_DIR)/libexec/condor
SHARE = $(RELEASE_DIR)/share/condor
CONDOR_IDS = {owner}.{owner}
CONDOR_HOST = 127.0.0.1
COLLECTOR_HOST = 127.0.0.1:{pool.port}
NETWORK_INTERFACE = 127.0.0.1
NETWORK_HOSTNAME = localhost
FULL_HOSTNAME = localhost
BIND_ALL_INTERFACES = False
ENABLE_IPV6 = False
NO_DNS = True
DEFAULT_DOMAIN_NAME = pool.local
UID_DOMAIN = pool.local
FILESYSTEM_DOMAIN = pool.local
TRUST_UID_DOMAIN = True
USE_SHARED_PORT = False
ALLOW_READ = *
ALLOW_WRITE = *
ALLOW_ADMINISTRATOR = *
ALLOW_NEGOTIATOR = *
ALLOW_DAEMON = *
SEC_DEFAULT_AUTHENTICATION = REQUIRED
SEC_DEFAULT_AUTHENTICATION_METHODS = CLAIMTOBE
SEC_CLIENT_AUTHENTICATION_METHODS = CLAIMTOBE
SEC_CLAIMTOBE_USER = nobody
SEC_DEFAULT_ENCRYPTION = OPTIONAL
SEC_DEFAULT_INTEGRITY = OPTIONAL
SCHEDD_INTERVAL = 1
SCHEDD_MIN_INTERVAL = 1
NEGOTIATOR_INTERVAL = 1
NEGOTIATOR_MIN_INTERVAL = 1
NEGOTIATOR_CYCLE_DELAY = 1
UPDATE_INTERVAL = 2
NEGOTIATOR_UPDATE_INTERVAL = 2
COLLECTOR_UPDATE_INTERVAL = 5
STARTER_UPDATE_INTERVAL = 5
SHADOW_QUEUE_UPDATE_INTERVAL = 5
ALIVE_INTERVAL = 5
REQUEST_CLAIM_TIMEOUT = 10
JOB_START_DELAY = 0
JOB_START_COUNT = 100
RUNBENCHMARKS = 0
START = True
SUSPEND = False
PREEMPT = False
KILL = False
WANT_SUSPEND = False
WANT_VACATE = False
MaxJobRetirementTime = 0
RANK = Scheduler =?= $(DedicatedScheduler)
DEFAULT_USERLOG_FORMAT_OPTIONS = SUB_SECOND
CGROUP_MEMORY_LIMIT_POLICY = none
BASE_CGROUP =
STARTD_RECOMPUTE_DISK_FREE = False
ENABLE_USERLOG_LOCKING = False
DISCARD_SESSION_KEYRING_ON_STARTUP = False
MASTER_BACKOFF_CEILING = 2
DAEMON_LIST = MASTER COLLECTOR NEGOTIATOR SCHEDD {starts}
DedicatedScheduler = "DedicatedScheduler@localhost.pool.local"
STARTD_ATTRS = $(STARTD_ATTRS) DedicatedScheduler
{pool.slots}
"""
    for i in range(1, pool.nodes + 1):
        text += f"""
STARTD_N{i} = $(SBIN)/condor_startd
STARTD_N{i}_ARGS = -f -local-name n{i}
n{i}.STARTD_NAME = n{i}
n{i}.STARTD_LOG = $(LOG)/StartLog.n{i}
n{i}.STARTER_LOG = $(LOG)/StarterLog.n{i}
n{i}.EXECUTE = {base}/execute/n{i}
n{i}.STARTD_ADDRESS_FILE = $(LOG)/.startd_address.n{i}
n{i}.STARTD_CLAIM_ID_FILE = $(LOG)/.startd_claim_id.n{i}
n{i}.NUM_CPUS = {CPUS}
n{i}.MEMORY = {MEMORY}
n{i}.DISK = 10000000
"""
    for name in pool.more_schedds:
        text += f"""
DAEMON_LIST = $(DAEMON_LIST) SCHEDD_{name}
SCHEDD_{name} = $(SBIN)/condor_schedd
SCHEDD_{name}_ARGS = -f -local-name {name}
{name}.SCHEDD_NAME = {name}
{name}.SCHEDD_LOG = $(LOG)/SchedLog.{name}
{name}.SPOOL = {base}/spool-{name}
{name}.HISTORY = {base}/spool-{name}/history
{name}.SCHEDD_ADDRESS_FILE = {base}/spool-{name}/.schedd_address
{name}.SCHEDD_DAEMON_AD_FILE = {base}/spool-{name}/.schedd_classad
"""
    return text + pool.extra


@contextmanager
def running_pool(
    *,
    slots: str = PARTITIONABLE,
    nodes: int = 4,
    extra: str = "",
    more_schedds: tuple[str, ...] = (),
) -> Iterator[Pool]:
    """A pool for as long as the block lasts."""
    daemons = require_condor()
    folder = Path(tempfile.mkdtemp(prefix="shadowtime-pool-"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    pool = Pool(folder, daemons, port, nodes, slots, extra, more_schedds)
    try:
        pool.start()
        yield pool
    finally:
        pool.stop()
        shutil.rmtree(folder, ignore_errors=True)
