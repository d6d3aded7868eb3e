"""shadowtime explain: why a job, or all jobs of a group, did not start earlier."""

from __future__ import annotations

from typing import Any

import click

from shadowtime.cli.common import options
from shadowtime.cli.common.shared import policy_names


@click.command("explain")
@click.argument("folder", metavar="DIR", type=click.Path())
@click.argument("job", required=False)
@click.option(
    "--policy",
    "-p",
    metavar="P",
    shell_complete=policy_names,
    help="The policy to explain: its name in a result folder, else as for simulate. [default: the "
    "folder's first one; on a site slurm]",
)
@click.option(
    "--without",
    multiple=True,
    metavar="JOB|KEY=VALUE",
    help="Run it again without this job, or without the jobs that fulfil these conditions "
    "(user=eva, procs>=64, as for --where), and tell what would have been different. Repeatable.",
)
@click.option(
    "--if",
    "if_",
    multiple=True,
    metavar="FIELD=VALUE",
    help="Run it again with the job changed: procs=32, request=1h, run=10m, submit=-2h (earlier) "
    "or submit=+30m. Repeatable.",
)
@click.option(
    "--user",
    metavar="NAME",
    help="Instead of JOB: what the waits of all jobs of this user are due to.",
)
@click.option(
    "--where",
    metavar="COND",
    help="Instead of JOB: what the waits of these jobs are due to: partition=gpu,procs>=64.",
)
@click.option(
    "--run-code",
    is_flag=True,
    help="With --without or --if: run the code in DIR/code with your permissions; read it first.",
)
@options.cluster
@options.cleaning
@options.as_json
def command(**given: Any) -> None:
    """Explain why JOB started when it did: what was ahead, which promise blocked it, when it was
    promised a start, and when it started under the other policies.

    DIR is a result folder (written with -o by simulate, compare, replay or demo), a site's folder
    or a log, which is then simulated. On a site it prints what blocked the job at each time: a
    limit, a reservation, nodes out of service, a dependency, the jobs on its nodes or those ahead
    of it; under slurm also its priority by factor. JOB is a number, or 123_4 for a task of an
    array.

    With --without or --if the policy is run again with that change, and the answer says when the
    job would have started, who else would, and through which jobs the change reaches it.

    With --user or --where the waits of all these jobs are divided among their causes: limits,
    reservations, fragmentation, wide jobs, promises to others, priorities. The shares add up.

    \b
    shadowtime explain results 1042
    shadowtime explain results 1042 --policy conservative
    shadowtime explain site/ 123_4
    shadowtime explain log.swf.gz 17 --policy easy
    shadowtime explain results 1042 --without 997
    shadowtime explain results 1042 --without user=eva
    shadowtime explain results 1042 --if procs=32 --if request=1h
    shadowtime explain results --user eva
    shadowtime explain results --where partition=gpu,procs>=64
    """
    from shadowtime.cli.explain.run import explain

    explain(**given)
