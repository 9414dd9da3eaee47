"""The loss of RNN transducers: Graves, "Sequence Transduction with Recurrent Neural Networks", 2012."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight import Tensor


def rnnt_loss_forward(
    logits: Tensor,
    targets: Tensor,
    logit_lengths: Tensor,
    target_lengths: Tensor,
    blank: int,
    clamp: float,
    fused_log_softmax: bool,
) -> tuple[Tensor, Tensor]:
    """Losses (batch,), and their gradients with respect to logits, both of logits' dtype.

    logits: (batch, T, U + 1, classes), float32 or float16.  targets: (batch, U), int32.  logit_lengths,
    target_lengths: (batch,), int32.  clamp: gradients are cut to -clamp .. clamp where it is not negative.
    fused_log_softmax: whether logits are to be normalised; else they are logarithms of probabilities.
    Errors: RuntimeError for other dtypes and sizes.
    """
    _check(logits, targets, logit_lengths, target_lengths, blank)
    with torch.enable_grad():
        # Beyond an example's lengths there may be anything, NaN too, which has no gradient.
        steps, places = (torch.arange(n, device=logits.device) for n in logits.shape[1:3])
        beyond = (steps >= logit_lengths[:, None])[:, :, None] | (places > target_lengths[:, None])[:, None]
        given = logits.detach().double().masked_fill(beyond[..., None], 0.0).requires_grad_()
        logs = given.log_softmax(-1) if fused_log_softmax else given
        losses = _losses(logs, targets.long(), logit_lengths.long(), target_lengths.long(), blank)
        (grads,) = torch.autograd.grad(losses.sum(), given)
    if clamp >= 0:
        grads = grads.clamp(-clamp, clamp)
    return losses.detach().to(logits.dtype), grads.to(logits.dtype)


class _Loss(torch.autograd.Function):
    """The losses alone, with gradients of logits."""

    @staticmethod
    def forward(ctx: Any, *operands: Any) -> tuple[Tensor, Tensor]:
        losses, grads = rnnt_loss_forward(*operands)
        ctx.save_for_backward(grads)
        ctx.mark_non_differentiable(grads)
        return losses, grads

    @staticmethod
    def backward(ctx: Any, grad: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        (grads,) = ctx.saved_tensors
        return grads * grad[:, None, None, None], *[None] * 6


def rnnt_loss(*operands: Any) -> tuple[Tensor, Tensor]:
    """As rnnt_loss_forward, and the losses have gradients with respect to logits."""
    results: tuple[Tensor, Tensor] = _Loss.apply(*operands)
    return results


def _losses(logs: Tensor, targets: Tensor, times: Tensor, labels: Tensor, blank: int) -> Tensor:
    """-log of the sums over all alignments, equations 16 and 17, in double precision.

    A row of forward variables comes from the one before it by a running logsumexp: alpha[t, u] - E[t, u] =
    log sum over v <= u of exp(alpha[t - 1, v] + skip[t - 1, v] - E[t, v]), E the running sum of emit[t].
    """
    batch, length, width, _ = logs.shape
    device = logs.device
    skip = logs[..., blank]
    index = targets[:, None, :, None].expand(batch, length, width - 1, 1)
    emit = logs[:, :, :-1].gather(-1, index)[..., 0]
    sums = torch.cat([torch.zeros_like(skip[..., :1]), emit.cumsum(-1)], -1)
    rows = [sums[:, 0]]
    for t in range(1, length):
        rows.append((rows[-1] + skip[:, t - 1] - sums[:, t]).logcumsumexp(-1) + sums[:, t])
    ends = torch.stack(rows, 1) + skip
    return -ends[torch.arange(batch, device=device), times - 1, labels]


def _check(
    logits: Tensor, targets: Tensor, logit_lengths: Tensor, target_lengths: Tensor, blank: int
) -> None:
    """RuntimeError, in torchaudio's words, for operands of other kinds."""
    integers = {"targets": targets, "logit_lengths": logit_lengths, "target_lengths": target_lengths}
    for name, t in integers.items():
        if t.device != logits.device:
            raise RuntimeError(f"logits and {name} must be on the same device")
    if logits.dtype not in (torch.float32, torch.float16):
        raise RuntimeError("logits must be float32 or float16 (half) type")
    for name, t in integers.items():
        if t.dtype != torch.int32:
            raise RuntimeError(f"{name} must be int32 type")
    for name, t in {"logits": logits, **integers}.items():
        if not t.is_contiguous():
            raise RuntimeError(f"{name} must be contiguous")
    dims = {
        "logits must be 4-D (batch, time, target, class)": logits.dim() == 4,
        "targets must be 2-D (batch, max target length)": targets.dim() == 2,
        "logit_lengths must be 1-D": logit_lengths.dim() == 1,
        "target_lengths must be 1-D": target_lengths.dim() == 1,
    }
    for words, holds in dims.items():
        if not holds:
            raise RuntimeError(words)
    if not 0 <= blank < logits.shape[-1]:
        raise RuntimeError("blank must be within [0, logits.shape[-1])")
    _check_sizes(logits, targets, logit_lengths, target_lengths)


def _check_sizes(logits: Tensor, targets: Tensor, logit_lengths: Tensor, target_lengths: Tensor) -> None:
    """RuntimeError, in torchaudio's words, where lengths and sizes differ."""
    batch, length, width, _ = logits.shape
    rules = {
        "batch dimension mismatch between logits and logit_lengths": len(logit_lengths) == batch,
        "batch dimension mismatch between logits and target_lengths": len(target_lengths) == batch,
        "batch dimension mismatch between logits and targets": len(targets) == batch,
        "input length mismatch": int(logit_lengths.max()) == length,
        "output length mismatch": int(target_lengths.max()) + 1 == width,
        "target length mismatch": int(target_lengths.max()) == targets.shape[1],
    }
    for words, holds in rules.items():
        if not holds:
            raise RuntimeError(words)
