"""Rows that compute each element for itself.

Begin with activations.py: a row is an expression, from which its kernel, gradient and dtypes follow. Nothing
here knows arrays.
"""
