"""Methods of modules that programs' subclasses override, and tools put theirs in place of."""

from __future__ import annotations

from typing import Any

import pytest

import rushlight as torch
from rushlight import nn


def test_slow_forward(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is what a call runs while torch.jit.trace records, and then only."""
    calls: list[str] = []
    own = nn.Module._slow_forward

    def followed(self: Any, *input: Any, **kwargs: Any) -> Any:
        calls.append(type(self).__name__)
        return own(self, *input, **kwargs)

    monkeypatch.setattr(nn.Module, "_slow_forward", followed)
    model, x = nn.Sequential(nn.Linear(2, 2), nn.ReLU()), torch.ones(1, 2)
    model(x)
    assert not calls
    torch.jit.trace(model, x, check_trace=False)
    assert calls == ["Sequential", "Linear", "ReLU"]


def test_warning_of_backward_hooks() -> None:
    """The warning about hooks that do not see all gradients is a method."""
    seen: list[Any] = []

    class Quiet(nn.Module):
        def forward(self, x: Any) -> Any:
            return [x * 2]

        def _maybe_warn_non_full_backward_hook(self, inputs: Any, result: Any, grad_fn: Any) -> None:
            seen.append((inputs, result, grad_fn))

    model = Quiet()
    model.register_backward_hook(lambda *_: None)
    x = torch.ones(2, requires_grad=True)
    (y,) = model(x)
    assert seen[0][0] == (x,) and seen[0][2] is y.grad_fn


def test_flat_weights() -> None:
    """Weights that were set from outside are given up again."""
    lstm = nn.LSTM(2, 3)
    lstm._flat_weights = [torch.zeros_like(w) for w in lstm._flat_weights]
    x = torch.ones(1, 1, 2)
    assert lstm(x)[0].abs().sum() == 0
    lstm._update_flat_weights()
    assert not lstm._weights_have_changed()
    lstm._init_flat_weights()
    assert lstm(x)[0].abs().sum() > 0 and lstm._flat_weights[0] is lstm.weight_ih_l0


def test_lazy_conv() -> None:
    """The channels come from _get_in_channels, the dims from _get_num_spatial_dims."""

    class Last(nn.LazyConv2d):
        cls_to_become = None

        def _get_in_channels(self, input: Any) -> int:
            return super()._get_in_channels(input) * 2

    layer = Last(4, 1)
    assert layer._get_num_spatial_dims() == 2
    with pytest.raises(RuntimeError, match="Expected 3D .unbatched. or 4D .batched. input to Last"):
        layer._get_in_channels(torch.ones(2, 2))
    layer.initialize_parameters(torch.ones(1, 3, 2, 2))
    assert layer.weight.shape == (4, 6, 1, 1)


def test_norms() -> None:
    """A sample without a batch dim, and an input without channels, are methods' concern."""

    class Zero(nn.InstanceNorm1d):
        def _handle_no_batch_input(self, input: Any) -> Any:
            return input * 0

    assert Zero(2)(torch.ones(2, 3)).sum() == 0
    with pytest.raises(ValueError, match="SyncBatchNorm number of input channels should be non-zero"):
        nn.SyncBatchNorm(2)._check_non_zero_input_channels(torch.ones(1, 0))
