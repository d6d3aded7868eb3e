"""Every cleaning rule: what it touches, its switch, its count."""

from __future__ import annotations

import random

import numpy as np
import pytest

from shadowtime.cluster import Cluster, Host
from shadowtime.errors import InputError, UsageError
from shadowtime.trace.swf import parse_swf
from shadowtime.types import NO_LIMIT
from shadowtime.workload import Workload
from shadowtime.workload.clean import RULES, clean, explain, fit
from shadowtime.workload.raw import FIELDS, RawTrace

USUAL = {
    "job_id": 1, "submit": 0, "wait": 5, "run": 60, "procs": 4, "cpu_time": -1, "used_memory": -1,
    "requested_procs": 4, "request": 100, "requested_memory": -1, "status": 1, "user": 7,
    "group": 8, "executable": 9, "queue": 2, "partition": 3, "preceding_job": -1, "think_time": -1,
}  # fmt: skip


DOUBLE = "; Preemption: Double\n"


def raw(*jobs: dict[str, int], header: str = "") -> RawTrace:
    """Lines that differ from a usual one only where given; numbered from 1."""
    rows = [{**USUAL, "job_id": i, "submit": 10 * i, **job} for i, job in enumerate(jobs, 1)]
    text = "\n".join(" ".join(str(row[name]) for name in FIELDS) for row in rows)
    return parse_swf((header + text).encode(), name="small", path="small.swf")


def test_a_good_line_keeps_every_column() -> None:
    w = clean(raw({}))
    got = {
        name: int(getattr(w, name)[0])
        for name in ("job_id", "submit", "run", "request", "limit", "user", "group", "executable",
                     "queue", "partition", "status", "recorded_start")
    }  # fmt: skip
    assert got == {
        "job_id": 1, "submit": 10, "run": 60, "request": 100, "limit": 100, "user": 7, "group": 8,
        "executable": 9, "queue": 2, "partition": 3, "status": 1, "recorded_start": 15,
    }  # fmt: skip
    assert w.procs.tolist() == [4]
    assert not any(w.cleaning.values())
    assert set(w.cleaning) <= set(RULES)


DROPS = [
    ("partial", {"status": 2}, "partial"),
    ("partial", {"status": 3}, "partial"),
    ("partial", {"status": 4}, "partial"),
    ("negative_submit", {"submit": -1}, "negative_submit"),
    ("cancelled", {"status": 5, "run": 0}, "cancelled"),
    ("cancelled", {"status": 5, "run": -1}, "cancelled"),
    ("no_run", {"run": 0}, "no_run"),
    ("no_run", {"run": -1, "status": 0}, "no_run"),
    ("no_procs", {"procs": 0, "requested_procs": -1}, "no_procs"),
]


@pytest.mark.parametrize(("rule", "job", "switch"), DROPS)
def test_a_job_that_cannot_be_scheduled_is_dropped_once_and_counted(
    rule: str, job: dict[str, int], switch: str
) -> None:
    w = clean(raw({}, job, {}, header=DOUBLE))
    assert w.job_id.tolist() == [1, 3]
    assert {name: count for name, count in w.cleaning.items() if count} == {f"{rule}_dropped": 1}


@pytest.mark.parametrize(("rule", "job", "switch"), DROPS)
def test_refuse_names_the_first_line(rule: str, job: dict[str, int], switch: str) -> None:
    with pytest.raises(InputError, match=r"small\.swf, line 2: .*job 2"):
        clean(raw({}, job, {}), **{switch: "refuse"})  # type: ignore[arg-type]


def test_cancelled_while_running_is_a_job_like_any_other() -> None:
    assert len(clean(raw({"status": 5}))) == 1


def test_cancelled_jobs_can_stay_in_the_queue_until_they_were_cancelled() -> None:
    never = {"status": 5, "run": 0}
    w = clean(raw({}, never, never | {"wait": -1}), cancelled="queue-until-cancel")
    assert w.job_id.tolist() == [1, 2]
    assert w.run.tolist() == [60, 60]  # the share of its limit that the other one used
    assert w.extra["cancel_at"].tolist() == [-1, 25]
    assert w.cleaning["cancelled_queued"] == 1
    assert w.cleaning["cancelled_dropped"] == 1


def test_run_zero_can_count_as_one_second() -> None:
    w = clean(raw({"run": 0}, {"run": -1}), no_run="one-second")
    assert w.run.tolist() == [1]
    assert (w.cleaning["no_run_one_second"], w.cleaning["no_run_dropped"]) == (1, 1)


@pytest.mark.parametrize(
    ("overrun", "asked", "limit", "effective", "rule"),
    [
        ("cut", 100, 100, 100, "overrun_cut"),
        ("extend", 150, 150, 150, "overrun_extended"),
        ("keep", 100, NO_LIMIT, 150, "overrun_kept"),
    ],
)
def test_overrun(overrun: str, asked: int, limit: int, effective: int, rule: str) -> None:
    w = clean(raw({"run": 150}, {"run": 99}), overrun=overrun)  # type: ignore[arg-type]
    assert w.run.tolist() == [150, 99]
    assert (w.request[0], w.limit[0], w.effective_run[0]) == (asked, limit, effective)
    assert w.cleaning[rule] == 1


def test_missing_request_becomes_the_run_time() -> None:
    w = clean(raw({"request": -1}, {"request": 0}, {}))
    assert w.request.tolist() == [60, 60, 100]
    assert w.cleaning["request_from_run"] == 2
    assert clean(raw({"request": -1}, {}), missing_request="drop").job_id.tolist() == [2]
    with pytest.raises(InputError, match="line 1"):
        clean(raw({"request": -1}, {}), missing_request="refuse")


def test_processors_fall_back_to_the_other_field() -> None:
    lines = raw({"procs": -1, "requested_procs": 3}, {"procs": 5, "requested_procs": 6})
    w = clean(lines)
    assert w.procs.tolist() == [3, 5]
    assert w.cleaning["procs_from_requested"] == 1
    w = clean(raw({"procs": 2, "requested_procs": -1}, {"procs": 5, "requested_procs": 6}),
              procs_field="requested")  # fmt: skip
    assert w.procs.tolist() == [2, 6]
    assert w.cleaning["procs_from_allocated"] == 1


def test_processors_can_be_rounded_up_to_whole_nodes() -> None:
    w = clean(raw({"procs": 1}, {"procs": 8}, {"procs": 9}), procs_per_node=8)
    assert w.procs.tolist() == [8, 8, 16]
    assert w.cleaning["procs_rounded_to_nodes"] == 2


def test_memory_is_a_second_demand_only_when_asked_for() -> None:
    lines = raw(
        {"requested_memory": 10, "used_memory": 3},
        {"requested_memory": -1, "used_memory": 3},
        {"procs": 2},
    )
    assert clean(lines).resources == ("procs",)
    w = clean(lines, memory=True)
    assert w.resources == ("procs", "memory")
    assert w.demand.tolist() == [[4, 40], [4, 12], [2, 0]]
    assert (w.cleaning["memory_from_used"], w.cleaning["memory_unknown"]) == (1, 1)
    w = clean(lines, memory=True, mem_field="used")
    assert w.demand[:, 1].tolist() == [12, 12, 0]
    assert w.cleaning["memory_from_requested"] == 0


def test_memory_beyond_reason_is_refused_with_its_line() -> None:
    with pytest.raises(InputError, match=r"line 1: job 1 needs more than"):
        clean(raw({"requested_memory": 1 << 52}), memory=True)


def test_gpus_unknown_to_the_format_are_counted() -> None:
    w = clean(raw({}), gpus=True)
    assert (w.resources, w.demand.tolist()) == (("procs", "gpus"), [[4, 0]])
    assert w.cleaning["gpus_unknown"] == 1


def test_out_of_order_submissions_are_sorted_and_counted() -> None:
    lines = raw({"submit": 50}, {"submit": 20}, {"submit": 40}, {"submit": 60})
    w = clean(lines)
    assert w.job_id.tolist() == [2, 3, 1, 4]
    assert w.cleaning["out_of_order_sorted"] == 2
    with pytest.raises(InputError, match="line 2"):
        clean(lines, out_of_order="refuse")


def test_equal_submissions_are_ordered_by_number() -> None:
    w = clean(raw({"job_id": 9, "submit": 1}, {"job_id": 3, "submit": 1}))
    assert w.job_id.tolist() == [3, 9]
    assert w.cleaning["out_of_order_sorted"] == 0


def test_a_line_that_stands_twice_counts_once() -> None:
    line = {"job_id": 5, "submit": 7}
    w = clean(raw(line, {}, line))
    assert w.job_id.tolist() == [5, 2]
    assert w.cleaning["repeated_line_dropped"] == 1
    assert w.cleaning["repeated_id_renumbered"] == 0


def test_a_number_used_twice_keeps_its_first_job() -> None:
    lines = raw({"job_id": 5}, {"job_id": 5, "run": 3}, {"job_id": 8}, {"job_id": -1})
    w = clean(lines)
    assert w.job_id.tolist() == [5, 9, 8, 10]
    assert w.extra["log_id"].tolist() == [5, 5, 8, -1]
    assert w.cleaning["repeated_id_renumbered"] == 1
    assert w.cleaning["missing_id_renumbered"] == 1
    with pytest.raises(InputError, match="line 2"):
        clean(lines, repeated="refuse")


def test_jobs_without_a_number_are_never_copies() -> None:
    same = {"job_id": -1, "submit": 5}
    w = clean(raw(same, same))
    assert w.job_id.tolist() == [1, 2]
    assert w.cleaning["repeated_line_dropped"] == 0


def test_a_dropped_line_does_not_take_a_number() -> None:
    w = clean(raw({"job_id": 5, "run": -1}, {"job_id": 5}))
    assert w.job_id.tolist() == [5]
    assert "log_id" not in w.extra


def test_the_parts_of_a_job_can_be_kept_instead_of_its_summary() -> None:
    """Only the first part has a submission; the others wait from the end of the one before."""
    lines = raw(
        {"job_id": 3, "submit": 0, "wait": 10, "run": 50},
        {"job_id": 3, "submit": 0, "wait": 10, "run": 20, "status": 2},
        {"job_id": 3, "submit": -1, "wait": 100, "run": 30, "status": 3},
        {"job_id": 4, "submit": 5},
        header=DOUBLE,
    )
    summaries = clean(lines)
    assert summaries.job_id.tolist() == [3, 4]
    assert summaries.cleaning["partial_dropped"] == 2
    parts = clean(lines, partial="keep")
    assert parts.submit.tolist() == [0, 5, 30]
    assert parts.recorded_start.tolist() == [10, 10, 130]
    assert parts.job_id.tolist() == [3, 4, 5]
    assert parts.cleaning["summary_dropped"] == 1


@pytest.mark.parametrize("header", ["", "; Preemption: no\n", "; Preemption: TS\n"])
def test_status_2_to_4_are_ordinary_jobs_where_the_header_does_not_say_double(header: str) -> None:
    """Sandia-Ross has such lines and no parts: to drop them would lose work."""
    lines = raw({"status": 2}, {"status": 3}, {"status": 4}, {}, header=header)
    w = clean(lines)
    assert (len(w), w.cleaning["partial_as_jobs"]) == (4, 3)
    assert len(clean(lines, partial="drop")) == 1


def test_an_extra_column_is_a_demand_where_it_is_asked_for() -> None:
    text = b"; ExtraFields: licences bandwidth\n"
    for number, more in enumerate([b"2 10", b"0 -1", b"-1 5"], 1):
        text += b"%d 0 5 9 4 -1 -1 4 60 -1 1 1 1 1 1 1 -1 -1 %s\n" % (number, more)
    w = clean(parse_swf(text, name="x"), others=["licences", "bandwidth"])
    assert w.resources == ("procs", "licences", "bandwidth")
    assert w.demand[:, 1].tolist() == [2, 0, 0]
    assert w.demand[:, 2].tolist() == [40, 0, 20]  # given per process
    assert (w.cleaning["licences_unknown"], w.cleaning["bandwidth_unknown"]) == (1, 1)


def test_an_impossible_wait_leaves_the_recorded_start_unknown() -> None:
    w = clean(raw({"wait": -1}, {"wait": -7}, {"wait": 0}))
    assert w.recorded_start.tolist() == [-1, -1, 30]
    assert w.cleaning["negative_wait_ignored"] == 1


def test_what_the_log_knows_besides_is_kept() -> None:
    w = clean(raw({"cpu_time": 33}, {"run": 0}, {}))
    assert w.extra["cpu_time"].tolist() == [33, -1]
    assert "used_memory" not in w.extra


def test_nothing_left_says_why() -> None:
    with pytest.raises(InputError, match=r"small\.swf: no job is left of 2: 2 jobs without a run"):
        clean(raw({"run": 0}, {"run": -1}))


@pytest.mark.parametrize(
    "switch",
    ["overrun", "cancelled", "partial", "no_run", "no_procs", "negative_submit", "missing_request",
     "repeated", "out_of_order", "procs_field", "mem_field"],
)  # fmt: skip
def test_an_unknown_choice_lists_the_known_ones(switch: str) -> None:
    with pytest.raises(UsageError, match=f"{switch} must be one of .*, not 'perhaps'"):
        clean(raw({}), **{switch: "perhaps"})  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="procs_per_node"):
        clean(raw({}), procs_per_node=0)


def test_every_rule_can_be_explained() -> None:
    assert explain("overrun_cut") == RULES["overrun_cut"]
    assert explain("my_own_rule") == "my own rule"


# Fitting on a machine


def jobs(procs: list[int], **demand: list[int]) -> Workload:
    n = len(procs)
    return Workload.build(submit=range(n), run=[9] * n, procs=procs, demand=demand, name="small")


def test_up_to_one_percent_may_be_too_wide() -> None:
    narrow = [1] * 198
    w = fit(jobs([*narrow, 9, 9]), Cluster.pool(8))
    assert len(w) == 198
    assert w.cleaning["too_wide_dropped"] == 2
    with pytest.raises(InputError, match=r"3 of 201 jobs \(1.5 %\) .*first: job 199"):
        fit(jobs([*narrow, 9, 9, 9]), Cluster.pool(8))
    with pytest.raises(InputError, match="1 of 199"):
        fit(jobs([*narrow, 9]), Cluster.pool(8), too_wide="refuse")


def test_a_workload_that_fits_is_the_same_workload() -> None:
    w = jobs([8, 1])
    assert fit(w, Cluster.pool(8)).demand is w.demand
    assert fit(w, Cluster.pool(8)).cleaning["too_wide_dropped"] == 0


def test_with_hosts_a_job_must_fit_inside_one() -> None:
    hosts = (Host("a", (4, 100)), Host("b", (8, 10)))
    machine = Cluster(shape="hosts", resources=("procs", "memory"), hosts=hosts)
    wide = jobs([4] * 300 + [8, 8, 5], memory=[100] * 300 + [10, 11, 11])
    w = fit(wide, machine)
    assert w.cleaning["too_wide_dropped"] == 2
    assert w.job_id[-1] == 301


def test_with_nodes_the_processes_spread() -> None:
    hosts = tuple(Host(f"n{i}", (4, 100)) for i in range(3))
    nodes = Cluster(shape="nodes", resources=("procs", "memory"), hosts=hosts)
    # 12 processes of 25 fit exactly; of 26 only 3 a node; 7 of 50 do not fit 2 a node.
    w = fit(jobs([12] * 300 + [12, 9, 7], memory=[300] * 300 + [12 * 26, 9 * 26, 350]), nodes)
    assert w.cleaning["too_wide_dropped"] == 2
    assert w.job_id[-1] == 302


def test_resources_are_those_of_the_machine() -> None:
    w = fit(jobs([2, 3]), Cluster.pool(8, memory=10, gpus=2))
    assert w.resources == ("procs", "memory", "gpus")
    assert w.demand.tolist() == [[2, 0, 0], [3, 0, 0]]
    w = fit(jobs([2, 3], gpus=[1, 0], memory=[5, 6]), Cluster.pool(8, memory=10, gpus=2))
    assert w.demand.tolist() == [[2, 5, 1], [3, 6, 0]]


def test_a_demand_the_machine_does_not_count_is_never_lost_silently() -> None:
    w = jobs([2, 3], memory=[5, 0])
    with pytest.raises(UsageError, match=r"1 jobs of small demand memory.*pool:8,memory="):
        fit(w, Cluster.pool(8))
    got = fit(w, Cluster.pool(8), uncounted="ignore")
    assert got.resources == ("procs",)
    assert got.cleaning["memory_ignored"] == 1
    assert fit(jobs([2], memory=[0]), Cluster.pool(8)).cleaning["memory_ignored"] == 0


@pytest.mark.parametrize(
    ("machine", "cluster", "cause"),
    [
        ({"nodes": 4, "procs": 32}, Cluster.pool(4), "header says 4 nodes with 32 processors"),
        ({"procs": 32}, Cluster.pool(8), "smaller than the log's machine.*pool:32"),
        ({}, Cluster.pool(8), "its widest job has 32 processors"),
        ({}, Cluster(shape="hosts", hosts=(Host("a", (16,)), Host("b", (16,)))), "inside one host"),
    ],
)
def test_the_refusal_names_the_likely_cause(
    machine: dict[str, int], cluster: Cluster, cause: str
) -> None:
    with pytest.raises(InputError, match=cause):
        fit(jobs([32] * 10).replace(machine=machine), cluster)


def test_too_much_memory_is_distinguished_from_too_many_processors() -> None:
    with pytest.raises(InputError, match=r"Likely cause: memory .*64GB"):
        fit(jobs([1] * 10, memory=[1000] * 10), Cluster.pool(8, memory=64))


def test_unknown_choices_of_fit() -> None:
    with pytest.raises(UsageError, match="too_wide"):
        fit(jobs([1]), Cluster.pool(8), too_wide="shrink")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="uncounted"):
        fit(jobs([1]), Cluster.pool(8), uncounted="x")  # type: ignore[arg-type]


def test_the_input_is_left_as_it_was() -> None:
    lines = raw({"run": 150}, {"submit": 1, "request": -1})
    before = lines.table.copy()
    clean(lines, overrun="extend", procs_per_node=3, memory=True, no_run="one-second")
    assert np.array_equal(lines.table, before)


@pytest.mark.parametrize("seed", range(60))
def test_numbers_and_order_line_by_line(seed: int) -> None:
    """Repeated lines and numbers, missing numbers, lines out of order or not, one after the other.

    A log that needs no change keeps its columns; the result must be the same.
    """
    draw = random.Random(seed)
    n = draw.randrange(1, 25)
    untidy = seed % 4
    lines = []
    for k in range(n):
        number = draw.randrange(-1, n) if untidy > 1 and draw.random() < 0.3 else k + 1
        submit = draw.randrange(90) if untidy % 2 else 5 * (k // 2)
        lines.append((number, submit, draw.choice((9, 9, 0 if untidy else 9))))
        if untidy and draw.random() < 0.2:
            lines.append(lines[-1])
    text = "".join(f"{i} {s} 0 {r} 2 -1 -1 2 60 -1 1 1 1 1 1 1 -1 -1\n" for i, s, r in lines)
    kept: list[tuple[int, int, int]] = []
    for line in lines:
        if line[2] > 0 and not (line[0] >= 0 and line in kept):
            kept.append(line)
    top, seen, named = max([0, *(i for i, _, _ in kept)]), set(), []
    for number, submit, _ in kept:
        known = number >= 0 and number not in seen
        top += not known
        named.append((submit, number if known else top))
        seen.add(number)
    found = clean(parse_swf(text.encode(), name="lines")) if kept else None
    if found is None:
        return
    assert list(zip(found.submit.tolist(), found.job_id.tolist(), strict=True)) == sorted(named)
    late = [s < max(before for _, before, _ in kept[: k + 1]) for k, (_, s, _) in enumerate(kept)]
    assert found.cleaning["out_of_order_sorted"] == sum(late)
