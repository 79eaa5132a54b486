"""What a run recorded: tables, metrics of them, and files for other programs."""
