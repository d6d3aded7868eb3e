"""The loop as a service: a systemd unit that restarts it when it ends, or hangs."""

from __future__ import annotations

WATCHDOG = 600
"""Seconds without a poll that was understood after which systemd restarts the loop. Longer than the
longest pause after errors (a minute), a step in which every command takes half a minute, and
compiling a pass; shorter than the lease, so that a loop that hangs is restarted before it ends."""

NICE, WEIGHT = -10, 1000
"""The loop needs little of a processor, but every job waits for it: on a busy machine a restart
without priority takes ten seconds and more until its first pass, of which it computes 1.5. The
weight of ten ordinary units applies to other units and sessions, the nice value to processes."""

UNIT = """\
# /etc/systemd/system/shadowtime-slurm.service
[Unit]
Description=Shadowtime drives Slurm
After=slurmctld.service
Wants=slurmctld.service
StartLimitIntervalSec=0

[Service]
Type=notify
User={user}
UMask=0077
StateDirectory=shadowtime
CacheDirectory=shadowtime
RuntimeDirectory=shadowtime
Environment=SHADOWTIME_CACHE=%C/shadowtime
ExecStart={program} live slurm --policy {policy} --apply
Nice={nice}
CPUWeight={weight}
WatchdogSec={watchdog}
Restart=always
RestartSec=2

[Install]
WantedBy=multi-user.target
"""


def unit_text(
    *,
    policy: str = "easy",
    program: str = "/opt/shadowtime/bin/shadowtime",
    user: str = "slurm",
) -> str:
    """The unit, with a state and a cache folder that its user can write.

    SlurmUser often has no home folder, so compiled passes could not be stored without a
    CacheDirectory, and every restart would compile them again. Restarts are not limited: a loop
    that finds no slurmctld at its start ends and tries again.

    Examples
    --------
    >>> "CacheDirectory=shadowtime" in unit_text()
    True
    """
    return UNIT.format(
        user=user, program=program, policy=policy, watchdog=WATCHDOG, nice=NICE, weight=WEIGHT
    )
