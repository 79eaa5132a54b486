"""Command lines of other link emulators, as scenarios: tc and what runs it, mahimahi, dummynet."""
