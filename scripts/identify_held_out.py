"""How well `ackclock identify` knows algorithms again, on captures with drawn paths.

`python scripts/identify_held_out.py [KIND …] [--seed SEED]` makes captures of our algorithms,
or of a kernel's, and prints right, wrong and "cannot tell" of each kind, and the share of ACKs that
the right one missed: its 99th percentile over calibration captures is the limit of "none of these".
An algorithm that would have sent the same, packet by packet, is right. A seed is drawn and printed.
"""

import argparse
import json
import random
import secrets
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np

from ackclock import AckclockError, Scenario, _core, run
from ackclock.captures.identify import identify
from ackclock.captures.record import records

OURS = [each["name"] for each in _core.algorithms()]
#: What Linux 6.12 has as modules, of those that are ours.
KERNEL = ["bbr", "bic", "cubic", "dctcp", "highspeed", "htcp", "hybla", "illinois", "reno",
          "scalable", "vegas", "veno", "westwood", "yeah"]  # fmt: skip
OTHERS = ["cdg", "lp", "nv"]


def scenario(rng, flows, seconds=15, **more):
    rate, rtt = 10 ** rng.uniform(0.5, 1.6), 10 ** rng.uniform(0.9, 2)
    link = {"rate": f"{rate:.3f}mbit", "buffer": f"{rng.uniform(0.3, 2.5):.2f}bdp"}
    link |= more.pop("bottleneck", {})
    return {"duration": f"{seconds}s", "rtt": f"{rtt:.2f}ms", "seed": rng.randrange(10**6),
            "bottleneck": link, "flow": flows, **more}  # fmt: skip


def simulated(given, path):
    run(Scenario.parse(given), pcapng=path)
    return path


def quiet(rng, name, path):
    return simulated(scenario(rng, [{"algorithm": name}]), path)


def lossy(rng, name, path):
    loss = round(rng.uniform(0.0005, 0.02), 5)
    return simulated(scenario(rng, [{"algorithm": name}], bottleneck={"loss": loss}), path)


def jitter(rng, name, path):
    late = {"jitter": f"{rng.uniform(50, 400):.0f}us"}
    return simulated(scenario(rng, [{"algorithm": name}], **late), path)


def thinned(rng, name, path):
    return simulated(scenario(rng, [{"algorithm": name, "gro": "200us"}]), path)


def crossed(rng, name, path):
    others = [{"algorithm": each} for each in rng.sample(OURS, 2)]
    return simulated(scenario(rng, [{"algorithm": name}, *others]), path)


def clipped(rng, name, path):
    """Both ends are missing: a capture that began and ended while the flow sent."""
    whole = path.with_suffix(".whole")
    simulated(scenario(rng, [{"algorithm": name}], seconds=25), whole)
    first, last = rng.uniform(2, 6), rng.uniform(18, 24)
    only = f"frame.time_relative >= {first:.3f} && frame.time_relative <= {last:.3f}"
    subprocess.run(["tshark", "-r", whole, "-Y", only, "-w", path], check=True,
                   stderr=subprocess.DEVNULL)  # fmt: skip
    return path


def old(rng, name, path):
    profile = rng.choice(["linux-2.6.18", "linux-2.6.25", "linux-2.6.32"])
    return simulated(scenario(rng, [{"algorithm": name}], profile=profile), path)


def vlinux(rng, name, path):
    """The kernel's own, as iperf3 in virtual time sends with it."""
    given = path.with_suffix(".toml")
    of = scenario(rng, [{"algorithm": "cubic"}], seconds=10)
    link = "\n".join(f"{key} = {json.dumps(value)}" for key, value in of["bottleneck"].items())
    head = f'duration = "10s"\nrtt = "{of["rtt"]}"\nseed = {of["seed"]}\n'
    given.write_text(f'{head}[bottleneck]\n{link}\n[[flow]]\nalgorithm = "cubic"\n')
    words = ["shell", given, "--on", "vlinux", "--pcapng", path, "--listen", "iperf3 -s -1", "--",
             "iperf3", "-c", "server", "-t", "10", "-C", name]  # fmt: skip
    done = subprocess.run([sys.executable, "-m", "ackclock", *map(str, words)],
                          capture_output=True, text=True, check=False)  # fmt: skip
    if not path.exists():
        raise AckclockError(done.stderr.strip().splitlines()[-1])
    return path


def another(rng, _, path):
    """One that is none of ours: parameters that no preset has."""
    spec = rng.choice([
        f"cubic:beta={rng.uniform(0.4, 0.6):.2f},C={rng.uniform(1, 3):.2f}",
        f"htcp:beta_min={rng.uniform(0.2, 0.35):.2f}", "vegas:alpha=6,beta=9",
        f"illinois:alpha_max={rng.uniform(3, 6):.1f}", "westwood:rtt_min=500",
        "veno:beta=8", "scalable:ai=20", "yeah:alpha=20",
    ])  # fmt: skip
    return simulated(scenario(rng, [{"algorithm": spec}]), path)


def module(rng, name, path):
    """A module of Linux that is none of ours."""
    return vlinux(rng, name, path)


def _asked(read):
    """The first flow of a simulation, or what has the data."""
    first = [each for each in read if each.of.sender.startswith("10.0.0.1:")]
    return first[0] if first else max(read, key=lambda each: each.of.packets)


KINDS = {"quiet": OURS, "lossy": OURS, "jitter": OURS, "thinned": OURS, "crossed": OURS,
         "clipped": OURS, "old": OURS, "vlinux": KERNEL, "module": OTHERS,
         "another": [""] * 28}  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", default=[*KINDS])
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--only", nargs="*")
    given = parser.parse_args()
    seed = secrets.randbits(32) if given.seed is None else given.seed
    print("seed", seed)
    for kind in given.kinds:
        rng = random.Random(f"{seed} {kind}")  # noqa: S311 (no secret)
        counts: Counter[str] = Counter()
        missed: list[float] = []
        for name in KINDS[kind]:
            with tempfile.TemporaryDirectory() as directory:
                try:
                    path = globals()[kind](rng, name, Path(directory) / "run.pcapng")
                except AckclockError as error:
                    print(f"  {kind} {name}: no capture: {error}")
                    continue
                if given.only and name not in given.only:
                    continue
                found = identify(_asked(records(path)))
            if kind in ("another", "module"):
                verdict = "right" if found.verdict == "none of these" else "wrong"
            elif found.verdict == "cannot tell":
                verdict = found.verdict
            elif found.verdict == "none of these":
                verdict = "none of these"
            else:
                verdict = "right" if name in found.ties else "wrong"
            counts[verdict] += 1
            own = [each.missed for each in found.ranked if each.spec == name]
            missed += own
            if verdict != "right":
                print(
                    f"  {kind} {name}: {found.verdict}: {found.why}; own {own}",
                    flush=True,
                )
        said = f"{np.quantile(missed, 0.99):.3f}, median {np.median(missed):.3f}" if missed else "–"
        print(f"{kind}: {dict(counts)}; 99 % of the right ones missed {said}", flush=True)


if __name__ == "__main__":
    main()
