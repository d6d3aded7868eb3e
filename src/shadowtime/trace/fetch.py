"""Logs from the Parallel Workloads Archive, verified and stored.

Only a complete, readable file gets the name of the log: the download goes to a temporary file and
is renamed last. Its content is compared with what is known about the log, or with the first
download (``SHA256SUMS`` in the folder, in the form of the program sha256sum).

The catalogue says where each log is, and what is known about its content.
"""

from __future__ import annotations

import difflib
import hashlib
import os
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any

import numpy as np

from shadowtime.errors import InputError, UsageError
from shadowtime.private import write_result
from shadowtime.trace._bytes import load
from shadowtime.trace.swf import parse_swf
from shadowtime.workload.raw import RawTrace

ARCHIVE = "https://www.cs.huji.ac.il/labs/parallel/workload/"

FOLDERS = {
    "NASA-iPSC-1993-3.1-cln": "l_nasa_ipsc",
    "LANL-CM5-1994-4.1-cln": "l_lanl_cm5",
    "SDSC-Par-1995-3.1-cln": "l_sdsc_par",
    "SDSC-Par-1996-3.1-cln": "l_sdsc_par",
    "CTC-SP2-1995-2": "l_ctc_sp2",
    "CTC-SP2-1996-3.1-cln": "l_ctc_sp2",
    "LLNL-T3D-1996-2": "l_llnl_t3d",
    "KTH-SP2-1996-2.1-cln": "l_kth_sp2",
    "SDSC-SP2-1998-4.2-cln": "l_sdsc_sp2",
    "LANL-O2K-1999-2": "l_lanl_o2k",
    "OSC-Clust-2000-3.1-cln": "l_osc",
    "SDSC-BLUE-2000-4.2-cln": "l_sdsc_blue",
    "Sandia-Ross-2001-1.1-cln": "l_sandia_ross",
    "HPC2N-2002-2.2-cln": "l_hpc2n",
    "DAS2-fs0-2003-1": "l_das2",
    "DAS2-fs1-2003-1": "l_das2",
    "DAS2-fs2-2003-1": "l_das2",
    "DAS2-fs3-2003-1": "l_das2",
    "DAS2-fs4-2003-1": "l_das2",
    "SDSC-DS-2004-2.1-cln": "l_sdsc_ds",
    "LPC-EGEE-2004-1.2-cln": "l_lpc",
    "LCG-2005-1": "l_lcg",
    "SHARCNET-2005-2": "l_sharcnet",
    "SHARCNET-Whale-2006-2": "l_sharcnet",
    "LLNL-uBGL-2006-2": "l_llnl_ubgl",
    "LLNL-Atlas-2006-2.1-cln": "l_llnl_atlas",
    "LLNL-Thunder-2007-1.1-cln": "l_llnl_thunder",
    "CIEMAT-Euler-2008-1": "l_ciemat_euler",
    "ANL-Intrepid-2009-1": "l_anl_int",
    "METACENTRUM-2009-2": "l_metacentrum",
    "PIK-IPLEX-2009-1": "l_pik_iplex",
    "RICC-2010-2": "l_ricc",
    "CEA-Curie-2011-2.1-cln": "l_cea_curie",
    "Intel-NetbatchA-2012-1": "l_intel_netbatch",
    "Intel-NetbatchB-2012-1": "l_intel_netbatch",
    "Intel-NetbatchC-2012-1": "l_intel_netbatch",
    "Intel-NetbatchD-2012-1": "l_intel_netbatch",
    "METACENTRUM-2013-3": "l_metacentrum2",
    "UniLu-Gaia-2014-2": "l_unilu_gaia",
    "KIT-FH2-2016-1": "l_kit_fh2",
}
"""By name: the cleaned version wherever the archive offers one."""

JOBS = {
    "CTC-SP2-1996-3.1-cln": "6e50d3cda143f0f6114463bfdf1e514d62a3194888f769943ffedd5302f7d93b",
    "KTH-SP2-1996-2.1-cln": "6e3c5fcc8e06e00414b2c084acb60d8837089895bee0dc4a9e3ef2fd2973f985",
    "LANL-CM5-1994-4.1-cln": "8028fd56c4a2d5aed7ffe1bb98b8b70d4ef8e821b5f98739ad699c98dc669307",
    "SDSC-BLUE-2000-4.2-cln": "efe761dec69099e0228a2abee6f6710387ebc0931110115298548c144c58bf0e",
    "SDSC-DS-2004-2.1-cln": "5c89eb18b75e0ebaf1dad4346606e3026675f50daab4940bb72367694e96b6ef",
    "SDSC-SP2-1998-4.2-cln": "9236774fb4e398c41c773bd17e41d299d91a445b8042f82419d06db1253ea7a3",
}
"""Digests of the jobs (see ``jobs_digest``) of the logs whose published content we know."""


def find(name: str) -> str:
    """The path below the archive of a log: by its name, the beginning of it, or as folder/file.

    Examples
    --------
    >>> find("kth")
    'l_kth_sp2/KTH-SP2-1996-2.1-cln.swf.gz'
    >>> find("l_new/NEW-2030-1.swf.gz")
    'l_new/NEW-2030-1.swf.gz'
    """
    word = name.strip().removesuffix(".gz").removesuffix(".swf")
    if "/" in word:
        if word.startswith("/") or ".." in word.split("/") or "//" in word or "\\" in word:
            raise UsageError(f"{name!r} is not a log below the archive: write folder/file.swf.gz")
        return name.strip()
    lower = {known.lower(): known for known in FOLDERS}
    if word.lower() in lower:
        found = [lower[word.lower()]]
    else:
        found = [known for key, known in lower.items() if word and key.startswith(word.lower())]
    if len(found) == 1:
        return f"{FOLDERS[found[0]]}/{found[0]}.swf.gz"
    if found:
        raise UsageError(f"{name!r} names several logs: {', '.join(found)}")
    near = difflib.get_close_matches(word.lower(), list(lower), n=3, cutoff=0.3)
    near_names = [lower[key] for key in near] or list(FOLDERS)[:3]
    raise UsageError(
        f"no log {name!r} is known; near ones: {', '.join(near_names)}. Any other file of the "
        f"archive can be named as folder/file.swf.gz"
    )


SUMS = "SHA256SUMS"
_CHUNK = 1 << 18
_TIMEOUT = 60.0
Opener = Callable[[str], Any]
Progress = Callable[[int, int | None], None]


@dataclass(frozen=True)
class Fetched:
    """A log in the folder."""

    path: Path
    url: str
    downloaded: bool
    """False if it was there already and is unchanged."""
    verified: str
    """What it was compared with: given checksum, catalogue, first download, nothing yet, accepted
    as it is."""
    sha256: str = ""
    """The checksum of the file."""

    @property
    def genuine(self) -> bool:
        """Its content is known to be the archive's, not merely that of the first download."""
        return self.verified in ("given checksum", "catalogue")


def jobs_digest(raw: RawTrace) -> str:
    """A digest of a log's jobs: independent of compression, spacing and header."""
    return hashlib.sha256(np.ascontiguousarray(raw.table, dtype="<i8").tobytes()).hexdigest()


def fetch(
    name: str,
    *,
    into: str | os.PathLike[str],
    base_url: str = ARCHIVE,
    opener: Opener | None = None,
    accept: bool = False,
    sha256: str | None = None,
    progress: Progress | None = None,
) -> Fetched:
    """Download a log of the archive into a folder, or verify the one that is there.

    Rules
    -----
    ``name`` is a log's name or the beginning of it (the cleaned version is taken where there is
    one), or folder/file.swf.gz. A file already there is verified, not downloaded again. Content
    that differs from the catalogue's or from the first download's is rejected unless ``accept``; a
    file without the checksum ``sha256``, if one is given, is rejected in any case. ``opener`` takes
    the address and returns a response (``read``, ``headers``, close); ``progress`` is called with
    the bytes so far and in all (None if unknown).
    """
    place = find(name)
    if not base_url.startswith(("http://", "https://")):
        raise UsageError(f"{base_url!r} is not the address of an archive: it begins with https://")
    url = f"{base_url.rstrip('/')}/{place}"
    folder = Path(into)
    path = folder / place.rpartition("/")[2]
    if path.exists():
        return Fetched(path, url, False, *_checked(path, path.name, folder, accept, sha256))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle, part = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=folder)
        os.close(handle)
    except OSError as error:
        raise UsageError(f"{folder} cannot be written ({error.strerror or error})") from None
    try:
        _download(url, Path(part), opener or _open, progress)
        verified = _checked(Path(part), path.name, folder, accept, sha256)
        os.replace(part, path)
    except OSError as error:
        raise UsageError(f"{path} cannot be written ({error.strerror or error})") from None
    finally:
        Path(part).unlink(missing_ok=True)
    return Fetched(path, url, True, *verified)


def _open(url: str) -> Any:
    return urllib.request.urlopen(url, timeout=_TIMEOUT)


def _download(url: str, part: Path, opener: Opener, progress: Progress | None) -> None:
    hint = "Check the network and the name, or put the file into the folder by hand."
    try:
        with opener(url) as response, part.open("wb") as out:
            length = response.headers.get("Content-Length")
            total = int(length) if length and length.isdigit() else None
            done = 0
            while chunk := response.read(_CHUNK):
                out.write(chunk)
                done += len(chunk)
                if progress is not None:
                    progress(done, total)
    except urllib.error.HTTPError as error:
        error.close()
        what = f"the server says {error.code} {error.reason}"
        raise InputError(what, path=url, hint=hint) from None
    except urllib.error.URLError as error:
        raise InputError(f"cannot be fetched ({error.reason})", path=url, hint=hint) from None
    except (HTTPException, TimeoutError, ConnectionError) as error:
        what = f"the download broke off ({type(error).__name__})"
        raise InputError(what, path=url, hint="Try again.") from None
    if total is not None and done != total:
        what = f"the download broke off after {done} of {total} bytes"
        raise InputError(what, path=url, hint="Try again.")


def _checked(
    part: Path, name: str, folder: Path, accept: bool, sha256: str | None
) -> tuple[str, str]:
    """Is it a log, and the expected one? Returns what it was compared with, and its checksum.

    The checksum is recorded.
    """
    digest = hashlib.sha256(part.read_bytes()).hexdigest()
    if sha256 is not None and sha256.strip().lower() != digest:
        raise InputError(
            f"its checksum is {digest}, not the one that was given",
            path=str(folder / name),
            hint="Check the checksum and the name, or fetch it again.",
        )
    try:
        raw = parse_swf(load(part), name=name, bad_lines="drop")
    except InputError as error:
        reason = str(error).removeprefix(f"{part}: ")
        raise InputError(f"this is not a log: {reason}", path=str(folder / name)) from None
    sums = _recorded(folder)
    stem = name.removesuffix(".gz").removesuffix(".swf")
    verified = "nothing yet"
    if stem in JOBS:
        verified, same = "catalogue", jobs_digest(raw) == JOBS[stem]
        what = f"the jobs in it ({len(raw)}) are not those this version of Shadowtime knows"
    elif name in sums:
        verified, same = "first download", sums[name] == digest
        what = f"it is not what it was when it was first fetched (see {SUMS})"
    if verified != "nothing yet" and not same:
        if not accept:
            hint = "Fetch it again, or take it as it is with --accept."
            raise InputError(what, path=str(folder / name), hint=hint)
        verified = "accepted as it is"
    if sums.get(name) != digest:
        lines = [f"{known}  {file}" for file, known in sorted({**sums, name: digest}.items())]
        write_result(folder / SUMS, "\n".join(lines) + "\n")
    return ("given checksum" if sha256 is not None else verified), digest


def _recorded(folder: Path) -> dict[str, str]:
    try:
        text = (folder / SUMS).read_text("utf-8")
    except (FileNotFoundError, UnicodeDecodeError):
        return {}
    pairs = (line.split(None, 1) for line in text.splitlines())
    return {pair[1].strip().lstrip("*"): pair[0] for pair in pairs if len(pair) == 2}
