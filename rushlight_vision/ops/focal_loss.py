"""The loss of classes of which most are background."""

from __future__ import annotations

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import Tensor
from rushlight_vision.ops._losses import reduced


def sigmoid_focal_loss(
    inputs: Tensor, targets: Tensor, alpha: float = 0.25, gamma: float = 2, reduction: str = "none"
) -> Tensor:
    """Lin et al., "Focal Loss for Dense Object Detection", ICCV 2017, equation 5; inputs are logits, targets
    0 or 1 of the same shape; alpha=-1 leaves the balance away.
    """
    if not (0 <= alpha <= 1) and alpha != -1:
        raise ValueError(f"Invalid alpha value: {alpha}. alpha must be in the range [0,1] or -1 for ignore.")
    p = torch.sigmoid(inputs)
    p_t = p * targets + (1 - p) * (1 - targets)
    loss = F.binary_cross_entropy_with_logits(inputs, targets, reduction="none") * (1 - p_t) ** gamma
    if alpha >= 0:
        loss = (alpha * targets + (1 - alpha) * (1 - targets)) * loss
    return reduced(loss, reduction)
