"""For programs that write congestion controls: adapters of the scorecard."""
