"""Environments for agents, as Gymnasium knows them."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import shadowtime as st
from shadowtime.cluster import Host
from shadowtime.cluster.site import Node, Site
from shadowtime.errors import MissingExtra, UsageError
from shadowtime.workload.series import Series


def a_log(n: int = 120) -> st.Workload:
    rng = np.random.default_rng(2)
    request = rng.integers(10, 400, n)
    return st.Workload.build(
        submit=np.sort(rng.integers(0, 20 * n, n)),
        run=np.minimum(request, rng.integers(1, 300, n)),
        request=request,
        procs=rng.integers(1, 17, n),
    )


@pytest.mark.filterwarnings("ignore")  # the checker warns about spaces without a bound
@pytest.mark.parametrize("mode", ["order", "backfill"])
def test_gymnasium_accepts_it(mode):
    """Its own checker, then an episode: the rewards add up to minus the mean slowdown."""
    pytest.importorskip("gymnasium", reason="the extra rl is not installed")
    from gymnasium.utils.env_checker import check_env

    env = st.environment(a_log(), "pool:32", mode=mode, window=40, slots=16)
    check_env(env, skip_render_check=True)
    seen, info = env.reset(seed=4)
    total, over = 0.0, False
    while not over:
        assert seen.shape == (16, 6) and env.observation_space.contains(seen)
        action = int(info["action_mask"].argmax())
        assert env.action_masks()[action]
        seen, reward, over, cut, info = env.step(action)
        total += reward
        assert not cut
    assert total <= -1


def test_a_pool_of_several_resources():
    """A job has a share of each of them, and each is free in part."""
    pytest.importorskip("gymnasium", reason="the extra rl is not installed")
    log = a_log()
    memory = np.column_stack([log.procs, 3 * log.procs])
    log = log.replace(resources=("procs", "memory"), demand=memory)
    env = st.environment(log, "pool:32,memory=64", mode="order", window=40, slots=16)
    seen, info = env.reset(seed=4)
    assert seen.shape == (16, 8) and env.observation_space.contains(seen)
    one = seen[0]
    assert one[2] * 32 * 3 == pytest.approx(one[3] * 64), "three units of memory a processor"
    assert one[5:7].tolist() == [1.0, 1.0], "all is free at the first decision"
    over = False
    while not over:
        seen, reward, over, _, info = env.step(int(info["action_mask"].argmax()))
        assert seen[:, 6].max() <= 1 and reward <= 0


HOSTS = st.Cluster(shape="hosts", hosts=(Host("a", (32,)), Host("b", (32,))))
SITE = Site(nodes=tuple(Node(name=f"n{i}", amounts=(8,)) for i in range(4)))


@pytest.mark.filterwarnings("ignore")  # the checker warns about spaces without a bound
@pytest.mark.parametrize(
    ("machine", "options", "shape", "actions"),
    [
        (SITE, {"mode": "order"}, (16, 6), 16),
        (SITE, {"mode": "backfill"}, (16, 6), 17),
        ("pool:32", {"mode": "resize", "sizes": 3}, (16, 9), 16 * 4 + 1),
        ("pool:32", {"mode": "resize", "speeds": {1000: 1.0, 500: 0.3}}, (16, 9), 16 * 9 + 1),
    ],
)
def test_sites_and_sizes(machine, options, shape, actions):
    """Gymnasium's own checker, and an episode in two lanes of which each ends."""
    pytest.importorskip("gymnasium", reason="the extra rl is not installed")
    from gymnasium.utils.env_checker import check_env

    log = a_log(40)
    log = log.replace(extra={"serial": np.full(len(log), 0.1)})
    env = st.environment(log, machine, window=12, slots=16, **options)
    check_env(env, skip_render_check=True)
    assert env.observation_space.shape == shape and env.action_space.n == actions
    many = st.environment(log, machine, window=12, slots=16, lanes=2, **options)
    _, info = many.reset(seed=3)
    rng, ended, total = np.random.default_rng(4), np.zeros(2, int), 0.0
    for _ in range(5000):
        actions = [rng.choice(np.flatnonzero(mask)) for mask in info["action_mask"]]
        _, reward, over, _, info = many.step(np.array(actions))
        ended, total = ended + over, total + reward.sum()
        if (ended > 0).all():
            break
    assert (ended > 0).all() and total <= -2
    forbidden = np.flatnonzero(info["action_mask"][0] == 0)
    if not over[0] and len(forbidden):
        with pytest.raises(UsageError, match="lane 0: action"):
            many.step(np.array([forbidden[0], 0]))


@pytest.mark.parametrize(
    ("machine", "options", "message"),
    [
        (SITE, {"mode": "resize"}, "changes sizes of jobs on a pool of processors, not on a site"),
        ("pool:32", {"speeds": {1000: 1.0}}, "speeds have no effect in mode='order'"),
        (SITE, {"mode": "backfill", "sizes": 4}, "sizes have no effect in mode='backfill'"),
        ("pool:32", {"mode": "resize", "sizes": 0}, "sizes=0 must be at least 1"),
        (HOSTS, {}, "run on pools and sites"),
    ],
)
def test_what_a_machine_cannot_is_refused(machine, options, message):
    """Each error is one sentence, raised before Gymnasium is imported."""
    with pytest.raises(UsageError, match=message):
        st.environment(a_log(), machine, window=40, **options)
    with pytest.raises(UsageError, match="the series power is a bound that changes over time"):
        cap = Series(name="power", time=np.array([0]), value=np.array([9.0]))
        st.session(a_log().replace(series={"power": cap}), "pool:32")


def test_many_lanes_at_once():
    """In a vector environment a finished lane starts a new episode at the next step."""
    gymnasium = pytest.importorskip("gymnasium", reason="the extra rl is not installed")
    env = st.environment(a_log(), "pool:32", mode="backfill", window=30, slots=8, lanes=5)
    assert isinstance(env, gymnasium.vector.VectorEnv) and env.num_envs == 5
    seen, info = env.reset(seed=1)
    assert seen.shape == (5, 8, 6) and env.single_action_space.n == 9
    ended = np.zeros(5, int)
    before = np.zeros(5, bool)
    for _ in range(200):
        seen, reward, over, cut, info = env.step(info["action_mask"].argmax(axis=1))
        assert not (before & over).any() and not cut.any() and (reward <= 0).all()
        ended += over
        before = over.copy()
    assert (ended >= 2).all()


@pytest.mark.parametrize("mode", ["order", "backfill"])
def test_what_a_vector_environment_returns_stays(mode):
    """Arrays are the caller's; a forbidden action is rejected; the mask always allows one."""
    pytest.importorskip("gymnasium", reason="the extra rl is not installed")
    made = {"mode": mode, "window": 30, "slots": 8, "lanes": 5}
    env = st.environment(a_log(), "pool:32", **made)
    seen, info = env.reset(seed=1)
    kept, ended = [], 0
    for _ in range(80):
        mask = info["action_mask"]
        assert mask.any(axis=1).all(), "also where a lane has ended"
        seen, reward, over, _, info = env.step(mask.argmax(axis=1))
        kept.append((seen, reward, mask, [array.copy() for array in (seen, reward, mask)]))
        assert info["action_mask"][over].all()
        ended += over.sum()
    assert ended > 5
    for *arrays, copies in kept:
        assert all((one == copy).all() for one, copy in zip(arrays, copies, strict=True))
    if not over[2]:
        with pytest.raises(UsageError, match="lane 2: action 99 is not possible, actions are 0 to"):
            env.step(np.array([0, 0, 99, 0, 0]))
    own = st.environment(a_log(), "pool:32", **made, copy=False)
    first, _ = own.reset(seed=1)
    assert own.step(np.zeros(5, int))[0] is first, "the engine's own arrays on request"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "sideways"}, "must be order, backfill or resize"),
        ({"window": 500}, "window of 500 jobs is longer than the log of 120"),
        ({"slots": 0}, "slots=0 must be at least 1"),
    ],
)
def test_what_has_no_meaning_is_refused(options, message):
    """Each error is one sentence, raised before Gymnasium is imported."""
    with pytest.raises(UsageError, match=message):
        st.environment(a_log(), **{"cluster": "pool:32", "window": 40, **options})


def test_the_missing_extra_names_itself(monkeypatch):
    """The error is one sentence that names the extra to install."""
    monkeypatch.delitem(sys.modules, "shadowtime.api.gymnasium_env", raising=False)
    monkeypatch.delattr("shadowtime.api.gymnasium_env", raising=False)
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(MissingExtra, match=r"pip install 'shadowtime\[rl\]'"):
        st.environment(a_log(), "pool:32", window=40)
