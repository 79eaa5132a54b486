"""Figures as files, on a wide page and on a phone."""

from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from ackclock import plot
from ackclock.draw import responsive, style
from ackclock.figures import plots


def test_on_a_phone_each_panel_says_of_which_column_it_is():
    figure = Figure(figsize=(10, 4))
    panels = figure.subplots(2, 2)
    for axes, side in zip(panels[0], ("simulator", "kernel"), strict=True):
        axes.set_title(side)
    responsive.to_html(figure)
    assert [axes.get_title() for axes in panels.flat] == ["simulator", "kernel"] * 2
    panels[1, 0].set_title("another")
    panels[1, 1].set_title("")
    responsive._entitle_columns(list(panels.flat))
    assert panels[1, 1].get_title() == ""


def test_on_a_phone_no_title_stands_in_a_legend():
    with style.applied():
        figure = Figure(figsize=(8, 6))
        for axes, title in zip(figure.subplots(2, 1), ("short", 8 * "as long "), strict=True):
            for label in ("flow 1, CUBIC", "flow 2, CUBIC"):
                axes.plot([0, 1], [0, 1], label=label)
            axes.set_title(title, fontsize="small")
            axes.legend(**plots.ABOVE)
        responsive.to_html(figure)
        figure.draw_without_rendering()
    for axes in figure.axes:
        legend, title = axes.get_legend().get_window_extent(), axes._left_title
        assert not title.get_window_extent().overlaps(legend)


def test_a_figure_is_laid_out_once_for_its_files(tmp_path, monkeypatch):
    """PNG, SVG and the picture on the page have the same places; that for a phone has its own."""
    times = []
    execute = ConstrainedLayoutEngine.execute

    def counted(engine, figure):
        times.append(tuple(figure.get_size_inches()))
        return execute(engine, figure)

    monkeypatch.setattr(ConstrainedLayoutEngine, "execute", counted)
    with style.applied():
        figure = Figure(figsize=(8, 3))
        for axes in figure.subplots(1, 2):
            axes.plot([0, 1], [0, 1_000_000])
            axes.set_ylabel("queue (packets)")
    plot.write(figure, tmp_path, "a", pdf=False)
    places = [axes.get_position().bounds for axes in figure.axes]
    assert places[0] != Figure().add_subplot(1, 2, 1).get_position().bounds
    plot.inline_svg(figure)
    assert [axes.get_position().bounds for axes in figure.axes] == places
    assert times == [(8, 3)]
    responsive.to_html(figure)
    assert len(times) == 2
    assert times[1][0] == responsive.NARROW
