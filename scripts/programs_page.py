"""Programs on Linux in virtual time: what they do, how fast, beside the simulator.

`python scripts/programs_page.py docs` runs each once, and writes the table of docs/programs.md. The
tests run each twice.
"""

import hashlib
import json
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from ackclock import Flow, Scenario, run
from ackclock.hosts import linux
from ackclock.results.capture import explain

ROOT = Path(__file__).parents[1]
ACKCLOCK = Path(sys.executable).with_name("ackclock")
MARKS = "<!-- scripts/programs_page.py writes this -->", "<!-- until here -->"
LINK = """
duration = "60s"
rtt = "40ms"
[bottleneck]
rate = "50mbit"
buffer = "1bdp"
[[flow]]
algorithm = "cubic"
[[flow]]
algorithm = "cubic"
direction = "reverse"
"""
SIZE = 20_000_000
NGINX = """daemon off; pid /tmp/nginx.pid; error_log stderr; user root;
events {} http { access_log off; server { listen 443 ssl http2; root %s;
ssl_certificate /run/ackclock/cert.pem; ssl_certificate_key /run/ackclock/key.pem; } }
"""
RSYNC = "use chroot = no\nuid = root\n[here]\npath = %s\n"
NODE = "require('http').createServer((q, r) => r.end(Buffer.alloc(%d))).listen(80)"
JAVA = """import com.sun.net.httpserver.*;
class Serve { public static void main(String[] words) throws Exception {
  HttpServer server = HttpServer.create(new java.net.InetSocketAddress(80), 0);
  server.createContext("/", of -> { of.sendResponseHeaders(200, %d);
    of.getResponseBody().write(new byte[%d]); of.close(); }); server.start(); } }
"""
GO = """package main
import "net/http"
func main() { http.HandleFunc("/", func(to http.ResponseWriter, _ *http.Request) {
	to.Write(make([]byte, %d)) }); http.ListenAndServe(":80", nil) }
"""
APP = """def app(_, start):
    start("200 OK", [("Content-Type", "text/plain")])
    return [bytes(%d)]
"""
SSH = """mkdir -p home/.ssh
dropbearkey -t ed25519 -f key | grep ^ssh >home/.ssh/authorized_keys
echo "me:x:0:0::$PWD/home:/bin/sh" >>/etc/passwd
PATH=$PATH:/usr/sbin exec dropbear -F -r key
"""
GET = "curl -s -o got -w %{size_download} http://server/"
MANY = (
    "seq 200 | sed 's,.*,url=https://server/small?&\\noutput=/dev/null,' >list; "
    "curl -s {} --parallel --parallel-max 10 -K list -w '%{{http_code}} %{{http_version}}\\n' | "
    "sort | uniq -c"
)
WATCHED = (
    "tcpdump -l -n -i sender tcp >seen 2>/dev/null & sleep 1; "
    "curl -s -o got http://server/big & sleep 0.4; ss -tin; wait %2; sleep 1; "
    "echo $(($(wc -l <seen) > 1000))"
)
# A shell in a terminal on a terminal, and rsync over a shell without.
LOGIN = (
    "script -qc \"dbclient -y -y -i key -t me@server 'tty; stty size'\" /dev/null; "
    "rsync -r -e 'dbclient -y -y -W 1000000 -i key' me@server:$PWD/noise got && wc -c <got"
)
QUIC = (
    "gtlsclient --quiet --exit-on-all-streams-close --download=. server 443 https://server/{0}; "
    "wc -c <{0}"
)


def programs(size=SIZE):
    """Name → what serves, the command of the client, and what its output has."""
    bytes_ = str(size)
    serves = f"{sys.executable} -m http.server 80"
    return {
        "iperf3": ("iperf3 -s -1", "iperf3 -c server -t 3", "iperf Done."),
        "iperf3 -R": ("iperf3 -s -1", "iperf3 -c server -t 3 -R", "iperf Done."),
        "iperf3 -u": (
            "iperf3 -s -1",
            "iperf3 -c server -t 3 -u -b 10M",
            "iperf Done.",
        ),
        "iperf3 -P 8": (
            "iperf3 -s -1",
            "iperf3 -c server -t 3 -P 8",
            "iperf Done.",
        ),
        "http.server, curl": (serves, GET + "big", bytes_),
        "nginx, curl: HTTP/1.1": (
            "nginx -c $HERE/nginx.conf",
            MANY.format("--http1.1"),
            "200 200 1.1",
        ),
        "nginx, curl: HTTP/2": (
            "nginx -c $HERE/nginx.conf",
            MANY.format("--http2"),
            "200 200 2",
        ),
        "aioquic, ngtcp2": (
            f"{sys.executable} {ROOT}/examples/programs/quic_server.py",
            QUIC.format(size),
            bytes_,
        ),
        "rsync": (
            "rsync --daemon --no-detach --config=$HERE/rsyncd.conf",
            "rsync -r rsync://server/here/big got && wc -c <got",
            bytes_,
        ),
        "ssh, rsync": ("sh ssh.sh", LOGIN, bytes_),
        "Rust, tokio": (
            f"{sys.executable} -m granian --interface wsgi --host 0.0.0.0 --port 80 app:app",
            GET,
            bytes_,
        ),
        "Node": ("node serve.js", GET, bytes_),
        "Java": ("java -cp . Serve", GET, bytes_),
        "Go": ("$HERE/serve", GET, bytes_),
        "redis": (
            "redis-server --bind 0.0.0.0 --protected-mode no --save ''",
            "redis-benchmark -h server -n 200 -c 5 -t set,get --csv",
            '"SET"',
        ),
        "tcpdump, ss": (serves, WATCHED, "cubic"),
    }


def prepare(here, size=SIZE):
    """Makes a directory with what the programs need."""
    (here / "big").write_bytes(bytes(size))
    (here / "noise").write_bytes(hashlib.shake_128().digest(size))  # ssh packs zeros
    (here / "small").write_bytes(bytes(20_000))
    (here / "app.py").write_text(APP % size)
    (here / "ssh.sh").write_text(SSH)
    (here / "nginx.conf").write_text(NGINX % here)
    (here / "rsyncd.conf").write_text(RSYNC % here)
    (here / "serve.js").write_text(NODE % size)
    (here / "Serve.java").write_text(JAVA % (size, size))
    (here / "serve.go").write_text(GO % size)
    builds = {"javac": ["Serve.java"], "go": ["build", "-o", "serve", "serve.go"]}
    for tool, words in builds.items():
        if shutil.which(tool):
            subprocess.run([tool, *words], cwd=here, check=True)


def shell(here, command, *options, listen=(), link):
    """Runs a command line on the client's host."""
    servers = [word for line in listen for word in ("--listen", line.replace("$HERE", str(here)))]
    return subprocess.run(
        [ACKCLOCK, "shell", link, "--on", "vlinux", *options, *servers, "--", "sh", "-c", command],
        cwd=here,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def _cpu_s():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measured(here, name, link):
    """Virtual seconds, Mb/s of a lone transfer, of the simulator's flow, and processor seconds."""
    listen, command, has = programs()[name]
    packets = here / "packets.pcapng"
    began_s = _cpu_s()
    ran = shell(here, command, "--pcapng", str(packets), "-o", "out", listen=[listen], link=link)
    cpu_s = _cpu_s() - began_s
    assert ran.returncode == 0, ran.stderr
    assert has in ran.stdout, ran.stdout
    manifest = json.loads((here / "out" / "manifest.json").read_text())
    duration_s = manifest["resolved"]["duration_ns"] / 1e9
    shutil.rmtree(here / "out")
    transfers = explain(packets)
    of = max(transfers, key=lambda each: each.bytes, default=None)
    if of is None or of.bytes < 0.9 * sum(each.bytes for each in transfers):
        return duration_s, None, None, cpu_s
    direction = "forward" if "iperf3" in name and "-R" not in name else "reverse"
    flow = Flow(algorithm="cubic", size=f"{of.bytes}B", direction=direction)
    run(linux.like(Scenario.from_toml(link).replace(flows=[flow]), "vlinux"), pcapng=packets)
    (simulated,) = explain(packets)
    rates = (each.numbers()["rate_bps"] / 1e6 for each in (of, simulated))
    return duration_s, *rates, cpu_s


def table(here, link):
    """The rows of the page: of those that transfer something."""
    lines = ["| | virtual s | Mb/s | simulator | processor s |", "|---|---|---|---|---|"]
    for name in programs():
        duration_s, rate, simulated, cpu_s = measured(here, name, link)
        if rate is not None:
            numbers = f"{duration_s:.2f} | {rate:.1f} | {simulated:.1f} | {cpu_s:.1f}"
            lines.append(f"| {name} | {numbers} |")
        print(f"{name}: {duration_s:.2f} s virtual, {cpu_s:.1f} s of a processor", flush=True)
    return "\n".join(lines)


def main():
    """Writes the table into the page."""
    page = Path(sys.argv[1]) / "programs.md"
    with tempfile.TemporaryDirectory() as directory:
        here = Path(directory)
        prepare(here)
        link = here / "link.toml"
        link.write_text(LINK)
        text = table(here, link)
    before, _, rest = page.read_text().partition(MARKS[0])
    after = rest.partition(MARKS[1])[2]
    page.write_text(f"{before}{MARKS[0]}\n\n{text}\n\n{MARKS[1]}{after}")


if __name__ == "__main__":
    main()
