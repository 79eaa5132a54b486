"""What Linux answers to the questions of the scorecard, beside the simulator."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from ackclock.base import units
from ackclock.base.errors import AckclockError
from ackclock.figures.experiment import Experiment, Point
from ackclock.hosts.linux import Linux
from ackclock.hosts.testbed import NoValidRunError
from ackclock.hosts.work import Work
from ackclock.questions.card import ALONE, Answers, Number, answers, points_of
from ackclock.questions.rows import store_of
from ackclock.questions.scenarios import dumbbell
from ackclock.scorecard.evaluated import Asked, OnLinux
from ackclock.scorecard.runs import Repeats

#: Repeats of a point on Linux, and with `--quick`. The kernel runs them in real time.
LINUX_SEEDS, LINUX_QUICK_SEEDS = 3, 1


def rehearse(on: Linux, algorithm: str, where: str) -> None:
    """Raises `AckclockError` if Linux refuses the algorithm, before the simulator runs for long."""
    try:
        on.rehearse(dumbbell(algorithm, rate="10mbit", duration="1s"))
    except AckclockError as error:
        raise AckclockError(f"{where}{error}, or leave out --on {on.name}") from None


def ask_linux(
    asked: Sequence[Asked],
    on: Linux,
    quick: bool,
    work: Work,
    on_linux: Callable[[int, float], None],
) -> list[Asked]:
    """The questions with what Linux answers to them."""
    able = [_able(each, on) for each in asked]
    repeats = [
        Repeats.of(_on_linux(each, numbers), quick=quick) if numbers else None
        for each, (numbers, _) in zip(asked, able, strict=True)
    ]
    every = {key: run for each in repeats if each for key, run in each.by_key.items()}
    work = replace(work, executor=on)
    store = store_of(work)
    known = store.read(every.keys())
    left_s = {key: units.duration_ns(every[key].duration) / 1e9 for key in every.keys() - known}
    on_linux(len(left_s), sum(left_s.values()))
    told, total_s, done_s, found = work.progress, sum(left_s.values()), 0.0, []
    for each, (able_numbers, refused), some in zip(asked, able, repeats, strict=True):
        own_s = sum(left_s.pop(key, 0.0) for key in some.by_key) if some else 0.0

        def part(fraction: float, own_s: float = own_s, done_s: float = done_s) -> None:
            if total_s:
                told((done_s + fraction * own_s) / total_s)

        question, linux = replace(each.question, numbers=able_numbers), None
        if some is not None:
            try:
                runs = some.runs(store, replace(work, progress=part))
                given = answers(question, runs.experiment, {runs.experiment: runs})
                linux = OnLinux(runs, given, refused)
            except NoValidRunError as error:
                refused.append(str(error))
        linux = linux or OnLinux(None, Answers(question, ()), refused)
        found.append(replace(each, linux=linux))
        done_s += own_s
    return found


def _able(asked: Asked, on: Linux) -> tuple[list[Number], list[str]]:
    """The numbers of a question that Linux can measure at one point, and why not the others."""
    able, refused = [], []
    mine = asked.experiment.points[0]["algorithm"]
    for number in asked.question.numbers:
        some = points_of(asked.experiment, number, mine)
        if len(some) > 1:
            refused.append(f"{number.name}: {len(some)} points, in the simulator only")
            continue
        try:
            on.check(asked.experiment.run(some[0], 1))
        except AckclockError as error:
            refused.append(f"{number.name}: {error}")
        else:
            able.append(number)
    return able, refused


def _on_linux(asked: Asked, numbers: Sequence[Number]) -> Experiment:
    """The points of these numbers, of each algorithm and of the others alone."""
    points = asked.experiment.points
    some: list[Point] = []
    for number in numbers:
        (one,) = points_of(asked.experiment, number, points[0]["algorithm"])
        like = [each for each in points if {**each, "algorithm": one["algorithm"]} == one]
        some += [each for each in like if each not in some]
    some = [each for each in points if each in some]
    harms = any(number.needs_alone for number in numbers)
    some = [each for each in some if harms or each["algorithm"] != ALONE]
    return replace(asked.experiment, points=some, seeds=LINUX_SEEDS, quick_seeds=LINUX_QUICK_SEEDS)
