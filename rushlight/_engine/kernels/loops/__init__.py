"""Kernels that are loops around expressions: pointwise, row-wise, column-wise, reductions, running sums, optimizer updates."""
