"""Two flows of an algorithm through a bottleneck, in namespaces that end with this process.

50 Mb/s, 40 ms, 1 BDP of buffer. Losses by overflow; a pause, a slow application, half a second of
silence (a timeout), a jump of the delay (a timeout that is spurious) and a policer.
"""

import ctypes
import fcntl
import heapq
import os
import select
import socket
import struct
import subprocess
import sys
import time

CLONE_NEWNET, TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x40000000, 0x400454CA, 1, 0x1000
BYTES_PER_S, BUFFER_BYTES, DELAY_S = 50e6 / 8, 250_000, 0.02
SILENCE_S, SPIKE_S, POLICED_S = (5.0, 5.5), (11.0, 11.4), (15.5, 18.5)
POLICED_BYTES_PER_S, BUCKET_BYTES = 25e6 / 8, 30_000
RECEIVER, SENDER, PORT = "10.77.0.1", "10.77.0.2", 5001


def namespace(address):
    """Enters a new one, whose only way out is the returned TUN device."""
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "unshare")
    tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH14x", b"ac0", IFF_TUN | IFF_NO_PI))
    for words in (f"addr add {address}/30 dev ac0", "link set ac0 up"):
        subprocess.run(["ip", *words.split()], check=True)
    return tun


def receive(listener):
    sockets = [listener]
    while True:
        for ready in select.select(sockets, [], [])[0]:
            if ready is listener:
                sockets.append(listener.accept()[0])
            elif not ready.recv(1 << 20):
                sockets.remove(ready)


def send(algorithm, phases):
    with socket.socket() as flow:
        flow.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, algorithm.encode())
        flow.connect((RECEIVER, PORT))
        for seconds, chunk, pause_s in phases:
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                if chunk:
                    flow.sendall(bytes(chunk))
                time.sleep(pause_s)


def child(work):
    pid = os.fork()
    if pid == 0:
        try:
            work()
        finally:
            os._exit(0)
    return pid


def forward(data_tun, ack_tun, running):
    begin, free_at, packets = time.monotonic(), 0.0, []
    tokens, filled_at = 0.0, 0.0
    while running():
        now = time.monotonic() - begin
        wait = max(0.0, min(0.05, packets[0][0] - now)) if packets else 0.05
        for tun in select.select([data_tun, ack_tun], [], [], wait)[0]:
            packet, now = os.read(tun, 65536), time.monotonic() - begin
            arrival = now + DELAY_S
            if tun == data_tun:
                free_at = max(free_at, now)
                lost = (free_at - now) * BYTES_PER_S > BUFFER_BYTES
                if lost or SILENCE_S[0] < now < SILENCE_S[1]:
                    continue
                if POLICED_S[0] < now < POLICED_S[1]:
                    earned = (now - filled_at) * POLICED_BYTES_PER_S
                    tokens, filled_at = min(BUCKET_BYTES, tokens + earned), now
                    if tokens < len(packet):
                        continue
                    tokens -= len(packet)
                free_at += len(packet) / BYTES_PER_S
                spike_s = max(0.0, SPIKE_S[1] - now) if now > SPIKE_S[0] else 0.0
                arrival += free_at - now + spike_s
            heapq.heappush(packets, (arrival, len(packets), tun, packet))
        while packets and packets[0][0] <= time.monotonic() - begin:
            _, _, tun, packet = heapq.heappop(packets)
            os.write(ack_tun if tun == data_tun else data_tun, packet)


def main():
    algorithm = sys.argv[1]
    receiver_tun = namespace(RECEIVER)
    listener = socket.create_server((RECEIVER, PORT))
    receiver = child(lambda: receive(listener))
    sender_tun = namespace(SENDER)
    bulk = (65536, 0)
    long = [(8, *bulk), (0.7, 0, 0.7), (5, *bulk), (1, 20_000, 0.05), (5, *bulk)]
    short = [(2, 0, 2), (12, *bulk)]
    flows = [child(lambda phases=phases: send(algorithm, phases)) for phases in (long, short)]
    end = time.monotonic() + 30

    def running():
        for flow in list(flows):
            if os.waitpid(flow, os.WNOHANG)[0]:
                flows.remove(flow)
        return flows and time.monotonic() < end

    forward(sender_tun, receiver_tun, running)
    for pid in [receiver, *flows]:
        os.kill(pid, 9)
        os.waitpid(pid, 0)


if __name__ == "__main__":
    main()
