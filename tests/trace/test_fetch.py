"""Fetching logs, against a server on this machine."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from shadowtime.errors import InputError, UsageError
from shadowtime.trace import read_swf
from shadowtime.trace.fetch import FOLDERS, JOBS, SUMS, fetch, find, jobs_digest

LINE = b"1 0 5 60 4 30 -1 4 100 -1 1 7 8 9 2 3 -1 -1\n"
LOG = gzip.compress(b"; MaxProcs: 8\n" + LINE, mtime=0)
OTHER = gzip.compress(LINE.replace(b"60", b"61"), mtime=0)
NAME = "l_new/NEW-2030-1.swf.gz"


class Archive:
    """The server's files, and the requests it received."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.cut = 0
        self.asked: list[str] = []
        self.url = ""


@pytest.fixture
def archive() -> Iterator[Archive]:
    shelf = Archive()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            shelf.asked.append(self.path)
            data = shelf.files.get(self.path.lstrip("/"))
            if data is None:
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data[: len(data) - shelf.cut])

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    shelf.url = f"http://127.0.0.1:{server.server_address[1]}"
    yield shelf
    server.shutdown()
    server.server_close()
    thread.join()


def left_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_log_is_fetched_once_and_checked_afterwards(archive: Archive, tmp_path: Path) -> None:
    archive.files[NAME] = LOG
    steps: list[tuple[int, int | None]] = []
    got = fetch(NAME, into=tmp_path / "new" / "folder", base_url=archive.url,
                progress=lambda done, total: steps.append((done, total)))  # fmt: skip
    assert (got.downloaded, got.verified) == (True, "nothing yet")
    assert got.path.read_bytes() == LOG
    assert steps[-1] == (len(LOG), len(LOG))
    assert left_in(got.path.parent) == ["NEW-2030-1.swf.gz", SUMS]
    again = fetch(NAME, into=tmp_path / "new" / "folder", base_url=archive.url)
    assert (again.downloaded, again.verified) == (False, "first download")
    assert archive.asked == [f"/{NAME}"]


def test_what_differs_from_the_first_download_is_refused(archive: Archive, tmp_path: Path) -> None:
    archive.files[NAME] = LOG
    path = fetch(NAME, into=tmp_path, base_url=archive.url).path
    path.unlink()
    archive.files[NAME] = OTHER
    with pytest.raises(InputError, match="not what it was when it was first fetched"):
        fetch(NAME, into=tmp_path, base_url=archive.url)
    assert left_in(tmp_path) == [SUMS]
    got = fetch(NAME, into=tmp_path, base_url=archive.url, accept=True)
    assert got.verified == "accepted as it is"
    assert fetch(NAME, into=tmp_path, base_url=archive.url).verified == "first download"


def test_a_file_that_was_changed_later_is_noticed(archive: Archive, tmp_path: Path) -> None:
    archive.files[NAME] = LOG
    path = fetch(NAME, into=tmp_path, base_url=archive.url).path
    path.write_bytes(OTHER)
    with pytest.raises(InputError, match="not what it was"):
        fetch(NAME, into=tmp_path, base_url=archive.url)


def test_a_known_log_is_compared_with_the_catalogue(archive: Archive, tmp_path: Path) -> None:
    archive.files[find("KTH")] = LOG
    with pytest.raises(InputError, match=r"jobs in it \(1\) are not those"):
        fetch("KTH", into=tmp_path, base_url=archive.url)
    assert left_in(tmp_path) == []
    got = fetch("KTH", into=tmp_path, base_url=archive.url, accept=True)
    assert got.verified == "accepted as it is"


def test_a_real_log_passes_however_it_is_packed(
    archive: Archive, tmp_path: Path, trace_path: Callable[[str], Path]
) -> None:
    text = gzip.decompress(trace_path("KTH-SP2-1996-2.1-cln.swf.gz").read_bytes())
    archive.files[find("KTH")] = gzip.compress(text.replace(b"\n", b"\r\n"), 1)
    got = fetch("kth", into=tmp_path, base_url=archive.url)
    assert (got.verified, got.path.name) == ("catalogue", "KTH-SP2-1996-2.1-cln.swf.gz")


@pytest.mark.parametrize("name", sorted(JOBS))
def test_the_catalogue_knows_the_logs_at_hand(name: str, trace_path: Callable[[str], Path]) -> None:
    assert jobs_digest(read_swf(trace_path(f"{name}.swf.gz"))) == JOBS[name]
    assert name in FOLDERS


def test_a_download_that_breaks_off_leaves_nothing(archive: Archive, tmp_path: Path) -> None:
    archive.files[NAME], archive.cut = LOG, 10
    with pytest.raises(InputError, match=r"broke off.*Try again"):
        fetch(NAME, into=tmp_path, base_url=archive.url)
    assert left_in(tmp_path) == []
    archive.cut = 0
    assert fetch(NAME, into=tmp_path, base_url=archive.url).downloaded


NO_LOGS = {
    "empty": b"",
    "page": b"<html>moved</html>",
    "cut": LOG[:-9],
    "no-jobs": gzip.compress(b"; none", mtime=0),
}


@pytest.mark.parametrize("data", NO_LOGS.values(), ids=NO_LOGS)
def test_what_is_not_a_log_is_refused(archive: Archive, tmp_path: Path, data: bytes) -> None:
    archive.files[NAME] = data
    with pytest.raises(InputError, match=r"NEW-2030-1\.swf\.gz: this is not a log"):
        fetch(NAME, into=tmp_path, base_url=archive.url)
    assert left_in(tmp_path) == []


def test_errors_of_the_server_and_the_network(archive: Archive, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"the server says 404 .*by hand"):
        fetch(NAME, into=tmp_path, base_url=archive.url)
    with pytest.raises(InputError, match="cannot be fetched"):
        fetch(NAME, into=tmp_path, base_url="http://127.0.0.1:9")
    with pytest.raises(UsageError, match="address of an archive"):
        fetch(NAME, into=tmp_path, base_url="ftp://example.org")
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be written"):
        fetch(NAME, into=tmp_path / "file", base_url=archive.url)

    def broken(url: str) -> object:
        raise ConnectionResetError(url)

    with pytest.raises(InputError, match="broke off"):
        fetch(NAME, into=tmp_path, base_url=archive.url, opener=broken)
    assert left_in(tmp_path) == ["file"]


def test_names() -> None:
    assert find("KTH-SP2-1996-2.1-cln.swf.gz") == "l_kth_sp2/KTH-SP2-1996-2.1-cln.swf.gz"
    assert find("ctc-sp2-1996") == "l_ctc_sp2/CTC-SP2-1996-3.1-cln.swf.gz"
    with pytest.raises(UsageError, match="several logs: SDSC-Par-1995"):
        find("sdsc")
    with pytest.raises(UsageError, match=r"near ones: .*KTH-SP2"):
        find("KHT-SP2")
    for bad in ("/etc/passwd", "a/../b", "a//b"):
        with pytest.raises(UsageError, match="not a log below the archive"):
            find(bad)
    with pytest.raises(UsageError, match="near ones"):
        find("")
