"""Interpreters that give an op another meaning: vmap and forward-mode derivatives."""
