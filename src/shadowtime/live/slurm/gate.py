"""The gate: a submit plug-in that holds every job of a partition until the loop releases it.

A hold by the job's own user is distinguished from the gate by the begin time: the gate sets it far
ahead when a user holds, and to now when the user releases; the job stays at the gate meanwhile. A
job that its user moves into the partition is held at the gate, one moved out of it is released.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

MARK = "-- The gate of shadowtime live slurm"
FAR = 4_000_000_000
"""The begin time of a job that its user holds."""
HELD = "JobHeldUser"
"""Slurm's reason for jobs at the gate: its priority of 0 at submission counts as their user's."""
SITE = "job_submit.site.lua"
"""Where the site's own script goes; the gate calls it first."""

_SCRIPT = """%MARK%: jobs of these partitions wait until the loop lets them through.
-- Written by `shadowtime live slurm setup`; `shadowtime live slurm setup --undo` takes it away.
local partitions = %PARTITIONS%
local everything = %DEFAULT% -- also jobs that name no partition
local masters = %MASTERS% -- who may release and re-prioritise
local far = %FAR% -- the begin time of a job that its user holds
local released = 4294967295 -- as scontrol release writes it
local site_submit, site_modify

local chunk = loadfile(%SITE%)
if chunk then
  chunk()
  site_submit, site_modify = slurm_job_submit, slurm_job_modify
end

local function gated(wanted)
  if wanted == nil or wanted == "" then return everything end
  for name in string.gmatch(wanted, "[^,]+") do
    if partitions[name] then return true end
  end
  return false
end

function slurm_job_submit(job, parts, uid)
  if site_submit then
    local code = site_submit(job, parts, uid)
    if code ~= slurm.SUCCESS then return code end
  end
  if gated(job.partition) then
    if job.priority == 0 then job.begin_time = far end
    job.priority = 0
  end
  return slurm.SUCCESS
end

function slurm_job_modify(job, record, parts, uid)
  if site_modify then
    local code = site_modify(job, record, parts, uid)
    if code ~= slurm.SUCCESS then return code end
  end
  if masters[uid] then return slurm.SUCCESS end
  local from = gated(record.partition)
  local to = from
  if job.partition ~= nil and job.partition ~= "" then to = gated(job.partition) end
  if to and not from then -- it comes in: to the gate with it
    if record.priority == 0 or job.priority == 0 then job.begin_time = far end
    job.priority = 0
  elseif from and not to then -- it goes out: only its user may hold it there
    if record.begin_time == far then
      job.begin_time = os.time()
    elseif record.priority == 0 and job.priority == slurm.NO_VAL then
      job.priority = released
    end
  elseif from and job.priority ~= slurm.NO_VAL then
    if job.priority == 0 then
      job.begin_time = far
    else
      job.begin_time = os.time()
      job.priority = slurm.NO_VAL
    end
  end
  return slurm.SUCCESS
end

return slurm.SUCCESS
"""


def gate_script(
    partitions: Sequence[str], *, default: bool, masters: Sequence[int], site: str
) -> str:
    """The script for job_submit/lua.

    ``default``: whether one of the partitions is the default one; ``masters``: user ids that may
    release; ``site``: path of the site's own script, if there is one.

    Examples
    --------
    >>> text = gate_script(["batch"], default=True, masters=[0], site="/etc/x.lua")
    >>> text.splitlines()[2]
    'local partitions = {["batch"]=true}'
    """
    values = {
        "%MARK%": MARK,
        "%PARTITIONS%": _table(json.dumps(name) for name in partitions),
        "%DEFAULT%": "true" if default else "false",
        "%FAR%": str(FAR),
        "%MASTERS%": _table(str(uid) for uid in masters),
        "%SITE%": json.dumps(site),
    }
    text = _SCRIPT
    for key, value in values.items():
        text = text.replace(key, value)
    return text


def _table(keys: object) -> str:
    return "{" + ",".join(f"[{key}]=true" for key in keys) + "}"  # type: ignore[attr-defined]
