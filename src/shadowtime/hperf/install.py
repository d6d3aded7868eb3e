"""The Slurm side of HPerf: which files, which lines of slurm.conf."""

from __future__ import annotations

import os
import pwd
import re
import sys
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from importlib.resources import files
from pathlib import Path

from shadowtime import private
from shadowtime.errors import UsageError
from shadowtime.hperf import open_store
from shadowtime.hperf.epilog import publish
from shadowtime.hperf.location import absolute_store
from shadowtime.slurmtext.conf import Version, installed_version

MARK = "HPerf"
CHECKED = (24, 5, 0)
"""Since this version Slurm rejects a job whose resources begin with ``gres:`` instead of ``gres/``;
22.05 takes no other beginning."""


@dataclass(frozen=True, kw_only=True)
class Installation:
    """Where the plug-in is installed and its settings.

    A store that is a file is kept by its whole path: slurmctld runs the epilog in another folder.
    """

    folder: Path
    store: str
    gres: str = "membw"
    capacity: int
    field: str = "comment"
    version: Version | None = dataclass_field(default_factory=installed_version)
    """Of Slurm, which decides how the plug-in must write resources; None: not known here."""
    python: str = sys.executable

    def __post_init__(self) -> None:
        object.__setattr__(self, "store", absolute_store(self.store))
        if self.capacity < 1:
            raise UsageError(f"a node's bandwidth is a whole number of MB/s, not {self.capacity}")
        for name, text in (("--store", self.store), ("--gres", self.gres), ("--field", self.field)):
            if not text.isprintable() or any(sign in text for sign in "'\"\\"):
                raise UsageError(f"{name} must hold no quotes: {text!r}")

    @property
    def table(self) -> Path:
        """The file that the plug-in reads."""
        return self.folder / "hperf.tsv"

    @property
    def store_file(self) -> Path:
        """Where the URL of the store is kept, for SlurmUser alone: it may hold a password."""
        return self.folder / "hperf-store.url"

    @property
    def spool(self) -> Path:
        """Where collectors leave measurements, and records wait for a store that is down."""
        return self.folder / "hperf-spool"

    def files(self) -> dict[Path, str]:
        """Every file with its content."""
        known = {
            "@TABLE@": str(self.table),
            "@GRES@": self.gres,
            "@PREFIX@": "gres/" if self.version is None or self.version >= CHECKED else "gres:",
            "@CAPACITY@": str(self.capacity),
            "@FIELD@": self.field,
            "@DIR@": str(self.folder),
            "@PYTHON@": self.python,
            "@STOREFILE@": str(self.store_file),
            "@SPOOL@": str(self.spool),
            "@LOG@": str(self.folder / "hperf.log"),
        }
        made = {}
        for name in ("hperf.lua", "job_submit.lua", "hperf-epilog.sh"):
            text = (files("shadowtime.hperf") / "plugin" / name).read_text("utf-8")
            for key, value in known.items():
                text = text.replace(key, value)
            made[self.folder / name] = text
        return made

    def settings(self, nodes: str = "ALL") -> dict[str, list[str]]:
        """Lines to add, by file of Slurm's configuration."""
        return {
            "slurm.conf": [
                "JobSubmitPlugins=lua",
                f"GresTypes={self.gres}",
                f"# on every NodeName line: Gres={self.gres}:{self.capacity}",
                "SelectType=select/cons_tres",
                "SelectTypeParameters=CR_Core",
                f"EpilogSlurmctld={self.folder / 'hperf-epilog.sh'}",
            ],
            "gres.conf": [
                f"NodeName={nodes} Name={self.gres} Count={self.capacity} Flags=CountOnly"
            ],
        }

    def write(self) -> list[Path]:
        """Write the files; rejects a submit plug-in that is not ours, and then writes nothing."""
        if not self.folder.is_dir():
            raise UsageError(f"there is no folder {self.folder}: name the one with slurm.conf")
        plugin = self.folder / "job_submit.lua"
        if plugin.exists() and MARK not in plugin.read_text("utf-8", "replace"):
            raise UsageError(
                f"{plugin} is there already and not ours: add to it the two lines with hperf that "
                "--print shows for job_submit.lua, and keep it; --no-job-submit writes the rest"
            )
        return self.write_only(self.files())

    def write_only(self, wanted: dict[Path, str]) -> list[Path]:
        """Write these of the files, and make the spool and an empty table."""
        owner = self.slurm_user()
        for path, text in wanted.items():
            mode = 0o755 if path.suffix == ".sh" else 0o644
            private.replace_whole(path, text.encode(), mode=mode)
        private.replace_whole(self.store_file, f"{self.store}\n".encode(), owner=owner)
        self.spool.mkdir(exist_ok=True)
        if not self.table.exists():
            private.replace_whole(self.table, b"", mode=0o644)
        if owner is not None:
            # The epilog runs as SlurmUser; the plug-in opens the table to read and write.
            os.chown(self.spool, *owner)
            if self.table.is_file() and not self.table.is_symlink():
                os.chown(self.table, *owner, follow_symlinks=False)
        return [*wanted, self.store_file, self.spool, self.table]

    def slurm_user(self) -> tuple[int, int] | None:
        """User and group of SlurmUser, by slurm.conf; None if this user may not change owners."""
        if os.geteuid() != 0:
            return None
        conf = self.folder / "slurm.conf"
        text = conf.read_text("utf-8", "replace") if conf.is_file() else ""
        found = re.search(r"^\s*SlurmUser\s*=\s*([^\s(#]+)", text, re.IGNORECASE | re.MULTILINE)
        if found is None:
            return None
        try:
            known = pwd.getpwuid(int(found[1])) if found[1].isdigit() else pwd.getpwnam(found[1])
        except (KeyError, OverflowError):
            raise UsageError(
                f"{conf} names SlurmUser={found[1]}, a user that this machine does not know: "
                "run this where slurmctld runs"
            ) from None
        return known.pw_uid, known.pw_gid

    def fill_table(self) -> int:
        """Publish what the store knows already, as the epilog does; returns the number of tags.

        A missing store is not created: it belongs to the first process that records.
        """
        store = open_store(self.store, must_exist=True, patience=5.0)
        try:
            return publish(store.averages(), self.table)
        finally:
            store.close()
