"""Names that PyTorch has in two modules are the same objects here."""

from typing import Any

from rushlight.autograd.grad_mode import set_multithreading_enabled
from rushlight.signal.windows.windows import hann

import rushlight as torch


def test_same_objects():
    assert hann is torch.signal.windows.hann
    assert set_multithreading_enabled is torch.autograd.set_multithreading_enabled
    assert torch.return_types.max in torch.return_types.all_return_types


def test_results_written_into_out_have_their_own_class() -> None:
    x, out = torch.arange(6.0).reshape(2, 3), (torch.empty(3), torch.empty(3, dtype=torch.int64))
    found = torch.max(x, 0, out=out)
    assert type(found) is torch.return_types.max_out and found.values is out[0]
    assert type(torch.max(x, 0)) is torch.return_types.max
    assert repr(found).startswith("torch.return_types.max_out(\nvalues=tensor([3., 4., 5.])")


def test_attributes_of_tensors_have_names() -> None:
    for name in ("dtype", "shape", "requires_grad", "T", "is_sparse", "itemsize"):
        found: Any = getattr(torch.Tensor, name)
        assert found.__name__ == name and found.__qualname__ == f"TensorBase.{name}"
        assert repr(found) == f"<attribute '{name}' of 'torch._C.TensorBase' objects>"
        assert found.__get__.__self__ is found and found.__get__.__name__ == "__get__"
    assert torch.Tensor.shape.__doc__ == "The sizes of all dims." and "meant for" in str(
        torch.Tensor.T.__doc__
    )
    dtype: Any = torch.Tensor.dtype
    assert dtype.__get__(torch.ones(1)) is torch.float32 and dtype.__doc__ == "The element type."
