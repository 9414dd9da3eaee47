"""Rows that compare elements with each other: sorting, searching, quantiles.

Begin with sorting.py (sort, topk, median). Ties and nan are as PyTorch has them. Nothing here knows how
arrays are shared out over threads.
"""
