"""Names of people replaced by keyed hashes, the same name by the same word in every file.

Rules
-----
Users, accounts, job names and reservations are replaced wherever they stand: in jobs, associations,
shares, reservations, events, and in the lists of a partition. A QOS keeps its name unless it is
also that of a user or an account. ``root`` stays, as Slurm's tree begins with it. Free texts
(comments, reasons, descriptions) are left out, of submissions all but the options that decide, and
so are the settings that name hosts, users, paths or programs. Names of nodes, partitions and
features stay.
A hash is HMAC-SHA256 with a key that only its owner has: without it, names cannot be guessed by
trial.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
from dataclasses import dataclass, field
from pathlib import Path

from shadowtime.errors import UsageError
from shadowtime.private import open_plain
from shadowtime.slurmtext.fields import lines_of
from shadowtime.slurmtext.sacct_export import fields_of, rewritten
from shadowtime.slurmtext.sacct_rows import BETWEEN
from shadowtime.slurmtext.sbatch import deciding, parse_parts

_KEPT = {"", "root", "(null)", "all", "none", "n/a"}
_NAMES = {"user", "account", "parentname", "jobname", "reservation"}
_TEXTS = {"reason", "comment", "admincomment", "systemcomment", "submitline", "workdir", "extra",
          "wckey", "descr", "description", "group", "gid", "uid"}  # fmt: skip
_PRIVATE_SETTING = re.compile(
    r"host|user|mail|domain|addr|pass|path|dir|prog|file|log(?!y)|machine|loc(ation)?\b|script|"
    r"conf|info|env",
    re.IGNORECASE,
)
_LISTS = re.compile(
    r"\b(Users|Accounts|Groups|AllowAccounts|DenyAccounts|AllowGroups|AllowQos|DenyQos|QoS|"
    r"ReservationName|Owner)=(\S*)"
)
_KEPT_LINE = re.compile(
    r"\s*(NodeName|PartitionName|NodeSet|SwitchName|Name|Include)\b", re.IGNORECASE
)
"""Lines of slurm.conf and its like that describe the machine."""
_FREE = re.compile(r"\s\b(?:(?:Reason|Comment|Extra)=.*|(?:OS|NodeAddr)=.*?(?=\s+[A-Z]\w*=|$))")
"""Free texts come last in a record and may contain anything, even what looks like a key."""


@dataclass
class Names:
    """Words for names; QOS named after users or accounts are found in the associations.

    Examples
    --------
    >>> names = Names(b"key")
    >>> names.word("eva") == names.word("eva"), names.word("eva") == names.word("bob")
    (True, False)
    >>> names.word("root"), names.qos("normal")
    ('root', 'normal')
    """

    key: bytes
    people: set[str] = field(default_factory=set)
    """Words of the users and accounts found so far."""
    unread: int = 0
    """Rows left out because the position of their names is unknown."""

    @property
    def mark(self) -> str:
        """Distinguishes two keys without revealing either."""
        return self._digest("\0which key")

    def _digest(self, name: str) -> str:
        return hmac.new(self.key, name.encode("utf-8", "replace"), hashlib.sha256).hexdigest()[:12]

    def word(self, name: str) -> str:
        """The word for a name; leading blanks are kept, as they show sshare's tree."""
        bare = name.strip()
        if bare.lower() in _KEPT:
            return name
        return name[: len(name) - len(name.lstrip())] + "x" + self._digest(bare)

    def person(self, name: str) -> str:
        """The word for a user or an account, remembered."""
        word = self.word(name)
        if word != name:
            self.people.add(word.strip())
        return word

    def qos(self, name: str) -> str:
        """A QOS by its name, or by the word of the user or account of the same name.

        While no user is known, any name may be a user's; ``normal`` is Slurm's own.
        """
        word = self.word(name)
        return word if name != "normal" and (word in self.people or not self.people) else name

    def listed(self, text: str, *, qos: bool = False) -> str:
        """A comma list; signs before a name stay."""
        made = self.qos if qos else self.word
        parts = (re.fullmatch(r"([-+]?)(.*)", part, re.DOTALL) for part in text.split(","))
        return ",".join(f"{part[1]}{made(part[2])}" for part in parts if part)


def anonymise(file: str, text: str, names: Names) -> str:
    """The text of a site folder's file with words for names.

    Examples
    --------
    >>> text = anonymise("sshare.txt", "Account|User\\nroot|\\n phys|eva\\n", Names(b"key"))
    >>> [line.partition("|")[0] for line in text.splitlines()]
    ['Account', 'root', ' x...']
    """
    if file.startswith(("jobs", "days/")):
        return _jobs(text, names)
    if file == "config.txt":
        kept = [line for line in lines_of(text) if not _is_private(line)]
        return "".join(f"{line}\n" for line in kept)
    if file.endswith(".conf"):
        kept = [line for line in lines_of(text) if _KEPT_LINE.match(line) or not _is_private(line)]
        return "".join(f"{_record(line, names)}\n" for line in kept)
    if file in ("nodes.txt", "partitions.txt", "reservations.txt"):
        return "".join(f"{_record(line, names)}\n" for line in lines_of(text))
    return _table(file, text, names)


def _is_private(line: str) -> bool:
    name, equals, _ = line.partition("=")
    return not equals or bool(_PRIVATE_SETTING.search(name))


def _jobs(text: str, names: Names) -> str:
    head, *rows = lines_of(rewritten(text, path="sacct"))
    lines = [head]
    for fields in fields_of(head, rows):
        if not fields:
            names.unread += 1
            continue
        lines.append(BETWEEN.join(_job_field(name, text, names) for name, text in fields.items()))
    return "".join(f"{line}\n" for line in lines)


def _job_field(column: str, value: str, names: Names) -> str:
    """Why a job waited is one of Slurm's own words; of submissions the options that decide stay."""
    if column == "submitline":
        words = {"account": names.person, "qos": names.qos, "reservation": names.word}
        kept = " : ".join(
            " ".join(
                f"--{name}={words.get(name, str)(given)}" if given else f"--{name}"
                for name, given in deciding(options)
                if name != "uid"
            )
            for options in parse_parts(value)
        )
        return f"sbatch {kept}" if kept else ""
    return value if column == "reason" else _field(column, value, names)


def _record(line: str, names: Names) -> str:
    def words(found: re.Match[str]) -> str:
        key, value = found[1], found[2]
        return f"{key}={names.listed(value, qos='qos' in key.lower())}"

    return _LISTS.sub(words, _FREE.sub("", line))


def _table(file: str, text: str, names: Names) -> str:
    lines = lines_of(text)
    columns = ["".join(name.split()).lower() for name in lines[0].split("|")] if lines else []
    if file == "sacct_resv.txt":
        columns = ["reservation" if column == "name" else column for column in columns]
    elif file == "qos.txt":
        columns = ["qos" if column in ("name", "preempt") else column for column in columns]
    found = lines[:1]
    for line in lines[1:]:
        values = line.split("|")
        more = len(values) - len(columns)
        if more > 0 and "reason" in columns:  # the one free text, which may hold the delimiter
            at = columns.index("reason")
            values[at : at + more + 1] = [""]
        if len(values) != len(columns):
            names.unread += 1
            continue
        pairs = zip(columns, values, strict=True)
        found.append("|".join(_field(column, value, names) for column, value in pairs))
    return "".join(f"{line}\n" for line in found)


def _field(column: str, value: str, names: Names) -> str:
    if column in _TEXTS:
        return ""
    if column in ("user", "account", "parentname"):
        return names.person(value)
    if column in _NAMES:
        return names.word(value)
    if column in ("qos", "defqos", "defaultqos"):
        return names.listed(value, qos=True)
    return value


def key_path(given: str | None) -> Path:
    """Where the key is stored: the named file, else one in the user's configuration folder."""
    if given:
        return Path(given)
    home = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(home) / "shadowtime" / "anonymise.key"


def load_key(path: Path, *, beside: Path) -> bytes:
    """The key in a file, created if there is none; only its owner may be able to read it.

    ``beside`` is the folder of the data, which will be shared: the key may not be in it.
    """
    if path.resolve().is_relative_to(beside.resolve()):
        raise UsageError(f"{path} lies in the folder that is to be shared: keep the key elsewhere")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        made = open_plain(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    except FileExistsError:
        pass  # an earlier key, or that of a process which was quicker: it counts
    else:
        with os.fdopen(made, "w") as file:
            file.write(secrets.token_hex(32) + "\n")
    with os.fdopen(open_plain(path, os.O_RDONLY), "rb") as file:
        if os.fstat(file.fileno()).st_mode & 0o077:
            raise UsageError(f"others may read the key {path}: run chmod 600 on it")
        key = file.read().strip()
    if len(key) < 16:
        raise UsageError(
            f"the key in {path} is shorter than 16 characters: delete it for a new one"
        )
    return key


__all__ = ["Names", "anonymise", "key_path", "load_key"]
