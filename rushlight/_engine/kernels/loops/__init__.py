"""Kernels that are loops around expressions: pointwise, rows, columns, reductions, running sums, updates.

Begin with pointwise.py (one kernel, one loop), then row_plan.py and row_body.py (rows with reductions). How a
kernel is run, by which threads and from which call on, is runtime/'s matter.
"""
