"""C files of algorithms: from the kernel's form into our own dialect, and what a kernel refuses."""
