"""Rows that combine elements along dims: sums, statistics, running sums, integrals."""
