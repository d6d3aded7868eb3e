"""Pulling a site folder: resumed by day, joined, anonymised, and robust against faults."""

from __future__ import annotations

import os
import stat
from datetime import date, datetime, timedelta
from pathlib import Path

import pytest

from conftest import recording_path
from shadowtime.cli import run
from shadowtime.errors import UsageError
from shadowtime.live.runner import Done
from shadowtime.live.slurm.pull import Pulled, PullError, ask_slurm, pull
from shadowtime.slurmtext.sacct_export import join_days
from shadowtime.slurmtext.sacct_rows import BETWEEN, RECOMMENDED
from shadowtime.trace.anonymise import Names, anonymise, load_key
from shadowtime.trace.site_folder import read_site

HEAD = RECOMMENDED.replace(",", BETWEEN)
DAY = date(2026, 5, 1)
NOON = datetime(2026, 5, 4, 12)
TEXTS = {
    ("scontrol", "node"): "NodeName=n1 CPUTot=4 State=IDLE Partitions=p Reason=eva broke It=eva\n",
    (
        "scontrol",
        "partition",
    ): "PartitionName=p Nodes=n1 AllowAccounts=phys AllowQos=ALL QoS=phys\n",
    (
        "scontrol",
        "config",
    ): "SchedulerType = sched/backfill\nSlurmUser = eva(5)\nTopologyPlugin = x\n",
    ("scontrol", "reservation"): (
        "ReservationName=eva_1 StartTime=1777600000 EndTime=1777609999 Nodes=n1 Users=eva,-bob "
        "Accounts=phys Flags=\n"
    ),
    ("sacctmgr", "assoc"): (
        "Cluster|Account|User|ParentName|QOS|Def QOS\nc|root|||normal|\nc|phys||root|normal,phys|\n"
        "c|phys|eva||phys|phys\n"
    ),
    ("sacctmgr", "qos"): "Name|Priority|Preempt|Description\nnormal|1||\nphys|2|normal|of eva\n",
    ("sacctmgr", "event"): (
        "Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User\n"
        "c|n1|1777600000|1777600100|DOWN|eva | pulled it|eva(5)\n"
    ),
    ("sacctmgr", "reservation"): "Cluster|Name|TimeStart|TimeEnd|NodeNames\nc|eva_1|5|9|n1\n",
    ("sshare", "-a"): "Account|User|RawShares|RawUsage\nroot|||0\n phys||50|7\n  phys|eva|1|7\n",
}


def row(job: int, state: str = "COMPLETED", **fields: str) -> str:
    """A line of sacct."""
    columns = {
        "JobIDRaw": str(job), "JobID": str(job), "Cluster": "c", "Partition": "p", "QOS": "phys",
        "Account": "phys", "User": "eva", "Submit": "1777600000", "Eligible": "1777600000",
        "Start": "1777600010", "End": "1777600100", "ElapsedRaw": "90", "TimelimitRaw": "10",
        "State": state, "NNodes": "1", "ReqCPUS": "2", "NCPUS": "2", "ReqTRES": "cpu=2,node=1",
        "AllocTRES": "cpu=2,node=1", "Reason": "Resources", "NodeList": "n1",
        "JobName": "of eva|x\nbreak", **fields,
    }  # fmt: skip
    return BETWEEN.join(columns.get(name, "") for name in RECOMMENDED.split(","))


def kept(*rows: str) -> str:
    """The rows as a folder keeps them: a line each."""
    return "".join(f"{one}\n" for one in [HEAD, *(one.replace("\n", " ") for one in rows)])


class Slurm:
    """Answers as Slurm's commands do; ``broken`` maps a program to how it fails."""

    def __init__(self) -> None:
        self.days: list[str] = []
        self.broken: dict[str, Done] = {}
        self.asked: list[str] = []
        self.files: dict[str, tuple[int, str, str]] = {}
        self.rows: dict[str, list[str]] = {
            "2026-05-01": [row(1, "RUNNING")],
            "2026-05-02": [row(1)],
        }

    def __call__(self, argv: object, *, text: str = "") -> Done:
        words = list(argv)  # type: ignore[call-overload]
        self.asked.append(words[0])
        if words[0] in self.broken:
            return self.broken[words[0]]
        if words[0] == "sacct":
            day = words[words.index("-S") + 1].partition("T")[0]
            self.days.append(day)
            (delimiter,) = [one[12:] for one in words if one.startswith("--delimiter=")]
            text = "".join(f"{one}\n" for one in [HEAD, *self.rows.get(day, [])])
            return Done(0, text.replace(BETWEEN, delimiter), "")
        if words[0] in ("cat", "sprio", "sdiag"):
            return Done(*self.files.get(words[-1], (1, "", f"{words[0]}: no such file")))
        key = (words[0], words[2] if words[0] != "sshare" else words[1])
        return Done(0, TEXTS[key], "")


def pulled(
    folder: Path,
    slurm: Slurm,
    *,
    now: datetime = NOON,
    since: date = DAY,
    names: Names | None = None,
) -> Pulled:
    ask = ask_slurm(slurm, lambda: now)
    return pull(folder, since=since, until=now.date(), today=now.date(), ask=ask, names=names)


def test_days_are_fetched_once_but_the_present(tmp_path: Path) -> None:
    """Past days are kept; today, and a day fetched before it ended, are fetched again."""
    slurm = Slurm()
    done = pulled(tmp_path, slurm)
    assert slurm.days == ["2026-05-01", "2026-05-02", "2026-05-03", "2026-05-04"]
    assert (done.days_fetched, done.rows, done.failed) == (4, 1, [])
    slurm.days.clear()
    assert pulled(tmp_path, slurm).days_kept == 3 and slurm.days == ["2026-05-04"]
    slurm.days.clear()
    pulled(tmp_path, slurm, now=NOON + timedelta(days=1))
    assert slurm.days == ["2026-05-04", "2026-05-05"]
    (tmp_path / "days" / "2026-05-02.psv").write_text("JobIDRaw|State\n")  # other columns
    slurm.days.clear()
    pulled(tmp_path, slurm, now=NOON + timedelta(days=1))
    assert slurm.days == ["2026-05-02", "2026-05-05"]


def test_what_was_pulled_is_a_site(tmp_path: Path) -> None:
    pulled(tmp_path, Slurm())
    site, workload = read_site(tmp_path)
    assert len(workload) == 1 and workload.run.tolist() == [90]
    assert [one.account for one in site.associations] == ["root", "phys", "phys"]
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".nodes")]


def test_configuration_is_copied_with_what_it_includes(tmp_path: Path) -> None:
    """Files that cannot be read are left out; they are no failure."""
    slurm = Slurm()
    slurm.files = {
        "/etc/slurm/slurm.conf": (0, "Include nodes.conf\nInclude /opt/parts.conf\n", ""),
        "/etc/slurm/nodes.conf": (0, "NodeName=n1 CPUs=4\n", ""),
        "/opt/parts.conf": (0, "PartitionName=p Nodes=n1\n", ""),
        "/etc/slurm/gres.conf": (0, "Name=gpu\n", ""),
    }
    assert pulled(tmp_path, slurm).failed == []
    for name in ("slurm.conf", "nodes.conf", "parts.conf", "gres.conf"):
        assert (tmp_path / name).is_file()
    assert not (tmp_path / "topology.conf").exists() and not (tmp_path / "sprio.txt").exists()
    assert read_site(tmp_path)[0].nodes[0].name == "n1"


@pytest.mark.parametrize("names", [None, Names(b"0123456789abcdef")])
def test_what_a_submission_asked_for_is_kept(tmp_path: Path, names: Names | None) -> None:
    """SubmitLine with the usual separator in it; anonymised, only what decides is left of it."""
    slurm = Slurm()
    line = "sbatch -C a|b -J of|eva -N 1-3 --nice=7 -A phys --comment=eva|x --switches=1 job -N 9"
    slurm.rows = {"2026-05-01": [row(1, Constraints="a|b", SubmitLine=line)]}
    pulled(tmp_path, slurm, names=names)
    asked = read_site(tmp_path)[1].requests
    assert asked is not None and asked[0].features == "a|b"
    assert (asked[0].nodes, asked[0].max_nodes, asked.nice.tolist()) == (1, 3, [7])
    assert asked[0].beyond == ("switches",)
    if names is not None:
        assert "eva" not in (tmp_path / "jobs.psv").read_text()


def test_a_job_of_many_days_is_one_row() -> None:
    """The row with an end wins wherever it is; each run of a requeued job keeps its row."""
    again = row(1, "REQUEUED", Submit="1777500000")
    days = [
        ("a", kept(row(1), again)),
        ("b", kept(row(1, "RUNNING"), row(2, "PENDING"))),
        ("c", kept(row(2, "RUNNING"))),
    ]
    joined = join_days(days)
    assert joined.text == kept(row(1), again, row(2, "RUNNING"))
    assert (joined.rows, joined.repeated) == (3, 2)


def test_joined_days_of_a_recording_are_the_recording() -> None:
    """Cut into overlapping days and joined again, a real export is the same line by line."""
    text = (recording_path("J") / "jobs.psv").read_text()
    head, *lines = text.splitlines()
    days = [
        (str(at), "\n".join([head, *lines[max(at - 20, 0) : at + 60]]) + "\n")
        for at in range(0, len(lines), 60)
    ]
    joined = join_days(days)
    assert joined.text.replace(BETWEEN, "|") == text and joined.repeated > 0


def test_a_slurmdbd_that_is_down_is_asked_once(tmp_path: Path) -> None:
    """Fails with one sentence; what was fetched is kept, and the next pull resumes."""
    slurm = Slurm()
    pulled(tmp_path, slurm)
    before = (tmp_path / "jobs.psv").read_text()
    slurm.asked.clear()
    for program in ("sacct", "sacctmgr"):
        slurm.broken[program] = Done(1, "", f"{program}: error: slurmdbd: Connection refused\n")
    done = pulled(tmp_path, slurm, now=NOON + timedelta(days=3))
    assert done.failed == ["slurmdbd does not answer (sacctmgr: slurmdbd: Connection refused)"]
    assert slurm.asked.count("sacctmgr") == 1 and "sacct" not in slurm.asked
    assert "nodes.txt" in done.files
    assert (tmp_path / "jobs.psv").read_text() == before
    slurm.broken.clear()
    assert pulled(tmp_path, slurm, now=NOON + timedelta(days=3)).failed == []


def test_a_day_that_fails_ends_the_days(tmp_path: Path) -> None:
    slurm = Slurm()
    slurm.broken["sacct"] = Done(1, "", "sacct: fatal: Bad --format: ReqTRES\n")
    done = pulled(tmp_path, slurm)
    assert done.failed == ["sacct failed: Bad --format: ReqTRES"]
    assert slurm.asked.count("sacct") == 1 and "qos.txt" in done.files


def test_an_interrupted_pull_keeps_its_days(tmp_path: Path) -> None:
    """The days so far are joined, and the next pull fetches only the others."""
    slurm = Slurm()

    def interrupted(argv: object, *, text: str = "") -> Done:
        if len(slurm.days) == 2:
            raise KeyboardInterrupt
        return slurm(argv)

    ask = ask_slurm(interrupted, lambda: NOON)
    with pytest.raises(KeyboardInterrupt):
        pull(tmp_path, since=DAY, until=NOON.date(), today=NOON.date(), ask=ask)
    assert (tmp_path / "jobs.psv").read_text() == kept(row(1))
    slurm.days.clear()
    pulled(tmp_path, slurm)
    assert slurm.days == ["2026-05-03", "2026-05-04"]


def test_output_that_is_none_replaces_nothing(tmp_path: Path) -> None:
    slurm = Slurm()
    pulled(tmp_path, slurm)
    slurm.broken["scontrol"] = Done(0, "Welcome to the login node\n", "")
    done = pulled(tmp_path, slurm)
    assert "scontrol did not print what nodes.txt needs" in done.failed
    assert (tmp_path / "nodes.txt").read_text() == TEXTS[("scontrol", "node")]


def test_no_name_is_left(tmp_path: Path) -> None:
    """A name has the same pseudonym in every file; the folder can still be read."""
    names = Names(b"0123456789abcdef")
    done = pulled(tmp_path / "hidden", Slurm(), names=names)
    pulled(tmp_path / "open", Slurm())
    assert done.failed == [] and done.left_out == 0
    for path in (tmp_path / "hidden").rglob("*"):
        text = path.read_text() if path.is_file() else ""
        assert not [name for name in ("eva", "bob", "phys") if name in text], path
    assert f"{BETWEEN}Resources{BETWEEN}" in (tmp_path / "hidden" / "jobs.psv").read_text()
    site, workload = read_site(tmp_path / "hidden")
    plain, _ = read_site(tmp_path / "open")
    word = names.word
    assert workload.names["user"] == ("", word("eva"))
    assert [(one.account, one.user) for one in site.associations] == [
        (word(one.account), word(one.user)) for one in plain.associations
    ]
    assert [one.parent for one in site.associations] == ["", "root", word("phys")]
    assert [one.name for one in site.qos] == ["normal", word("phys")]
    assert site.associations[2].default_qos == word("phys")
    assert site.partitions[0].qos == word("phys")
    assert [one.usage for one in site.associations] == [one.usage for one in plain.associations]
    assert word("eva") in site.reservations[0].users
    assert [(one.node, one.begin) for one in site.outages] == [("n1", 1777600000)]
    assert site.setting("TopologyPlugin") == "x" and not site.setting("SlurmUser")


@pytest.mark.parametrize("name", ["N", "E2", "F"])
def test_a_recording_anonymised_is_the_same_site(name: str, tmp_path: Path) -> None:
    """Limits, shares, requests and times do not change."""
    folder, names = recording_path(name), Names(b"0123456789abcdef")
    for path in folder.iterdir():
        if path.name in (
            "nodes.txt", "partitions.txt", "config.txt", "reservations.txt", "associations.txt",
            "qos.txt", "events_sacctmgr.txt", "sacct_resv.txt", "jobs.psv",
        ):  # fmt: skip
            (tmp_path / path.name).write_text(anonymise(path.name, path.read_text(), names))
    site, workload = read_site(tmp_path, submits=False)
    plain, open_load = read_site(folder, submits=False)
    assert names.unread == 0
    assert site.nodes == plain.nodes and site.enforce == plain.enforce
    assert [one.limits for one in site.qos] == [one.limits for one in plain.qos]
    assert [(one.limits, one.shares) for one in site.associations] == [
        (one.limits, one.shares) for one in plain.associations
    ]
    assert [(one.node, one.begin, one.end) for one in site.outages] == [
        (one.node, one.begin, one.end) for one in plain.outages
    ]
    for column in ("submit", "run", "request", "procs", "user", "group", "recorded_start"):
        assert (getattr(workload, column) == getattr(open_load, column)).all(), column


def test_another_key_or_none_is_refused(tmp_path: Path) -> None:
    pulled(tmp_path, Slurm(), names=Names(b"0123456789abcdef"))
    with pytest.raises(UsageError, match="with --anonymise and another key"):
        pulled(tmp_path, Slurm(), names=Names(b"another key of 16"))
    with pytest.raises(UsageError, match="was pulled with --anonymise"):
        pulled(tmp_path, Slurm())


def test_the_key_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "keys" / "key"
    key = load_key(path, beside=tmp_path / "site")
    assert len(key) == 64 and load_key(path, beside=tmp_path / "site") == key
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o644)
    with pytest.raises(UsageError, match="others may read the key"):
        load_key(path, beside=tmp_path / "site")
    with pytest.raises(UsageError, match="to be shared"):
        load_key(tmp_path / "site" / "key", beside=tmp_path / "site")


def fake_commands(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs with the names of Slurm's commands that print a site, first on the PATH."""
    folder.mkdir()
    texts = {f"{key[0]}-{key[1]}": text for key, text in TEXTS.items()}
    texts["sacct-day"] = f"{HEAD}\n{row(1)}\n".replace(BETWEEN, "@0123456789abcdef@")
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text)
    for program in ("scontrol", "sacctmgr", "sshare", "sacct"):
        which = {"sshare": "$1", "sacct": "day"}.get(program, "$2")
        (folder / program).write_text(f'#!/bin/sh\ncat "{folder}/{program}-{which}.txt"\n')
        (folder / program).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


def test_from_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pull, print a script for another machine, import its output, and show the site."""
    fake_commands(tmp_path / "bin", monkeypatch)
    site, raw, shared = (str(tmp_path / name) for name in ("site", "raw", "shared"))
    days = ["--since", "2026-05-01", "--until", "2026-05-02"]
    assert run(["pull", "slurm", *days, "-o", site]) == 0
    assert "1 jobs; 2 days fetched, 0 already present" in capsys.readouterr().out
    assert run(["pull", "slurm", *days, "-o", site, "--print"]) == 0
    printed = capsys.readouterr().out
    assert printed.count(" sacct ") == 2 and "SLURM_TIME_FORMAT=%s" in printed
    os.makedirs(raw)
    assert os.system(f"cd {raw} && sh -c '{printed}'") == 0
    key = str(tmp_path / "key")
    assert run(["pull", "slurm", "--from", raw, "-o", shared, "--anonymise", "--key", key]) == 0
    assert "eva" not in (tmp_path / "shared" / "jobs.psv").read_text()
    assert (tmp_path / "site" / "jobs.psv").read_text().count("\n") == 2


def test_wrong_use_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    site = str(tmp_path / "site")
    for options, message in (
        (["--since", "May"], "is not a day"),
        ([], "give the first day of the log"),
        (["--since", "2026-05-02", "--until", "2026-05-01"], "is after"),
        (["--since", "2026-05-01", "--key", "k"], "give both"),
        (["--since", "2026-05-01", "--print", "--anonymise"], "only prints"),
    ):
        assert run(["pull", "slurm", "-o", site, *options]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert message in line
    monkeypatch.setenv("PATH", str(tmp_path))
    assert run(["pull", "slurm", "--since", "2026-05-01", "--until", "2026-05-01", "-o", site]) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert "scontrol is not installed here" in last and "sacct is not installed here" in last


def test_two_pulls_at_once_are_refused(tmp_path: Path) -> None:
    slurm = Slurm()

    def meanwhile(argv: object, *, text: str = "") -> Done:
        with pytest.raises(UsageError, match="another pull"):
            pulled(tmp_path, Slurm())
        return slurm(argv)

    ask = ask_slurm(meanwhile, lambda: NOON)
    pull(tmp_path, since=DAY, until=DAY, today=NOON.date(), ask=ask)
    assert issubclass(PullError, UsageError)
