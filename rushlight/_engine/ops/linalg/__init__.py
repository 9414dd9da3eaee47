"""Rows of linear algebra: products, factorisations, equations, norms."""
