"""shadowtime paper rua: its content, and how the published numbers fit together."""

from __future__ import annotations

from shadowtime.study.papers import published
from shadowtime.study.papers.reproduction import carry_out, find_subjects
from shadowtime.study.papers.rua import LOGS, PAPER
from shadowtime.study.papers.rua.runs import runs, window_of
from shadowtime.study.papers.rua.tables import printed


def test_the_papers_table_4_is_its_table_3():
    """One constant per row: so nothing is compared with Table 4."""
    third, fourth = printed(3), printed(4)
    for place, row in third.items():
        ratios = [fourth[place][column] / value for column, value in row.items()]
        assert max(ratios) - min(ratios) < 0.001


def test_every_claim_is_listed_once():
    """Fourteen rows, each with a number and its place in the paper."""
    claims = published.claims("rua")
    assert len(claims) == 14
    assert all(claim.number and claim.where.startswith("Sec.") for claim in claims.values())


def test_runs_get_distinct_keys():
    """Both values of high demand, three workloads, the ablation, what lies beyond; no key twice."""
    subjects, _ = find_subjects(LOGS, None)
    study = runs(tuple(subjects), (1, 2))
    keys = study.tasks.keys()
    assert len(keys) == 2 * len({key._replace(seed=0) for key in keys})
    assert {key.high for key in keys} == {2000, 1750}
    assert {key.scenario for key in keys} == {"HIGH", "MED", "LOW"}
    assert {key.seed for key in keys} == {1, 2}
    assert {"RUA, limit = request", "FF, limit = request x factor"} <= {k.policy for k in keys}
    assert str(window_of(20_000)) == "without the first 10000 jobs"


def test_the_quick_form_on_a_generated_workload():
    """Tables and figures are there; nothing is compared and nothing is judged."""
    subjects, _ = find_subjects(LOGS, None)
    small = [
        type(subjects[0])(
            label=subjects[0].label,
            workload=subjects[0].workload.take(range(400)),
            cluster=subjects[0].cluster,
        )
    ]
    found = carry_out(PAPER.plan(small, 5, quick=True))
    assert [table.name for table in found.tables][:7] == [f"Table {n}" for n in range(1, 8)]
    assert {"Figure 4", "Figure 6", "Figure 8"} == {figure.name for figure in found.figures}
    assert {claim.verdict for claim in found.claims} == {"not judged"}
    assert found.generated and "generated workload" in found.notes[0]
    killed = found.table("The limit").cell("RUA", "killed by contention")
    assert killed.ours is not None and killed.paper is None
    first_fit = next(point for point in found.more["points"] if point["policy"] == "FF")
    assert found.table("Table 2").cell("FF", "generated").ours == first_fit["bsld_finished_mean"]
    assert len(found.runs["generated"]) == 3
