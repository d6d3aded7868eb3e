"""The options of a submission as it was typed: ``sbatch -N 2-4 --gres=gpu:1 job.sh``.

Accounting keeps less than was asked for; the line (sacct's SubmitLine) has what stood on the
command line. What stands in the script (``#SBATCH``) is not in it, so an option that is missing
here may still have been given.
"""

from __future__ import annotations

import shlex
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_SHORT = {
    "N": "nodes", "n": "ntasks", "c": "cpus-per-task", "G": "gpus", "w": "nodelist",
    "x": "exclude", "C": "constraint", "d": "dependency", "a": "array", "L": "licenses",
    "p": "partition", "q": "qos", "A": "account", "t": "time", "b": "begin", "J": "job-name",
    "D": "chdir", "e": "error", "i": "input", "o": "output", "m": "distribution", "M": "clusters",
    "S": "core-spec", "B": "extra-node-info", "F": "nodefile",
}  # fmt: skip
_SHORT_FLAGS = {
    "H": "hold", "s": "oversubscribe", "k": "no-kill", "O": "overcommit", "W": "wait",
    "Q": "quiet", "v": "verbose",
}  # fmt: skip
_FLAGS = {
    "hold", "oversubscribe", "share", "overcommit", "quiet", "verbose", "wait", "contiguous",
    "requeue", "no-requeue", "ignore-pbs", "parsable", "test-only", "spread-job", "use-min-nodes",
    "reboot", "no-kill", "kill-on-invalid-dep", "get-user-env", "exclusive", "nice", "help",
    "usage", "propagate", "pty", "label", "unbuffered", "multi-prog", "overlap", "exact",
}  # fmt: skip
"""Options without a value, or with one only after an equals sign."""
_SAME = {"tasks-per-node": "ntasks-per-node", "share": "oversubscribe", "workdir": "chdir"}


@lru_cache(maxsize=1 << 14)
def parse_line(line: str) -> Mapping[str, str]:
    """Options by their long names, up to the script; flags are "".

    Options of no meaning here are kept too; a line that no shell would take gives nothing.

    Examples
    --------
    >>> dict(parse_line("sbatch -N2-4 -n 8 --gres=gpu:1 --exclusive -p a,b job.sh -N 9"))
    {'nodes': '2-4', 'ntasks': '8', 'gres': 'gpu:1', 'exclusive': '', 'partition': 'a,b'}
    """
    try:
        words = shlex.split(line)
    except ValueError:
        return {}
    if words and not words[0].startswith("-"):
        words = words[1:]  # the command, wherever it lies
    found: dict[str, str] = {}
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] not in ("-", "--"):
        word = words[at]
        at += 1
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            name = _SAME.get(name, name)
            if not equals and name not in _FLAGS and at < len(words):
                value = words[at]
                at += 1
            found[name] = value
            continue
        while len(word) > 1:  # short ones may stand together: -Hn4
            letter, word = word[1], f"-{word[2:]}"
            if letter in _SHORT:
                value = word[1:].removeprefix("=")
                if not value and at < len(words):
                    value = words[at]
                    at += 1
                found[_SHORT[letter]] = value
                break
            found[_SHORT_FLAGS.get(letter, letter)] = ""
    return found
