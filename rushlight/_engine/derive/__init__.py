"""What follows from a row: gradients of expressions, dtype rules, the NumPy meaning, cards.

Begin with vjp.py (differentiation) and reference.py (evaluation by NumPy). Expressions in, expressions or
arrays out: nothing here knows tensors or kernels.
"""
