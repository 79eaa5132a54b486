"""The table of action.yml: scenarios × versions, and what is worse in the last version.

A version is an algorithm or a C file, in the simulator; with RUN it is what `$VERSION` stands for
in the command lines RUN and LISTEN, on Linux in virtual time. Exits with 1 where the last version
is worse than the first by more than WORSE %, or a command fails.
"""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

SCENARIOS, VERSIONS = (shlex.split(os.environ[each]) for each in ("SCENARIO", "VERSIONS"))
RUN, LISTEN = os.environ["RUN"], os.environ["LISTEN"]
OUTPUT, WORSE = Path(os.environ["OUTPUT"]), float(os.environ["WORSE"] or "inf")


def ackclock(*words):
    """Its exit status, and what it printed, which the log of the job shows, too."""
    done = subprocess.run(["ackclock", *words], check=False, text=True, stdout=subprocess.PIPE)
    sys.stderr.write(done.stdout)
    return done.returncode, done.stdout


def of_algorithms(scenario):
    """Of each version the interval of each number: low, mean, high; higher is better, or lower."""
    algorithms = [word for each in VERSIONS for word in ("--algorithm", each)]
    status, printed = ackclock("compare", scenario, *algorithms, "--json")
    if status:
        return {}
    rows = [json.loads(line) for line in printed.splitlines()]
    names = {"goodput_mbps": ("Mb/s", 1), "delay_p95_ms": ("ms p95 queue delay", -1)}
    found = {row["algorithm"].removeprefix("./"): row for row in rows}
    return {
        version: {unit: (*interval(found[version.removeprefix("./")][key]), better)
                  for key, (unit, better) in names.items()}
        for version in VERSIONS
    }  # fmt: skip


def interval(of):
    """Low, mean and high of an estimate; of a single run they are one."""
    return tuple(of["mean"] if of[each] is None else of[each] for each in ("low", "mean", "high"))


def of_programs(scenario):
    """As `of_algorithms`: how long the command runs in virtual time. One of these runs is all."""
    found = {}
    for number, version in enumerate(VERSIONS or [""]):
        run, listen = (each.replace("$VERSION", version) for each in (RUN, LISTEN))
        output = OUTPUT / f"{Path(scenario).stem}-{number}"
        words = [scenario, "--on", "vlinux", "-o", output, "--pcapng", f"{output}.pcapng"]
        words += ["--listen", listen] if listen else []
        if ackclock("shell", *words, "--", "bash", "-c", run)[0] == 0:
            program = json.loads((output / "manifest.json").read_text())["programs"][-1]
            took_s = program["end_s"] - program["start_s"]
            found[version] = {"s": (took_s, took_s, took_s, -1)}
    return found


def worse(first, last):
    """The numbers of which the whole interval is worse by more than WORSE %."""
    for unit, (_, mean, _, better) in first.items():
        low, _, high, _ = last[unit]
        bound = mean * (1 - better * WORSE / 100)
        if high < bound if better > 0 else low > bound:
            yield unit


def main():
    OUTPUT.mkdir(parents=True, exist_ok=True)
    columns = VERSIONS or ["time"]
    lines = [f"| scenario | {' | '.join(columns)} |", f"|---|{'---|' * len(columns)}"]
    bad = []
    for scenario in SCENARIOS:
        found = of_programs(scenario) if RUN else of_algorithms(scenario)
        cells = [
            ", ".join(f"{mean:.2f} {unit}" for unit, (_, mean, *_) in found[version].items())
            if version in found
            else "failed"
            for version in VERSIONS or [""]
        ]
        lines.append(f"| {scenario} | {' | '.join(cells)} |")
        if "failed" in cells:
            bad.append(f"{scenario}: failed")
        elif VERSIONS:
            numbers = worse(found[VERSIONS[0]], found[VERSIONS[-1]])
            bad += [f"{scenario}: {VERSIONS[-1]} is more than {WORSE:g} % worse in {each}"
                    for each in numbers]  # fmt: skip
    text = "\n".join([*lines, "", *(f"* {each}" for each in bad)]).rstrip() + "\n"
    (OUTPUT / "table.md").write_text(text)
    sys.stdout.write(text)
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
