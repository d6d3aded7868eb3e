"""Slurm's scheduling parameters with Slurm's names and defaults."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from shadowtime.errors import PolicyError
from shadowtime.slurm.rules import FIRST, Rules

NO_EFFECT = {
    "bf_continue",
    "bf_licenses",
    "bf_max_time",
}
"""Known and not modelled. Passes take no time here, so that those about time change nothing."""


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """What SchedulerParameters may set, times in seconds (bf_window too: Slurm uses minutes).

    Examples
    --------
    >>> Parameters.parse("bf_interval=60,bf_continue,bf_window=2880").bf_window
    172800
    """

    sched_interval: int = 60
    batch_sched_delay: int = 3
    default_queue_depth: int = 100
    partition_job_depth: int = 0
    sched_max_job_start: int = 0
    bf_interval: int = 30
    bf_window: int = 86400
    bf_resolution: int = 60
    bf_max_job_test: int = 500
    bf_max_job_user: int = 0
    bf_max_job_part: int = 0
    bf_max_job_assoc: int = 0
    bf_max_job_user_part: int = 0
    bf_max_job_start: int = 0
    bf_max_job_array_resv: int = 20
    bf_node_space_size: int = 0
    """0: as bf_max_job_test."""
    bf_max_time: int = 0
    """0: as bf_interval."""
    bf_min_prio_reserve: int = 0
    bf_min_age_reserve: int = 0
    bf_job_part_count_reserve: int = 0
    bf_window_linear: int = 0
    bf_one_resv_per_job: bool = False
    bf_running_job_reserve: bool = False
    bf_busy_nodes: bool = False
    bf_continue: bool = False
    bf_licenses: bool = False
    pack_serial_at_end: bool = False
    assoc_limit_stop: bool = False
    kill_invalid_depend: bool = False
    preempt_reorder_count: int = 1
    preempt_strict_order: bool = False
    preempt_youngest_first: bool = False
    rules: Rules = FIRST
    """Those of the site's version of Slurm; not a setting."""

    def __post_init__(self) -> None:
        for name in ("bf_interval", "bf_resolution", "bf_window", "bf_max_job_test"):
            if getattr(self, name) < 1:
                raise PolicyError(f"{name} must be at least 1")

    @property
    def map_records(self) -> int:
        """How many records the map of plans may ever hold."""
        return self.bf_node_space_size or self.bf_max_job_test

    @staticmethod
    def parse(text: str) -> Parameters:
        """From the value of SchedulerParameters; what is not modelled is ignored."""
        types = {one.name: one.type for one in fields(Parameters) if one.name != "rules"}
        given: dict[str, int | bool] = {}
        for word in re.split(r"[,\s]+", text.strip()):
            name, _, value = word.partition("=")
            if name not in types or name == "":
                continue
            if types[name] == "bool":
                given[name] = value.lower() not in ("no", "0", "false")
            elif not re.fullmatch(r"\d{1,9}", value):
                raise PolicyError(f"SchedulerParameters: {word!r} needs a whole number")
            else:
                given[name] = int(value) * (60 if name == "bf_window" else 1)
        return Parameters(**given)  # type: ignore[arg-type]

    @staticmethod
    def without_effect(text: str) -> list[str]:
        """Settings of SchedulerParameters that change nothing here, as they are written.

        Examples
        --------
        >>> Parameters.without_effect("bf_interval=60,max_rpc_cnt=150,bf_continue")
        ['max_rpc_cnt', 'bf_continue']
        """
        known = {one.name for one in fields(Parameters)} - NO_EFFECT - {"rules"}
        words = (word.partition("=")[0] for word in re.split(r"[,\s]+", text.strip()))
        return [word for word in words if word and word != "(null)" and word not in known]

    @staticmethod
    def of_config(config: Mapping[str, str]) -> Parameters:
        """From a site's configuration (``scontrol show config`` or slurm.conf)."""
        lower = {name.lower(): value for name, value in config.items()}
        text = lower.get("schedulerparameters", "")
        made = Parameters.parse("" if text == "(null)" else text)
        return replace(made, rules=Rules.of_config(config))
