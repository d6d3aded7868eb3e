"""scripts/bench peers: which other simulators are run, and what is printed about the rest."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.bench_peers import Peer, listed


def test_the_list_names_programs_with_the_log_and_the_machine() -> None:
    for peer in listed():
        words = " ".join(peer.command)
        assert "{log}" in words and "{procs}" in words


def test_a_peer_that_is_here_is_run_with_its_words(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text('[[peer]]\nname = "own"\ncommand = ["$OWN", "{log}", "-n", "{procs}"]\n')
    (peer,) = listed(file)
    assert peer.words(Path("a.swf"), 4, {"OWN": sys.executable}) == [
        sys.executable, "a.swf", "-n", "4",
    ]  # fmt: skip


def test_a_peer_that_is_not_here_says_why() -> None:
    peer = Peer("own", ("$OWN/run", "{log}"))
    assert peer.words(Path("a.swf"), 4, {}) == "own: OWN is not set"
    assert "no program" in str(peer.words(Path("a.swf"), 4, {"OWN": "/nowhere"}))
