"""Several runs in one picture, and one run as a notebook shows it."""

from collections.abc import Callable, Iterable
from html import escape

from matplotlib.axes import Axes

from ackclock.base.errors import AckclockError
from ackclock.draw import plot, style
from ackclock.draw.plot import Picture
from ackclock.results import metrics, summary
from ackclock.results.result import Result

DRAWN: tuple[Callable[[Axes, Result], None], ...] = (plot.cwnd, plot.throughput, plot.queue)


def compare_runs(*runs: Result, **named: Result) -> Picture:
    """Lays runs over each other: congestion windows, throughput and queue, a colour for each run.

    >>> ackclock.compare_runs(drop_tail=one, codel=other).savefig("both.png")  # doctest: +SKIP

    The legend has the names, and "run 1", "run 2", … for runs without one, and whose flow a dashed
    line is. A notebook shows the picture. Raises `AckclockError` without runs.
    """
    results = {f"run {number}": run for number, run in enumerate(runs, 1)} | named
    if not results:
        raise AckclockError("compare_runs(): no runs; give some results of ackclock.run")
    for name, each in results.items():
        if not isinstance(each, Result):
            raise AckclockError(
                f"compare_runs(): {name} is a {type(each).__name__}; give results of ackclock.run: "
                "compare_runs(*RESULTS), or compare_runs(**RESULTS) for those with names"
            )
    with style.applied():
        picture = Picture(figsize=(8, 7))
        panels = picture.subplots(3, 1, sharex=True)
        for index, (name, result) in enumerate(results.items()):
            colour = style.FLOWS[index % len(style.FLOWS)]
            for panel, draw in zip(panels, DRAWN, strict=True):
                before = {*panel.lines, *panel.patches}
                draw(panel, result)
                new = [each for each in (*panel.lines, *panel.patches) if each not in before]
                for number, line in enumerate(new):
                    look = plot.QUEUE_LINES[number % len(plot.QUEUE_LINES)]
                    line.set(color=colour, linestyle=look, alpha=0.8)
                    line.set_label("_")
            panels[0].plot([], [], color=colour, label=name)
        _name_looks(panels[0], results.values())
        for panel in panels:
            if legend := panel.get_legend():
                legend.remove()
            panel.autoscale(axis="y")  # the first run's range was kept
            panel.set_ylim(bottom=0)
        panels[0].set_xlim(0, max(map(metrics.duration_s, results.values())))
        lines, labels = panels[0].get_legend_handles_labels()
        picture.legend(lines, labels, loc="outside upper left", ncols=4)
        panels[2].set_xlabel("time (s)")
    return picture


def _name_looks(panel: Axes, results: Iterable[Result]) -> None:
    """Names in the legend whose window and throughput a dashed line is."""
    flows = max(result.flows["flow"].n_unique() for result in results)
    if flows > 1:
        for number, look in enumerate(plot.QUEUE_LINES[:flows], 1):
            label = f"flow {number}" + ", …" * (number + len(plot.QUEUE_LINES) <= flows)
            panel.plot([], [], color=style.INK, linestyle=look, label=label)


def html(result: Result) -> str:
    """A run for a notebook: what it was, what each flow got, and its picture."""
    numbers = summary.summarise(result)
    scenario = result.scenario
    head = f"{scenario.duration}, seed {numbers['seed']}: {_said(numbers)}"
    columns = summary.flow_columns(numbers)
    titles = ["flow", "algorithm", *columns]
    rows = [
        [flow["flow"], flow["algorithm"], *(_cell(flow, *how) for how in columns.values())]
        for flow in numbers["flows"][: summary.MOST_FLOWS]
    ]
    cells = "".join(f"<th>{escape(title)}</th>" for title in titles)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(str(each))}</td>" for each in row) + "</tr>" for row in rows
    )
    left = len(numbers["flows"]) - len(rows)
    more = f"<p>… {left} more flows</p>" if left else ""
    table = f"<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>"
    return f"<p>{escape(head)}</p>{table}{more}{plot.inline_svg(plot.overview(result))}"


def _said(numbers: dict[str, object]) -> str:
    """Utilisation and Jain's index."""
    shares = {"utilisation": "utilisation", "jain_index": "Jain's index"}
    return ", ".join(
        f"{says} {value:.3f}" for key, says in shares.items() if (value := numbers[key]) is not None
    )


def _cell(flow: dict[str, float | None], key: str, scale: float, digits: int) -> str:
    value = flow[key]
    return "–" if value is None else f"{value * scale:.{digits}f}"
