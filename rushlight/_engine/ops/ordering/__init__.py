"""Rows that compare elements with each other: sorting, searching, quantiles."""
