"""torch.ops.prim: what TorchScript asks of a tensor, as ops."""

from __future__ import annotations

import rushlight as torch
from rushlight import Tensor
from rushlight.library import Library

_LIBRARY = Library("prim", "FRAGMENT")
# PyTorch's numbers: the third, which oneDNN's tensors have, is not among them.
_NUMBERS = {
    torch.strided: 0,
    torch.sparse_coo: 1,
    torch.sparse_csr: 2,
    torch.sparse_csc: 4,
    torch.sparse_bsr: 5,
    torch.sparse_bsc: 6,
    torch.jagged: 7,
}


def layout(a: Tensor) -> int:
    """The number of a tensor's layout."""
    return _NUMBERS[a.layout]


_LIBRARY.define("layout(Tensor a) -> Layout")
_LIBRARY.impl("layout", layout, "CompositeExplicitAutograd")
