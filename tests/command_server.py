"""Run many commands `shadowtime` quickly: a process that has imported it forks one child for each.

A fresh process spends most of a short command importing NumPy, Numba and the package, and on what
Numba does with its first function. The server has that behind it. In front of the search path lies
a `shadowtime` that passes its words, folder and open files to the server and exits with what the
child exits with, so shells, pipes and redirections work as ever. A child runs `main` as the
installed command does, from its first line to its last, and shares nothing with other children but
what was there before any of them. Where the environment is not that of the server, which may have
been read on import, the installed command runs instead.

    python tests/command_server.py SOCKET    (started by `served` below)
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import pkgutil
import select
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

INSTALLED = Path(sys.executable).parent / "shadowtime"

CLIENT = """
import hashlib, json, os, socket, sys
open_files = [0, 1, 2]
here = sorted(pair for pair in os.environ.items() if pair[0] not in {shell!r})
if hashlib.sha256(json.dumps(here).encode()).hexdigest() != {known!r}:
    os.execv({installed!r}, [{installed!r}, *sys.argv[1:]])
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    words = json.dumps([os.getcwd(), dict(os.environ), sys.argv[1:]]).encode()
    socket.send_fds(server, [len(words).to_bytes(8)], open_files)
    server.sendall(words)
    answer = server.recv(4)
code = int.from_bytes(answer, signed=True) if len(answer) == 4 else 70
if code < 0:
    os.kill(os.getpid(), -code)
sys.exit(code)
"""
"""What the shell finds: nothing is imported that a start could wait for."""

SET_BY_SHELL = ("PWD", "OLDPWD", "SHLVL", "_")
"""Variables that differ from one command to the next and mean nothing to us."""


@contextlib.contextmanager
def served(folder: Path, environment: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """The environment in which `shadowtime` is run by a server, while it lasts."""
    programs, client = folder / "bin", folder / "client.py"
    programs.mkdir()
    found = dict(environment) | {"PATH": f"{programs}{os.pathsep}{environment['PATH']}"}
    known = sorted(pair for pair in found.items() if pair[0] not in SET_BY_SHELL)
    short = tempfile.mkdtemp(prefix="commands-")  # the path of a socket has some 100 characters
    address = os.path.join(short, "socket")
    client.write_text(
        CLIENT.format(
            shell=SET_BY_SHELL,
            known=hashlib.sha256(json.dumps(known).encode()).hexdigest(),  # it may hold secrets
            installed=str(INSTALLED),
            address=address,
        )
    )
    words = shlex.join([sys.executable, "-IS", str(client)])
    (programs / "shadowtime").write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    (programs / "shadowtime").chmod(0o755)
    server = subprocess.Popen(
        [sys.executable, __file__, address],
        env=found,
        stdin=subprocess.PIPE,  # its end is the sign to leave, also if we are killed
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert server.stdin is not None and server.stdout is not None
    try:
        if server.stdout.readline() != b"ready\n":
            raise RuntimeError(f"the server of commands exits with {server.wait()}")
        yield found
    finally:
        server.stdin.close()
        server.wait(60)
        server.stdout.close()
        shutil.rmtree(short)


def prepare() -> None:
    """All that commands import, so far as it is installed; nothing of ours is compiled or run."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as `main` does before NumPy is there
    import numba

    import shadowtime

    numba.njit(lambda: 0)()  # Numba loads what it knows about types with its first function

    for module in pkgutil.walk_packages(shadowtime.__path__, "shadowtime."):
        if not module.name.endswith("__main__"):
            with contextlib.suppress(ImportError):  # an extra that is not installed
                __import__(module.name)


def serve(address: str) -> list[str]:
    """Fork for each command that arrives; in the child, return its words.

    The parent never returns: it ends with its standard input, and its children with it.
    """
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those who wait
        os.write(1, b"ready\n")
        while 0 not in select.select([0, listener], [], [])[0]:
            connection, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                return answer(connection)
            connection.close()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.killpg(0, signal.SIGTERM)
    os._exit(0)


def answer(connection: socket.socket) -> list[str]:
    """Wait for a child that runs the command and send its exit code; in that child, return."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    size, open_files, _, _ = socket.recv_fds(connection, 8, 3)
    with connection.makefile("rb") as stream:
        folder, environment, words = json.loads(stream.read(int.from_bytes(size)))
    child = os.fork()
    if child == 0:
        connection.close()
        for number, file in enumerate(open_files):
            os.dup2(file, number)
            os.close(file)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        sys.argv = [str(INSTALLED), *words]
        sys.path[0] = str(INSTALLED.parent)
        more = environment.get("PYTHONPATH", "").split(os.pathsep)
        sys.path[1:1] = [os.path.abspath(one) for one in more if one and one not in sys.path]
        return list(words)
    for file in open_files:
        os.close(file)
    _, status = os.waitpid(child, 0)
    connection.sendall(os.waitstatus_to_exitcode(status).to_bytes(4, signed=True))
    os._exit(0)


if __name__ == "__main__":
    prepare()
    serve(sys.argv[1])
    from shadowtime.cli import main

    main()
