"""Names that PyTorch has in two modules are the same objects here."""

from rushlight.autograd.grad_mode import set_multithreading_enabled
from rushlight.signal.windows.windows import hann

import rushlight as torch


def test_same_objects():
    assert hann is torch.signal.windows.hann
    assert set_multithreading_enabled is torch.autograd.set_multithreading_enabled
    assert torch.return_types.max in torch.return_types.all_return_types
