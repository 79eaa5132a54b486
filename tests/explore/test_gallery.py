"""The pictures of the gallery's cards are those of the runs that a click starts."""

import gallery_pictures
from ackclock.explore import gallery


def test_the_pictures_are_those_of_the_runs():
    scenarios = gallery.scenarios()
    assert len(scenarios) == 10
    for each in scenarios:
        assert gallery_pictures.lines(each["toml"]) == each["sparkline"], "type: make generate"
