"""Rows of linear algebra: products, factorisations, equations, norms.

Begin with matmul.py (contractions: labels, and who multiplies), then lu.py (a factorisation with its
gradient); matrix_checks.py has the errors. Which kernel a product takes is kernels/products' matter.
"""
