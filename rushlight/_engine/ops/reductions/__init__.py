"""Rows that combine elements along dims: sums, statistics, running sums, integrals.

Begin with reductions.py: a row answers a Reduction (map, combine, finish); scanning.py has running ones.
Which kernel sums is dispatch/runners/reductions.py's matter.
"""
