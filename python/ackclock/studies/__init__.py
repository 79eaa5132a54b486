"""What is asked of an algorithm besides its runs: several hosts, the response function."""
