"""The gate: a submit plug-in that lets no job of a partition start before the loop says so.

The gate is a *lease*. A job is given a begin time some minutes ahead, which the loop keeps moving:
while the loop lives, no job starts by itself. When the loop is gone for longer than the lease, the
begin times pass and Slurm schedules the jobs, as if there were no gate; when the loop returns it
takes over those that still wait.

A begin time of the gate is told apart from that of a user by its second: the gate's are always
:data:`SECOND` seconds past a minute, and a user's that would be there is moved by one second. So no
memory is needed to recognise it, and the jobs keep their priorities, holds and comments: a hold is
always that of a user or of an operator.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from shadowtime.errors import UsageError

MARK = "-- The gate of shadowtime live slurm"
LEASE = 900
"""Seconds for which Slurm leaves the jobs to a loop that gives no sign of life."""
SECOND = 37
"""The second of the minute at which leases end."""
LONGEST = 86_400
"""Seconds: no lease is longer, so that a begin time further ahead is a user's."""
LAST = 1
"""The priority of jobs that were handed to Slurm: behind all that the loop releases, so that one of
them that lacks room does not keep Slurm from starting those."""
FAR = 4_000_000_000
"""The begin time that gates before 0.3 gave to jobs that their users held."""
SITE = "job_submit.site.lua"
"""Where the site's own script goes; the gate calls it first."""

_SCRIPT = """%MARK%: jobs of these partitions wait until the loop lets them through.
-- Written by `shadowtime live slurm setup`; `shadowtime live slurm setup --undo` takes it away.
local partitions = %PARTITIONS%
local everything = %DEFAULT% -- also jobs that name no partition
local masters = %MASTERS% -- whose changes are not looked at
local lease = %LEASE% -- seconds after which Slurm starts jobs if no loop runs
local second = %SECOND% -- of the minute: where leases end, and no begin time of a user's
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

local function at_the_gate(begin) -- a user's own begin time, or the end of a lease
  local now = os.time()
  if begin ~= nil and begin > now then
    if begin % 60 == second then return begin + 1 end
    return begin
  end
  return now + lease + (second - now - lease) % 60
end

function slurm_job_submit(job, parts, uid)
  if site_submit then
    local code = site_submit(job, parts, uid)
    if code ~= slurm.SUCCESS then return code end
  end
  if gated(job.partition) then job.begin_time = at_the_gate(job.begin_time) end
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
  local given = job.begin_time ~= nil and job.begin_time > 0
  local begin = record.begin_time -- Slurm 22.05 does not tell it: the loop sees to those then
  local leased = begin ~= nil and begin > os.time() and begin % 60 == second
  if to and given then
    job.begin_time = at_the_gate(job.begin_time)
  elseif to and not from then -- it comes in
    job.begin_time = at_the_gate(begin)
  elseif from and not to and leased and not given then -- it goes out
    job.begin_time = os.time()
  elseif to and record.priority == 0 and job.priority ~= 0 and job.priority ~= slurm.NO_VAL then
    if begin ~= nil and not leased then job.begin_time = at_the_gate(begin) end -- a release
  end
  return slurm.SUCCESS
end

return slurm.SUCCESS
"""


def gate_script(
    partitions: Sequence[str],
    *,
    default: bool,
    masters: Sequence[int],
    site: str,
    lease: int = LEASE,
) -> str:
    """The script for job_submit/lua.

    ``default``: whether one of the partitions is the default one; ``masters``: user ids whose
    changes of jobs are not looked at; ``site``: path of the site's own script, if there is one.

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
        "%LEASE%": str(lease),
        "%SECOND%": str(SECOND),
        "%MASTERS%": _table(str(uid) for uid in masters),
        "%SITE%": json.dumps(site),
    }
    refuse_lease(lease)
    text = _SCRIPT
    for key, value in values.items():
        text = text.replace(key, value)
    return text


def _table(keys: Iterable[str]) -> str:
    return "{" + ",".join(f"[{key}]=true" for key in keys) + "}"


def refuse_lease(lease: int) -> None:
    """Reject a duration whose leases would not be recognised.

    Examples
    --------
    >>> refuse_lease(900)
    >>> refuse_lease(200_000)
    Traceback (most recent call last):
    ...
    shadowtime.errors.UsageError: --lease: choose a time from 1s to 1d, not 200000 s
    """
    if not 0 < lease <= LONGEST:
        raise UsageError(f"--lease: choose a time from 1s to 1d, not {lease} s")


def lease_end(now: float, lease: int) -> int:
    """When a lease that begins now ends: at the first such second after its duration.

    Examples
    --------
    >>> lease_end(600, 900), lease_end(658, 900)
    (1537, 1597)
    """
    end = int(now) + lease
    return end + (SECOND - end) % 60


def leased(begin: int, now: float) -> bool:
    """Whether a begin time is the end of a lease that has not ended.

    Examples
    --------
    >>> leased(1537, now=600), leased(1537, now=1537), leased(1538, now=600)
    (True, False, False)
    """
    return begin % 60 == SECOND and now < begin <= now + LONGEST + 60


def begin_words(begin: int) -> str:
    """A begin time as an argument of scontrol, in local time.

    Examples
    --------
    >>> begin_words(86400)[:15], len(begin_words(86400))
    ('StartTime=1970-', 29)
    """
    from datetime import datetime

    return f"StartTime={datetime.fromtimestamp(begin):%Y-%m-%dT%H:%M:%S}"
