"""What is kept of runs, and what it is named by."""
