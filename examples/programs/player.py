"""Plays 60 s of video: the fuller its buffer, the higher the quality. For player.toml.

Which quality is a line between 4 and 16 s of buffer, as in Huang et al. (SIGCOMM 2014).
"""

import time
from http.client import HTTPConnection

RATES_KBIT = (500, 1000, 2000, 4000, 6000, 8000)
SEGMENT_S, SEGMENTS, MOST_S = 2.0, 30, 20.0
LOW_S, HIGH_S = 4.0, 16.0

server = HTTPConnection("server")
began = last = time.monotonic()
buffered_s = stood_s = 0.0
for number in range(SEGMENTS):
    share = (buffered_s - LOW_S) / (HIGH_S - LOW_S)
    kbit = RATES_KBIT[round(min(max(share, 0), 1) * (len(RATES_KBIT) - 1))]
    server.request("GET", f"/{kbit}")
    server.getresponse().read()
    now = time.monotonic()
    if number:
        stood_s += max(now - last - buffered_s, 0)
        buffered_s = max(buffered_s - (now - last), 0)
    buffered_s += SEGMENT_S
    last = now
    print(f"{now - began:6.2f} s  {kbit:4} kb/s  {buffered_s:5.2f} s buffered", flush=True)
    if buffered_s > MOST_S:
        time.sleep(buffered_s - MOST_S)
print(f"stood still for {stood_s:.2f} s")
