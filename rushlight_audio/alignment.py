"""The most likely alignment of labels and frames under CTC: Viterbi's algorithm."""

from __future__ import annotations

import rushlight as torch
from rushlight import Tensor


def forced_align(
    log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, blank: int
) -> tuple[Tensor, Tensor]:
    """Labels of the frames, (1, T) of targets' dtype, and log_probs.

    log_probs: (1, T, C), floating.  targets: (1, L), int32 or int64, without blank.
    Errors: RuntimeError for other dtypes and sizes, and for fewer frames than labels with the blanks between
    equal ones.
    """
    _check(log_probs, targets, input_lengths, target_lengths, blank)
    labels = targets[0]
    frames, repeats = log_probs.shape[1], int((labels[1:] == labels[:-1]).sum())
    if frames < len(labels) + repeats:
        raise RuntimeError(
            f"targets length is too long for CTC. Found log_probs length: {frames}, targets length: "
            f"{len(labels)}, and number of repeats: {repeats}"
        )
    states = labels.new_full((2 * len(labels) + 1,), blank)  # blanks around and between the labels
    states[1::2] = labels
    paths = _states(log_probs[0].detach()[:, states.long()], states, blank)
    return states[paths][None], log_probs


def _states(scores: Tensor, states: Tensor, blank: int) -> Tensor:
    """The state of each frame on the best path; scores: (frames, states)."""
    never = -torch.inf
    may_skip = torch.zeros_like(states, dtype=torch.bool)  # over the blank between two labels that differ
    may_skip[2:] = (states[2:] != blank) & (states[2:] != states[:-2])
    best = torch.full_like(scores[0], never)
    best[:2] = scores[0, :2]
    steps = []
    for now in scores[1:]:
        one = torch.cat([best.new_full((1,), never), best[:-1]])
        two = torch.cat([best.new_full((2,), never), best[:-2]])[: len(best)]
        two = torch.where(may_skip, two, never)
        # The step with the best score; the shorter one of equals, but two that tie stay.
        step = ((one > best) & (one > two)).long()
        step = torch.where((two > one) & (two > best), 2, step)
        best = torch.where(step == 0, best, torch.where(step == 1, one, two)) + now
        steps.append(step)
    last = len(best) - 1
    state = last if last == 0 or bool(best[last] > best[last - 1]) else last - 1
    path = [state]
    for back in torch.stack(steps).cpu().numpy()[::-1] if steps else ():
        state -= int(back[state])
        path.append(state)
    return torch.tensor(path[::-1], device=scores.device)


def _check(
    log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, blank: int
) -> None:
    """RuntimeError, in torchaudio's words, for operands of other kinds."""
    rules = (
        (
            log_probs.dtype in (torch.float16, torch.float32, torch.float64),
            "log_probs must be float64, float32 or float16 (half) type",
        ),
        (targets.dtype in (torch.int32, torch.int64), "targets must be int32 or int64 type"),
        (log_probs.is_contiguous(), "log_probs must be contiguous"),
        (targets.is_contiguous(), "targets must be contiguous"),
        (log_probs.dim() == 3, "log_probs must be 3-D (batch_size, input length, num classes)"),
        (targets.dim() == 2, "targets must be 2-D (batch_size, target length,)"),
        (input_lengths.dim() == 1, "input_lengths must be 1-D (batch_size,)"),
        (target_lengths.dim() == 1, "target_lengths must be 1-D (batch_size,)"),
        (
            log_probs.dim() != 3 or log_probs.shape[0] == 1,
            "The batch dimension for log_probs must be 1 at the current version.",
        ),
        (
            targets.dim() != 2 or targets.shape[0] == 1,
            "The batch dimension for targets must be 1 at the current version.",
        ),
        (0 <= blank < log_probs.shape[-1], "blank must be within [0, num classes)"),
    )
    for holds, words in rules:
        if not holds:
            raise RuntimeError(words)
    for what, lengths, size in (
        ("input", input_lengths, log_probs.shape[1]),
        ("target", target_lengths, targets.shape[1]),
    ):
        if int(lengths.max()) != size:
            raise RuntimeError(f"{what} length mismatch")
