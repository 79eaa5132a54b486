"""Where scenarios run: the simulator, this machine's kernel, Linux in virtual time, a cluster."""
