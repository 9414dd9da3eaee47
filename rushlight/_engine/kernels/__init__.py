"""Kernels, and how they become machine code: emitters, kernel families, the run time."""
