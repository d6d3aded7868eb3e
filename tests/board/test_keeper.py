"""What a board knows after polls and estimates: documents, changes, ranks, the past, privacy."""

from __future__ import annotations

import json
import random
from dataclasses import replace

from board.worlds import NOW, Fake, estimates, nodes, running, view, waiting
from shadowtime.board.collector import Collector, Wanted
from shadowtime.board.keeper import Keeper
from shadowtime.board.view import Job


def applied(state: dict, changes: dict) -> dict:
    """A browser's copy: a state with changes applied (the rules of docs/reference/board-api.md)."""
    assert changes["base"] == state["version"]
    jobs = {job["id"]: job for job in state["jobs"]}
    for job in (*changes.get("gone", ()), *(one["id"] for one in changes.get("ended", ()))):
        jobs.pop(job, None)
    jobs |= {job["id"]: job for job in changes.get("jobs", ())}
    return {**state, "version": changes["version"], "jobs": list(jobs.values())}


def bare(state: dict) -> dict[str, dict]:
    return {job["id"]: {k: v for k, v in job.items() if k != "position"} for job in state["jobs"]}


def test_changes_lead_to_the_state_whatever_happens() -> None:
    """Random polls and estimates: applying each change gives the state that a new browser gets."""
    rng = random.Random(7)
    keeper = Keeper()
    keeper.poll(view())
    copy, jobs, last = keeper.state(), {}, 0
    for step in range(120):
        now = NOW + 2 * step
        for _ in range(rng.randrange(3)):
            last += 1
            jobs[last] = waiting(last, submit=now, priority=float(rng.randrange(5)))
        for number, job in [*jobs.items()]:
            if job.state == "waiting" and rng.random() < 0.1:
                jobs[number] = running(number, f"n{rng.randrange(1, 5)}", start=now)
            elif job.state == "running" and rng.random() < 0.1:
                jobs[number] = replace(job, state="ended", end=now)
            elif job.state == "ended" or rng.random() < 0.01:
                del jobs[number]
        copy = applied(copy, keeper.poll(view(*jobs.values(), now=now)))
        assert bare(copy) == bare(keeper.state())
        if rng.random() < 0.2:
            copy = applied(copy, keeper.learn(estimates(*jobs.values(), at=now)))
            assert bare(copy) == bare(keeper.state())
    assert len(keeper.past) > 20


def test_the_start_of_one_job_changes_no_other() -> None:
    """Positions move up by themselves: 1,000 waiting jobs are not sent again."""
    many = [waiting(k) for k in range(1, 1001)]
    keeper = Keeper()
    keeper.poll(view(*many))
    older = [replace(job, priority=job.priority + 5) for job in many[1:]]  # all have aged
    changes = keeper.poll(view(running(1), *older, now=NOW + 2))
    assert [job["id"] for job in changes["jobs"]] == ["1"]
    first = min((job for job in keeper.state()["jobs"] if job["state"] == "waiting"),
                key=lambda job: job["position"])  # fmt: skip
    assert (first["id"], first["position"]) == ("2", 1)


def test_positions_follow_priorities() -> None:
    keeper = Keeper()
    keeper.poll(view(waiting(1, priority=5.0), waiting(2, priority=9.0)))
    keeper.poll(view(waiting(1, priority=5.0), waiting(2, priority=9.0), waiting(3, priority=7.0)))
    keeper.poll(view(waiting(1, priority=8.0), waiting(2, priority=6.0), waiting(3, priority=7.0)))
    places = {job["id"]: job["position"] for job in keeper.state()["jobs"]}
    assert places == {"1": 1, "3": 2, "2": 3}


def test_what_ends_is_past_where_it_was_drawn() -> None:
    keeper = Keeper()
    keeper.poll(view(running(1, cpus=2), running(2, cpus=2)))
    rows = {job["id"]: job["rows"] for job in keeper.state()["jobs"]}
    assert sorted(rows.values()) == [[[0, 2]], [[2, 2]]]
    ended = running(1, cpus=2, start=NOW - 300)
    changes = keeper.poll(view(replace(ended, state="ended", end=NOW), running(2, cpus=2)))
    assert changes["ended"][0]["rows"] == rows["1"]
    assert [job["id"] for job in keeper.history()["jobs"]] == ["1"]


def test_the_past_day_of_accounting_comes_first() -> None:
    old = Job(id="90", state="ended", start=NOW - 5000, end=NOW - 4000, cpus=4, hosts=("n2",))
    keeper = Keeper()
    keeper.poll(view(running(1)))
    keeper.learn(estimates(running(1), past=(old,)))
    [found] = keeper.history()["jobs"]
    assert found["rows"] == [[4, 4]] and keeper.history()["from"] == NOW - 86400


def test_predicted_jobs_get_rows_that_are_free_then() -> None:
    jobs = [running(1, "n1", cpus=4), waiting(2, cpus=8, nodes=2), waiting(3, cpus=4)]
    keeper = Keeper()
    keeper.poll(view(*jobs))
    keeper.learn(estimates(*jobs, wait=100))  # the running one ends after that
    rows = {job["id"]: job["rows"] for job in keeper.state()["jobs"]}
    assert rows["2"] == [[4, 4], [8, 4]] and rows["3"] == [[12, 4]]


def test_a_job_ends_earlier_than_predicted_where_another_one_starts() -> None:
    """All nodes are held: who is expected to start takes the place of what ends first."""
    jobs = [running(k, f"n{k}", cpus=4, start=NOW - 100 * k) for k in range(1, 5)]
    new = waiting(9, cpus=4)
    keeper = Keeper()
    keeper.poll(view(*jobs, new))
    keeper.learn(estimates(*jobs, new, wait=200))  # all run for 900 s
    state = {job["id"]: job for job in keeper.state()["jobs"]}
    assert state["9"]["rows"] == state["4"]["rows"] and state["4"]["until"] == NOW + 200
    assert state["9"]["until"] == NOW + 1100 and state["1"]["until"] == NOW + 800


def test_a_poll_that_fails_keeps_what_was_known() -> None:
    keeper = Keeper()
    keeper.poll(view(waiting(1)))
    assert keeper.fail("slurmctld is away")["problem"] == "slurmctld is away"
    state = keeper.state()
    assert state["problem"] and state["polled"] == NOW and len(state["jobs"]) == 1
    keeper.poll(view(waiting(1), now=NOW + 60))
    assert keeper.state()["problem"] == ""


def test_an_estimator_that_fails_is_told() -> None:
    collector = Collector(Wanted(system="slurm"), lambda made: None)
    collector.source = Fake(view(waiting(1)))
    collector.poll()
    collector.learn("slurmdbd says no")
    collector.poll()
    assert "No new estimates: slurmdbd says no" in collector.keeper.state()["unknown"]
    collector.learn(estimates(waiting(1)))
    assert collector.keeper.state()["unknown"] == []


def test_hidden_values_are_nowhere() -> None:
    """Names, users and accounts that are hidden are in no document, and no search can find them."""
    jobs = [waiting(1, name="SECRETNAME"), running(2, name="SECRETNAME")]
    ended = replace(running(3, name="SECRETNAME"), state="ended", end=NOW)
    past = replace(ended, id="4")
    for hide, private in ((frozenset(["names", "users"]), frozenset()),
                          (None, frozenset(["names", "users"]))):  # fmt: skip
        keeper = Keeper(hide=hide)
        made = [keeper.poll(view(*jobs, ended, private=private, private_why="PrivateData"))]
        made += [keeper.learn(estimates(*jobs, past=(past,))), keeper.state(), keeper.history()]
        made += [keeper.job("1", "eva's jobs hold 4 processors")]
        text = json.dumps(made)
        assert "job-" not in text
        for word in ("SECRETNAME", '"eva', "eva's", '"tom"', "physics", "maths"):
            assert word not in text
        assert keeper.state()["hidden"] == ["names", "users"]
        assert keeper.state()["hidden_why"] == ("" if hide else "PrivateData")


def test_nodes_that_come_and_go() -> None:
    keeper = Keeper()
    keeper.poll(view(running(1, "n4")))
    changes = keeper.poll(view(running(1, "n4"), nodes=nodes(6)))
    assert [one["name"] for one in changes["nodes"]] == ["n5", "n6"]
    changes = keeper.poll(view(running(1, "n4"), nodes=nodes(4)))
    assert changes["gone_nodes"] == ["n5", "n6"]
