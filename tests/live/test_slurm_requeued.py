"""A requeued job is not started in the second of its kill: slurmd would not launch it."""

from __future__ import annotations

from live.fakes import NODES, FakeClock, FakeSlurm, queue_line
from live.test_loop import a_loop, obedient


def sent_at(fake: FakeSlurm, clock: FakeClock) -> list[float]:
    """When each release is sent."""
    found: list[float] = []
    obeys = fake.on_tell

    def on_tell(line: str) -> None:
        obeys(line)
        if line.startswith("release"):
            found.append(clock.now())

    fake.on_tell = on_tell
    return found


def test_a_requeued_job_starts_a_second_after_it_was_seen_to_wait() -> None:
    """By the number of its requeues; a job that has never run starts at once."""
    fake, clock = FakeSlurm(queue_line("7"), NODES), FakeClock()
    obedient(fake)
    released = sent_at(fake, clock)
    loop = a_loop(fake, clock)
    loop.step()
    assert released == [1000.0]
    clock.sleep(5)
    fake.queue = queue_line("7", RestartCnt=1)
    loop.step()
    assert released == [1000.0, 1006.0]


def test_one_that_has_waited_is_not_kept() -> None:
    """It was seen before, when there was no room."""
    fake, clock = FakeSlurm(queue_line("7", RestartCnt=1), ""), FakeClock()
    obedient(fake)
    released = sent_at(fake, clock)
    fake.nodes = NODES.replace("idle", "drained")
    loop = a_loop(fake, clock)
    loop.step()
    assert released == []
    clock.sleep(0.75)
    fake.nodes = NODES
    loop.step()
    assert released == [1001.0]
    assert clock.slept[-1] == 0.25
