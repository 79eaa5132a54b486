"""The environments of Gymnasium: the engine steps, and what a policy sets is what the flow gets."""

import itertools
import re
import subprocess
import sys
import warnings

import gymnasium
import numpy as np
import polars as pl
import pytest
from gymnasium.utils.env_checker import check_env

from ackclock import AckclockError, Scenario, metrics, run
from ackclock.base.errors import AlgorithmError
from ackclock.gym import LinkEnv, LinkVectorEnv
from common import ROOT

CUBIC = Scenario.parse(
    {
        "duration": "4s",
        "rtt": "20ms",
        "bottleneck": {"rate": "10mbit", "buffer": "1bdp"},
        "flow": [{"algorithm": "cubic", "count": 2}],
    }
)


def result_of(env, actions, seed=1):
    """Goes through these actions, and then on with the last, to the end of the run."""
    env.reset(seed=seed)
    actions = list(actions)
    for action in itertools.chain(actions, itertools.repeat(actions[-1])):
        *_, over, info = env.step(np.array(action))
        if over:
            return info["result"]
    raise AssertionError


def hash_of(*given, **how):
    return result_of(*given, **how).manifest["trace_hash"]


@pytest.mark.parametrize("how", [{}, {"action": "rate"}, {"every": "ack", "scenario": CUBIC}])
def test_gymnasiums_own_check(how):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # An action is a window in packets: RescaleAction makes other numbers of it.
        warnings.filterwarnings("ignore", ".*symmetric and normalized")
        check_env(gymnasium.make("ackclock.gym:ackclock/Link-v0", **how).unwrapped)


def test_what_is_left_as_it_is_changes_nothing():
    usual = {"scenario": CUBIC, "action": {"beta": (0.3, 0.9), "C": (0.1, 4.0)}}
    for every in ("rtt", "ack"):
        result = result_of(LinkEnv(**usual, every=every), [(0.7, 0.4)])
        plain = run(result.scenario)
        assert result.manifest["trace_hash"] == plain.manifest["trace_hash"]
        assert result.flows.equals(plain.flows)
    assert hash_of(LinkEnv(**usual), [(0.5, 0.4)]) != plain.manifest["trace_hash"]


def test_equal_seeds_and_actions_give_equal_packets():
    env = LinkEnv(CUBIC, action={"window": (2, 60)})
    windows = [(float(each),) for each in np.random.default_rng(1).integers(2, 60, 80)]
    first = hash_of(env, windows)
    assert hash_of(env, windows) == first
    assert hash_of(LinkEnv(CUBIC, action={"window": (2, 60)}), windows) == first
    assert hash_of(env, windows, seed=2) != first
    assert hash_of(env, windows[1:]) != first
    # A window that stays is the same at each ACK.
    each_ack = LinkEnv(CUBIC, action={"window": (2, 60)}, every="ack")
    assert hash_of(each_ack, [(20.0,)]) == hash_of(env, [(20.0,)])


def test_the_window_and_the_rate_are_those_of_the_action():
    alone = CUBIC.replace(flow=[{"algorithm": "reno"}])
    # 10 Mb/s and 20 ms: 16 packets fill the link.
    for window in (5.0, 10.0):
        result = result_of(LinkEnv(alone, action={"window": (2, 60)}), [(window,)])
        windows = result.samples.filter(pl.col("time_us") > 1e6)["cwnd_packets"]
        assert set(windows) == {window}
        of_window = window * 1448 * 8 / metrics.mean_rtt_s(result)[1]
        assert metrics.goodput_bps(result)[0] == pytest.approx(of_window, rel=0.1)
    result = result_of(LinkEnv(alone, action="rate"), [(2.0,)])
    assert metrics.goodput_bps(result)[0] == pytest.approx(2e6, rel=0.01)


def test_each_of_a_vector_is_as_alone():
    how = {"scenario": CUBIC, "action": {"window": (2, 60)}}
    vector = gymnasium.make_vec("ackclock.gym:ackclock/Link-v0", num_envs=3, **how)
    assert isinstance(vector.unwrapped, LinkVectorEnv)
    seen, _ = vector.reset(seed=5)
    alone = [LinkEnv(**how) for _ in range(3)]
    assert np.array_equal(seen, [each.reset(seed=5 + i)[0] for i, each in enumerate(alone)])
    actions, over = np.array([[4.0], [12.0], [30.0]]), np.zeros(3, bool)
    for _ in range(1000):
        seen, rewards, _, now, info = vector.step(actions)
        for i in np.flatnonzero(~over):
            one, reward, _, ends, told = alone[i].step(actions[i])
            assert (seen[i] == one).all()
            assert (rewards[i], now[i]) == (reward, ends)
            if ends:
                of = [each.manifest["trace_hash"] for each in (info["result"][i], told["result"])]
                assert of[0] == of[1]
        over |= now
        if over.all():
            break
    assert over.all()


def test_a_flow_that_ends_ends_the_episode():
    env = LinkEnv(CUBIC.replace(flow=[{"algorithm": "reno", "size": "100kB"}]))
    env.reset(seed=1)
    done = over = False
    while not (done or over):
        _, _, done, over, info = env.step(np.array([10.0]))
    assert (done, over) == (True, False)
    assert info["result"].flows["completed_us"][0] > 0


BAD = """
#define CC_PARAMS(P) P(window, 10, 0, 100, 1, "window, packets")
#include "tcp_cc.h"
CC_HOOK(void, bad_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	tcp_sk(sk)->snd_cwnd = cc_param(sk, window);
}
CC_ALGORITHM(bad, "", .ssthresh = tcp_reno_ssthresh, .cong_avoid = bad_cong_avoid);
"""


def test_a_file_of_ones_own_runs_apart(tmp_path):
    (tmp_path / "bad.c").write_text(BAD)
    scenario = CUBIC.replace(flow=[{"algorithm": str(tmp_path / "bad.c")}])
    env = LinkEnv(scenario, action={"window": (0, 100)})
    assert result_of(env, [(5.0,)]).flows["sent_packets"][0] > 100
    env.reset(seed=1)
    with pytest.raises(AlgorithmError, match="snd_cwnd = 0"):
        env.step(np.array([0.0])), env.step(np.array([0.0]))
    env.reset(seed=1)  # and goes on


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"flow": 3}, "flow = 3: choose from 1 to 2"),
        ({"every": "ms"}, 'every = \'ms\': write "rtt" or "ack"'),
        ({"action": "gain"}, "action = 'gain': write window, rate or bounds"),
        ({"action": {"gain": (0, 1)}}, "action: cubic has no parameter gain; it has beta, C, "),
        (
            {"action": {"beta": (0.5, 1.5)}},
            "action: beta = (0.5, 1.5): give two numbers from 0.001",
        ),
        ({"scenario": CUBIC.replace(flow=[{"algorithm": "none", "stack": "udp"}])}, "choose TCP"),
    ],
)
def test_a_mistake_is_named(how, message):
    with pytest.raises(AckclockError, match=re.escape(message)):
        LinkEnv(**({"scenario": CUBIC} | how))


def test_a_bad_action_is_named_and_the_run_goes_on():
    env = LinkEnv(CUBIC, action={"window": (2, 60)})
    with pytest.raises(AckclockError, match="call reset"):
        env.step(np.array([10.0]))
    env.reset(seed=1)
    for bad in ([1.0], [61.0], [np.nan], [10.0, 10.0], 10.0):
        with pytest.raises(AckclockError, match=r"\(window\): give 1 numbers from \[2.0\] to"):
            env.step(np.array(bad))
    assert result_of(env, [(10.0,)]) is not None


@pytest.mark.slow
def test_the_example_learns_to_beat_renos_delay():
    program = ROOT / "examples" / "gym" / "learn.py"
    done = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, check=True, timeout=600
    )
    found = re.findall(r"(\w+): ([\d.]+) Mb/s, queue delay ([\d.]+) ms", done.stdout)
    (_, mbit, delay), (_, of_reno, renos) = found
    assert float(mbit) > 0.95 * float(of_reno)
    assert float(delay) < 0.1 * float(renos)
