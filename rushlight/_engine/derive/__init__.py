"""What follows from a row: gradients of expressions, dtype rules, the NumPy meaning, cards."""
