"""What is run: the keys of a scenario, their values, and the files that it reads."""
