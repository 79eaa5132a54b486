"""What is to run for figures: the repeats of each experiment's points, each once."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ackclock.errors import AckclockError
from ackclock.figures.experiment import Experiment, Point, Variant, repeats_of, set_where_it_fits
from ackclock.papers import Named
from ackclock.scenario import Scenario

#: A point with a seed, as a key.
At = tuple[tuple[tuple[str, object], ...], int]


@dataclass(frozen=True, eq=False)
class Batch:
    """The runs of an experiment, as its setup has them or with one thing changed."""

    experiment: Experiment
    variant: Variant | None
    repeats: Sequence[tuple[Point, int, Scenario]]

    @property
    def name(self) -> str:
        """As its rows are called in files."""
        return self.experiment.name + (f"-{self.variant.name}" if self.variant else "")

    @property
    def scenarios(self) -> list[Scenario]:
        """Its runs, in order."""
        return [scenario for _, _, scenario in self.repeats]

    def only(self, points: Sequence[Point]) -> "Batch":
        """Its runs at these points."""
        return replace(self, repeats=[each for each in self.repeats if each[0] in points])

    def by_point(self) -> dict[At, Scenario]:
        """Its runs by point and seed."""
        return {(tuple(point.items()), seed): scenario for point, seed, scenario in self.repeats}


def batches_of(
    figures: Sequence[Named],
    seeds: int | Mapping[str, int] | None,
    quick: bool,
    settings: Sequence[str],
    sensitivity: bool,
) -> list[Batch]:
    """Each point of each experiment once, whatever number of figures needs it.

    With `sensitivity` also each variant, at the points that claims need. Raises `AckclockError` if
    a setting fits no run.
    """
    every = _points(need for named in figures for need in named.figure.needs)
    judged = _points(
        need for named in figures for claim in named.figure.claims for need in claim.needs
    )
    repeats = _repeats(figures, seeds, quick)
    found = []
    for experiment, points in every.items():
        numbers = range(1, repeats[experiment] + 1)
        if quick and experiment.quick_points is not None:
            points = [point for point in points if point in experiment.quick_points]  # noqa: PLW2901
        quickly = experiment.quick if quick else ()
        plain = _set(repeats_of(experiment, points, numbers), [*quickly, *settings])
        found.append(Batch(experiment, None, plain))
        few = numbers[: experiment.variant_seeds]
        some = judged.get(experiment, [])
        found += [
            Batch(
                experiment,
                variant,
                _set(
                    repeats_of(experiment, some, few, variant.arguments),
                    [*settings, *variant.settings],
                ),
            )
            for variant in (experiment.variants if sensitivity else ())
        ]
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
    figures: Sequence[Named], seeds: int | Mapping[str, int] | None, quick: bool
) -> dict[Experiment, int]:
    """How often each experiment repeats its points."""
    found: dict[Experiment, int] = {}
    for named in figures:
        asked = seeds[named.name] if isinstance(seeds, Mapping) else seeds
        for experiment in named.figure.experiments:
            usual = experiment.quick_seeds if quick else experiment.seeds
            number = 1 if experiment.seeds == 1 else asked or usual
            found[experiment] = max(number, found.get(experiment, 0))
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
            for _, _, scenario in batch.repeats[:1]
        )
        if not fits:
            raise AckclockError(f'"{setting}": no flow or session of these figures has that')
