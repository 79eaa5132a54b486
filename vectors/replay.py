"""Checks a model of standard TCP (RFC 5681, packets counted as Linux 6 does) with reno.json."""

import json
import pathlib


def steps_that_differ(case, beta=0.5):
    cwnd, cnt, ssthresh, prior, recovery, limit = 10, 0, 2147483647, (0, 0), False, 0
    for number, ((name, _time, *inputs), *outputs) in enumerate(case["steps"]):
        for _ in range(inputs[2] if name == "ack" and not recovery else 0):
            if not limit or cwnd < min(ssthresh, 2 * limit):
                left = min(inputs[0], max(cwnd + inputs[0] - ssthresh, 0))
                cwnd += inputs[0] - left
                cwnd, cnt = (cwnd + 1, 0) if left and cnt >= cwnd else (cwnd, cnt)
                cwnd, cnt = cwnd + (cnt + left) // cwnd, (cnt + left) % cwnd
        if name in ("loss", "timeout"):
            prior, recovery = (cwnd, max(ssthresh, cwnd // 2 + cwnd // 4)), name == "loss"
            cwnd, cnt, ssthresh = cwnd if recovery else 1, 0, max(int(cwnd * beta), 2)
        elif name == "recovered" and recovery:
            cwnd, recovery = ssthresh, False
        elif name == "undo":
            cwnd, ssthresh, recovery = max(cwnd, prior[0]), max(ssthresh, prior[1]), False
        elif name == "limit":
            limit = inputs[0]
        if outputs[:3] != [cwnd, cnt, ssthresh]:
            yield number


if __name__ == "__main__":
    for case in json.loads(pathlib.Path(__file__).with_name("reno.json").read_text())["cases"]:
        if case["kernel"] == "linux-6":
            print(case["spec"], case["script"], list(steps_that_differ(case)) or "agrees")
