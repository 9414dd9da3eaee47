"""Rows that compute each element for itself."""
