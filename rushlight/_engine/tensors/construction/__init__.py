"""Tensors from Python data, from other libraries' memory, by old constructors."""
