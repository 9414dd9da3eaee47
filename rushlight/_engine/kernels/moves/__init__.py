"""Kernels that move elements or make random ones: copies, gather, scatter, shuffles, generator words."""
