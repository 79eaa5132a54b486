"""What the pictures of a run show: signs of losses, and distributions."""

import io
import itertools

import numpy as np
import polars as pl
import pytest
from matplotlib.colors import to_hex

from ackclock import AckclockError, Scenario, plot, run
from ackclock.draw import plot as draw
from ackclock.draw import style

#: 833 packets per second, one loss in 500.
LOSSY = {
    "duration": "6s",
    "rtt": "40ms",
    "bottleneck": {"rate": "10mbit", "buffer": "1bdp", "loss": 0.002},
    "flow": [{"algorithm": "cubic"}, {"algorithm": "cubic", "start": "2s"}],
}


def result_of(**changes):
    return run(Scenario.parse(LOSSY | changes))


@pytest.fixture(scope="module")
def lossy():
    return result_of()


@pytest.fixture(scope="module")
def web():
    """Two kinds of short transfers and four small flows beside a long one that starts at 1 s."""
    session = {"count": 5, "gap": "100ms", "size": "6packets", "pareto": 1.2}
    flows = [
        {"algorithm": "cubic", "start": "1s"},
        {"algorithm": "bbr", "size": "30kB", "count": 4, "start": "2s"},
    ]
    sessions = [session | {"algorithm": each} for each in ("reno", "cubic:beta=0.5")]
    return result_of(flow=flows, session=sessions)


def panel(result, name):
    (axes,) = plot.overview(result, [name]).axes
    return axes


def legend(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def rows_at_the_top(axes):
    """Times and height of each row of signs over the curves."""
    rows = [line for line in axes.lines if line.get_transform() == axes.get_xaxis_transform()]
    return [
        (np.rint(1e6 * line.get_xdata()), line.get_ydata()[0], line.get_color()) for line in rows
    ]


def times_us(result, kind, *flows):
    """When this happened to the flows."""
    events = result.events.filter(pl.col("kind") == kind, pl.col("flow").is_in(flows))
    return events["time_us"].to_numpy().astype(int)


def test_a_sign_stands_where_a_flow_lost(lossy):
    axes = panel(lossy, "cwnd")
    by_kind = lossy.events.partition_by("kind", as_dict=True)
    kinds = [kind for kind in plot.REDUCTIONS if (kind,) in by_kind]
    assert kinds[0] == "recovery"
    assert legend(axes) == [plot.REDUCTIONS[kind][-1] for kind in kinds]
    for signs, kind in zip(axes.collections, kinds, strict=True):
        events = by_kind[kind,]
        at = np.column_stack([events["time_us"] / 1e6, events["cwnd_packets"]])
        assert signs.get_offsets().tolist() == at.tolist()
        colours = [to_hex(each).upper() for each in signs.get_facecolors()]
        assert colours == [style.FLOWS[flow - 1] for flow in events["flow"]]
    assert {*by_kind["recovery",]["flow"]} == {1, 2}
    assert rows_at_the_top(axes) == []


def test_the_queue_shows_losses_of_packets_over_its_curve(lossy):
    axes = panel(lossy, "queue")
    columns = {"drops (full)": "dropped_packets", "lost before the queue": "link_lost_packets"}
    assert legend(axes) == ["queue 1", *columns]
    ends = []
    for lines, column in zip(axes.collections, columns.values(), strict=True):
        lost = np.diff(lossy.queues[column].to_numpy()) > 0
        segments = lines.get_segments()
        lost_us = lossy.queues["time_us"].to_numpy()[1:][lost]
        assert [segment[0][0] for segment in segments] == (lost_us / 1e6).tolist() != []
        ends += [tuple(segments[0][:, 1])]
    assert ends == [pytest.approx((0.95, 1)), pytest.approx((0.9, 0.95))]
    assert lossy.queues["queue_packets"].max() < 0.9 * axes.get_ylim()[1]


def test_without_losses_there_is_no_sign():
    bottleneck = {"rate": "10mbit", "buffer": "4bdp"}
    flow = [{"algorithm": "cubic", "receive_window": "30kB"}]
    result = result_of(duration="2s", bottleneck=bottleneck, flow=flow)
    for axes in plot.overview(result).axes:
        assert not axes.collections
        assert axes.get_legend() is None
        assert rows_at_the_top(axes) == []


def test_many_signs_are_a_row_for_each_flow_and_the_file_stays_small():
    bottleneck = {
        "rate": "50mbit",
        "buffer": "100packets",
        "queue": {"kind": "step", "threshold_packets": 10},
    }
    flows = [{"algorithm": "dctcp"}, {"algorithm": "dctcp", "start": "1s"}]
    result = result_of(rtt="10ms", bottleneck=bottleneck, flow=flows)
    figure = plot.overview(result, ["cwnd"])
    (axes,) = figure.axes
    assert legend(axes) == ["ECN (at the top)"]
    assert not axes.collections
    rows = rows_at_the_top(axes)
    for flow, (shown_us, _, colour) in enumerate(rows, 1):
        marked_us = times_us(result, "cwr", flow)
        assert {*shown_us} <= {*marked_us}
        # Each is there, or one that looks the same.
        apart_us = np.abs(np.subtract.outer(marked_us, shown_us)).min(axis=1)
        assert apart_us.max() <= 6e6 / plot.COLUMNS
        assert 100 < len(shown_us) < 0.9 * len(marked_us)
        assert len(shown_us) <= plot.COLUMNS
        assert colour == style.FLOWS[flow - 1]
    (_, first, _), (_, second, _) = rows
    assert result.samples["cwnd_packets"].max() / axes.get_ylim()[1] < second < first < 1
    out = io.StringIO()
    figure.savefig(out, format="svg")
    assert len(out.getvalue()) < 150_000


def test_flows_without_a_name_share_a_row():
    flows = [{"algorithm": "reno", "count": plot.MOST_LABELS + 1, "start_spread": "100ms"}]
    result = result_of(flow=flows)
    axes = panel(result, "cwnd")
    assert len(result.events.filter(pl.col("kind") == "recovery")) > plot.MOST_SIGNS
    ((shown_us, _, colour),) = rows_at_the_top(axes)
    assert colour == style.INK
    assert {*shown_us} <= {*times_us(result, "recovery", *result.flows["flow"])}


def check_steps(line, values):
    """The line has the share of the values up to each of its x."""
    (_, *x), (zero, *y) = line.get_data()
    assert zero == 0
    values = np.asarray(values) * (1 - 1e-12)  # units are converted here and there
    assert y == pytest.approx([np.mean(values <= each) for each in x])
    assert x == sorted(x)
    assert x[0] == pytest.approx(min(values))


@pytest.mark.parametrize("count", [10, 20_000])
def test_a_distribution_has_the_share_up_to_each_value(count):
    values = np.random.default_rng(1).exponential(size=count)
    values[0] = np.inf
    axes = plot.Picture().subplots()
    plot._distribution(axes, values)
    (line,) = axes.lines
    check_steps(line, values)
    x, y = line.get_data()
    assert len(x) == 10 if count == 10 else 300 < len(x) <= plot.QUANTILES + 1
    assert y[-1] == 0.9 if count == 10 else 0.9999 < y[-1] < 1
    # Wherever it is read, it is as near as the eye can see, also at the end.
    between = np.quantile(values, [0.1, 0.5, 0.9, 0.99], method="lower")
    read = y[np.searchsorted(x, between, side="right") - 1]
    exact = (values <= between[:, None]).mean(axis=1)
    assert plot._height(read) == pytest.approx(plot._height(exact), abs=1.01 / plot.QUANTILES)


def test_distributions_are_of_the_time_in_which_all_long_flows_are_active(lossy):
    figure = plot.overview(lossy, ["rtt-cdf", "delay-cdf"])
    rtts, delays = figure.axes
    late = pl.col("time_us").is_between(2_000_000, 6_000_000)
    regular = lossy.samples.filter(late, pl.col("time_us") % 100_000 == 0, pl.col("srtt_us") > 0)
    regular = regular.unique(["flow", "time_us"], keep="last")
    assert rtts.get_xlabel() == "smoothed RTT (ms)"
    for flow, line in enumerate(rtts.lines, 1):
        check_steps(line, regular.filter(pl.col("flow") == flow)["srtt_us"] / 1e3)
        assert line.get_color() == style.FLOWS[flow - 1]
    assert len(rtts.lines) == 2
    assert delays.get_xlabel() == "sojourn time in the queue (ms)"
    (line,) = delays.lines
    check_steps(line, lossy.queues.filter(late)["sojourn_us"] / 1e3)
    for axes in figure.axes:
        assert axes.get_title("left") == "2–6 s, while all long flows are active"


def test_completion_times_have_a_line_for_each_table(web):
    axes = panel(web, "fct-cdf")
    begun = pl.col("start_us").is_between(1_000_000, 6_000_000)
    transfers = web.transfers.filter(begun).with_columns(
        s=pl.when(pl.col("completed_us") > 0).then(
            (pl.col("completed_us").cast(pl.Int64) - pl.col("start_us")) / 1e6
        ).otherwise(float("inf"))
    )  # fmt: skip
    taken = [
        transfers.filter(pl.col("session").is_between(first, first + 4))["s"].to_numpy()
        for first in (1, 6)
    ]
    flows = web.flows[1:]
    taken += [((flows["completed_us"] - flows["start_us"]) / 1e6).to_numpy()]
    names = ["sessions 1–5, Reno", "sessions 6–10, CUBIC:beta=0.5", "flows 2–5, BBR"]
    done = [int(np.isfinite(each).sum()) for each in taken]
    assert legend(axes) == [
        f"{name}: {count} of {len(each)} completed"
        for name, count, each in zip(names, done, taken, strict=True)
    ]
    assert sum(done) < sum(map(len, taken)), "the run's end cuts some off"
    for line, each in zip(axes.lines, taken, strict=True):
        check_steps(line, each)
    assert axes.get_title("left") == "begun in 1–6 s, while all long flows are active"


def test_the_high_percentiles_can_be_read(web):
    axes = panel(web, "fct-cdf")
    axes.figure.draw_without_rendering()
    labels = [each for each in axes.get_yticklabels() if each.get_text()]
    assert [each.get_text() for each in labels] == ["0", "0.25", "0.5", "0.75", "0.9", "0.99", "1"]
    boxes = [each.get_window_extent() for each in labels]
    for low, high in itertools.pairwise(boxes):
        # Of the height of a label about a fifth is empty.
        assert high.y0 > low.y1 - 0.2 * low.height


def test_panels_over_time_share_it_whatever_stands_between(web):
    time, other, last = plot.overview(web, ["cwnd", "fct-cdf", "queue"]).axes
    assert time.get_xlim() == last.get_xlim() == (0, 6) != other.get_xlim()
    assert (time.get_xlabel(), last.get_xlabel()) == ("", "time (s)")


@pytest.mark.parametrize(
    ("name", "changes", "fix"),
    [
        ("rtt-cdf", {"sample_interval": "0s"}, 'shorter sample_interval (it is "0s")'),
        ("delay-cdf", {"sample_interval": "0s"}, 'shorter sample_interval (it is "0s")'),
        ("fct-cdf", {}, "add a [[session]], or a [[flow]] with a size"),
        (
            "rtt-cdf",
            {"flow": [], "session": [{"algorithm": "reno", "gap": "1s", "size": "6packets"}]},
            "add a [[flow]]",
        ),
    ],
)
def test_a_run_without_data_for_a_distribution_says_what_to_add(name, changes, fix):
    result = result_of(duration="1s", **{"flow": LOSSY["flow"][:1]} | changes)
    with pytest.raises(AckclockError) as caught:
        panel(result, name)
    assert str(caught.value).startswith(f"{name}: no ")
    assert str(caught.value).endswith((fix, f"{fix} (examples/web_traffic.toml)"))
    assert "(0–1 s, the whole run)" in str(caught.value)


def test_a_flow_of_a_quic_stack_has_its_name():
    flows = [{"algorithm": "cubic", "stack": "quinn"}, {"algorithm": "cubic"}]
    link = {"rate": "20mbit", "buffer": "1bdp"}
    result = run(Scenario(duration="2s", rtt="40ms", bottleneck=link, flows=flows))
    labels = [text.get_text() for text in draw.overview(result).legends[0].get_texts()]
    assert labels == ["flow 1, quinn CUBIC", "flow 2, CUBIC"]
