"""The server: documents, events, security headers, hostile requests, many browsers at once."""

from __future__ import annotations

import gzip
import http.client
import json
import socket
import threading
import time

import pytest

from board.worlds import NOW, Board, estimates, running, served, view, waiting
from shadowtime.board.http import BadRequest, parse_request


def get(board: Board, path: str, method: str = "GET", **headers: str):
    connection = http.client.HTTPConnection("127.0.0.1", board.port, timeout=30)
    connection.request(method, path, headers={"Host": "localhost", **headers})
    answer = connection.getresponse()
    raw = answer.read()
    connection.close()
    return answer, raw


class Watcher:
    """A browser that follows the events."""

    def __init__(self, board: Board) -> None:
        self.socket = socket.create_connection(("127.0.0.1", board.port), timeout=30)
        self.socket.sendall(b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.file = self.socket.makefile("rb")
        self.next("hello")

    def next(self, kind: str = "changes") -> dict:
        event = ""
        for line in self.file:
            text = line.decode().strip()
            if text.startswith("event: "):
                event = text.removeprefix("event: ")
            elif text.startswith("data: ") and event == kind:
                return json.loads(text.removeprefix("data: "))
        raise AssertionError("the stream ended")

    def close(self) -> None:
        self.file.close()
        self.socket.close()


def test_documents_and_pages_have_safe_headers() -> None:
    with served(view(waiting(1), running(2))) as board:
        for path in ("/", "/scores", "/embed", "/api/v1/state", "/api/v1/history", "/nothing"):
            answer, raw = get(board, path)
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert answer.headers["Referrer-Policy"] == "no-referrer"
            policy = answer.headers["Content-Security-Policy"]
            assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
            script = policy.partition("script-src")[2].partition(";")[0]
            assert "unsafe" not in script and (path[:4] == "/api" or path == "/nothing" or script)
            assert answer.status == (404 if path == "/nothing" else 200) and raw
        answer, raw = get(board, "/api/v1/state")
        assert [job["id"] for job in json.loads(raw)["jobs"]] == ["2", "1"]
        packed, small = get(board, "/api/v1/state", **{"Accept-Encoding": "gzip"})
        assert packed.headers["Content-Encoding"] == "gzip" and gzip.decompress(small) == raw
        again, nothing = get(board, "/api/v1/state", **{"If-None-Match": answer.headers["ETag"]})
        assert again.status == 304 and nothing == b""


def test_only_embed_is_framed_and_only_where_told() -> None:
    with served(view(), frame_ancestors="https://portal.example.org") as board:
        framed, _ = get(board, "/embed")
        policy = framed.headers["Content-Security-Policy"]
        assert policy.endswith("frame-ancestors https://portal.example.org")
        assert "X-Frame-Options" not in framed.headers
        plain, _ = get(board, "/")
        assert plain.headers["X-Frame-Options"] == "DENY"
        assert "frame-ancestors 'none'" in plain.headers["Content-Security-Policy"]


def test_another_name_and_other_methods_are_refused() -> None:
    """A page of another site that leads its own name to loopback gets nothing."""
    with served(view(waiting(1)), names=("board.example.org",)) as board:
        assert get(board, "/api/v1/state", Host="evil.example.com")[0].status == 421
        assert get(board, "/api/v1/events", Host="evil.example.com")[0].status == 421
        assert get(board, "/api/v1/state", Host="board.example.org:80")[0].status == 200
        assert get(board, "/api/v1/state", Host="127.0.0.1")[0].status == 200
        for method in ("POST", "PUT", "DELETE", "OPTIONS"):
            assert get(board, "/api/v1/state", method)[0].status == 405


@pytest.mark.parametrize(
    "raw",
    [
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello",
        b"GET http://x/ HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01 TLS\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 9000 + b"\r\n",
    ],
)
def test_requests_that_are_none_are_refused(raw: bytes) -> None:
    with served(view()) as board:
        with socket.create_connection(("127.0.0.1", board.port), timeout=30) as line:
            line.sendall(raw)
            assert line.recv(100).startswith(b"HTTP/1.1 400")
        assert get(board, "/")[0].status == 200


def test_a_request_without_a_path_is_none() -> None:
    with pytest.raises(BadRequest):
        parse_request("GET HTTP/1.1\r\n\r\n")


def test_a_job_is_told_with_its_reason_unless_users_are_hidden() -> None:
    for hide, words in ((frozenset(), "eva's jobs"), (frozenset(["users"]), "")):
        with served(view(waiting(7)), hide=hide) as board:
            board.collector.learn(estimates(waiting(7)))
            answer, raw = get(board, "/api/v1/jobs/7")
            found = json.loads(raw)
            assert answer.status == 200 and found["expected"] == NOW + 1800
            assert found["why"].startswith(words) and bool(found["why"]) == bool(words)
            assert get(board, "/api/v1/jobs/8")[0].status == 404
            assert get(board, "/api/v1/jobs/%2e%2e%2fstate")[0].status == 404


def test_fifty_browsers_see_a_change_after_one_poll() -> None:
    """All get the same event; Slurm is asked once, however many watch."""
    many = [waiting(k) for k in range(1, 501)]
    with served(view(*many)) as board:
        watchers = [Watcher(board) for _ in range(50)]
        polls = board.source.polls
        board.poll(running(1), *many[1:], now=NOW + 2)
        found = [one.next() for one in watchers]
        assert board.source.polls == polls + 1
        assert all([job["id"] for job in one["jobs"]] == ["1"] for one in found)
        assert {one["base"] for one in found} == {found[0]["version"] - 1}
        for one in watchers:
            one.close()


def test_a_large_change_is_fetched_instead() -> None:
    with served(view()) as board:
        watcher = Watcher(board)
        board.poll(*[waiting(k) for k in range(1, 2001)], now=NOW + 2)
        assert watcher.next()["reload"] is True
        state = json.loads(get(board, "/api/v1/state")[1])
        assert len(state["jobs"]) == 2000
        watcher.close()


def test_slurm_away_is_an_event_with_the_age_of_the_data() -> None:
    with served(view(waiting(1))) as board:
        watcher = Watcher(board)
        board.source.problem = "slurmctld does not answer"
        board.poll()
        event = watcher.next()
        assert event["problem"] == "slurmctld does not answer" and event["polled"] == NOW
        state = json.loads(get(board, "/api/v1/state")[1])
        assert state["problem"] and len(state["jobs"]) == 1
        board.source.problem = ""
        board.poll(waiting(1), now=NOW + 60)
        assert watcher.next()["problem"] == ""
        watcher.close()


def test_a_browser_that_does_not_read_is_dropped_and_others_go_on() -> None:
    with served(view()) as board:
        lazy, good = Watcher(board), Watcher(board)
        lazy.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        made: list[int] = []
        reader = threading.Thread(
            target=lambda: made.extend(good.next()["version"] for _ in range(200)), daemon=True
        )
        reader.start()
        jobs = [waiting(k) for k in range(1, 300)]
        for step in range(200):
            name = f"x{step}"
            board.poll(*[waiting(k, name=name) for k in range(1, len(jobs))], now=NOW + step)
        reader.join(60)
        until = time.monotonic() + 30
        while len(board.server.watching) > 1 and time.monotonic() < until:
            board.poll(*[waiting(k, name=str(time.monotonic())) for k in range(1, 200)])
        assert len(made) == 200
        lazy.close()
        good.close()
