"""Transforms: interpreters in the door that give an op another meaning, for vmap and forward mode."""
