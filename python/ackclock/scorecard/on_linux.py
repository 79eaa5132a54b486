"""What Linux answers to the questions of the scorecard, beside the simulator."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from ackclock.base import units
from ackclock.base.errors import AckclockError
from ackclock.figures.experiment import Experiment, Point
from ackclock.hosts.linux import Linux
from ackclock.hosts.testbed import NoValidRunError
from ackclock.hosts.work import Work
from ackclock.questions.card import ALONE, Answers, Number, Question, answers, points_of
from ackclock.questions.rows import store_of
from ackclock.questions.scenarios import dumbbell
from ackclock.scorecard.evaluated import Answered, Evaluated, OnLinux, Request
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
    asked: Sequence[tuple[Question, Experiment]],
    on: Linux,
    quick: bool,
    work: Work,
    on_linux: Callable[[int, float], None],
) -> list[OnLinux]:
    """What Linux answers to the questions, each with its points in the simulator."""
    able = [_able(*each, on) for each in asked]
    repeats = [
        Repeats.of_experiment(_on_linux(experiment, numbers), quick=quick, version=on.version)
        if numbers
        else None
        for (_, experiment), (numbers, _) in zip(asked, able, strict=True)
    ]
    every = {key: run for each in repeats if each for key, run in each.by_key.items()}
    work = replace(work, executor=on)
    store = store_of(work)
    known = store.read(every.keys())
    left_s = {key: units.duration_ns(every[key].duration) / 1e9 for key in every.keys() - known}
    on_linux(len(left_s), sum(left_s.values()))
    told, total_s, done_s, found = work.progress, sum(left_s.values()), 0.0, []
    for (question, _), (numbers, refused), some in zip(asked, able, repeats, strict=True):
        own_s = sum(left_s.pop(key, 0.0) for key in some.by_key) if some else 0.0

        def part(fraction: float, own_s: float = own_s, done_s: float = done_s) -> None:
            if total_s:
                told((done_s + fraction * own_s) / total_s)

        able_to, linux = replace(question, numbers=numbers), None
        if some is not None:
            try:
                runs = some.runs(store, replace(work, progress=part))
                given = answers(able_to, runs.experiment, {runs.experiment: runs})
                linux = OnLinux(runs, given, refused)
            except NoValidRunError as error:
                refused.append(str(error))
        found.append(linux or OnLinux(None, Answers(able_to, ()), refused))
        done_s += own_s
    return found


def only_linux(
    request: Request, on: Linux, work: Work, on_linux: Callable[[int, float], None]
) -> Evaluated:
    """The card of an algorithm that the simulator refuses: Linux alone answers.

    Raises `AckclockError` if Linux answers none of the questions.
    """
    if request.held_out is not None:
        raise AckclockError("--held-out: only for what the simulator takes; leave it out")
    quick = request.quick
    asked = [
        (each, each.experiment(request.names, quick=quick, nonce=request.nonce))
        for each in request.questions
    ]
    found = ask_linux(asked, on, quick, work, on_linux)
    shown, silent = [], []
    for (question, _), given in zip(asked, found, strict=True):
        if given.runs is None:
            silent.append(f"{question.row} ({given.refused[0]})")
            continue
        able = given.answers.question
        rest = OnLinux(None, Answers(able, ()), given.refused)
        shown.append(Answered(able, given.runs.experiment, given.runs, given.answers, rest))
    says = f"{on.name} does not answer {'; '.join(silent)}"
    if not shown:
        raise AckclockError(f"the simulator refuses {request.algorithm}, and {says}")
    return Evaluated(
        request.algorithm,
        request.names[1:],
        shown,
        quick=quick,
        stopped=says if silent else None,
        host=on.name,
        nonce=request.nonce,
    )


def _able(question: Question, experiment: Experiment, on: Linux) -> tuple[list[Number], list[str]]:
    """The numbers of a question that Linux can measure at one point, and why not the others."""
    able, refused = [], []
    mine = experiment.points[0]["algorithm"]
    for number in question.numbers:
        some = points_of(experiment, number, mine)
        if len(some) > 1:
            refused.append(f"{number.name}: {len(some)} points, in the simulator only")
            continue
        try:
            on.check(experiment.run(some[0], 1))
        except AckclockError as error:
            refused.append(f"{number.name}: {error}")
        else:
            able.append(number)
    return able, refused


def _on_linux(experiment: Experiment, numbers: Sequence[Number]) -> Experiment:
    """The points of these numbers, of each algorithm and of the others alone."""
    points = experiment.points
    some: list[Point] = []
    for number in numbers:
        (one,) = points_of(experiment, number, points[0]["algorithm"])
        like = [each for each in points if {**each, "algorithm": one["algorithm"]} == one]
        some += [each for each in like if each not in some]
    some = [each for each in points if each in some]
    harms = any(number.needs_alone for number in numbers)
    some = [each for each in some if harms or each["algorithm"] != ALONE]
    return replace(experiment, points=some, seeds=LINUX_SEEDS, quick_seeds=LINUX_QUICK_SEEDS)
