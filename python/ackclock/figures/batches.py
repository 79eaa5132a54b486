"""What is to run for figures: the repeats of each experiment's points, each once."""

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ackclock.base.errors import AckclockError
from ackclock.figures.experiment import Experiment, Point, Variant, repeats_of, set_where_it_fits
from ackclock.figures.named import Named
from ackclock.scenario.scenario import Scenario

#: A point of an experiment, as a key.
At = tuple[Experiment, tuple[tuple[str, object], ...]]
#: How often to repeat: each point, or each by its key; None: as the experiments say.
Seeds = int | Mapping[At, int] | None


@dataclass(frozen=True, eq=False)
class Batch:
    """The runs of an experiment, as its setup has them or with one thing changed."""

    experiment: Experiment
    variant: Variant | None
    repeats: Sequence[tuple[Point, int, Scenario]]
    #: Of the executor of its runs.
    version: str | None = None

    @property
    def name(self) -> str:
        """As its rows are called in files."""
        return self.experiment.name + (f"-{self.variant.name}" if self.variant else "")

    @property
    def scenarios(self) -> list[Scenario]:
        """Its runs, in order."""
        return [scenario for _, _, scenario in self.repeats]

    @functools.cached_property
    def keys(self) -> list[str]:
        """The keys of its runs, in order."""
        return [scenario.key(self.version) for scenario in self.scenarios]

    @property
    def by_key(self) -> dict[str, Scenario]:
        """Its runs by key."""
        return dict(zip(self.keys, self.scenarios, strict=True))

    def only(self, points: Sequence[Point]) -> "Batch":
        """Its runs at these points."""
        return replace(self, repeats=[each for each in self.repeats if each[0] in points])

    def by_point(self) -> dict[tuple[tuple[tuple[str, object], ...], int], Scenario]:
        """Its runs by point and seed."""
        return {(tuple(point.items()), seed): scenario for point, seed, scenario in self.repeats}


def at(experiment: Experiment, point: Point) -> At:
    """A point as a key."""
    return experiment, tuple(point.items())


def batches_of(
    figures: Sequence[Named],
    seeds: Seeds,
    quick: bool,
    settings: Sequence[str],
    sensitivity: bool,
    version: str | None = None,
) -> list[Batch]:
    """Each point of each experiment once, whatever number of figures needs it.

    With `sensitivity` also each variant, at the points that claims need. `version` is the
    executor's. Raises `AckclockError` if a setting fits no run.
    """
    every = _points(need for named in figures for need in named.figure.needs)
    judged = _points(
        need for named in figures for claim in named.figure.claims for need in claim.needs
    )
    found = []
    for experiment, points in every.items():
        if quick and experiment.quick_points is not None:
            points = [point for point in points if point in experiment.quick_points]  # noqa: PLW2901
        quickly = experiment.quick if quick else ()
        plain = _repeats(experiment, points, seeds, quick)
        found.append(Batch(experiment, None, _set(plain, [*quickly, *settings]), version))
        some = judged.get(experiment, [])
        for variant in experiment.variants if sensitivity and some else ():
            repeats = _repeats(experiment, some, seeds, quick, variant)
            some_set = _set(repeats, [*settings, *variant.settings])
            found.append(Batch(experiment, variant, some_set, version))
    _check_settings(settings, found)
    return found


def _points(needs: Iterable[tuple[Experiment, Point]]) -> dict[Experiment, list[Point]]:
    """The points of each experiment, in the experiment's order."""
    found: dict[Experiment, list[Point]] = {}
    for experiment, point in needs:
        some = found.setdefault(experiment, [])
        if point not in some:
            some.append(point)
    return {
        experiment: sorted(points, key=experiment.points.index)
        for experiment, points in found.items()
    }


def _repeats(
    experiment: Experiment,
    points: Sequence[Point],
    seeds: Seeds,
    quick: bool,
    variant: Variant | None = None,
) -> list[tuple[Point, int, Scenario]]:
    """The repeats of the points. A variant has as many, so that its verdict has the same power."""
    found: list[tuple[Point, int, Scenario]] = []
    for point in points:
        asked = seeds.get(at(experiment, point)) if isinstance(seeds, Mapping) else seeds
        number = asked or (experiment.quick_seeds if quick else experiment.seeds)
        number = 1 if experiment.seeds == 1 else number
        arguments = variant.arguments if variant else {}
        found += repeats_of(experiment, [point], range(1, number + 1), arguments)
    return found


def _set(
    repeats: Iterable[tuple[Point, int, Scenario]], settings: Sequence[str]
) -> list[tuple[Point, int, Scenario]]:
    if not settings:
        return list(repeats)
    return [
        (point, seed, set_where_it_fits(scenario, settings)) for point, seed, scenario in repeats
    ]


def _check_settings(settings: Sequence[str], batches: Sequence[Batch]) -> None:
    """Raises `AckclockError` if a setting fits no run."""
    for setting in settings:
        fits = any(
            set_where_it_fits(scenario, [setting]) is not scenario
            for batch in batches
            for scenario in (each for _, seed, each in batch.repeats if seed == 1)
        )
        if not fits:
            raise AckclockError(f'"{setting}": no flow or session of these figures has that')
