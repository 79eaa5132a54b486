"""What everything stands on: errors, units, files and directories, the part for the kernel."""
