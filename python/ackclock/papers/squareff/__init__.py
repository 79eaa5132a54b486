"""Koza, Akiyama and Yamaguchi, "SQUARE: FF on CUBIC TCP over Links with Different RTT"."""

TITLE = "SQUARE: FF on CUBIC TCP over Links with Different RTT (Koza et al.)"
