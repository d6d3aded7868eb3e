"""Accounting for a private Slurm: slurmdbd over a MariaDB of its own, so that sacct works."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from shadowtime.errors import UsageError

PROGRAMS = ("slurmdbd", "sacct", "sacctmgr", "mariadbd", "mariadb-install-db", "mariadb")
PASSWORD = "only-on-loopback"


def missing_programs() -> list[str]:
    """What accounting needs and is not installed here.

    Examples
    --------
    >>> set(missing_programs()) <= set(PROGRAMS)
    True
    """
    return [name for name in PROGRAMS if not shutil.which(name, path=f"{os.defpath}:/usr/sbin")]


@dataclass(frozen=True)
class Accounting:
    """Its folder and ports: ``port`` is slurmdbd's, the next one MariaDB's."""

    folder: Path
    port: int
    owner: str
    plugins: Path | None = None

    @property
    def socket(self) -> Path:
        """Where MariaDB listens to its administrator."""
        return self.folder / "run" / "mariadb.sock"

    def slurm_lines(self) -> list[str]:
        """For slurm.conf."""
        return [
            "AccountingStorageType=accounting_storage/slurmdbd",
            "AccountingStorageHost=localhost",
            f"AccountingStoragePort={self.port}",
            # With a munge of its own: else sacct asks the machine's.
            f"AccountingStoragePass={self.folder}/run/munge.sock",
            "AccountingStorageTRES=gres/membw",
        ]

    def make(self) -> None:
        """Write slurmdbd.conf, which only its user may read, and an empty database."""
        d = self.folder
        conf = d / "etc" / "slurmdbd.conf"
        lines = [
            "AuthType=auth/munge",
            f"AuthInfo=socket={d}/run/munge.sock",
            "DbdHost=localhost",
            "DbdAddr=127.0.0.1",
            f"DbdPort={self.port}",
            f"SlurmUser={self.owner}",
            f"LogFile={d}/log/slurmdbd.log",
            f"PidFile={d}/run/slurmdbd.pid",
            "StorageType=accounting_storage/mysql",
            "StorageHost=127.0.0.1",
            f"StoragePort={self.port + 1}",
            "StorageUser=slurm",
            f"StoragePass={PASSWORD}",
            "StorageLoc=slurm_acct_db",
            "CommunicationParameters=NoInAddrAny",
            *([f"PluginDir={self.plugins}"] if self.plugins else []),
        ]
        conf.write_text("\n".join(lines) + "\n")
        conf.chmod(0o600)
        # A MariaDB that starts removes the temporary tables of every other in the same folder.
        self.temporary.mkdir(exist_ok=True)
        self._run(
            "env",
            f"TMPDIR={self.temporary}",
            "mariadb-install-db",
            "--no-defaults",
            *_as_root(),
            f"--datadir={d / 'db'}",
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
        )

    @property
    def temporary(self) -> Path:
        """Where MariaDB keeps temporary tables."""
        return self.folder / "tmp"

    def database(self) -> list[str]:
        """The command of MariaDB: fast, without protection against crashes."""
        return [
            shutil.which("mariadbd") or "/usr/sbin/mariadbd",
            "--no-defaults",
            *_as_root(),
            f"--datadir={self.folder / 'db'}",
            f"--tmpdir={self.temporary}",
            f"--socket={self.socket}",
            f"--pid-file={self.folder / 'run' / 'mariadb.pid'}",
            "--bind-address=127.0.0.1",
            f"--port={self.port + 1}",
            "--innodb-flush-log-at-trx-commit=0",
            "--innodb-flush-method=nosync",
            "--innodb-lock-wait-timeout=900",
            "--sync-frm=0",
            "--skip-name-resolve",
        ]

    def let_slurm_in(self, wait_for: Callable[[Callable[[], bool], str], float]) -> None:
        """Make the database's user as soon as MariaDB answers."""
        sql = (
            "CREATE DATABASE slurm_acct_db; "
            f"CREATE USER slurm@127.0.0.1 IDENTIFIED BY '{PASSWORD}'; "
            "GRANT ALL ON slurm_acct_db.* TO slurm@127.0.0.1"
        )
        client = ("mariadb", "--no-defaults", f"--socket={self.socket}", "--user=root", "-e")
        wait_for(lambda: self._answers(*client, "SELECT 1"), "MariaDB")
        self._run(*client, sql)

    def _answers(self, *argv: str) -> bool:
        try:
            done = subprocess.run(argv, capture_output=True, timeout=10, check=False)
        except subprocess.TimeoutExpired:
            return False
        return done.returncode == 0

    def _run(self, *argv: str) -> None:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)
        if done.returncode:
            raise UsageError(f"{argv[0]}: {(done.stderr or done.stdout).strip()[-500:]}")


def _as_root() -> list[str]:
    return ["--user=root"] if os.geteuid() == 0 else []
