"""Set up a cluster for the loop: every change can be printed before it is made, and undone.

Undoing takes our change of a file back and keeps every later one. The loop itself can run as a
service: a systemd unit restarts it when it ends, or hangs.
"""

from __future__ import annotations

import difflib
import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from shadowtime import private
from shadowtime.errors import UsageError
from shadowtime.live.slurm.gate import LEASE, MARK, SITE, gate_script

MANIFEST = "shadowtime-live.json"
"""Beside slurm.conf: every changed file as it was before and after."""
SCRIPT = "job_submit.lua"
PARAMETERS = ("batch_sched_delay=0", "sched_interval=1")
"""A released job must not wait for Slurm's slow scheduling interval."""


@dataclass(frozen=True)
class Change:
    """A file, its present and its new content; None: there is no such file."""

    path: Path
    before: str | None
    after: str | None

    def diff(self) -> str:
        """The change as a unified diff."""
        lines = difflib.unified_diff(
            (self.before or "").splitlines(keepends=True),
            (self.after or "").splitlines(keepends=True),
            str(self.path) if self.before is not None else "/dev/null",
            str(self.path) if self.after is not None else "/dev/null",
        )
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def plan_setup(
    folder: Path,
    *,
    partitions: Sequence[str],
    default: bool,
    masters: Sequence[int],
    lease: int = LEASE,
) -> list[Change]:
    """What setting up changes in a folder with slurm.conf; nothing if it is already done."""
    conf = folder / "slurm.conf"
    if not conf.is_file():
        raise UsageError(f"{folder} has no slurm.conf: name its folder with --slurm-conf-dir")
    if (folder / MANIFEST).exists():
        raise UsageError(f"{folder} is set up already: undo first with --undo")
    script = folder / SCRIPT
    own = script.read_text() if script.exists() else None
    if own is not None and own.startswith(MARK):
        raise UsageError(f"{script} is the gate already, but {MANIFEST} is missing: restore it")
    text = conf.read_text()
    gate = gate_script(
        partitions, default=default, masters=masters, site=str(folder / SITE), lease=lease
    )
    changes = [
        Change(conf, text, with_settings(text)),
        Change(script, own, gate),
    ]
    if own is not None:
        changes.append(Change(folder / SITE, None, own))
    return [change for change in changes if change.before != change.after]


def with_settings(text: str) -> str:
    """slurm.conf with the plug-in and the parameters the loop needs; the rest is unchanged.

    Examples
    --------
    >>> print(with_settings("SchedulerParameters=defer\\nJobSubmitPlugins=throttle\\n"), end="")
    SchedulerParameters=defer,batch_sched_delay=0,sched_interval=1
    JobSubmitPlugins=throttle,lua
    """
    text = _with_words(text, "SchedulerParameters", PARAMETERS)
    return _with_words(text, "JobSubmitPlugins", ("lua",))


def _with_words(text: str, key: str, words: Sequence[str]) -> str:
    """A comma list with some words, each identified by what precedes its equals sign."""
    pattern = re.compile(rf"^(\s*{key}\s*=\s*)(\S+)(.*)$", re.IGNORECASE | re.MULTILINE)
    found = pattern.search(text)
    if found is None:
        gap = "" if not text or text.endswith("\n") else "\n"
        return f"{text}{gap}{key}={','.join(words)}\n"
    have = [word for word in found[2].split(",") if word.lower() not in ("(null)", "none")]
    names = {word.partition("=")[0].lower() for word in words}
    kept = [word for word in have if word.partition("=")[0].lower() not in names]
    line = f"{found[1]}{','.join([*kept, *words])}{found[3]}"
    return text[: found.start()] + line + text[found.end() :]


def carry_out(changes: Sequence[Change], folder: Path) -> None:
    """Make the changes, after saving the contents before and after them."""
    if not changes:
        return
    manifest = folder / MANIFEST
    before = {change.path.name: change.before for change in changes}
    after = {change.path.name: change.after for change in changes}
    _write(manifest, json.dumps({"version": 2, "before": before, "after": after}, indent=1))
    for change in sorted(changes, key=lambda change: change.before is not None):
        _put(change)


def plan_undo(folder: Path) -> list[Change]:
    """What undoing changes: only what setting up has changed.

    Rules
    -----
    Later edits are kept: of slurm.conf those of other lines, and the site's own script returns as
    it is now, not as it was. Where a line that setting up has written was edited since, nothing is
    undone, and the error shows that edit.
    """
    before, after = _saved(folder)
    own = folder / SITE
    changes = []
    for name, old in before.items():
        path = folder / name
        now = path.read_text() if path.exists() else None
        if name == SCRIPT and own.name in before and own.exists():
            old = own.read_text()
        elif name == SITE:
            after[name] = now  # it moves back, whatever it is by now
        changes.append(Change(path, now, _undone(path, old, after.get(name), now)))
    return [change for change in changes if change.before != change.after]


def _saved(folder: Path) -> tuple[dict[str, str | None], dict[str, str | None]]:
    """The changed files before and after setting up, by name."""
    manifest = folder / MANIFEST
    if not manifest.is_file():
        raise UsageError(f"{folder} is not set up: there is no {MANIFEST}")
    try:
        saved = json.loads(manifest.read_text())
        before = {os.path.basename(name): text for name, text in saved["before"].items()}
        after = dict(saved.get("after", {}))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise UsageError(f"{manifest} cannot be read: restore the files by hand") from None
    if "after" not in saved:  # written before 0.3: what the script was is not known
        script = folder / SCRIPT
        after[SCRIPT] = script.read_text() if script.exists() else None
        after["slurm.conf"] = with_settings(before.get("slurm.conf") or "")
    return before, after


def _undone(path: Path, before: str | None, after: str | None, now: str | None) -> str | None:
    """A file without the change that setting up has made."""
    if now == after:
        return before
    text = None
    if before is not None and after is not None and now is not None:
        text = without_change(before, after, now)
    if text is None:
        edit = Change(path, after, now).diff()
        raise UsageError(
            f"{path} was edited since it was set up, in lines that setting up has written: undo "
            f"that edit first, or restore the file by hand\n{edit}"
        )
    return text


def undo(changes: Sequence[Change], folder: Path) -> None:
    """Restore everything and delete the saved contents."""
    for change in changes:
        _put(change)
    (folder / MANIFEST).unlink()


def _put(change: Change) -> None:
    if change.after is None:
        change.path.unlink(missing_ok=True)
    else:
        _write(change.path, change.after)


def _write(path: Path, text: str) -> None:
    """Replace a file, keeping its owner and mode."""
    like = path if path.exists() else path.parent / "slurm.conf"
    known = like.stat()
    owner = (known.st_uid, known.st_gid) if os.geteuid() == 0 else None
    private.replace_whole(path, text.encode(), mode=known.st_mode & 0o777, owner=owner)


def slurm_folder(given: str = "", *, conf_lost: bool = False) -> Path:
    """The folder that was named, else that of $SLURM_CONF or /etc/slurm; it holds slurm.conf.

    With ``conf_lost`` the file may be missing: undoing a change brings it back.
    """
    conf = os.environ.get("SLURM_CONF", "/etc/slurm/slurm.conf")
    folder = Path(given) if given else Path(conf).parent
    if (folder / "slurm.conf").is_file() or (conf_lost and folder.is_dir()):
        return folder
    if not given:
        raise UsageError(f"{folder} has no slurm.conf: name its folder with --slurm-conf-dir")
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder: --slurm-conf-dir is where slurm.conf is")
    raise UsageError(f"{folder} has no slurm.conf: is this Slurm's folder?")


class Hunk(NamedTuple):
    """Lines ``first`` to ``last`` (not included) of a text, and what stands there instead."""

    first: int
    last: int
    lines: tuple[str, ...]


def without_change(before: str, after: str, now: str) -> str | None:
    """The text of ``now`` without the change from ``before`` to ``after``.

    None if a line of that change was changed again since: which of the two is meant only a person
    can tell.

    Examples
    --------
    >>> print(without_change("a\\nb\\n", "a\\nb\\nours\\n", "later\\na\\nb\\nours\\n"), end="")
    later
    a
    b
    >>> without_change("a\\nb\\n", "a\\nb,ours\\n", "a\\nb,ours,theirs\\n")
    """
    lines = after.splitlines(keepends=True)
    back = _hunks(lines, before.splitlines(keepends=True))
    later = _hunks(lines, now.splitlines(keepends=True))
    if any(_meet(ours, theirs) for ours in back for theirs in later):
        return None
    for hunk in sorted([*back, *later], reverse=True):
        lines[hunk.first : hunk.last] = hunk.lines
    return "".join(lines)


def _hunks(old: list[str], new: list[str]) -> list[Hunk]:
    """What changed, line by line where lines correspond."""
    found = []
    for kind, i, j, k, m in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            continue
        if j - i == m - k or k == m:
            found += [Hunk(i + n, i + n + 1, tuple(new[k + n : m][:1])) for n in range(j - i)]
        else:
            found.append(Hunk(i, j, tuple(new[k:m])))
    return found


def _meet(ours: Hunk, theirs: Hunk) -> bool:
    """Whether two changes concern the same line; new lines beside a changed one do not."""
    if theirs.first == theirs.last:
        return ours.first < theirs.first < ours.last
    return max(ours.first, theirs.first) < min(ours.last, theirs.last)


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
