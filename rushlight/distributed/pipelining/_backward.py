"""The backward of a stage: all of it, or the gradients of its inputs first and those of its weights later."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import rushlight as torch


def _pairs(output: Any, grad: Any) -> Iterator[tuple[Any, Any]]:
    """(tensor that has a gradient, its gradient) of two structures alike; a gradient None is left out, but
    of a tensor.
    """
    if isinstance(output, torch.Tensor):
        if output.requires_grad:
            if not isinstance(grad, (torch.Tensor, type(None))):
                raise AssertionError(f"Expected Tensor or None gradient but got {type(grad)}")
            yield output, grad
    elif grad is None:
        return
    elif isinstance(output, (tuple, list, dict)):
        for inner, given in _items(output, grad):
            yield from _pairs(inner, given)


def _items(output: Any, grad: Any) -> list[tuple[Any, Any]]:
    """The items of two containers, beside each other; AssertionError where they are not alike."""
    if isinstance(output, dict):
        if not isinstance(grad, dict):
            raise AssertionError(f"Expected dict, got {type(grad)}")
        if set(output) != set(grad):
            raise AssertionError(f"Expected keys {set(output)}, got {set(grad)}")
        return [(inner, grad[key]) for key, inner in output.items()]
    if not isinstance(grad, (tuple, list)):
        raise AssertionError(f"grad_value expected to have type {type(output)} but got {type(grad)}")
    if len(output) != len(grad):
        raise AssertionError(f"Expected len(output_val) == len(grad_val), got {len(output)} != {len(grad)}")
    return list(zip(output, grad, strict=True))


def stage_backward(
    stage_output: Any, output_grads: Any, input_values: Any, outputs_with_grads_idxs: Any = None
) -> tuple[Any, ...]:
    """Accumulate the gradients of all leaves; those of `input_values`, None for what is no tensor."""
    if outputs_with_grads_idxs is not None:
        stage_output = [stage_output[n] for n in outputs_with_grads_idxs]
        output_grads = [output_grads[n] for n in outputs_with_grads_idxs]
    try:
        pairs = list(_pairs(stage_output, output_grads))
        torch.autograd.backward([t for t, _ in pairs], [grad for _, grad in pairs])
    except Exception as error:
        raise RuntimeError(
            f"\n        Failed to run stage backward:\n        Stage output: {_told(stage_output)}\n"
            f"        Output gradient: {_told(output_grads)}\n        Input: {_told(input_values)}\n        "
        ) from error
    found = []
    for value in input_values:
        found.append(value.grad if isinstance(value, torch.Tensor) else None)
        if isinstance(value, torch.Tensor):
            value.grad = None
    return tuple(found)


def input_gradients(stage_output: Any, output_grads: Any, input_values: Any) -> tuple[Any, ...]:
    """The gradients of the inputs alone; the graph stays for those of the weights."""
    pairs = list(_pairs(stage_output, output_grads))
    wanted = [v for v in input_values if isinstance(v, torch.Tensor) and v.requires_grad]
    if not wanted or not pairs:
        return (None,) * len(input_values)
    outputs, grads = [t for t, _ in pairs], [grad for _, grad in pairs]
    found = iter(torch.autograd.grad(outputs, wanted, grads, retain_graph=True, allow_unused=True))
    return tuple(
        next(found) if isinstance(v, torch.Tensor) and v.requires_grad else None for v in input_values
    )


def weight_gradients(stage_output: Any, output_grads: Any, weights: Any) -> None:
    """Accumulate the gradients of the weights alone."""
    pairs = list(_pairs(stage_output, output_grads))
    wanted = [w for w in weights if w.requires_grad]
    if pairs and wanted:
        torch.autograd.backward([t for t, _ in pairs], [grad for _, grad in pairs], inputs=wanted)


def _told(value: Any) -> Any:
    """What an error says of tensors."""
    if isinstance(value, torch.Tensor):
        return f"Tensor({tuple(value.shape)}, grad={value.requires_grad}, dtype={value.dtype})"
    if isinstance(value, (tuple, list)):
        return type(value)(_told(v) for v in value)
    return value
