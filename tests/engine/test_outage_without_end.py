"""A node that is out of service and has no date of return."""

from __future__ import annotations

import pytest

from shadowtime.cluster.site import FOREVER
from shadowtime.cluster.site_toml import parse_site_toml
from shadowtime.cluster.site_toml_write import format_site_toml
from shadowtime.engine import simulate
from shadowtime.policy import parse_policy
from shadowtime.workload import Workload
from shadowtime.workload.request import Request, Requests

BEGIN = 1_772_323_200
"""2026-03-01, the clock's zero of the log."""
SITE = """
[site]
[[nodes]]
names = "n[1-3]"
cpus = 4
[[outages]]
nodes = "n3"
begin = 2026-03-01T00:00:10Z
drain = {drain}
"""


@pytest.mark.parametrize("drain", ["true", "false"])
@pytest.mark.parametrize("policy", ["fcfs", "easy", "lxfw", "conservative", "selective", "pv-easy"])
def test_nothing_is_planned_behind_it(policy: str, drain: str) -> None:
    """A job for three nodes never starts, and the jobs behind it do: no plan lies 17,000 years on,
    where the end of such an outage once was an instant like any other."""
    site = parse_site_toml(SITE.format(drain=drain))
    assert site.outages[0].end == FOREVER
    assert parse_site_toml(format_site_toml(site)).outages == site.outages
    asked = [Request(nodes=n, max_nodes=n, tasks=4 * n) for n in (1, 3, 2, 1, 1)]
    jobs = Workload.build(
        submit=[0, 20, 21, 22, 23],
        run=[50] * 5,
        procs=[one.cpus for one in asked],
        requests=Requests.of_jobs(asked),
        epoch=BEGIN,
    )
    made = simulate(jobs, site, parse_policy(policy))
    assert made.unstarted.tolist() == [False, True, False, False, False]
    assert made.end.max() < 400
