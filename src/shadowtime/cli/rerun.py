"""shadowtime rerun: make the tables of a result folder again and compare them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

from shadowtime.cli.common.console import show
from shadowtime.cli.common.outputs import check_outputs, print_json
from shadowtime.cli.common.progress import working
from shadowtime.cli.common.tables import count, plain_table
from shadowtime.result.rerun import rerun as run_again

if TYPE_CHECKING:
    from rich.console import RenderableType

    from shadowtime.result.rerun import Rerun
    from shadowtime.types import Folder


def rerun(
    source: Folder, *, run_code: bool = False, output: Folder | None = None, json: bool = False
) -> int:
    """Run the policies of the result folder DIR again, on its own inputs.

    Prints for every table (a schedule, the metrics of a policy) whether each byte is equal, and
    which versions, data and code differ. The exit code is 1 if a table differs.

    \b
    shadowtime compare log.swf.gz -p easy -p ideas.py:mine -o results
    shadowtime rerun results --run-code

    Parameters
    ----------
    source : DIR
    run_code
        Run the code in DIR/code with your permissions; read it first.
    """
    check_outputs(folder=output)
    with working("running it again"):
        found = run_again(source, run_code=run_code, output=output)
    if json:
        print_json({"folders": [one.as_dict() for one in found]})
    else:
        show(*(part for one in found for part in _parts(one)))
    return 0 if all(one.equal for one in found) else 1


def _parts(found: Rerun) -> list[RenderableType]:
    table = plain_table("table", "bytes")
    for one in found.tables:
        table.add_row(one.name, "equal" if one.equal else f"differ: {one.difference}")
    tables = count(len(found.tables), "table")
    differing = sum(not one.equal for one in found.tables)
    verdict = f"{found.folder}: every byte of {tables} is equal"
    if differing:
        verdict = f"{found.folder}: {differing} of {tables} differ"
    lines: list[Any] = [table, Text(), Text(verdict, "bold")]
    lines += [Text(f"not compared: {one}") for one in found.skipped]
    same = "the same versions, data and code"
    lines += [Text(one) for one in found.changes] or [Text(same, "dim")]
    return lines
