"""Rows that no run made, for claims to judge."""

import numpy as np
import polars as pl

from ackclock.figures.experiment import Runs


def made_up(*experiments, row):
    """Rows of experiments: `row(noise, **point)` has the columns that matter.

    An experiment that has one seed has one row for each point, and every other one ten.
    """
    found = {}
    for experiment in experiments:
        seeds = range(1, 2 if experiment.seeds == 1 else 11)
        noise = dict(zip(seeds, np.random.default_rng(1).normal(0, 0.01, len(seeds)), strict=True))
        rows = [
            {**point, "seed": seed, **row(1 + noise[seed], **point)}
            for point in experiment.points
            for seed in seeds
        ]
        found[experiment] = Runs(experiment, pl.DataFrame(rows))
    return found
