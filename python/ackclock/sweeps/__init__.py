"""A scenario over a grid or a Latin hypercube of its fields, as one table."""
