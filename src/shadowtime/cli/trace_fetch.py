"""shadowtime trace fetch: logs of the Parallel Workloads Archive."""

from __future__ import annotations

import click

from shadowtime.cli import options
from shadowtime.errors import UsageError


@click.command("fetch")
@click.argument("name", required=False)
@click.option("--into", default=".", show_default=True, metavar="DIR", help="Folder to put it in.")
@click.option("--base-url", metavar="URL", help="Another address of the archive, as a mirror's.")
@click.option("--accept", is_flag=True, help="Take the file though its content is not as known.")
@click.option("--list", "list_them", is_flag=True, help="List the logs by name.")
@options.as_json
def command(
    name: str | None,
    into: str,
    base_url: str | None,
    accept: bool,
    list_them: bool,
    as_json: bool,
) -> None:
    """Get the log NAME of the Parallel Workloads Archive, checked.

    NAME may be the beginning of a name; any other file of the archive is folder/file.swf.gz. The
    content is compared with what is known of the log, or with what arrived the first time.

    \b
    shadowtime trace fetch --list
    shadowtime trace fetch KTH-SP2
    """
    from shadowtime.cli.progress import working
    from shadowtime.trace.catalogue import ARCHIVE, FOLDERS, JOBS
    from shadowtime.trace.fetch import fetch

    if list_them:
        if as_json:
            options.print_json({"logs": [{"name": n, "known": n in JOBS} for n in FOLDERS]})
        else:
            for log in FOLDERS:
                click.echo(f"{log}{'  (content known)' if log in JOBS else ''}")
        return
    if name is None:
        raise UsageError("which log? `shadowtime trace fetch --list` names them")
    with working(f"fetching {name}"):
        got = fetch(name, into=into, base_url=base_url or ARCHIVE, accept=accept)
    if as_json:
        options.print_json(
            {
                "path": str(got.path),
                "url": got.url,
                "downloaded": got.downloaded,
                "verified": got.verified,
            }
        )
        return
    how = "fetched" if got.downloaded else "already there"
    checked = {
        "catalogue": "its jobs are those we know",
        "first download": "the same as when it was first fetched",
        "nothing yet": "nothing is known of it yet: its checksum is recorded from now on",
        "accepted as it is": "not what is known of it: accepted as it is",
    }[got.verified]
    click.echo(f"{got.path}: {how}; {checked}")
