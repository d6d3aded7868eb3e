"""Real database servers on loopback for the tests, started and stopped by them."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from conftest import program, require


def free_port() -> int:
    with socket.socket() as some:
        some.bind(("127.0.0.1", 0))
        return int(some.getsockname()[1])


@contextmanager
def folder(owner: str | None) -> Iterator[Path]:
    """A folder of its own that the server's user may enter."""
    made = Path(tempfile.mkdtemp(prefix="hperf-"))
    try:
        if owner is not None:
            shutil.chown(made, owner, owner)
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def run(*command: str, **options: object) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, **options)  # type: ignore[call-overload]
    assert done.returncode == 0, f"{command[0]}: {done.stdout[-500:]}{done.stderr[-1500:]}"


@contextmanager
def mariadb() -> Iterator[str]:
    """A MariaDB with an empty database ``hperf``; its URL as root."""
    install = program("mariadb-install-db", component="mariadb")
    server = shutil.which("mariadbd") or "/usr/sbin/mariadbd"
    require("mariadb", os.access(server, os.X_OK), "the program mariadbd is not installed")
    me = ["--user=root"] if os.getuid() == 0 else []
    with folder(None) as here:
        data = f"--datadir={here / 'data'}"
        quick = ["--auth-root-authentication-method=normal", "--skip-test-db"]
        run(install, "--no-defaults", *me, data, *quick)
        port = free_port()
        log = (here / "log").open("w")
        running = subprocess.Popen(
            [
                server,
                "--no-defaults",
                *me,
                data,
                f"--socket={here / 's'}",
                f"--pid-file={here / 'pid'}",
                "--bind-address=127.0.0.1",
                f"--port={port}",
                "--innodb-flush-log-at-trx-commit=0",
                "--innodb-flush-method=nosync",
                "--sync-frm=0",
                "--skip-name-resolve",
            ],
            stdout=log,
            stderr=log,
        )
        try:
            run("mariadb-admin", f"--socket={here / 's'}", "--user=root", "--wait=60", "ping")
            sql = (
                "CREATE DATABASE hperf; CREATE USER hperf@127.0.0.1 IDENTIFIED BY 'geheim'; "
                "GRANT ALL ON hperf.* TO hperf@127.0.0.1; "
                "CREATE USER reader@127.0.0.1; GRANT SELECT ON hperf.* TO reader@127.0.0.1"
            )
            run("mariadb", f"--socket={here / 's'}", "--user=root", "-e", sql)
            yield f"mariadb://hperf:geheim@127.0.0.1:{port}/hperf"
        finally:
            running.terminate()
            running.wait(60)
            log.close()


@contextmanager
def postgresql() -> Iterator[str]:
    """A PostgreSQL with an empty database ``hperf``."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    require("postgresql", found, "no PostgreSQL server is installed")
    programs = found[-1].parent
    as_user: list[str] = []
    if os.getuid() == 0:  # the server refuses to run as root
        as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
    with folder("postgres" if as_user else None) as here:
        data, port = str(here / "data"), free_port()
        quick = ["--no-sync", "--auth=trust", "--username=hperf", "--encoding=UTF8"]
        run(*as_user, str(programs / "initdb"), *quick, "-D", data, cwd=here)
        options = f"-c listen_addresses=127.0.0.1 -p {port} -k {here} -c fsync=off"
        control = [*as_user, str(programs / "pg_ctl"), "-D", data, "-s", "-w"]
        run(*control, "-l", str(here / "log"), "-o", options, "start", cwd=here)
        try:
            base = f"postgresql://hperf@127.0.0.1:{port}"
            psql = ["psql", "-q", f"{base}/postgres"]
            run(*psql, "-c", "CREATE DATABASE hperf", "-c", "CREATE ROLE reader LOGIN")
            yield f"{base}/hperf"
        finally:
            run(*control, "-m", "fast", "stop", cwd=here)
