# Written by `python tools/stubs.py`.
"""AdaptiveLogSoftmaxWithLoss: a softmax over many classes, rare ones in clusters."""
from collections.abc import Sequence
from rushlight import Tensor
from rushlight._engine.core.device import device as _device
from rushlight._engine.core.dtype import dtype as _dtype
from rushlight.nn.modules.container import ModuleList
from rushlight.nn.modules.linear import Linear
from rushlight.nn.modules.module import Module, _Forward, _P, _R
from typing import Any, NamedTuple

class AdaptiveLogSoftmaxWithLoss(Module):
    """Efficient softmax by Grave et al.: frequent classes in the head, others in clusters.

    Classes are sorted by frequency; `cutoffs` are the first classes of the clusters. Cluster i has a
    projection to in_features / div_value^(i + 1). input (N, in_features), target (N,) -> (output:
    log-probabilities of the targets (N,), loss: their negative mean).
    """

    cutoffs: Any
    div_value: float
    head: Linear
    head_bias: bool
    head_size: Any
    in_features: int
    n_classes: int
    n_clusters: Any
    shortlist_size: Any
    tail: ModuleList
    def __init__(self, in_features: int, n_classes: int, cutoffs: Sequence[int], div_value: float = 4.0, head_bias: bool = False, device: str | int | _device | None = None, dtype: _dtype | None = None) -> None: ...
    def forward(self, input_: Any, target_: Any) -> Tensor:
        """(output, loss) for a batch or one sample."""
    def log_prob(self, input: Tensor) -> Tensor:
        """(N, n_classes): the log-probabilities of all classes."""
    def predict(self, input: Tensor) -> Any:
        """(N,): the most probable class of each sample."""
    def reset_parameters(self) -> None:
        """Draw the weights of the head and of all clusters anew, as Linear does."""
    def __call__(self: _Forward[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
class _ASMoutput(NamedTuple):
    output: Tensor
    loss: Tensor
def _target_log_prob(layer: Any, input: Tensor, target: Tensor) -> Any:
    """(N,): the log-probability of each sample's class."""
__all__ = ['AdaptiveLogSoftmaxWithLoss']
