"""Cao and Zhang, "Cubic with Faster Convergence: An Improved Cubic Fast Convergence Mechanism"."""

TITLE = "Cubic with Faster Convergence (Cao and Zhang)"
