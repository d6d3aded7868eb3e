"""The gate: how a job is held, pinned to slots, released and stopped.

A managed job waits on hold. It is started by tying its Requirements to the chosen slots and
releasing it; it is stopped by putting it on hold again. Other users' holds are never changed: the
schedd itself checks whose hold it is as part of the release.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

MANAGED = "ShadowtimeManaged"
"""Attribute of the jobs that the loop may start and stop."""
PLACE = "ShadowtimePlace"
"""The slots a job was released to, comma-separated."""
ORIGINAL = "ShadowtimeRequirements"
"""The job's own Requirements, to which the slots are added."""
REASON = "shadowtime"
"""How the reasons of our own holds begin."""
SUBMITTED_ON_HOLD = 15
"""HoldReasonCode of jobs that were submitted on hold."""

GATED = (
    f'JobStatus == 5 && (HoldReasonCode == {SUBMITTED_ON_HOLD} || regexp("^{REASON}", HoldReason))'
)
"""Jobs that wait at the gate, in HTCondor's words."""

TRANSFORM = f"""\
# Jobs wait for the policy from the moment of their submission.
JOB_TRANSFORM_NAMES = $(JOB_TRANSFORM_NAMES) shadowtime
JOB_TRANSFORM_shadowtime @=end
   REQUIREMENTS (JobUniverse == 5 || JobUniverse == 11) && JobStatus == 1 && {MANAGED} =!= false
   SET {MANAGED} true
   SET JobStatus 5
   SET HoldReason "{REASON}: waits for the policy"
   SET HoldReasonCode {SUBMITTED_ON_HOLD}
@end
"""
"""What the schedd's configuration needs."""


def pin(slots: Sequence[str], requirements: str) -> str:
    """Requirements that hold on some slots only, and on slots split off from them.

    Examples
    --------
    >>> pin(["slot1@n3@pool.local"], "TARGET.Memory >= RequestMemory")
    'regexp("^(slot1(_[0-9]+)?@n3@pool[.]local)$", TARGET.Name) && (TARGET.Memory >= RequestMemory)'
    """
    names = "|".join(_pattern(slot) for slot in slots)
    return f'regexp("^({names})$", TARGET.Name) && ({requirements})'


def _pattern(slot: str) -> str:
    """A slot's name as an expression that needs no backslash, which ClassAds would double."""
    first, at, rest = slot.partition("@")
    quoted = [re.sub(r"[^A-Za-z0-9_@-]", lambda c: f"[{c[0]}]", part) for part in (first, rest)]
    return f"{quoted[0]}(_[0-9]+)?{at}{quoted[1]}"


def parent(slot: str) -> str:
    """The partitionable slot that a slot was split off from; itself where it was not.

    Examples
    --------
    >>> parent("slot1_12@n3@pool.local"), parent("slot2@n3"), parent("n3.pool.local")
    ('slot1@n3@pool.local', 'slot2@n3', 'n3.pool.local')
    """
    return re.sub(r"^(slot\d+)_\d+@", r"\1@", slot)


def these(jobs: Iterable[str]) -> str:
    """A constraint that holds for some jobs.

    Examples
    --------
    >>> these(["7.0", "8.3"])
    '(ClusterId == 7 && ProcId == 0) || (ClusterId == 8 && ProcId == 3)'
    """
    pairs = (job.split(".") for job in jobs)
    return " || ".join(f"(ClusterId == {cluster} && ProcId == {proc})" for cluster, proc in pairs)
