"""Pictures and pages: their style, charts of runs and of sweeps."""
