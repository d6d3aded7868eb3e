"""shadowtime whatif: how changes would affect a site's waits."""

from __future__ import annotations

from typing import Any

import click

from shadowtime.cli.common import options
from shadowtime.cli.common.placing import kept_runs
from shadowtime.cli.common.shared import policy_names

CHANGES = options.all_of(
    click.option(
        "--set",
        "settings",
        metavar="KEY=VALUE",
        multiple=True,
        help="A setting by Slurm's names: bf_max_job_test=2000, PriorityWeightFairshare=20000, "
        "partition.long.MaxTime=3-00:00:00, qos.normal.MaxTRESPU=cpu=512, account.ab.Fairshare=9, "
        "user.eva.DefaultQOS=high, 'reservation.R=StartTime=... Duration=60 Nodes=n[1-4]'; "
        "repeatable.",
    ),
    click.option(
        "--add-nodes",
        metavar="KIND=N",
        multiple=True,
        help="N more nodes like those of a partition, feature, GRES or name; repeatable.",
    ),
    click.option(
        "--remove-nodes",
        metavar="NODES",
        multiple=True,
        help="Remove these nodes, such as 'old[01-20]'.",
    ),
    click.option(
        "--max-limit",
        metavar="SPAN",
        help="Cap time limits, such as 2d: higher requests are lowered, and jobs end there.",
    ),
    click.option("--load", metavar="L", help="Jobs arrive L times as fast (1.2), or offered=0.9."),
    click.option(
        "--policy",
        "-p",
        metavar="P",
        shell_complete=policy_names,
        help="Another policy instead of the site's own.",
    ),
)
"""What can be changed."""

BESIDE = options.all_of(
    click.option(
        "--option",
        "options",
        metavar="'NAME: CHANGES'",
        multiple=True,
        help="An alternative with any of the changes above, as 'more gpus: --add-nodes gpu=10'; "
        "several are compared side by side.",
    ),
    click.option(
        "--price",
        "prices",
        metavar="P",
        multiple=True,
        help="With --option: the price of a node-hour, as 0.4, or gpu=2.5 for the nodes of a "
        "partition or with a feature; repeatable.",
    ),
)
"""Alternatives, and what they cost."""

HOW = options.all_of(
    click.option(
        "--baseline",
        metavar="P",
        default="slurm",
        show_default=True,
        help="The policy that the site runs.",
    ),
    options.phases,
    click.option("--shake", is_flag=True, help="Repeat on shaken copies of the log."),
    click.option("--resample", is_flag=True, help="Repeat on copies with resampled users."),
    click.option(
        "--feedback",
        is_flag=True,
        help="Closed loop: users submit their next jobs a think time after the previous ones "
        "ended.",
    ),
    click.option(
        "--quick",
        is_flag=True,
        help="A first answer from three weeks (or days) of low, usual and high load, with a larger "
        "uncertainty; without it the whole log refines it.",
    ),
    click.option("--seed", type=int, default=1, show_default=True, help="Seed of the copies."),
    click.option("--tz", metavar="ZONE", help="Time zone of the folder, such as Europe/Zurich."),
)
"""How an experiment is repeated."""

KEPT = kept_runs(
    "Save every simulated run in DIR and reuse runs found there: the same command resumes after "
    "Ctrl-C, and another change simulates only what it affects.",
)


@click.command("whatif")
@click.argument("site", type=click.Path())
@options.cluster
@CHANGES
@BESIDE
@HOW
@options.where
@options.by
@options.folder
@options.report
@KEPT
@click.option(
    "--save",
    metavar="FILE.toml",
    type=click.Path(dir_okay=False),
    help="Save the experiment; `shadowtime run FILE.toml` repeats it.",
)
@options.as_json
def command(**given: Any) -> None:
    """Predict the waits on SITE with other settings, nodes, limits, load or policy.

    Simulates each change alone and all together, and compares with the replayed baseline: mean
    waits by partition, account, QOS and size, the paired difference with its 95 % interval, which
    groups gain and which pay, or "no clear effect". With --option alternatives stand side by side.

    \b
    shadowtime whatif site/ --set bf_max_job_test=2000 --set qos.normal.MaxTRESPU=cpu=512
    shadowtime whatif site/ --add-nodes gpu=8 --remove-nodes 'old[01-20]' --save more.toml
    shadowtime whatif site/ --set bf_max_job_test=2000 --report whatif.html --resume runs
    shadowtime whatif site/ --option 'more: --add-nodes gpu=10' --option 'less: --load 0.9'
    shadowtime whatif site/ --max-limit 2d --resume runs --on slurm --site blocks=8
    """
    from shadowtime.cli.whatif.run import run_whatif

    run_whatif(**given)
