"""`ackclock conform`: CUBIC meets RFC 9438's cases, and CUBICs with mistakes do not."""

import json
import re

import pytest

from ackclock import AckclockError, run
from ackclock.studies.conform import Case, Seen
from common import ROOT

CASES, HYSTART_CASES, BBR_CASES = (
    sorted((ROOT / "examples" / "conformance" / of).glob("*.toml"))
    for of in ("rfc9438", "rfc9406", "bbr")
)
ALGORITHMS = ROOT / "algorithms"
REDUCES = "return max((u32)((u64)cwnd * beta / 1024), 2U)"
AHEAD = "(u64)(now - ca->epoch_start) + cc_usecs_to_jiffies(sk, ca->delay_min)"
ALPHA = "(u64)cwnd * (8 * (1024 + beta) / 3 / (1024 - beta)) >> 3"
#: What is wrong → the text of cubic.h, what stands in its place.
MUTANTS = {
    "fast convergence on the window": (REDUCES, "return max(ca->last_max_cwnd * beta / 1024, 2U)"),
    "beta squared": (REDUCES, "return max(cwnd * beta / 1024 * beta / 1024, 2U)"),
    "beta of the paper": (REDUCES, "return max(cwnd * 819 / 1024, 2U)"),
    "a floor of 1": (REDUCES, "return max((u32)((u64)cwnd * beta / 1024), 1U)"),
    "reduces twice": (
        "\tca->epoch_start = 0;\n\tif (cwnd <",
        "\tca->epoch_start = 0;\n\ttcp_sk(sk)->snd_cwnd = cwnd * beta / 1024;\n\tif (cwnd <",
    ),
    "fast convergence always": (
        "if (cwnd < ca->last_max_cwnd && cc_param(sk, fast_convergence))",
        "if (cc_param(sk, fast_convergence))",
    ),
    "no fast convergence": (
        "if (cwnd < ca->last_max_cwnd && cc_param(sk, fast_convergence))",
        "if (0)",
    ),
    "K of the whole decrease": (
        "min_t(u64, ca->last_max_cwnd - cwnd, U64_MAX / factor)",
        "min_t(u64, ca->last_max_cwnd * (1024 - cc_param(sk, beta)) / 1024, U64_MAX / factor)",
    ),
    "K in s": ("u64 factor = (1ULL << 4 * CUBIC_SCALE)", "u64 factor = (1ULL << CUBIC_SCALE)"),
    "looks back": (
        AHEAD,
        "max((s64)(now - ca->epoch_start) - cc_usecs_to_jiffies(sk, ca->delay_min), 0LL)",
    ),
    "does not look ahead": (AHEAD, "(u64)(now - ca->epoch_start)"),
    "the curve upside down": ("if (t < ca->K)\n\t\ttarget", "if (t >= ca->K)\n\t\ttarget"),
    "a plateau at the reduced window": (
        "ca->origin_point = ca->last_max_cwnd",
        "ca->origin_point = cwnd",
    ),
    "an epoch that a loss does not end": (
        "\tca->epoch_start = 0;\n\tif (cwnd <",
        "\tif (cwnd <",
    ),
    "no Reno-friendly region": ("if (cc_param(sk, tcp_friendliness))", "if (0)"),
    "Reno's alpha of 1": (ALPHA, "(u64)cwnd * (beta > 0)"),
    "alpha of the complement": (ALPHA, "(u64)cwnd * (8 * (2048 - beta) / 3 / beta) >> 3"),
    "alpha without the factor 3": (ALPHA, "(u64)cwnd * (8 * (1024 + beta) / (1024 - beta)) >> 3"),
    "W_est from the window before the loss": (
        "ca->tcp_cwnd = cwnd;",
        "ca->tcp_cwnd = ca->last_max_cwnd;",
    ),
    "grows while the application is the limit": (
        "if (!tcp_is_cwnd_limited(sk))\n\t\treturn;",
        "",
    ),
    "curve time in ms": ("t = (t << CUBIC_SCALE) / cc_hz(sk)", "t = t * 1000 / cc_hz(sk)"),
    "ticks taken for ms": ("t = (t << CUBIC_SCALE) / cc_hz(sk)", "t = (t << CUBIC_SCALE) / 1000"),
    "windows in bytes": (
        "ca->cnt = target > cwnd ? cwnd / (target - cwnd)",
        "ca->cnt = target > cwnd ? cwnd * tcp_sk(sk)->mss_cache / (target - cwnd)",
    ),
    "growth per ACK": (
        "tcp_cong_avoid_ai(tp, ca->cnt, acked)",
        "tcp_cong_avoid_ai(tp, ca->cnt, 1)",
    ),
    "W_est per ACK": ("ca->ack_cnt += acked;", "ca->ack_cnt++;"),
}
THRESHOLD = "(u32)HYSTART_DELAY_MIN, (u32)HYSTART_DELAY_MAX);\n\tif (ca->last_rtt"
ENOUGH = "\tif (ca->sample_cnt < HYSTART_MIN_SAMPLES)\n\t\treturn;\n"
COUNT = "\tif (ca->sample_cnt < HYSTART_MIN_SAMPLES)\n\t\tca->sample_cnt++;\n"
LEAST = f"\tca->curr_rtt = min(ca->curr_rtt, rtt_us);\n{COUNT}{ENOUGH}"
LEAVES = "\t\t\ttp->snd_ssthresh = tp->snd_cwnd;\n\t\t\treturn;"
RESUMES = "ca->curr_rtt < ca->css_rtt"
BEGINS = "\t\tca->css_round = 1;\n"
ROUND_ENDS = "\tif (after(tp->snd_una, ca->end_seq)) {\n\t\tca->last_rtt"
UNPACED = "\tif (sk->sk_pacing_status == SK_PACING_NONE)\n\t\tacked = min(acked, (u32)HYSTART_L);"
#: The same of HyStart++.
HYSTART_MUTANTS = {
    "MIN_RTT_THRESH of 2 ms": (THRESHOLD, THRESHOLD.replace("(u32)HYSTART_DELAY_MIN", "2000U")),
    "MIN_RTT_THRESH of 8 ms": (THRESHOLD, THRESHOLD.replace("(u32)HYSTART_DELAY_MIN", "8000U")),
    "MAX_RTT_THRESH of 12 ms": (THRESHOLD, THRESHOLD.replace("(u32)HYSTART_DELAY_MAX", "12000U")),
    "MAX_RTT_THRESH of 32 ms": (THRESHOLD, THRESHOLD.replace("(u32)HYSTART_DELAY_MAX", "32000U")),
    "MIN_RTT_DIVISOR of 4": ("ca->last_rtt >> 3", "ca->last_rtt >> 2"),
    "MIN_RTT_DIVISOR of 16": ("ca->last_rtt >> 3", "ca->last_rtt >> 4"),
    "N_RTT_SAMPLE of 1": (ENOUGH, ""),
    "N_RTT_SAMPLE of 6": (ENOUGH, ENOUGH.replace("HYSTART_MIN_SAMPLES", "6")),
    "N_RTT_SAMPLE of 9": (COUNT + ENOUGH, (COUNT + ENOUGH).replace("<", "<=")),
    "CSS_GROWTH_DIVISOR of 2": ("CSS_GROWTH_DIVISOR = 4", "CSS_GROWTH_DIVISOR = 2"),
    "CSS_GROWTH_DIVISOR of 8": ("CSS_GROWTH_DIVISOR = 4", "CSS_GROWTH_DIVISOR = 8"),
    "parts of packets are lost": (
        "ca->css_acked = acked % CSS_GROWTH_DIVISOR",
        "ca->css_acked = 0",
    ),
    "CSS_ROUNDS of 4": ("CSS_ROUNDS = 5", "CSS_ROUNDS = 4"),
    "the first part of a round does not count": ("CSS_ROUNDS = 5", "CSS_ROUNDS = 6"),
    "never leaves": ("++ca->css_round > CSS_ROUNDS", "++ca->css_round > 255"),
    "leaves at once": (BEGINS, f"{BEGINS}\t\ttp->snd_ssthresh = tp->snd_cwnd;\n"),
    "leaves five rounds after the start": ("if (ca->css_round && ++", "if (++"),
    "leaves with 0.7 of the window": (LEAVES, LEAVES.replace("cwnd;", "cwnd * 7 / 10;")),
    "leaves with twice the window": (LEAVES, LEAVES.replace("cwnd;", "cwnd * 2;")),
    "never resumes": (f"\t\tif ({RESUMES})\n\t\t\tca->css_round = 0;\n", ""),
    "resumes below the last round": (RESUMES, "ca->curr_rtt < ca->last_rtt"),
    "resumes always": (RESUMES, f"{RESUMES} + 100000"),
    "resumes below the round before": ("ca->css_rtt = ca->curr_rtt", "ca->css_rtt = ca->last_rtt"),
    "rounds before slow start resumed count": (
        f"\t\tca->css_rtt = ca->curr_rtt;\n{BEGINS}",
        "\t\tca->css_round = ca->css_rtt ? 3 : 1;\n\t\tca->css_rtt = ca->curr_rtt;\n",
    ),
    "compares with the least RTT of all": (
        "ca->curr_rtt >= ca->last_rtt + rise",
        "ca->curr_rtt >= ca->delay_min + rise",
    ),
    "takes the latest RTT": (LEAST, LEAST.replace("min(ca->curr_rtt, rtt_us)", "rtt_us")),
    "takes the largest RTT": (
        LEAST,
        LEAST.replace("min(", "ca->curr_rtt == ~0U ? rtt_us : max("),
    ),
    "rounds end once": (ROUND_ENDS, ROUND_ENDS.replace("(after", "(!ca->last_rtt && after")),
    "rounds end after 8 RTTs": (
        ROUND_ENDS,
        ROUND_ENDS.replace("after(tp->snd_una, ca->end_seq)", "ca->sample_cnt == 8"),
    ),
    "no rounds": ("\tif (cubic_hystart_pp_over(tp))\n\t\treturn;\n", "\treturn;\n"),
    "L of 2": ("HYSTART_L = 8", "HYSTART_L = 2"),
    "L of 16": ("HYSTART_L = 8", "HYSTART_L = 16"),
    "no L": ("HYSTART_L = 8", "HYSTART_L = 1000"),
    "L with pacing": (UNPACED, UNPACED.replace("sk->sk_pacing_status == SK_PACING_NONE", "1")),
    "in every slow start": ("return tp->snd_ssthresh < TCP_INFINITE_SSTHRESH", "return 0"),
}


def judged(algorithm, cases=CASES):
    return [each for path in cases for each in Case.read(path).judge(algorithm)]


@pytest.mark.parametrize("algorithm", ["cubic", "cubic@rfc9438"])
def test_cubic_conforms(algorithm):
    assert len(CASES) == 9
    assert [each for each in judged(algorithm) if not each.holds] == []


def test_a_cubic_of_the_flight_conforms(tmp_path):
    """RFC 9438, 4.6, names flight_size, all that is unacknowledged, where Linux takes cwnd."""
    header = (ALGORITHMS / "include" / "cubic.h").read_text("utf-8")
    of_flight = REDUCES.replace("(u64)cwnd", "(u64)tcp_sk(sk)->packets_out")
    assert header.count(REDUCES) == 1
    (tmp_path / "cubic.h").write_text(header.replace(REDUCES, of_flight))
    (tmp_path / "tcp_cubic.c").write_text((ALGORITHMS / "tcp_cubic.c").read_text("utf-8"))
    assert [each for each in judged(str(tmp_path / "tcp_cubic.c")) if not each.holds] == []


def test_each_assertion_quotes_its_sentence():
    """The document, the section and its words; a failure shows them."""
    for path in [*CASES, *HYSTART_CASES, *BBR_CASES]:
        for each in Case.read(path).asserts:
            quote = re.fullmatch(
                r'(RFC \d{4}, (?:\d\.\d+|Abstract)|draft-ietf-ccwg-bbr, [^:]+): (".+")',
                each.get("rule", ""),
            )
            assert quote, f"{path.name}: {each['says']}"
            assert len(quote[2].split()) >= 3, quote[2]


def test_hystart_plus_plus_conforms():
    assert len(HYSTART_CASES) == 15
    assert [each for each in judged("cubic@rfc9406", HYSTART_CASES) if not each.holds] == []
    failed = {each.case for each in judged("cubic", HYSTART_CASES) if not each.holds}
    assert {"eighth", "last_round", "samples", "conservative", "resume", "burst"} <= failed


def test_bbr3_conforms():
    """The draft's cases; version 1 has another ProbeRTT, and no bound on losses."""
    assert len(BBR_CASES) == 22
    assert [each for each in judged("bbr3", BBR_CASES) if not each.holds] == []
    failed = {each.case for each in judged("bbr", BBR_CASES) if not each.holds}
    assert {"probe_rtt", "policer", "startup_loss", "probe_down_inflight"} <= failed
    failed = {each.case for each in judged("cubic", BBR_CASES) if not each.holds}
    assert {"probe_rtt", "startup", "increase_10x", "decrease_10x", "sub_packet_bdp"} <= failed


@pytest.mark.parametrize(
    "wrong",
    [
        "startup_gain=2",
        "drain_gain=0.7",
        "drain_rtts=0",
        "drain_rtts=6",
        "down_gain=0.8",
        "cwnd_gain=1.5",
        "beta=0.5",
        "headroom=0.5",
        "loss_thresh=0.2",
        "probe_rtt_win_ms=10000",
        "probe_rtt_mode_ms=50",
        "probe_rtt_mode_ms=600",
    ],
)
def test_a_wrong_constant_of_bbr_shows(wrong):
    assert not all(each.holds for each in judged(f"bbr3:{wrong}", BBR_CASES))


def test_reno_does_not():
    failed = {each.case for each in judged("reno") if not each.holds}
    assert {"curve", "decrease", "reno_friendly", "slow_start", "timeout"} <= failed


#: Of RFC 9438's assertions what quinn's and noq's CUBIC do not do: RFC 9002 has no RTO that cuts
#: the window, and they have no HyStart.
OF_TCP = [
    ("slow_start", "nothing is lost in it"),
    ("timeout", "the first timeout multiplies"),
    ("timeout", "further timeouts do not"),
    ("timeout", "the window is one packet then"),
]


@pytest.mark.parametrize("stack", ["quinn", pytest.param("noq", marks=pytest.mark.slow)])
def test_the_cubic_of_a_quic_stack(stack):
    """It has RFC 9438's curve and factors; what it does not tell is no pass."""
    verdicts = [each for path in CASES for each in Case.read(path).judge("cubic", stack=stack)]
    failed = [(each.case, each.says) for each in verdicts if each.holds is False]
    assert len(failed) == len(OF_TCP)
    for (case, says), (named, begins) in zip(failed, OF_TCP, strict=True):
        assert (case, says[: len(begins)]) == (named, begins)
    lacks = {(each.case, each.lacks) for each in verdicts if each.holds is None}
    assert lacks == {
        ("application", "flow 1: initial_ssthresh_packets"),
        ("decrease", "recovered"),
        ("slow_start", "slow_start_exit"),
    }
    assert sum(each.holds is True for each in verdicts) == 15


@pytest.mark.parametrize("stack", ["", "quinn"])
def test_a_log_is_judged_as_its_run(stack, ackclock, tmp_path):
    """What the qlog of a run answers, it answers as the run; the rest it names."""
    lacking = []
    for name in ("decrease", "reno_friendly", "slow_start", "timeout", "loss_floor"):
        path = ROOT / "examples/conformance/rfc9438" / f"{name}.toml"
        case = Case.read(path)
        given = ["flow.1.algorithm=cubic", *([f"flow.1.stack={stack}"] if stack else [])]
        result = run(case.scenario.assign(*given))
        log = result.to_qlog(tmp_path / f"{name}.qlog")
        for of_run, of_log in zip(
            case.ask(Seen.from_result(result)), case.judge_qlog(log), strict=True
        ):
            lacking += [of_log.lacks] if of_log.lacks != of_run.lacks else []
            assert of_log == of_run or of_log.lacks
    assert lacking == ["queues"]
    done = ackclock("conform", log, path)
    assert done.returncode == 0, done.stderr
    assert "1 of 1 assertions hold" in done.stdout
    done = ackclock("conform", log, path, "--on", "vlinux")
    assert "--on vlinux: " in done.stderr
    assert "is of a run that is over; leave it out" in done.stderr
    done = ackclock("conform", log, path, path)
    assert "a log is of one path; give one case" in done.stderr


def test_a_stack_without_ssthresh():
    """BBR of quinn tells none, so that nothing about it passes, and nothing fails."""
    decrease = Case.read(ROOT / "examples/conformance/rfc9438/decrease.toml")
    verdicts = decrease.judge("bbr", stack="quinn")
    assert [each.lacks for each in verdicts[:2]] == ["ssthresh_packets"] * 2
    verdicts = decrease.judge("reno", stack="quinn")
    assert [each.holds for each in verdicts[:2]] == [False] * 2  # 0.5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mutants", "cases", "preset"),
    [(MUTANTS, CASES, ""), (HYSTART_MUTANTS, HYSTART_CASES, "@rfc9406")],
    ids=["rfc9438", "rfc9406"],
)
def test_mistakes_are_caught(mutants, cases, preset, tmp_path, monkeypatch):
    """At least 95 % of the mistakes that implementations are known for."""
    monkeypatch.setenv("ACKCLOCK_TRUST", "1")  # they compile in half the time
    header = (ALGORITHMS / "include" / "cubic.h").read_text("utf-8")
    source = (ALGORITHMS / "tcp_cubic.c").read_text("utf-8")
    survivors = []
    for number, (mistake, (old, new)) in enumerate(mutants.items()):
        assert header.count(old) == 1, f"cubic.h has changed: write {mistake!r} anew"
        place = tmp_path / str(number)
        place.mkdir()
        (place / "cubic.h").write_text(header.replace(old, new))
        (place / "tcp_cubic.c").write_text(source)
        if all(
            each.holds
            for path in cases
            for each in Case.read(path).judge(f"{place / 'tcp_cubic.c'}{preset}")
        ):
            survivors.append(mistake)
    assert len(survivors) <= 0.05 * len(mutants), survivors


def test_the_command(ackclock, tmp_path):
    done = ackclock("conform", "cubic", CASES[0], "--json")
    assert done.returncode == 0, done.stderr
    (told,) = json.loads(done.stdout)
    assert (told["case"], told["holds"]) == ("application", True)
    done = ackclock("conform", "reno", ROOT / "examples/conformance/rfc9438/timeout.toml")
    assert done.returncode == 1
    assert "3 of 4 assertions hold" in done.stdout
    assert 'RFC 9438, 4.8: "sets ssthresh using beta_cubic"' in done.stdout
    assert "RFC 5681" not in done.stdout  # of what holds
    frames = ROOT / "examples/conformance/rfc9438/application.toml"
    done = ackclock("conform", "cubic", frames, "--stack", "quinn")
    assert done.returncode == 1  # nothing is tested, so nothing passes
    assert "not testable here: flow 1: initial_ssthresh_packets" in done.stdout
    assert "0 of 0 assertions hold; 1 not testable here" in done.stdout
    done = ackclock("conform", "vegas", frames, "--stack", "quinn")
    assert "quinn has cubic, reno, bbr of its own; choose one" in done.stderr
    plain = tmp_path / "plain.toml"
    plain.write_text((ROOT / "examples" / "shell_link.toml").read_text("utf-8"))
    with pytest.raises(AckclockError, match=r"has no \[\[assert\]\]; add one with says, value"):
        Case.read(plain)
    plain.write_text(plain.read_text("utf-8") + "\n[[assert]]\nsays = 'x'\n")
    with pytest.raises(AckclockError, match=r"assert 1: write says, value \(SQL\)"):
        Case.read(plain)
    wrong = "value = 'SELECT nothing FROM flows'\nbetween = [0, 1]\n"
    plain.write_text(plain.read_text("utf-8") + wrong)
    with pytest.raises(AckclockError, match=r"plain: x: .*nothing"):
        Case.read(plain).judge("cubic")
