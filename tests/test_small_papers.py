"""The experiments of Cubic-FC and SQUARE:FF: their grids, and what their claims make of rows."""

import polars as pl
import pytest

from ackclock.papers.cubicfc import _rtts as rtts
from ackclock.papers.cubicfc import fig06, fig07, table02
from ackclock.papers.squareff import _two_paths as two_paths
from ackclock.papers.squareff import fig02, fig03, reference

SEEDS = range(1, 11)


@pytest.mark.parametrize("module", [fig02, fig03, reference])
def test_square_ff_has_a_gigabit_2_ms_and_windows_of_16_mb(module):
    for scenario in module.grid(SEEDS):
        assert scenario.bottleneck.rate == "1gbit"
        first, second = scenario.flows
        assert first.rtt == "2ms"
        assert second.rtt in {f"{rtt_ms}ms" for rtt_ms in (2, 4, 8, 16, 32, 64, 128)}
        assert first.receive_window == second.receive_window == "16MB"
        assert first.algorithm == second.algorithm


@pytest.mark.parametrize("module", [fig06, fig07, table02])
def test_cubic_fc_has_five_rtts_and_ends_at_600_s(module):
    grid = module.grid(SEEDS)
    assert module.SEEDS >= 10
    assert {scenario.rtt for scenario in grid} == {"50ms", "100ms", "150ms", "200ms", "300ms"}
    for scenario in grid:
        assert scenario.bottleneck.rate == "800mbit"
        assert scenario.bottleneck.buffer == "1bdp"
        assert scenario.duration == "600s"
        assert [flow.start for flow in scenario.flows] == ["0s", "100s"]
    directions = [[each.direction for each in scenario.sessions] for scenario in grid]
    assert directions.count([]) == len(grid) / 2
    assert directions.count(["forward"] * 2 + ["reverse"] * 2) == len(grid) / 2


def two_path_rows(jain, ratio):
    """Runs whose index and ratio depend on algorithm and RTT as told, with a spread by seed."""
    return pl.DataFrame(
        [
            {
                "algorithm": method.algorithm,
                "rtt_ms": rtt_ms,
                "buffer": two_paths.BUFFER,
                "seed": seed,
                "jain": jain(method, rtt_ms) + seed / 1000,
                "ratio": ratio(method, rtt_ms) + seed / 100,
            }
            for method in two_paths.METHODS
            for rtt_ms in two_paths.RTTS_MS
            for seed in SEEDS
        ]
    )


def verdicts(module, rows):
    return {claim.id.rpartition(".")[2]: claim.verdict for claim in module.claims(rows)}


def test_square_ffs_claims_hold_of_runs_that_are_like_the_papers():
    order = {two_paths.CUBIC: 0.7, two_paths.CBRT: 0.8, two_paths.SQUARE: 0.9}

    def like(method, rtt_ms):
        return order[method] - rtt_ms / 1000

    rows = two_path_rows(like, lambda method, rtt_ms: 0.8 if rtt_ms < 16 else 3)  # noqa: ARG005
    assert set(verdicts(fig03, rows).values()) == {"holds"}
    assert verdicts(fig02, rows) == {"cubic-unfair": "holds"}


def test_square_ffs_claims_fail_of_runs_that_are_not():
    order = {two_paths.CUBIC: 0.9, two_paths.CBRT: 0.8, two_paths.SQUARE: 0.7}

    def unlike(method, rtt_ms):
        return order[method] + rtt_ms / 10_000

    rows = two_path_rows(unlike, lambda method, rtt_ms: 1.5)  # noqa: ARG005
    assert set(verdicts(fig03, rows).values()) == {"fails"}
    assert verdicts(fig02, rows) == {"cubic-unfair": "fails"}


def rtt_rows(convergence_s, difference_mbps, total_mbps):
    """Runs of figure 6's grid; each number depends on algorithm and RTT as told."""
    return pl.DataFrame(
        [
            {
                "algorithm": name,
                "rtt_ms": rtt_ms,
                "background": background,
                "seed": seed,
                "convergence_s": convergence_s(algorithm, rtt_ms, seed),
                "cut_off_s": 500.0,
                "difference_mbps": difference_mbps[algorithm] + seed,
                "total_mbps": total_mbps[algorithm],
            }
            for background in rtts.BACKGROUNDS
            for algorithm, name in rtts.ALGORITHMS.items()
            for rtt_ms in rtts.RTTS_MS
            for seed in SEEDS
        ],
        infer_schema_length=None,
    )


def test_cubic_fcs_claims():
    def like(algorithm, rtt_ms, seed):
        """As in the paper; at 300 ms CUBIC is sometimes cut off."""
        if algorithm == "cubic_fc":
            return 100.0 + seed
        return None if rtt_ms == 300 and seed < 4 else 120.0 + rtt_ms + seed

    rows = rtt_rows(like, {"cubic": 200, "cubic_fc": 100}, {"cubic": 772, "cubic_fc": 771.9})
    for module in (fig06, fig07, table02):
        assert set(verdicts(module, rows).values()) == {"holds"}, module

    def waning(algorithm, rtt_ms, seed):
        return 100.0 + seed + (50 - rtt_ms / 10 if algorithm == "cubic" else 0)

    rows = rtt_rows(waning, {"cubic": 100, "cubic_fc": 100}, {"cubic": 772, "cubic_fc": 750})
    (claim,) = fig06.claims(rows)
    failing = [part.says for part in claim.parts if part.verdict == "fails"]
    assert failing == ["gain per 100 ms of RTT"] * len(rtts.BACKGROUNDS)
    assert claim.verdict == "fails"
    assert verdicts(fig07, rows) == {"fairer": "inconclusive"}
    assert verdicts(table02, rows) == {"throughput": "fails"}
