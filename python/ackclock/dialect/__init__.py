"""C files of algorithms: what the simulator and a kernel refuse."""
