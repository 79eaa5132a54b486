"""What the scorecard asks: its rows, their scenarios, and the numbers of a run."""
