"""torch.cuda.FloatTensor and its relatives where there is no device; answers are PyTorch 2.13's."""

import pytest

import rushlight as torch
from rushlight._engine.core import accelerator

pytestmark = pytest.mark.skipif(accelerator.platform() is not None, reason="there is a device")


def test_without_a_device() -> None:
    said = "type torch.cuda.FloatTensor not available. Torch not compiled with CUDA enabled."
    with pytest.raises(TypeError, match=said):
        torch.cuda.FloatTensor(2)
    with pytest.raises(TypeError, match=said):
        torch.set_default_tensor_type(torch.cuda.FloatTensor)
    assert not isinstance(torch.ones(1), torch.cuda.FloatTensor)
    with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
        torch.cuda.profiler.start()
    assert torch.cuda._lazy_call(lambda: 1 / 0) is None
