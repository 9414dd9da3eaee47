"""Who hears that PyTorch's CUDA leaves a result to chance: calls of rows, and nodes of a backward pass.

Results here do not; the words are PyTorch's, so that a program hears what it would hear there while
torch.use_deterministic_algorithms is on. What rows that are written with others say is in their bodies
(`alert_on_cuda` of core/determinism.py).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Any

from rushlight._engine.autograd.node import STREAMS, Node, next_seq
from rushlight._engine.core.determinism import Determinism, alert

_MEDIAN = "median CUDA with indices output"
# By row: the words, and whether they are of a call with these values.
_OF_ROWS: dict[str, tuple[str, Callable[[Sequence[Any]], bool]]] = {
    "bincount": ("_bincount_cuda", lambda values: values[1] is not None),
    "histc": ("_histc_cuda with floating point input", lambda values: values[0].dtype.kind == "f"),
    "_median_dim": (_MEDIAN, lambda values: True),
    "_nanmedian_dim": (_MEDIAN, lambda values: True),
    "put": ("put_", lambda values: True),
}
# By PyTorch's name of a node.
_OF_NODES = {
    "AdaptiveAvgPool2DBackward0": "adaptive_avg_pool2d_backward_cuda",
    "AdaptiveAvgPool3DBackward0": "adaptive_avg_pool3d_backward_cuda",
    "AdaptiveMaxPool2DBackward0": "adaptive_max_pool2d_backward_cuda",
    "AvgPool3DBackward0": "avg_pool3d_backward_cuda",
    "CtcLossBackward0": "ctc_loss_backward_gpu",
    "FractionalMaxPool2DBackward0": "fractional_max_pool2d_backward_cuda",
    "FractionalMaxPool3DBackward0": "fractional_max_pool3d_backward_cuda",
    "GridSampler2DBackward0": "grid_sampler_2d_backward_cuda",
    "GridSampler3DBackward0": "grid_sampler_3d_backward_cuda",
    "MaxPool3DWithIndicesBackward0": "max_pool3d_with_indices_backward_cuda",
    "ReflectionPad1DBackward0": "reflection_pad1d_backward_out_cuda",
    "ReflectionPad3DBackward0": "reflection_pad3d_backward_out_cuda",
    "ReplicationPad1DBackward0": "replication_pad1d_backward_cuda",
    "ReplicationPad2DBackward0": "replication_pad2d_backward_cuda",
    "ReplicationPad3DBackward0": "replication_pad3d_backward_cuda",
    "UpsampleBicubic2DBackward0": "upsample_bicubic2d_backward_out_cuda",
    "UpsampleBilinear2DBackward0": "upsample_bilinear2d_backward_out_cuda",
    "UpsampleLinear1DBackward0": "upsample_linear1d_backward_out_cuda",
    "UpsampleTrilinear3DBackward0": "upsample_trilinear3d_backward_out_cuda",
}
# Nodes of ops for which PyTorch takes another way where the switch is on as they are called.
_OTHER_WAY = frozenset(
    (
        "MaxPool3DWithIndicesBackward0",
        "ReplicationPad1DBackward0",
        "ReplicationPad2DBackward0",
        "ReplicationPad3DBackward0",
        "UpsampleBilinear2DBackward0",
        "UpsampleTrilinear3DBackward0",
    )
)


def called(row: str, values: Sequence[Any]) -> None:
    """A row is called on a device, while the switch is on."""
    words, holds = _OF_ROWS.get(row, ("", None))
    if holds is not None and holds(values):
        alert(words)


class _Passes:
    """What looks at the nodes of a backward pass: at streams and, while the switch is on, at names."""

    def __init__(self) -> None:
        self.streams: Callable[[], Any] | None = None  # begins what sees to streams
        # The number of the first node behind each change of the switch, which was off at first.
        self.changes: list[int] = []

    def heard(self) -> None:
        """The switch has been set."""
        if bool(Determinism.level) != self.on():
            self.changes.append(next_seq())
        self.choose()

    def on(self, seq: float = math.inf) -> bool:
        """Whether the switch was on when the node of this number was made."""
        return bisect_left(self.changes, seq) % 2 == 1

    def choose(self) -> None:
        """Let passes begin as is needed now."""
        STREAMS[:] = [self._begun] if self.on() else [] if self.streams is None else [self.streams]

    def _begun(self) -> _Heard:
        return _Heard(None if self.streams is None else self.streams())


PASSES = _Passes()


class _Heard:
    """A backward pass whose nodes may have something to say; `streams` is what sees them beside."""

    def __init__(self, streams: Any) -> None:
        self.streams = streams

    def go(self, node: Node, grad: Any) -> None:
        """A node is about to run."""
        if self.streams is not None:
            self.streams.go(node, grad)
        name = node.name()
        if name not in _OF_NODES or (name in _OTHER_WAY and PASSES.on(node.seq)):
            return
        if any([g is not None and g.is_cuda for g in (grad if node.multi else [grad])]):
            alert(_OF_NODES[name])

    def end(self) -> None:
        """The pass has ended."""
        if self.streams is not None:
            self.streams.end()
