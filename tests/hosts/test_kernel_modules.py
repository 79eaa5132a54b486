"""Files in the kernel's form as modules of Linux in virtual time, which compiles them itself."""

from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest

from ackclock import AckclockError, Bottleneck, Flow, compare, run, vlinux
from ackclock.hosts.vlinux import build
from common import ROOT
from virtual import scenario

HISTORIES = ROOT / "crates" / "host" / "tests"
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("machine")]

#: Two algorithms, a helper in another file, an array, a parameter that module_init checks.
TWO = """
#include <linux/module.h>
#include <net/tcp.h>
#include "lib/helper.h"
static unsigned int cuts[3] = { 2, 3, 4 };
static int cuts_given = 3;
module_param_array(cuts, uint, &cuts_given, 0644);
static int which __read_mostly;
module_param(which, int, 0444);
static u32 half(struct sock *sk) { return max(tcp_snd_cwnd(tcp_sk(sk)) / cuts[which], 2U); }
static u32 gentle(struct sock *sk) { return part_of(tcp_snd_cwnd(tcp_sk(sk))); }
static struct tcp_congestion_ops one = {
	.ssthresh = half, .cong_avoid = tcp_reno_cong_avoid, .undo_cwnd = tcp_reno_undo_cwnd,
	.owner = THIS_MODULE, .name = "one",
};
static struct tcp_congestion_ops two = {
	.ssthresh = gentle, .cong_avoid = tcp_reno_cong_avoid, .undo_cwnd = tcp_reno_undo_cwnd,
	.owner = THIS_MODULE, .name = "two",
};
static int __init both_init(void)
{
	return which > 2 ? -EINVAL : tcp_register_congestion_control(&one) ?:
		tcp_register_congestion_control(&two);
}
static void __exit both_exit(void)
{
	tcp_unregister_congestion_control(&one);
	tcp_unregister_congestion_control(&two);
}
module_init(both_init);
module_exit(both_exit);
MODULE_LICENSE("GPL");
"""
HELPER = """
#include <linux/module.h>
#include <net/tcp.h>
#include "helper.h"
u32 part_of(u32 cwnd) { return cwnd * PART / 10; }
static int __init helper_init(void) { return 0; }
module_init(helper_init);
MODULE_LICENSE("GPL");
"""
#: cong_control as Linux had it before 6.10.
CONSTANT = """
#include <linux/module.h>
#include <net/tcp.h>
static u32 half(struct sock *sk) { return 20; }
static void control(struct sock *sk, const struct rate_sample *rs)
{
	if (rs->delivered > 0)
		tcp_snd_cwnd_set(tcp_sk(sk), 33);
}
static struct tcp_congestion_ops constant = {
	.ssthresh = half, .cong_control = control, .undo_cwnd = tcp_reno_undo_cwnd, .name = "constant",
};
static int __init constant_init(void) { return tcp_register_congestion_control(&constant); }
module_init(constant_init);
MODULE_LICENSE("GPL");
"""


def tables(algorithm, **fields):
    flows = Flow(algorithm=str(algorithm)), Flow(algorithm=str(algorithm), start="1s", rtt="60ms")
    result = vlinux.run(scenario(*flows, duration="5s", **fields))
    assert result.flows["delivered_bytes"].min() > 100_000
    return [
        getattr(result, table).drop("algorithm", strict=False)
        for table in ("flows", "samples", "queues", "events")
    ]


def same(one, two):
    return all(each.equals(other) for each, other in zip(one, two, strict=True))


def refusal(file, text, settings=""):
    """What is said of a file, which it calls FILE."""
    file.write_text(text)
    with pytest.raises(AckclockError) as refused:
        tables(f"{file}{settings}")
    return str(refused.value).replace(str(file), "FILE")


@pytest.fixture
def two(tmp_path):
    """The file in a directory whose name kbuild would not take."""
    file = tmp_path / "my files" / "tcp_two.c"
    (file.parent / "lib").mkdir(parents=True)
    file.write_text(TWO)
    (file.parent / "lib/helper.h").write_text("#define PART 9\nu32 part_of(u32 cwnd);\n")
    (file.parent / "lib/helper.c").write_text(HELPER)
    return file


@pytest.mark.parametrize("name", ["cubic", "dctcp", "vegas", "yeah"])
def test_a_file_of_linux_is_linuxs_own(files, name):
    """Also beside the built-in of the same name, and of the same exported functions."""
    assert same(tables(files / f"tcp_{name}.c"), tables(f"kernel:{name}"))


@pytest.mark.parametrize("name", ["bbr", "cdg", "lp", "nv"])
def test_files_that_draw_random_numbers_run(files, name):
    """To load a module draws some, too, so that these differ from Linux's own."""
    one, again = (tables(files / f"tcp_{name}.c") for _ in range(2))
    assert same(one, again)


def test_parameters_are_those_of_insmod(files):
    file = files / "tcp_cubic.c"
    set_there = tables(f"{file}:beta=512,hystart=0,bic_scale=41")
    assert same(set_there, tables("cubic:beta=0.5,hystart=0"))
    assert not same(set_there, tables(file))


def test_several_algorithms_parameters_and_a_file_beside(two):
    """The simulator and Linux do the same with all of it."""
    specs = (two, f"{two}@two", f"{two}@one:cuts[1]=7,which=1", f"{two}@one")
    flows = [Flow(algorithm=str(spec)) for spec in specs]
    each = scenario(*flows, duration="5s", jitter="0s")
    there, here = vlinux.run(each), run(each)
    delivered = there.flows["delivered_bytes"].to_list()
    assert delivered[1] > 1.4 * delivered[0] > 3 * delivered[2]
    assert here.flows["delivered_bytes"].to_list() == pytest.approx(delivered, rel=0.1)


def test_storage_is_as_good_as_memory_of_kzalloc():
    """A history of 400 bytes, in CC_STORAGE of our dialect and allocated by a module."""
    ours, theirs = (HISTORIES / each / "history.c" for each in (".", "modules"))
    assert same(tables(ours), tables(theirs))


def test_control_with_two_arguments(tmp_path):
    file = tmp_path / "tcp_constant.c"
    file.write_text(CONSTANT)
    each = scenario(Flow(algorithm=str(file)), duration="3s")
    assert vlinux.run(each).samples["cwnd_packets"].to_list()[-1] == 33


@pytest.mark.parametrize("queue", ["drop_tail", {"kind": "codel", "ecn": True}])
def test_dctcp_beside_the_simulator(files, queue):
    """The same file gives the same bytes and drops, with marks and without."""
    file = str(files / "tcp_dctcp.c")
    link = {"rate": "20mbit", "buffer": "1000packets", "queue": queue, "burst": "1600B"}
    if queue == "drop_tail":
        link = Bottleneck(rate="20mbit", buffer="1bdp")
    flows = Flow(algorithm=file), Flow(algorithm=file, start="513ms", rtt="46.1ms")
    each = scenario(*flows, duration="3s", jitter="0s", bottleneck=link)
    found = compare.compare(each, on=["vlinux"])
    (there,), (here,) = found.measured["vlinux"], found.simulated
    for column in ("delivered_bytes", "dropped_packets", "retransmitted_packets"):
        assert here.flows[column].to_list() == there.flows[column].to_list(), column
    assert (here.flows["dropped_packets"] + here.flows["marked_packets"]).sum() > 40


@pytest.mark.parametrize(("segments", "mbps"), [(1, 26.4), (2, 34.6)])
def test_nv_beside_the_simulator(files, segments, mbps):
    """NV counts calls: with an ACK for each packet it leaves slow start at half the window."""
    each = scenario(
        Flow(algorithm=str(files / "tcp_nv.c")),
        duration="5s",
        jitter="0s",
        delayed_ack_segments=segments,
        bottleneck=Bottleneck(rate="50mbit", buffer="1bdp"),
    )
    windows = []
    for result in (run(each), vlinux.run(each)):
        assert result.flows["delivered_bytes"].item() * 8 / 5e6 == pytest.approx(mbps, abs=0.05)
        regular = result.samples.filter(result.samples["time_us"] % 10_000 == 0)
        windows.append(regular["cwnd_packets"].to_list())
    assert windows[0] == windows[1]


def test_what_a_file_cannot(tmp_path, two):
    file = tmp_path / "tcp_mine.c"
    broken = CONSTANT.replace("return 20;", "sk = twenty; return 20;")
    assert refusal(file, broken) == (
        "FILE does not compile:\nFILE:4:41: 'twenty' undeclared (first use in this function)"
    )
    unknown = CONSTANT.replace("return 20;", "u32 other(void); return other();")
    assert refusal(file, unknown) == "FILE: Linux 6.12 has no other for modules"
    unlicensed = CONSTANT.replace("MODULE_LICENSE", "MODULE_AUTHOR")
    assert "Linux's build refuses the module: missing MODULE_LICENSE()" in refusal(file, unlicensed)
    hookless = CONSTANT.replace(".ssthresh = half,", "")
    assert refusal(file, hookless) == "FILE: Linux does not register constant (EINVAL)"
    empty = CONSTANT.replace("return tcp_register_congestion_control(&constant)", "return 0")
    assert refusal(file, empty) == "FILE: module_init registers no congestion control"

    for settings, said in {
        "@three": "registers no three; it registers one, two",
        ":beta=1": "has no parameter beta; its parameters: cuts, which",
        ":cuts[3]=1": "has no element cuts[3]",
        ":which=x": "parameter which: its own check refuses x (EINVAL)",
        ":which=3": "module_init, or Linux, refuses it: Invalid argument",
    }.items():
        assert refusal(two, TWO, settings) == f"FILE: {said}"


def test_a_module_is_built_once_for_the_texts_that_it_has(two, monkeypatch):
    """Two runs at once wait for one build; a header that changes is another module."""
    builds = []
    make = build._make_module

    def counted(built, path, parts):
        builds.append(path)
        make(built, path, parts)

    monkeypatch.setattr(build, "_make_module", counted)
    header = f"#define PART 8 /* {uuid4()} */\nu32 part_of(u32 cwnd);\n"
    (two.parent / "lib/helper.h").write_text(header)
    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(tables, [f"{two}@two", f"{two}@two"])
    assert same(one, other)
    before = list(builds)
    assert len(set(before)) == 2  # without the file beside it, then with it
    tables(f"{two}@two")
    assert builds == before
    (two.parent / "lib/helper.h").write_text(header.replace("PART 8", "PART 5"))
    assert not same(one, tables(f"{two}@two"))
    assert len(set(builds)) > len(set(before))
    for path in set(builds):
        path.unlink(missing_ok=True)
