"""Environments of Gymnasium: a policy sets window, rate or parameters of a flow as its run goes on.

`pip install "ackclock[gym]"`. `LinkEnv` is one run, `LinkVectorEnv` several at a time, each on a
core; `gymnasium.make("ackclock.gym:ackclock/Link-v0")` and `make_vec` find both.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ackclock import _core
from ackclock.base.errors import AckclockError
from ackclock.results.result import from_engine
from ackclock.scenario import snapshot
from ackclock.scenario.scenario import Scenario

try:
    import gymnasium
    from gymnasium.spaces import Box, Space
    from gymnasium.vector import SyncVectorEnv
    from gymnasium.vector.utils import iterate
except ImportError:
    raise AckclockError('gymnasium is missing; type pip install "ackclock[gym]"') from None

Array = NDArray[np.float32]
#: Parameters that a policy sets, and their least and greatest values.
Bounds = Mapping[str, tuple[float, float]]
#: The algorithm whose window or rate is what it is told.
_GIVEN = Path(__file__).with_name("given.c")
#: The scenario of who gives none.
_LINK: dict[str, Any] = {"duration": "30s", "rtt": "40ms", "flow": [{"algorithm": "reno"}]}
_LINK |= {"bottleneck": {"rate": "10mbit", "buffer": "4bdp"}}


@dataclass(frozen=True)
class Step:
    """What the sender knows at the end of a step, and what went on in it."""

    time_s: float
    period_s: float
    acks: int
    delivered_packets: int
    lost_packets: int
    #: Delivered payload over the period; the greatest of the run so far, this one included.
    throughput_bps: float
    most_bps: float
    srtt_s: float
    min_rtt_s: float
    cwnd_packets: int
    in_flight_packets: int
    pacing_bps: float

    @property
    def loss(self) -> float:
        """Share of packets that were lost, of those whose fate became known."""
        return self.lost_packets / max(self.lost_packets + self.delivered_packets, 1)


#: The space of `mtp`: what Orca observes in a monitoring time period, without units.
MTP = Box(0, 10, (6,), np.float32)


def mtp(step: Step) -> Array:
    """Throughput, loss, delay, ACKs, period and packets in flight, as shares.

    Of the greatest throughput, of the packets, minimum RTT of smoothed RTT, of the window, of the
    smoothed RTT, of the window; 10 at most.
    """
    return np.clip(
        [
            step.throughput_bps / step.most_bps if step.most_bps else 0,
            step.loss,
            step.min_rtt_s / step.srtt_s if step.srtt_s else 1,
            step.acks / step.cwnd_packets,
            step.period_s / step.srtt_s if step.srtt_s else 0,
            step.in_flight_packets / step.cwnd_packets,
        ],
        0,
        10,
    ).astype(np.float32)


def orca(step: Step) -> float:
    """(Throughput - 5 times what is lost) / RTT, of the greatest throughput / minimum RTT.

    An RTT up to 1.25 times the minimum counts as that: the reward of Orca (Abbasloo, Yen, Chao,
    SIGCOMM 2020).
    """
    if not step.most_bps or not step.srtt_s:
        return 0.0
    delay = max(step.srtt_s / (1.25 * step.min_rtt_s), 1.0)
    lost = step.lost_packets / max(step.delivered_packets, 1)
    return step.throughput_bps / step.most_bps * (1 - 5 * lost) / delay


class LinkEnv(gymnasium.Env[Array, NDArray[np.float64]]):
    """A run of a scenario, in which a policy sets something of one flow at each step.

    `action` is "window" (packets), "rate" (Mbit/s), or parameters of the flow's algorithm with
    their bounds, {"beta": (0.3, 0.9)}; also window or rate, {"window": (1, 50)}. A step lasts
    until the next ACK (`every="ack"`), or the first that comes a smoothed RTT later ("rtt").
    `observe` makes the observation of a `Step`, in the space `observed`; `reward` its reward.
    `flow` counts from 1. Each episode has a seed of its own, drawn from that of `reset`; equal
    seeds and actions give equal packets. At its end `info["result"]` is the `ackclock.Result`.

    Raises `AckclockError` that names argument, value and fix.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 (Gymnasium's)

    def __init__(
        self,
        scenario: Scenario | None = None,
        *,
        flow: int = 1,
        action: Literal["window", "rate"] | Bounds = "window",
        every: Literal["rtt", "ack"] = "rtt",
        observe: Callable[[Step], Any] = mtp,
        observed: Space[Any] = MTP,
        reward: Callable[[Step], float] = orca,
    ) -> None:
        if every not in ("rtt", "ack"):
            raise AckclockError(f'every = {every!r}: write "rtt" or "ack"')
        scenario = scenario or Scenario(**_LINK)
        known = snapshot.Snapshots()
        self._held = partial(snapshot.held, known)
        with self._held():
            resolved = json.loads(scenario.resolve())
            if not 1 <= flow <= len(resolved["flows"]):
                raise AckclockError(f"flow = {flow}: choose from 1 to {len(resolved['flows'])}")
            mine = resolved["flows"][flow - 1]
            if mine.get("stack", "tcp") != "tcp":
                raise AckclockError(f"flow = {flow}: is of a {mine['stack']} stack; choose TCP")
            bits = 8 * mine.get("mss_bytes", resolved["mss_bytes"])
            bps = _core.capacity_bps(resolved)
            rtt_s = _core.rtts_ns(json.dumps(resolved))[flow - 1] / 1e9
            usual = {"window": max(4 * bps * rtt_s / bits, 10.0), "rate": 2 * bps / 1e6}
            if isinstance(action, str):
                if action not in usual:
                    raise AckclockError(f"action = {action!r}: write window, rate or bounds")
                action = {action: (1.0 if action == "window" else 0.05, usual[action])}
            spec = str(mine["algorithm"])
            own = {each["name"] for each in known.core.configure(spec)["params"]}
            if {*action} & {*usual} - own:
                spec = f"{_GIVEN}:rate={action['rate'][0]}" if "rate" in action else str(_GIVEN)
                scenario = scenario.assign(f"flow.{flow}.algorithm={spec}")
            self._bounds(known.core.configure(spec), action)
            scenario.prepare()
        self.scenario, self.flow, self.names, self._each_ack = (
            scenario,
            flow,
            [*action],
            every == "ack",
        )
        low, high = np.array([*action.values()], np.float64).T
        self._box = Box(low, high, dtype=np.float64)
        self.action_space = self._box
        self.observation_space = observed
        self._observe, self._reward, self._bits = observe, reward, bits
        self._run: _core.Stepped | None = None
        self._begun = False

    def _bounds(self, algorithm: Mapping[str, Any], action: Bounds) -> None:
        """Raises `AckclockError` where an action is of no parameter, or beyond its range."""
        name, params = algorithm["name"], {each["name"]: each for each in algorithm["params"]}
        for key, (low, high) in action.items():
            if key not in params:
                known = ", ".join(params) or "none"
                raise AckclockError(f"action: {name} has no parameter {key}; it has {known}")
            of = params[key]
            if not of["min"] <= low < high <= of["max"]:
                fix = f"give two numbers from {of['min']} to {of['max']}, the lower first"
                raise AckclockError(f"action: {key} = ({low}, {high}): {fix}")
        self._whole = np.array([isinstance(params[key]["default"], int) for key in action])

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begins a run, and goes to its first ACK."""
        super().reset(seed=seed, options=options)
        self._scenario = self.scenario.replace(seed=int(self.np_random.integers(1, 2**31)))
        with self._held():
            self._prepared = self._scenario.prepare()
        self._run = None  # ends what was not at its end
        self._run = _core.Stepped(self._prepared, self.flow, self.names, self._each_ack)
        self._seen: Mapping[str, int] = dict.fromkeys(("time_ns", "acks", "delivered", "lost"), 0)
        self.last, self._begun = Step(*[0] * 12), False
        seen = self._run.wait()
        if "trace_hash" in seen:
            raise AckclockError(f"flow = {self.flow}: no ACK comes in {self._scenario.duration}")
        return self._observe(self._stepped(seen)), {}

    def begin(self, action: NDArray[np.float64]) -> None:
        """Begins the step that `step` then waits for: meanwhile others run."""
        if self._run is None:
            raise AckclockError("step: the run is at its end, or has none; call reset()")
        if not self._box.contains(np.asarray(action, np.float64)):
            low, high = self._box.low.tolist(), self._box.high.tolist()
            fix = f"give {len(self.names)} numbers from {low} to {high}"
            raise AckclockError(f"action = {action} ({', '.join(self.names)}): {fix}")
        self._run.set(np.where(self._whole, np.rint(action), action).tolist())
        self._begun = True

    def step(self, action: NDArray[np.float64]) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Sets the action, and goes on to the end of the step."""
        if not self._begun:
            self.begin(action)
        assert self._run is not None
        self._begun = False
        seen = self._run.wait()
        if "trace_hash" not in seen:
            step = self._stepped(seen)
            return self._observe(step), float(self._reward(step)), False, False, {}
        self._run = None
        result = from_engine(self._scenario, self._prepared, seen)
        done = bool(result.flows["completed_us"][self.flow - 1])
        return self._observe(self.last), 0.0, done, not done, {"result": result}

    def _stepped(self, seen: dict[str, int]) -> Step:
        before, self._seen = self._seen, seen
        period_ns = seen["time_ns"] - before["time_ns"]
        packets = seen["delivered_packets"] - before.get("delivered_packets", 0)
        bps = packets * self._bits * 1e9 / period_ns if period_ns and before["acks"] else 0.0
        self.last = Step(
            time_s=seen["time_ns"] / 1e9,
            period_s=period_ns / 1e9,
            acks=seen["acks"] - before["acks"],
            delivered_packets=packets,
            lost_packets=seen["lost_packets"] - before.get("lost_packets", 0),
            throughput_bps=bps,
            most_bps=max(bps, self.last.most_bps),
            srtt_s=seen["srtt_us"] / 1e6,
            min_rtt_s=seen["min_rtt_us"] / 1e6,
            cwnd_packets=seen["cwnd_packets"],
            in_flight_packets=seen["in_flight_packets"],
            pacing_bps=8.0 * seen["pacing_bytes_per_s"],
        )
        return self.last


class LinkVectorEnv(SyncVectorEnv):
    """Several `LinkEnv` whose engines run at the same time; takes what one takes."""

    def __init__(self, num_envs: int = 1, **how: Any) -> None:
        super().__init__([partial(LinkEnv, **how)] * num_envs)

    def step(self, actions: Any) -> Any:
        """As `SyncVectorEnv.step`."""
        of_each: Sequence[Any] = list(iterate(self.action_space, actions))
        for env, action, resets in zip(self.envs, of_each, self._autoreset_envs, strict=True):
            if isinstance(env, LinkEnv) and not resets:
                env.begin(action)
        return super().step(actions)


gymnasium.register(
    "ackclock/Link-v0", f"{__name__}:LinkEnv", vector_entry_point=f"{__name__}:LinkVectorEnv"
)
