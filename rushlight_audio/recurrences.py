"""Filters whose outputs come back as inputs (IIR filters)."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight import Tensor
from rushlight._engine.core.services import service
from rushlight.autograd.graph import increment_version
from rushlight.nn.functional import conv1d, pad


def core_loop(waveform: Tensor, coefficients: Tensor, output: Tensor) -> Tensor:
    """Write output[..., n + order - 1] = waveform[..., n] - sum of coefficients[:, k] * output[..., n + k].

    waveform: (batch, channels, length).  coefficients: (channels, order), the last one is that of the output
    itself.  output: (batch, channels, length + order - 1), zeros after what comes before the first sample.
    float32 or float64, contiguous. Returns output.
    Errors: RuntimeError for other dtypes, sizes and layouts.
    """
    _check(waveform, coefficients, output)
    length, order = waveform.shape[-1], coefficients.shape[1]
    if output.is_meta:
        increment_version(output)
        return output
    if waveform.device.type == "cpu":
        arrays = [t.detach().numpy() for t in (waveform.resolve_neg(), coefficients.resolve_neg(), output)]
        rows = waveform.shape[0] * waveform.shape[1]
        x, y = arrays[0].reshape(rows, length), arrays[2].reshape(rows, length + order - 1)
        service("linear recurrence")(x, arrays[1], y)
        increment_version(output)
        return output
    for n in range(length):
        before = (output[:, :, n : n + order] * coefficients).sum(-1)
        output[:, :, n + order - 1] = waveform[:, :, n] - before
    return output


def _check(waveform: Tensor, coefficients: Tensor, output: Tensor) -> None:
    """RuntimeError where the operands of core_loop are not of one kind, or do not fit."""
    operands = (waveform, coefficients, output)
    if waveform.dtype not in (torch.float32, torch.float64):
        raise RuntimeError(f"_lfilter_core_loop: expected float32 or float64, got {waveform.dtype}")
    if any(t.dtype != waveform.dtype for t in operands):
        dtypes = ", ".join(str(t.dtype) for t in operands)
        raise RuntimeError(f"_lfilter_core_loop: expected operands of one dtype, got {dtypes}")
    if not all(t.is_contiguous() for t in operands):
        raise RuntimeError("_lfilter_core_loop: expected contiguous operands")
    (batch, channels, length), order = waveform.shape, coefficients.shape[1]
    fits = coefficients.shape[0] == channels and output.shape == (batch, channels, length + order - 1)
    if not order or not fits:
        shapes = ", ".join(str(tuple(t.shape)) for t in operands)
        raise RuntimeError(
            "_lfilter_core_loop: expected shapes (batch, channels, length), (channels, order), "
            f"(batch, channels, length + order - 1), got {shapes}"
        )


class _Recursive(torch.autograd.Function):
    """y[n] = x[n] - sum over k > 0 of a[k] y[n - k], with a[0] = 1."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, a: Tensor) -> Tensor:
        order = a.shape[1]
        padded = x.new_zeros((*x.shape[:2], x.shape[2] + order - 1))
        # By its name, for those who hear of ops: one op, not one for each sample.
        getattr(torch.ops, "torchaudio")._lfilter_core_loop(x.contiguous(), a.flip(1).contiguous(), padded)
        y = padded[:, :, order - 1 :]
        ctx.save_for_backward(a, y)
        return y

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None]:
        a, y = ctx.saved_tensors
        order = a.shape[1]
        # The adjoint of a recurrence is the recurrence in reversed time.
        back = _Recursive.apply(grad.flip(2).contiguous(), a).flip(2)
        if not ctx.needs_input_grad[1]:
            return back, None
        windows = pad(y, (order - 1, 0)).unfold(2, order, 1)
        return back, -torch.einsum("bcn,bcnk->ck", back, windows).flip(1)


def lfilter(waveform: Tensor, a_coeffs: Tensor, b_coeffs: Tensor) -> Tensor:
    """a[0] y[n] + a[1] y[n - 1] + ... = b[0] x[n] + b[1] x[n - 1] + ..., solved for y, with gradients.

    waveform: (batch, channels, length).  a_coeffs, b_coeffs: (channels, order).
    """
    order, channels = b_coeffs.shape[1], b_coeffs.shape[0]
    a, b = a_coeffs / a_coeffs[:, :1], b_coeffs / a_coeffs[:, :1]
    sums = conv1d(pad(waveform, (order - 1, 0)), b.flip(1).unsqueeze(1), groups=channels)
    filtered: Tensor = _Recursive.apply(sums, a)
    return filtered


def overdrive_loop(
    waveform: Tensor, temp: Tensor, last_in: Tensor, last_out: Tensor, output: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Write output = waveform / 2 + 3 / 4 high, where high[n] = temp[n] - temp[n - 1] + 0.995 high[n - 1].

    waveform, temp, output: (channels, length).  last_in, last_out: (channels,), temp and high at n = -1;
    then, at the end. Returns what it has written: last_in, last_out, output.
    """
    steps = torch.diff(temp, dim=1, prepend=last_in[:, None])
    high = torch.cat([last_out[:, None], torch.zeros_like(temp)], 1)
    weights = temp.new_tensor([-0.995, 1.0]).expand(len(temp), 2)
    core_loop(steps[None].contiguous(), weights.contiguous(), high[None])
    output.copy_(waveform * 0.5 + high[:, 1:] * 0.75)
    if temp.shape[1]:
        last_in.copy_(temp[:, -1])
        last_out.copy_(high[:, -1])
    return last_in, last_out, output
