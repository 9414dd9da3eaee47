"""How ops of TorchScript are spelled in Python where they are no plain call of Rushlight's.

A template is a Python function of the op's arguments, in the order of PyTorch's signature. Its decorator says
what it stands for: `@plain("pop")` is of numbers and containers, `@of_tensors("size")` has a tensor among its
arguments. Begin with table.py, which says how a template becomes text.
"""

from rushlight.jit.templates import arithmetic, containers, layers, reals, tensors, texts
from rushlight.jit.templates.table import SCOPE, Table, Template, of_tensors, plain

__all__ = [
    "SCOPE",
    "Table",
    "Template",
    "arithmetic",
    "containers",
    "layers",
    "of_tensors",
    "plain",
    "reals",
    "tensors",
    "texts",
]
