"""Learns to use a link with a shorter queue than Reno's: `python learn.py`, a minute of 2 cores.

Each round trip the policy multiplies its window by exp(tanh(weights · observation) / 4). The
cross-entropy method (Rubinstein 1999) finds the 7 weights: the best 6 of 32 policies say where
the next are drawn.
"""

import numpy as np
from gymnasium.spaces import Box

from ackclock import Scenario, metrics, run
from ackclock.gym import LinkEnv, LinkVectorEnv, mtp

POLICIES, BEST, GENERATIONS = 32, 6, 15
SCENARIO = Scenario(
    duration="15s",
    rtt="40ms",
    bottleneck={"rate": "10mbit", "buffer": "4bdp"},
    flow=[{"algorithm": "reno"}],
)
HOW = {
    "scenario": SCENARIO,
    "action": {"window": (2, 400)},
    "observe": lambda step: np.append(mtp(step), np.float32(step.cwnd_packets)),
    "observed": Box(0, np.inf, (7,)),
    # The share of the link in use, times the shortest RTT over the RTT, for each second.
    "reward": lambda step: step.throughput_bps / 1e7 * step.min_rtt_s / step.srtt_s * step.period_s,
}


def windows(weights: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """What policies with these weights make of what they see: a row for each."""
    inputs = np.column_stack([seen[:, :6], np.ones(len(seen))])
    factor = np.exp(np.tanh((weights * inputs).sum(axis=1)) / 4)
    return np.clip(seen[:, 6] * factor, 2, 400)[:, None].astype(float)


def scores(env: LinkVectorEnv, weights: np.ndarray, seed: int) -> np.ndarray:
    """The reward of a run of each policy."""
    seen, _ = env.reset(seed=[seed] * POLICIES)
    score, ended = np.zeros(POLICIES), np.zeros(POLICIES, bool)
    while not ended.all():
        seen, rewards, _, over, _ = env.step(windows(weights, seen))
        score += np.where(ended, 0, rewards)
        ended |= over
    return score


def learned() -> np.ndarray:
    """The weights."""
    random = np.random.default_rng(1)
    mean, deviation = np.zeros(7), np.ones(7)
    env = LinkVectorEnv(POLICIES, **HOW)
    for generation in range(GENERATIONS):
        weights = mean + deviation * random.standard_normal((POLICIES, 7))
        score = scores(env, weights, seed=generation)
        best = weights[np.argsort(score)[-BEST:]]
        mean, deviation = best.mean(axis=0), best.std(axis=0) + 0.05
        print(f"generation {generation + 1}: {np.median(score) / 15:.3f} of 1", flush=True)
    return mean


def tried(weights: np.ndarray, seed: int) -> None:
    """Prints what the policy and Reno reach with a seed that it has not seen."""
    env = LinkEnv(**HOW)
    seen, _ = env.reset(seed=seed)
    over, info = False, {}
    while not over:
        seen, _, _, over, info = env.step(windows(weights, seen[None])[0])
    for name, result in ("learned", info["result"]), ("reno", run(SCENARIO.replace(seed=seed))):
        mbit, delay_s = metrics.goodput_bps(result)[0] / 1e6, metrics.queue_delays_s(result).mean()
        print(f"{name}: {mbit:.2f} Mb/s, queue delay {1e3 * delay_s:.1f} ms")


if __name__ == "__main__":
    tried(learned(), seed=1_000)
