"""Command lines of other link emulators, as scenarios: tc (netem, tbf, htb, AQMs) and mahimahi."""
