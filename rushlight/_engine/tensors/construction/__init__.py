"""Tensors from Python data, from other libraries' memory, by old constructors.

Begin with factories.py (torch.tensor and its kind) and from_data.py (how nested data becomes an array);
interop.py is NumPy and DLPack.
"""
