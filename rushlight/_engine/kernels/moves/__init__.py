"""Kernels that move elements or make random ones: copies, gather, scatter, shuffles, generator words.

Begin with along_dim.py: a plan for operands of these layouts, a loop that refuses bad positions.
"""
