"""Names that PyTorch has in two modules are the same objects here."""

import rushlight as torch
from rushlight.autograd.grad_mode import set_multithreading_enabled
from rushlight.signal.windows.windows import hann


def test_same_objects():
    assert hann is torch.signal.windows.hann
    assert set_multithreading_enabled is torch.autograd.set_multithreading_enabled
    assert torch.return_types.max in torch.return_types.all_return_types
