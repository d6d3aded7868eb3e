"""A site in TOML: what people write, what is rejected, and the round trip."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import examples, recording_path
from shadowtime.cluster.site import (
    FOREVER,
    Association,
    Limits,
    Node,
    Outage,
    Partition,
    Qos,
    Reservation,
    Site,
)
from shadowtime.cluster.site_folder import read_site_alone
from shadowtime.cluster.site_toml import is_site_toml, parse_site_toml
from shadowtime.cluster.site_toml_write import format_site_toml
from shadowtime.errors import ClusterError
from shadowtime.slurmtext.hostlist import compress, expand

WORDS = st.text("abcxyz", min_size=1, max_size=4)
COUNTS = st.integers(0, 1 << 40)
MAYBE = st.none() | COUNTS
AMOUNTS = st.dictionaries(st.sampled_from(["cpus", "memory", "nodes", "gpu", "gpu:a100"]), COUNTS)
PREEMPT = st.sampled_from([None, "off", "requeue", "cancel", "suspend"])
TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=6)
LICENCES = TEXT.filter(bool).map("license/{}".format)
MOMENTS = st.integers(1, 4_000_000_000)


@st.composite
def limits(draw: st.DrawFn) -> Limits:
    values = {}
    for name in Limits.__dataclass_fields__:
        whole = name.endswith(("_resources", "_minutes"))
        values[name] = draw(AMOUNTS if whole else MAYBE)
    return Limits(**values)


@st.composite
def sites(draw: st.DrawFn) -> Site:
    resources = ["cpus", *draw(st.sampled_from([[], ["memory"], ["memory", "gpu", "gpu:a100"]]))]
    names = draw(st.lists(st.from_regex(r"[a-c]{1,2}[0-9]{0,3}", fullmatch=True),
                          min_size=1, max_size=6, unique=True))  # fmt: skip
    nodes = []
    for name in names:
        amounts = [draw(st.integers(1, 64)), *(draw(st.integers(0, 9)) for _ in resources[1:])]
        if "gpu" in resources:
            amounts[2] += amounts[3]  # a family has at least what its types have
        memory = amounts[1] if "memory" in resources else 0
        nodes.append(
            Node(
                name=name, amounts=tuple(amounts), features=draw(st.frozensets(WORDS, max_size=2)),
                weight=draw(st.integers(0, 9)), sockets=draw(st.integers(1, 2)),
                threads_per_core=draw(st.integers(1, 2)), near=draw(st.sampled_from([(), (1, 2)])),
                real_memory=draw(st.integers(1, 1 << 40)) if memory else draw(COUNTS),
            )
        )  # fmt: skip
    some = st.lists(st.sampled_from(names), max_size=4, unique=True).map(tuple)
    partitions = [
        Partition(
            name=name, nodes=draw(some), max_time=draw(MAYBE), default_time=draw(MAYBE),
            min_nodes=draw(COUNTS), max_nodes=draw(MAYBE), max_cpus_per_node=draw(MAYBE),
            default_cpus_per_gpu=draw(MAYBE),
            max_memory=draw(MAYBE),
            tier=draw(COUNTS), priority_factor=draw(COUNTS), exclusive=draw(st.booleans()),
            default_memory=draw(MAYBE), default_memory_per=draw(st.sampled_from(["cpu", "node"])),
            qos=draw(TEXT), preempt=draw(PREEMPT), up=draw(st.booleans()),
            default=draw(st.booleans()), billing=draw(st.dictionaries(WORDS, st.floats(0, 9))),
        )
        for name in draw(st.lists(WORDS, max_size=2, unique=True))
    ]  # fmt: skip
    qos = [
        Qos(
            name=name, priority=draw(COUNTS), limits=draw(limits()),
            preempts=tuple(draw(st.lists(WORDS, max_size=2))), preempt=draw(PREEMPT),
            flags=draw(st.frozensets(WORDS, max_size=2)), usage_factor=draw(st.floats(0, 9)),
            grace=draw(COUNTS),
        )
        for name in draw(st.lists(WORDS, max_size=2, unique=True))
    ]  # fmt: skip
    accounts = [
        Association(
            account=name, user=user, partition=draw(TEXT),
            parent=draw(st.sampled_from([name if user else "root", "other"])),
            shares=draw(MAYBE), limits=draw(limits()), default_qos=draw(TEXT),
            allowed_qos=tuple(draw(st.lists(WORDS, max_size=2))), priority=draw(COUNTS),
            usage=draw(st.floats(0, 1e9)),
        )
        for name in draw(st.lists(WORDS, max_size=2, unique=True))
        for user in ("", "eva")
    ]  # fmt: skip
    end = MOMENTS | st.just(FOREVER)
    return Site(
        nodes=tuple(nodes), resources=tuple(resources), partitions=tuple(partitions),
        qos=tuple(qos), associations=tuple(accounts),
        reservations=tuple(
            Reservation(
                name=name, nodes=draw(some), begin=draw(MOMENTS), end=draw(end),
                users=draw(st.frozensets(WORDS, max_size=2)), flags=frozenset({"MAINT"}),
                accounts=draw(st.frozensets(WORDS, max_size=2)),
                known_at=draw(st.none() | MOMENTS), cpus=draw(COUNTS),
            )
            for name in draw(st.lists(WORDS, max_size=2))
        ),
        outages=tuple(
            Outage(
                node=name, begin=draw(MOMENTS), end=draw(end), drain=draw(st.booleans()),
                known_at=draw(st.none() | MOMENTS), reason=draw(TEXT),
            )
            for name in draw(some)
        ),
        amounts=draw(st.dictionaries(LICENCES, COUNTS, max_size=2)),
        config=draw(st.dictionaries(WORDS, TEXT, max_size=2)),
        switches=tuple((name, draw(some)) for name in draw(st.lists(WORDS, max_size=2))),
        requeue=draw(st.booleans()), enforce=draw(st.frozensets(WORDS, max_size=2)),
        name=draw(TEXT),
    )  # fmt: skip


@settings(deadline=None, max_examples=examples(100))
@given(sites())
def test_there_and_back(site: Site) -> None:
    assert parse_site_toml(format_site_toml(site)) == site


@pytest.mark.parametrize("name", ["A", "E2", "F", "H", "I", "L1", "N", "P3", "T"])
def test_recorded_sites_there_and_back(name: str) -> None:
    site = read_site_alone(recording_path(name))
    text = format_site_toml(site)
    again = parse_site_toml(text)
    assert again == site.replace(notes=(), ignored={}, unusable=())
    assert is_site_toml(text)


@settings(deadline=None, max_examples=examples(300))
@given(st.lists(st.from_regex(r"[a-b]{0,2}[0-9]{1,4}[a-b]?", fullmatch=True), max_size=8))
def test_host_lists_there_and_back(names: list[str]) -> None:
    assert expand(compress(names)) == names


HEAD = "[site]\n[[nodes]]\nnames = 'n[1-2]'\ncpus = 4\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (HEAD + "wieght = 3", "nodes 1: there is no key 'wieght': did you mean weight?"),
        (HEAD + "[[partition]]\nname = 'a'", "no key 'partition': did you mean partitions?"),
        (HEAD + "[[partitions]]\nname = 'a'\nnodes = 'n3'", "nodes names node n3"),
        (HEAD + "[[partitions]]\nname = 'a'\nmaxtime = 3", "did you mean max_time"),
        (HEAD + "[[partitions]]\nname = 'a'\nmax_time = 'soon'", "'soon' is not a time limit"),
        (HEAD + "[[qos]]\nname = 'q'\nlimits = { user_job = 2 }", "did you mean user_jobs"),
        (HEAD + "[[qos]]\npriority = 2", "qos 1: name is missing"),
        (HEAD + "[[outages]]\nnodes = 'n1'", "begin is missing"),
        (HEAD + "[[outages]]\nnodes = 'n1'\nbegin = 'now'", "must be a time like"),
        (HEAD + "memory = '12 parsecs'", "is not a memory size"),
        (HEAD + "weight = -1", "weight must be a whole number from 0, not -1"),
        (HEAD + "[partitions]\nname = 'a'", "write [[partitions]] with double brackets"),
        ("[site]", "there is no node in it"),
        ("[site]\n[[nodes]]\nnames = 'n1'", "cpus is missing"),
        ("[site]\n[[nodes]]\nnames = 'n[1'\ncpus = 1", "is not a host list"),
        ("[site]\nx", "Expected '=' after a key"),
        ("[site]\nresources = ['gpu']\n[[nodes]]\nnames = 'n1'\ncpus = 1", "no node has gpu"),
        ("[site]\n[[nodes]]\nnames = 'n1,n1'\ncpus = 1", "node n1 is described twice"),
    ],
)
def test_bad_sites_are_one_sentence(text: str, words: str) -> None:
    with pytest.raises(ClusterError) as caught:
        parse_site_toml(text, path="s.toml")
    assert words in str(caught.value) and "\n" not in str(caught.value)


def test_units_and_times_as_people_write_them() -> None:
    site = parse_site_toml(
        HEAD + "memory = '2GB'\n[[partitions]]\nname = 'a'\nnodes = 'ALL'\nmax_time = '1-12'\n"
        "default_memory = '1GB'\n[[reservations]]\nname = 'm'\nnodes = 'n2'\n"
        "begin = 2026-03-01T08:00:00Z\nend = 2026-03-01T09:00:00+00:00\n[licences]\nmatlab = 3"
    )
    assert site.resources == ("cpus", "memory") and site.nodes[0].amounts == (4, 2 << 20)
    assert site.partitions[0].max_time == 36 * 3600 and site.partitions[0].nodes == ("n1", "n2")
    assert site.reservations[0].end - site.reservations[0].begin == 3600
    assert site.amounts == {"license/matlab": 3}
