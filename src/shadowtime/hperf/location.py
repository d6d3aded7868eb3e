"""Which store is meant: the one given, the environment's, or the user's own."""

from __future__ import annotations

import os
from collections.abc import Mapping

VARIABLE = "SHADOWTIME_STORE"
_SQLITE = "sqlite:///"


def default_store(environment: Mapping[str, str] = os.environ) -> str:
    """URL or path of the store when none is named: $SHADOWTIME_STORE, else a file of the user's.

    Examples
    --------
    >>> default_store({"SHADOWTIME_STORE": "postgresql://db/hperf"})
    'postgresql://db/hperf'
    >>> default_store({"XDG_DATA_HOME": "/data"})
    '/data/shadowtime/hperf.sqlite'
    """
    wanted = environment.get(VARIABLE)
    if wanted:
        return wanted
    home = environment.get("XDG_DATA_HOME") or os.path.join(
        os.path.expanduser("~"), ".local", "share"
    )
    return os.path.join(home, "shadowtime", "hperf.sqlite")


def absolute_store(where: str) -> str:
    """The same store from any folder: a file by its whole path, a server as given.

    Examples
    --------
    >>> absolute_store("/data/perf.sqlite"), absolute_store("postgresql://db/hperf")
    ('/data/perf.sqlite', 'postgresql://db/hperf')
    >>> absolute_store("perf.sqlite") == os.path.abspath("perf.sqlite")
    True
    """
    if "://" not in where:
        return os.path.abspath(where)
    path = where.removeprefix(_SQLITE)
    if path == where or not path or path.startswith((":memory:", "file:")):
        return where
    return _SQLITE + os.path.join(os.getcwd(), path)
