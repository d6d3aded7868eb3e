"""shadowtime trace fetch: logs of the Parallel Workloads Archive.

And sacct, the command that exports a Slurm cluster's log.
"""

from __future__ import annotations

import re

import click

from shadowtime.cli.common import console, outputs, progress
from shadowtime.errors import UsageError
from shadowtime.trace import RECOMMENDED_COMMAND
from shadowtime.trace.fetch import ARCHIVE, FOLDERS, JOBS
from shadowtime.trace.fetch import fetch as download


def fetch(
    name: str | None = None,
    *,
    into: str = ".",
    base_url: str | None = None,
    accept: bool = False,
    sha256: str | None = None,
    list_: bool = False,
    json: bool = False,
) -> None:
    """Download the log NAME of the Parallel Workloads Archive and check it.

    NAME may be the beginning of a name; other files of the archive are given as folder/file.swf.gz.
    The content is compared with the known jobs of the log, or with the first download, and the
    command prints which. The archive publishes no checksums: only logs marked in --list, and files
    whose checksum you give with --sha256, can be verified.

    \b
    shadowtime trace fetch --list
    shadowtime trace fetch KTH-SP2

    Parameters
    ----------
    into : DIR
        Folder for the file.
    base_url : URL
        Another address of the archive, such as a mirror.
    accept
        Accept the file even if its content differs.
    sha256 : HEX
        The checksum that the file must have.
    list_
        List the logs by name.
    """
    if list_:
        if json:
            outputs.print_json({"logs": [{"name": n, "known": n in JOBS} for n in FOLDERS]})
        else:
            for log in FOLDERS:
                click.echo(f"{log}{'  (can be verified)' if log in JOBS else ''}")
        return
    if name is None:
        raise UsageError("which log? `shadowtime trace fetch --list` names them")
    with progress.working(f"fetching {name}"):
        got = download(name, into=into, base_url=base_url or ARCHIVE, accept=accept, sha256=sha256)
    if json:
        outputs.print_json(
            {
                "path": str(got.path),
                "url": got.url,
                "downloaded": got.downloaded,
                "verified": got.genuine,
                "checked_against": got.verified,
                "sha256": got.sha256,
            }
        )
        return
    how = "fetched" if got.downloaded else "already there"
    checked = {
        "given checksum": "verified: it has the given checksum",
        "catalogue": "verified: its jobs are those known to this version of Shadowtime",
        "first download": "unverified: unchanged since it was first fetched, but its content is "
        "not known here",
        "nothing yet": "unverified: its content is not known here; its checksum is recorded in "
        "SHA256SUMS and compared from now on",
        "accepted as it is": "unverified: its content differs from the known one; accepted anyway",
    }[got.verified]
    click.echo(f"{got.path}: {how}; {checked}\nsha256 {got.sha256}")


DAY = re.compile(r"[0-9A-Za-z:+-]{1,40}")


def sacct(
    *, print_command: bool = False, since: str | None = None, until: str | None = None
) -> None:
    """Show how to export a job log from Slurm.

    Run the printed command once on the cluster, where slurmdbd answers; then:

    \b
    shadowtime trace sacct --print-command --since 2026-05-01
    shadowtime trace info jobs.psv --cluster nodes.txt
    shadowtime simulate jobs.psv --cluster nodes.txt --policy easy

    Parameters
    ----------
    print_command
        Print the sacct command to run.
    since : DAY
        First day, such as 2026-05-01. [default: now-30days]
    until : DAY
        Last day. [default: now]
    """
    for day in (since, until):
        if day is not None and not DAY.fullmatch(day):
            raise UsageError(f"{day!r} is not a day that sacct accepts: write it as 2026-05-01")
    text = RECOMMENDED_COMMAND
    if since:
        text = text.replace("-S now-30days", f"-S {since}")
    if until:
        text = text.replace("-E now ", f"-E {until} ")
    click.echo(text.rstrip())
    if not print_command:
        console.note("run it once, not in a loop: slurmdbd serves the whole cluster")
        console.note("the machine: scontrol show node --oneliner > nodes.txt")
