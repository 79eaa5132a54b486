"""What a notebook shows: results, several of them over each other, and docs/notebook.ipynb."""

import json
import re
import sys
from types import SimpleNamespace

import polars as pl
import pytest

import ackclock
from ackclock import AckclockError
from ackclock.draw import overlay
from notebook import NOTEBOOK, executed


@pytest.fixture(scope="module")
def results():
    def run(queue):
        return ackclock.run(
            ackclock.Scenario(
                duration="5s",
                rtt="20ms",
                bottleneck=ackclock.Bottleneck(rate="20mbit", buffer="1bdp", queue=queue),
                flows=[ackclock.Flow(algorithm="cubic"), ackclock.Flow(algorithm="reno")],
            )
        )

    return [run("drop_tail"), run("codel")]


def test_a_result_shows_itself(results):
    html = results[0]._repr_html_()
    assert html.count("<tr>") == 1 + 2
    assert "seed 1: utilisation 0." in html
    assert "<svg" in html
    assert results[0].plot()._repr_html_().startswith("<svg")
    assert re.match(r"<Result .*: flows 2, samples \d+, queues \d+, .*>$", repr(results[0]))


def test_xarray(results):
    """Each flow's window at each time; a flow has its own rows, and a queue, too."""
    found = results[0].to_xarray()
    assert (found["flow"].values == [1, 2]).all()
    for flow in (1, 2):
        own = results[0].samples.filter(pl.col("flow") == flow).unique("time_us", keep="last")
        windows = found["cwnd_packets"].sel(flow=flow).dropna("time_us")
        assert windows["time_us"].size == len(own)
        assert windows.max() == own["cwnd_packets"].max()
    assert found["queue_packets"].max() == results[0].queues["queue_packets"].max()


def test_overlay(results):
    """Both windows in one panel, in the colour of their run; the legend has runs and flows."""
    picture = ackclock.compare_runs(results[0], codel=results[1])
    lines = [line for line in picture.axes[0].lines if len(line.get_xdata())]
    assert len(lines) == 4
    assert len({line.get_color() for line in lines}) == 2
    (legend,) = picture.legends
    names = ["run 1", "codel", "flow 1", "flow 2"]
    assert [text.get_text() for text in legend.get_texts()] == names
    looks = [line.get_linestyle() for line in lines]
    assert looks == [key.get_linestyle() for key in legend.get_lines()[2:]] * 2
    for line, (result, flow) in zip(
        lines, [(each, flow) for each in results for flow in (1, 2)], strict=True
    ):
        windows = result.samples.filter(pl.col("flow") == flow)["cwnd_packets"]
        assert max(line.get_ydata()) == windows.max()
    with pytest.raises(AckclockError, match="no runs"):
        ackclock.compare_runs()
    with pytest.raises(AckclockError, match=r"run 1 is a list; .* compare_runs\(\*RESULTS\)"):
        ackclock.compare_runs(results)


@pytest.mark.parametrize("first", [0, 1])
def test_an_overlay_has_room_for_each_run(results, first):
    """Four times the buffer, so higher windows and a longer queue, wherever that run stands."""
    link = ackclock.Bottleneck(rate="20mbit", buffer="4bdp")
    deep = ackclock.run(results[0].scenario.replace(bottleneck=link))
    picture = ackclock.compare_runs(*(results[0], deep)[:: 1 if first else -1])
    for panel, table, column in ((0, "samples", "cwnd_packets"), (2, "queues", "queue_packets")):
        peak, less = (getattr(each, table)[column].max() for each in (deep, results[0]))
        assert peak > 1.2 * less
        low, high = picture.axes[panel].get_ylim()
        assert low == 0
        assert peak < high < 1.2 * peak


def test_tables_for_other_tools(results, tmp_path, monkeypatch):
    path = results[0].to_csv(tmp_path / "flows.csv", "flows")
    assert pl.read_csv(path)["flow"].to_list() == [1, 2]
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(AckclockError, match="pip install pandas"):
        results[0].to_pandas()
    names = SimpleNamespace(from_codes=lambda codes, names: [names[code] for code in codes])
    pandas = SimpleNamespace(DataFrame=dict, Categorical=names)
    monkeypatch.setitem(sys.modules, "pandas", pandas)
    assert list(results[0].to_pandas("flows")["algorithm"]) == ["cubic", "reno"]
    for table in ackclock.tables.TABLES:
        frame, given = results[0].to_pandas(table), getattr(results[0], table)
        for column in given.columns:
            assert list(frame[column]) == given[column].to_list()
    # A table without rows has types, too.
    assert results[0].to_pandas("transfers")["start_us"].dtype == "uint64"
    with pytest.raises(AckclockError, match='table = "flow": unknown; choose from flows'):
        results[0].to_pandas("flow")
    with pytest.raises(AckclockError, match="cannot be written"):
        results[0].to_csv(path / "flows.csv")


def test_the_command(results, ackclock, tmp_path):
    for name, result in zip(("a", "b"), results, strict=True):
        result.save(tmp_path / name)
    for file in ("both.png", "both.svg"):
        done = ackclock("plot", "a", "b", "-o", file)
        assert (done.returncode, done.stdout) == (0, f"{file}\n"), done.stderr
        assert (tmp_path / file).stat().st_size > 10_000
    assert ackclock("plot", "a", "-o", "a.pdf").returncode == 0
    done = ackclock("plot", "a", "b")
    assert done.stderr == "error: several runs in one picture: add -o FILE.png\n"
    done = ackclock("plot", "a", "-o", "a.jpg")
    assert done.stderr == "error: --output a.jpg: write a name that ends in .png, .svg, .pdf\n"


def test_many_flows_are_cut(results):
    many = results[0].scenario.replace(flow=[{"algorithm": "reno", "count": 30}], duration="1s")
    html = overlay.html(ackclock.run(many))
    assert html.count("<tr>") == 1 + 20
    assert "… 10 more flows" in html


def test_the_notebook():
    """Its cells run, and print and show what is in the file: `make notebook`."""
    kept = json.loads(NOTEBOOK.read_text(encoding="utf-8"))

    def told(notebook):
        outputs = [out for cell in notebook["cells"] for out in cell.get("outputs", ())]
        text = [
            "".join(out.get("text", out.get("data", {}).get("text/plain", ""))) for out in outputs
        ]
        html = ["".join(out.get("data", {}).get("text/html", "")) for out in outputs]
        return text, [each.partition("<svg")[:2] for each in html]

    assert told(executed(kept)) == told(kept)
