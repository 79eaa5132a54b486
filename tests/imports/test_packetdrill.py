"""Scripts in packetdrill's language, of our own words, run on the simulator's endpoint."""

import pytest

from ackclock import AckclockError
from ackclock.imports import packetdrill

#: A server with segments of 1000 bytes; the handshake takes 100 ms.
SERVER = """// A server.
`../common/defaults.sh`
  0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
 +0 bind(3, ..., ...) = 0   /* any port */
 +0 listen(3, 1) = 0
 +0 < S 0:0(0) win 32792 <mss 1000,sackOK,nop,nop,nop,wscale 7>
 +0 > S. 0:0(0) ack 1 <...>
+.1 < . 1:1(0) ack 1 win 320
 +0 accept(3, ..., ...) = 4
"""
#: Of six segments the first is lost; the third SACK shows it. The window falls to 7/10.
LOSS = """ +0 write(4, ..., 6000) = 6000
 +0 > P. 1:6001(6000) ack 1
+.1 < . 1:1(0) ack 1 win 320 <sack 1001:2001,nop,nop>
 +0 < . 1:1(0) ack 1 win 320 <sack 1001:3001,nop,nop>
 +0 < . 1:1(0) ack 1 win 320 <sack 1001:4001,nop,nop>
 +0 %{
assert tcpi_ca_state == TCP_CA_Recovery, tcpi_ca_state
assert 6 < tcpi_snd_ssthresh <= 7
}%
 +0 > . 1:1001(1000) ack 1
+.1 < . 1:1(0) ack 6001 win 320
 +0 %{ sent = 6; sent += 1; assert tcpi_snd_cwnd == sent, tcpi_snd_cwnd; \\
       assert tcpi_unacked == 0 }%
"""
CLOSE = """ +0 close(4) = 0
 +0 > F. 6001:6001(0) ack 1
+.1 < F. 1:1(0) ack 6002 win 320
 +0 > . 6002:6002(0) ack 2
"""
#: A client whose peer shows no window for 1 s: probes after 300 and 600 ms, or up to 64 ms later.
CLIENT = """--tolerance_usecs=8000
  0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
 +0 connect(3, ..., ...) = -1 EINPROGRESS (Operation now in progress)
 +0 > S 0:0(0) <mss 1460,sackOK,TS val 100 ecr 0,nop,wscale 8>
+.1 < S. 0:0(0) ack 1 win 0 <mss 1000,nop,nop,sackOK>
 +0 > . 1:1(0) ack 1
 +0 write(3, ..., 1000) = 1000
+.3~+.31 > . 0:0(0) ack 1
+.6~+.62 > . 0:0(0) ack 1
+.1 < . 1:1(0) ack 1 win 4000
 +0 %{ assert 1000000 <= tcpi_rwnd_limited <= 1070000 }%
  * > P. 1:1001(1000) ack 1
 +0 < P. 1:501(500) ack 1001 win 4000
 +0 > . 1001:1001(0) ack 501
"""
#: A closed socket gets data.
RESET = " +0 < . 1:101(100) ack 6001 win 320\n +0 > R 6002:6002(0)\n"


@pytest.fixture
def script(tmp_path):
    def write(text):
        file = tmp_path / "s.pkt"
        file.write_text(text)
        return file

    return write


@pytest.mark.parametrize(
    "text",
    [
        SERVER + LOSS + CLOSE,
        SERVER + LOSS + "".join(CLOSE.splitlines(keepends=True)[:2]) + RESET,
        CLIENT,
    ],
)
def test_what_linux_does_passes(script, text):
    passes, listing = packetdrill.run(script(text))
    assert passes, listing


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("> . 1:1001(1000)", "> P. 1:1001(1000)"),
        ("> . 1:1001(1000)", "> . 1001:2001(1000)"),
        ("tcpi_snd_ssthresh <= 7", "tcpi_snd_ssthresh <= 6"),
        (" +0 > . 1:1001", "+.02 > . 1:1001"),
        ("sack 1001:4001", "sack 1001:3002"),  # parts of a segment say nothing
        ("> . 6002:6002(0) ack 2", "> . 6002:6002(0) ack 1"),
    ],
)
def test_something_else_fails(script, right, wrong):
    text = SERVER + LOSS + CLOSE
    assert text.count(right) == 1
    passes, listing = packetdrill.run(script(text.replace(right, wrong)))
    assert not passes
    assert sum(line.startswith("-->") for line in listing.splitlines()) == 1


def test_settings_reach_the_endpoint():
    settings = """`sysctl -q net.ipv4.tcp_early_retrans=0 net/ipv4/tcp_recovery=0 2>/dev/null
../common/set_sysctls.py /proc/sys/net/ipv4/tcp_min_tso_segs=10 \\
   /proc/sys/net/ipv4/tcp_tso_win_divisor=100
echo 0 > /sys/module/tcp_cubic/parameters/hystart
tc qdisc replace dev tun0 root fq`
"""
    said = packetdrill.translate(SERVER + settings)
    wanted = {"without tlp", "without rack", "without idle-restart", "bursts from 10", "paced"}
    assert wanted | {"cc cubic:hystart=0", "mss 1000", "rtt 100"} <= set(said.text.splitlines())
    assert said.notes == ["tcp_tso_win_divisor is 3 here, and 100 in the script"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (" +0 sendfile(5, 6, [0], 5) = 5\n", "line 10: sendfile() is not said"),
        (" +0 write(4, ..., 9) = -1 EPIPE\n", "line 10: write() that fails is not said"),
        ("`tc qdisc add dev tun0 root pfifo limit 0`", "line 10: `tc qdisc add dev tun0 root"),
        ("+0 %{ assert tcpi_rto == 5 }%", "line 10: tcpi_rto is not among"),
        ("+0 %{ import os }%", "line 10: `import os`: write assert"),
        ("+0 %{ assert ( }%", "line 10: "),
        ("+0 < . 1:1(0) ack 1 win 5 <md5 x>", "line 10: the option md5"),
        ("+0 < S 0:0(0) win 5", "line 10: a SYN that comes again"),
        ("+0 write(4, ..., 999) = 999\n+0 write(4, ..., 9) = 9", "line 11: a write behind one"),
        ("+0 setsockopt(4, SOL_TCP, TCP_MD5SIG, [1], 4) = 0", "line 10: TCP_MD5SIG is not"),
        ("`sysctl net.ipv4.tcp_fack=1`", "tcp_fack is not simulated"),
        ("--mss=1000", "line 10: the option --mss=1000"),
        ("what", "line 10: 'what' is no event"),
        ("`open", "line 10: "),
    ],
)
def test_what_is_not_said_is_one_line(text, why):
    with pytest.raises(AckclockError) as refused:
        packetdrill.translate(SERVER + text)
    assert str(refused.value).startswith(why)
    assert "\n" not in str(refused.value)


def test_the_command(ackclock, script, tmp_path):
    good = script(SERVER + LOSS)
    bad = tmp_path / "bad.pkt"
    bad.write_text(SERVER + LOSS.replace("6000", "7000"))
    done = ackclock("packetdrill", good)
    assert (done.returncode, done.stdout) == (0, f"passed {good}\n")
    done = ackclock("packetdrill", good, bad, tmp_path / "none.pkt")
    assert done.returncode == 1
    assert f"failed {bad}\n" in done.stdout
    assert f"not said {tmp_path}/none.pkt: No such file" in done.stdout
