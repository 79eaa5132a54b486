"""Means, intervals and verdicts over repeated runs, and how many repeats they need."""
