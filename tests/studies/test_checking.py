"""`ackclock check`: each problem is a line with its place and the fix."""

import json
import re
import shutil
from pathlib import Path

import pytest

from ackclock import AckclockError, Bottleneck, Flow, Scenario
from ackclock.base.kernel_part import is_built
from ackclock.hosts import linux
from ackclock.scenario import skeleton
from ackclock.studies.checking import problems_of
from common import REFUSED, needs_kernel

HERE = Path(__file__).parent
#: A file whose ssthresh is on line 7.
FILE = """#include "tcp_cc.h"
{above}
CC_HOOK(void, mine_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{{
	tcp_reno_cong_avoid(sk, ack, acked);
}}
CC_HOOK(u32, mine_ssthresh, struct sock *sk) {{ {body} }}
CC_ALGORITHM(mine, "", .ssthresh = mine_ssthresh, .cong_avoid = mine_cong_avoid);
"""


@pytest.fixture
def check(ackclock, tmp_path):
    """Checks a file with this text: exit code, and lines of stdout."""

    def check(text):
        (tmp_path / "mine.c").write_text(text, encoding="utf-8")
        done = ackclock("check", "mine.c")
        assert done.stderr == ""
        return done.returncode, done.stdout.splitlines()

    return check


def test_what_new_writes_is_well(check):
    code, lines = check(skeleton.text())
    assert code == 0
    assert lines[0] == "simulator: compiles it: my_cc"
    assert lines[1].startswith("its process: ")
    if is_built():
        assert lines[2].startswith("BPF: 4 programs, ")


def test_what_only_one_host_gets_is_told(check):
    other = skeleton.text().replace(
        "#include", "#ifdef __bpf__\n#define HALF 512\n#else\n#define HALF 256\n#endif\n#include", 1
    )
    first = other.splitlines().index("#ifdef __bpf__") + 2
    code, lines = check(other)
    assert code == 0
    warnings = [line for line in lines if line.startswith("warning: ")]
    assert [line.split(" this line")[0] for line in warnings] == [
        f"warning: mine.c:{first}: only BPF gets",
        f"warning: mine.c:{first + 2}: only the simulator gets",
    ]


def test_what_only_one_host_gets_of_a_file_in_the_kernels_form_is_told(check, tmp_path):
    shutil.copy(HERE / "odd_shift.h", tmp_path)
    text = (HERE / "tcp_odd.c").read_text()
    begin = "static u32 odd_ssthresh"
    text = text.replace(begin, f"#ifdef __bpf__\nstatic int of_bpf;\n#endif\n{begin}", 1)
    line = text.splitlines().index("static int of_bpf;") + 1
    warnings = [each for each in check(text)[1] if each.startswith("warning: ")]
    assert [each.split(" this line")[0] for each in warnings] == [
        f"warning: mine.c:{line}: only BPF gets"
    ]


def test_hooks_are_called_as_linux_may(ackclock, tmp_path):
    """New files are clean; a shift by the window is a problem, with the call."""
    (tmp_path / "mine.c").write_text(skeleton.text())
    done = ackclock("check", "mine.c", "--fuzz", "--json")
    assert json.loads(done.stdout)["hosts"]["fuzz"].startswith("finds nothing")
    (tmp_path / "mine.c").write_text(
        FILE.format(above="", body="return 2 + (1U << tcp_sk(sk)->snd_cwnd);")
    )
    done = ackclock("check", "mine.c", "--fuzz")
    assert done.returncode == 1
    assert re.search(r"^mine.c:\d+, function \w+: shifts by more bits .*; called as ", done.stdout)


def test_without_a_compiler_nothing_is_said_of_the_file(ackclock, tmp_path):
    (tmp_path / "mine.c").write_text(skeleton.text())
    done = ackclock("check", "mine.c", env={"CC": "/nowhere/cc"})
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: cannot compile mine.c: no C compiler was found")


@pytest.mark.parametrize(
    ("above", "body", "words"),
    [
        ("", "return missing", ["mine.c:7:", "undeclared"]),
        ("static u32 count;", "return count++;", ["mine.c:2: ", "variables outside the socket"]),
        ("u32 far(void);", "return far();", ["mine.c:2: ", "calls far, which the kernel does not"]),
        ("", "u32 z\u00e9ro = 2; return z\u00e9ro;", ["mine.c:7:", "z\u00e9ro is no name for"]),
        ("", "return 0.7 * sk->sk_pacing_rate;", ["mine.c:7:", "floating point"]),
    ],
)
def test_what_the_simulator_refuses_is_a_line(check, above, body, words):
    code, lines = check(FILE.format(above=above, body=body))
    assert code == 1
    assert [word for word in words if word not in lines[0]] == []
    assert lines[-1] == "simulator: refuses it"


@pytest.mark.skipif(not is_built(), reason="the kernel part is not built")
def test_a_helper_by_its_number_is_a_line(check):
    """Here bpf_get_current_task, which the verifier takes."""
    above = (
        "#ifdef __bpf__\nstatic u64 (*const task)(void) = (void *)35;\n#else\n"
        "static u64 task(void) { return 0; }\n#endif"
    )
    code, lines = check(FILE.format(above=above, body="return 2 + (task() & 1);"))
    assert code == 1
    assert "mine.c:11: calls the kernel's BPF helper 35, which no other host has" in lines[0]


@pytest.mark.skipif(not is_built(), reason="the kernel part is not built")
def test_a_signed_division_is_a_line(check):
    body = "return (int)tcp_sk(sk)->snd_cwnd / (int)tcp_sk(sk)->lost;"
    code, lines = check(FILE.format(above="", body=body))
    assert code == 1
    assert lines[0].startswith("mine.c:7:")
    assert "signed division, which BPF lacks; divide a u32 or u64 instead" in lines[0]
    assert lines[-1] == "BPF: does not compile it"


@needs_kernel
def test_the_verifier_judges_and_nothing_is_registered(ackclock, check):
    before = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text()
    code, lines = check(REFUSED % "mine")
    assert code == 1
    assert lines[0].startswith("mine.c:4: the kernel's verifier: ")
    assert "check each index against the length of its array" in lines[0]
    assert lines[-1] == "verifier: refuses it"
    done = ackclock("check", "mine.c", "--json")
    assert done.returncode == 1
    told = json.loads(done.stdout)
    assert told["problems"] == [lines[0]]
    assert (told["file"], told["form"]) == ("mine.c", "ackclock")
    after = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text()
    assert sorted(after.split()) == sorted(before.split())


@needs_kernel
def test_a_file_in_the_kernels_form_passes_the_verifier(ackclock):
    done = ackclock("check", HERE / "tcp_odd.c")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "verifier: takes it")


def test_the_kernels_form_is_recognised(ackclock):
    done = ackclock("check", HERE / "tcp_odd.c", "--json")
    assert done.returncode == 0
    told = json.loads(done.stdout)
    assert (told["form"], told["problems"]) == ("kernel", [])
    if is_built():
        assert " programs, " in told["hosts"]["BPF"]


@pytest.mark.skipif(not is_built(), reason="the kernel part is not built")
def test_what_bpf_has_no_counterpart_for_is_a_line_with_the_way_out(ackclock):
    done = ackclock("check", HERE / "tcp_odder.c")
    assert done.returncode == 1
    lines = [line for line in done.stdout.splitlines() if line.startswith(str(HERE))]
    assert [line.split(":")[1] for line in lines] == ["17", "26"]
    assert all("kzalloc: keep 104 bytes in inet_csk_ca(sk), or write CC_" in each for each in lines)


@pytest.mark.parametrize("name", ["nix.c", "cubic"])
def test_only_a_file_is_checked(ackclock, name):
    done = ackclock("check", name)
    assert (done.returncode, done.stderr.count("\n"), done.stdout) == (1, 1, "")


def test_each_name_that_nobody_serves_is_a_line(tmp_path):
    file = tmp_path / "x.c"
    file.write_text("")
    named = f"a ({file}:3), b of c ({file}:9)"
    fix = "add --on vlinux, leave it out of the file"
    said = f"{file} uses what the simulator does not serve: {named}; {fix}"
    assert problems_of(said, str(file)) == [
        f"{file}:3: a, which the simulator does not serve; {fix}",
        f"{file}:9: b of c, which the simulator does not serve; {fix}",
    ]


@pytest.mark.parametrize(
    ("on", "algorithm", "words"),
    [
        ("sim", "cubic", "--on sim takes it"),
        ("sim", "kernel:cubic", 'session 1: algorithm = "kernel:cubic": only Linux has it'),
        ("sim", "cubic:beta=9", "session 1"),
        ("vlinux", "kernel:nosuch", "Linux has no nosuch"),
    ],
)
def test_a_scenario_is_refused_as_its_run_is(ackclock, tmp_path, on, algorithm, words):
    text = 'duration = "1s"\nrtt = "20ms"\nbottleneck = {rate = "10mbit", buffer = "1bdp"}\n'
    text += f'[[session]]\nalgorithm = "{algorithm}"\nsize = "9kB"\ngap = "1s"\n'
    (tmp_path / "s.toml").write_text(text, encoding="utf-8")
    done, ran = (ackclock(command, "s.toml", "--on", on) for command in ("check", "run"))
    assert words in done.stdout + done.stderr
    assert (done.returncode, done.stderr) == (ran.returncode, ran.stderr)


def test_what_has_no_file_is_refused(ackclock):
    assert "kernel:cubic: has no file here" in ackclock("check", "kernel:cubic").stderr
    assert "leave it out" in ackclock("check", "my_cc.c", "--on", "vlinux").stderr


@pytest.mark.slow
@pytest.mark.usefixtures("machine")
def test_a_file_that_linux_does_not_compile_is_refused_before_it_runs(tmp_path):
    text = (HERE / "tcp_odd.c").read_text(encoding="utf-8")
    (tmp_path / "odd.c").write_text(f"{text}int f(void);\nint f(void) {{ return no_such(); }}\n")
    (tmp_path / "odd_shift.h").write_bytes((HERE / "odd_shift.h").read_bytes())
    flow = Flow(algorithm=str(tmp_path / "odd.c"))
    link = Bottleneck(rate="10mbit", buffer="1bdp")
    with pytest.raises(AckclockError, match=r"does not compile(.|\n)*no_such"):
        linux.host("vlinux").check(
            Scenario(duration="1s", rtt="9ms", bottleneck=link, flows=[flow])
        )
