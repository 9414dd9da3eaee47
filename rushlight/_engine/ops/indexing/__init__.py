"""Rows that read and write at positions given by data: gather, scatter, masks, look-up tables.

Begin with reads.py (gather, index_select): a row answers coordinates to read at; scattering.py writes there.
x[i] itself is tensors/indexing.py and numerics/advanced_indexing.py.
"""
