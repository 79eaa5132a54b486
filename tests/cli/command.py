"""What tests of the command have in common."""

SCENARIO = """
duration = "2s"
rtt = "20ms"
[bottleneck]
rate = "20mbit"
buffer = "1bdp"
[[flow]]
algorithm = "cubic"
"""


def refused(done, *words):
    assert done.returncode not in (0, 130), done.stdout
    assert "Traceback" not in done.stderr + done.stdout
    assert done.stderr.count("error:") >= 1, done.stderr
    for word in words:
        assert word in done.stderr
