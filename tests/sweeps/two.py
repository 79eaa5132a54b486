"""A sweep over two flows, as its tests have it in files."""

SCENARIO = """
duration = "2s"
rtt = "20ms"
[bottleneck]
rate = "20mbit"
buffer = "1bdp"
[[flow]]
algorithm = "cubic"
[[flow]]
algorithm = "reno"
start = "100ms"
start_spread = "500ms"
"""
SWEEP = """
scenario = "two.toml"
seeds = 3
metrics = ["utilisation", "share_1", "mine.py:late"]
[axes]
rtt = ["10ms", "20ms"]
bottleneck.buffer = { from = "0.2bdp", to = "2bdp", points = 3, scale = "log" }
"cubic:beta" = [0.5]
"""
#: A reducer of the user's own.
MINE = """
from ackclock import metrics

def late(result):
    return metrics.utilisation(result, 1)

def both(result):
    return {"first": 1, "second": result.scenario.seed}

def wrong(result):
    return 1 / 0

def listed(result):
    return [1]

def of_axis(result):
    return {"rtt_s": 1}

def unnamed(result):
    return {1: 1}

def mixed(result):
    return {"kind": "late" if result.scenario.seed == 2 else 1}
"""
