"""What the board reads of Slurm and of HTCondor."""

from __future__ import annotations

from collections.abc import Sequence

from live.fakes import FakeClock
from shadowtime.board.condor_source import CondorSource
from shadowtime.board.keeper import Keeper
from shadowtime.board.slurm_source import SlurmSource
from shadowtime.live.runner import Commands, Done
from shadowtime.live.slurm.drive import Where
from shadowtime.slurmtext.squeue import COLUMNS

CONFIG = "ClusterName = test\nSLURM_VERSION = 24.11.5\nSlurmUser = slurm(64030)\n"
NODES = "\x1f".join(["n1", "mixed", "4/0/0/4", "1000", "(null)", "batch*", "(null)", "\n"])


class Slurm(Commands):
    """Answers as Slurm does: the columns are those of SQUEUE_FORMAT2, which has the secret."""

    def __init__(self, jobs: Sequence[dict[str, str]], config: str = CONFIG, **more: object):
        super().__init__(**more)
        self.jobs, self.config, self.asked = jobs, config, []

    def knowing(self, **variables: str) -> Slurm:
        made = Slurm(self.jobs, self.config, env=variables)
        made.asked = self.asked
        return made

    def allowing(self, seconds: float) -> Slurm:
        return self

    def __call__(self, argv: Sequence[str], *, text: str = "") -> Done:
        self.asked.append(tuple(argv))
        if argv[0] == "sinfo":
            return Done(0, NODES, "")
        if argv[0] == "scontrol":
            return Done(0, self.config, "")
        if argv[0] == "sacctmgr":
            return Done(0, "Operator\n" if "Operator" in self.config else "None\n", "")
        wanted = [
            one.removeprefix("--jobs=").split(",") for one in argv if one.startswith("--jobs=")
        ]
        jobs = [job for job in self.jobs if not wanted or job["JobArrayID"] in wanted[0]]
        if wanted and len(jobs) < len(wanted[0]):
            return Done(1, "", "slurm_load_jobs error: Invalid job id specified")
        columns = (self.env or {})["SQUEUE_FORMAT2"].split(",")
        cells = [one.split(":", 1) for one in columns]
        lines = ["".join(job.get(name, "") + end for name, end in cells) for job in jobs]
        return Done(0, "".join(f"{line}\n" for line in lines), "")


def row(job: int, **more: str) -> dict[str, str]:
    known = dict.fromkeys(COLUMNS, "") | {"JobArrayID": str(job), "PriorityLong": "9"}
    known |= {"State": "PENDING", "TimeLimit": "10:00", "NumCPUs": "2", "UserName": "eva"}
    return known | {"SubmitTime": "900", "Reason": "Priority", "Partition": "batch", **more}


def test_a_name_stays_in_its_own_row() -> None:
    """Names with separators and line ends of every kind are names of their own job only."""
    bad = "a\x1fb\n8\x1fRUNNING\n,;|"
    source = SlurmSource(
        Where(), run=Slurm([row(7, Name=bad), row(8, Name="x")]), clock=FakeClock()
    )
    assert {job.id: job.name for job in source.poll().jobs} == {"7": bad, "8": "x"}


def test_names_are_asked_for_when_jobs_are_new() -> None:
    slurm = Slurm([row(7, Name="a")])
    source = SlurmSource(Where(), run=slurm, clock=FakeClock())
    source.poll()
    first = len(slurm.asked)
    source.poll()
    assert [argv[0] for argv in slurm.asked[first:]].count("squeue") == 1
    slurm.jobs = [*slurm.jobs, row(8, Name="b")]
    source.answers.run = source.run = slurm
    assert [job.name for job in source.poll().jobs] == ["a", "b"]
    assert "--jobs=8" in slurm.asked[-1]


def test_what_is_private_is_hidden_from_those_who_may_see_it(monkeypatch) -> None:
    private = f"{CONFIG}PrivateData = jobs,usage\n"
    for uid, config, hidden in (
        (0, private, {"names", "users"}),
        (64030, private, {"names", "users"}),
        (64031, private, set()),  # squeue shows it its own jobs only
        (0, CONFIG, set()),
        (0, f"{CONFIG}PrivateData = users\n", {"users"}),
    ):
        monkeypatch.setattr("os.geteuid", lambda uid=uid: uid)
        view = SlurmSource(Where(), run=Slurm([row(7)], config), clock=FakeClock()).poll()
        assert view.private == hidden and bool(view.private_why) == bool(hidden)


def test_states_of_jobs() -> None:
    source = SlurmSource(Where(), run=Slurm([
        row(1), row(2, State="RUNNING", StartTime="950", NodeList="n1"),
        row(3, State="COMPLETED", StartTime="900", EndTime="960", NodeList="n1"),
        row(4, State="COMPLETING", StartTime="900", NodeList="n1"),
        row(5, State="CANCELLED", StartTime="950", EndTime="950"),
    ]), clock=FakeClock())  # fmt: skip
    states = {job.id: (job.state, job.start, job.end) for job in source.poll().jobs}
    assert states == {
        "1": ("waiting", -1, -1), "2": ("running", 950, -1), "3": ("ended", 900, 960),
        "4": ("running", 900, -1), "5": ("ended", -1, 950),
    }  # fmt: skip


class Pool:
    """A pool with two slots and the jobs of a test."""

    def __init__(self, ads: list[dict]) -> None:
        self.ads = ads

    def schedds(self) -> tuple[str, ...]:
        return ("s",)

    def queue(self, constraint: str, attributes: Sequence[str]) -> list[dict]:
        return self.ads

    def slots(self, attributes: Sequence[str]) -> list[dict]:
        return [
            {"name": f"slot1@m{k}", "slottype": "Partitionable", "state": "Unclaimed",
             "totalslotcpus": 4, "totalslotmemory": 100, "cpus": 4, "memory": 100}
            for k in (1, 2)
        ]  # fmt: skip


def test_a_pool_is_a_board_too() -> None:
    """Jobs wait, run on their slots and leave the queue; what is unknown is said."""
    idle = {"clusterid": 7, "procid": 0, "jobstatus": 1, "qdate": 900, "owner": "eva",
            "requestcpus": 2, "cmd": "/bin/sleep"}  # fmt: skip
    runs = {**idle, "procid": 1, "jobstatus": 2, "remotehost": "slot1_1@m1",
            "jobcurrentstartdate": 950}  # fmt: skip
    held = {**idle, "procid": 2, "jobstatus": 5, "holdreason": "via condor_hold"}
    pool, clock, keeper = Pool([idle, runs, held]), FakeClock(), Keeper()
    source = CondorSource(client=pool, clock=clock)
    keeper.poll(source.poll())
    state = {job["id"]: job for job in keeper.state()["jobs"]}
    assert state["7.1"]["hosts"] == ["slot1@m1"] and state["7.1"]["rows"] == [[0, 2]]
    assert state["7.0"]["position"] and state["7.2"]["reason"] == "via condor_hold"
    assert state["7.0"]["name"] == "sleep" and state["7.0"]["limit"] == -1
    assert any("not estimated" in words for words in keeper.state()["unknown"])
    pool.ads = [idle]
    clock.sleep(30)
    changes = keeper.poll(source.poll())
    assert [job["id"] for job in changes["ended"]] == ["7.1"] and changes["gone"]
