"""shadowtime hperf record: one finished job."""

from __future__ import annotations

from time import time

import click

from shadowtime.cli.common import options
from shadowtime.cli.hperf import options as hperf_options
from shadowtime.errors import InputError, UsageError


@click.command("record")
@click.argument("tag")
@click.option("--bandwidth", type=float, metavar="MB/S", help="Declared, per process.")
@click.option("--perf", metavar="FILE", help="The output of `perf stat -x, -o FILE` for the job.")
@click.option("--elapsed", type=float, default=0.0, metavar="S", help="Run time of the job.")
@click.option("--processes", type=int, default=1, show_default=True, help="Number of processes.")
@click.option(
    "--key", metavar="JOB", help="The job's name, such as c1/123; it is never counted twice."
)
@hperf_options.store
@options.as_json
def command(
    tag: str,
    bandwidth: float | None,
    perf: str | None,
    elapsed: float,
    processes: int,
    key: str | None,
    store: str | None,
    as_json: bool,
) -> None:
    """Store the bandwidth of a finished job under TAG, whose average includes it from now on.

    \b
    shadowtime hperf record cg.D.16 --bandwidth 3000 --elapsed 612 --processes 16 --key c1/123
    shadowtime hperf record cg.D.16 --perf 123.perf --processes 16
    """
    from shadowtime.hperf import Record

    if (bandwidth is None) == (perf is None):
        raise UsageError("give the job's bandwidth: --bandwidth MB/S or --perf FILE")
    if perf is not None:
        from shadowtime.hperf.collect.perf import parse_perf

        counted = parse_perf(_text(perf), path=perf, seconds=elapsed or None)
        record = counted.record(tag, processes=processes, key=key, finished=int(time()))
    else:
        assert bandwidth is not None
        record = Record(
            tag=tag,
            bandwidth=bandwidth,
            elapsed=elapsed,
            width=processes,
            key=key,
            finished=int(time()),
        )
    with hperf_options.opened(store) as found:
        added = found.add([record])
        average = found.average(tag)
    assert average is not None
    if as_json:
        options.print_json(
            {
                "tag": record.tag,
                "new": added.new,
                "already_known": added.known,
                "bandwidth_mean_mb_s": average.mean,
                "records": average.records,
            }
        )
        return
    from shadowtime.cli.common.tables import count

    how = "stored" if added.new else f"already known by its key {key}: not counted again"
    over = count(average.records, "record")
    click.echo(f"{record.tag}: {how}; {average.mean:g} MB/s a process over {over}")


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError as wrong:
        raise InputError(f"cannot be read: {wrong.strerror}", path=path) from None
