"""AdaptiveLogSoftmaxWithLoss: a softmax over many classes, rare ones in clusters."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from typing import Any

import rushlight as torch
from rushlight.nn import functional as F
from rushlight.nn.modules.container import ModuleList, Sequential
from rushlight.nn.modules.linear import Linear
from rushlight.nn.modules.module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]

_ASMoutput = namedtuple("_ASMoutput", ["output", "loss"])


class AdaptiveLogSoftmaxWithLoss(Module):
    """Efficient softmax by Grave et al.: frequent classes in the head, others in clusters.

    Classes are sorted by frequency; `cutoffs` are the first classes of the clusters. Cluster i has a
    projection to in_features / div_value^(i + 1). input (N, in_features), target (N,) -> (output:
    log-probabilities of the targets (N,), loss: their negative mean).
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if (
            cutoffs != sorted(cutoffs)
            or min(cutoffs) <= 0
            or max(cutoffs) > n_classes - 1
            or len(set(cutoffs)) != len(cutoffs)
            or any(int(c) != c for c in cutoffs)
        ):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an "
                "increasing order, where each value is between 1 and n_classes-1"
            )
        self.in_features, self.n_classes = in_features, n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value, self.head_bias = div_value, head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        where = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **where)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            inner = int(in_features // div_value ** (i + 1))
            classes = self.cutoffs[i + 1] - self.cutoffs[i]
            self.tail.append(
                Sequential(
                    Linear(in_features, inner, bias=False, **where),
                    Linear(inner, classes, bias=False, **where),
                )
            )

    def reset_parameters(self) -> None:
        """Draw the weights of the head and of all clusters anew, as Linear does."""
        self.head.reset_parameters()
        pair: Any
        for pair in self.tail:
            projection, out = pair
            projection.reset_parameters()
            out.reset_parameters()

    def forward(self, input_: Any, target_: Any) -> Any:
        """(output, loss) for a batch or one sample."""
        if target_.dim() not in (0, 1):
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        single = target_.dim() == 0
        if single and input_.dim() != 1:
            raise RuntimeError(
                f"0D target tensor expects 1D input tensor, but found inputs with size {input_.size()}"
            )
        if not single and (input_.dim() != 2 or input_.shape[0] != target_.shape[0]):
            raise RuntimeError(
                "Input and target should have the same size in the batch dimension: "
                f"got {input_.size()} and {target_.size()}"
            )
        input, target = (input_.unsqueeze(0), target_.unsqueeze(0)) if single else (input_, target_)
        if target.numel() and not (int(target.min()) >= 0 and int(target.max()) < self.n_classes):
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in "
                f"range [{int(target.min())}, {int(target.max())}] were found. "
            )
        output = _target_log_prob(self, input, target)
        loss = (-output).mean()
        return _ASMoutput(output.squeeze(0) if single else output, loss)

    def _get_full_log_prob(self, input: Any, head_output: Any) -> Any:
        """(N, n_classes) of log-probabilities, the head's result being known."""
        head = F.log_softmax(head_output, dim=1)
        parts = [head[:, : self.shortlist_size]]
        for i, tail in enumerate(self.tail):
            cluster = head[:, self.shortlist_size + i].unsqueeze(1)
            parts.append(F.log_softmax(tail(input), dim=1) + cluster)
        return torch.cat(parts, dim=1)

    def log_prob(self, input: Any) -> Any:
        """(N, n_classes): the log-probabilities of all classes."""
        return self._get_full_log_prob(input, self.head(input))

    def predict(self, input: Any) -> Any:
        """(N,): the most probable class of each sample."""
        head_output = self.head(input)
        output = torch.argmax(head_output, dim=1)
        not_in_shortlist = output >= self.shortlist_size
        if not bool(not_in_shortlist.any()):
            return output
        # A cluster leads in the head: the classes in it have to be compared with all others.
        rows = not_in_shortlist.nonzero().squeeze(1)
        full = self._get_full_log_prob(input.index_select(0, rows), head_output.index_select(0, rows))
        return output.index_copy(0, rows, torch.argmax(full, dim=1))


def _target_log_prob(layer: Any, input: Any, target: Any) -> Any:
    """(N,): the log-probability of each sample's class."""
    output = input.new_zeros(target.size(0))
    # In the head: a frequent class itself, or the cluster of a rare one.
    in_head = target.clone()
    for i in range(layer.n_clusters):
        low, high = layer.cutoffs[i], layer.cutoffs[i + 1]
        rows = ((target >= low) & (target < high)).nonzero().squeeze(1)
        if rows.numel() == 0:
            continue
        in_head = in_head.index_fill(0, rows, layer.shortlist_size + i)
        within = F.log_softmax(layer.tail[i](input.index_select(0, rows)), dim=1)
        chosen = within.gather(1, (target.index_select(0, rows) - low).unsqueeze(1)).squeeze(1)
        output = output.index_copy(0, rows, chosen)
    head = F.log_softmax(layer.head(input), dim=1)
    return output + head.gather(1, in_head.unsqueeze(1)).squeeze(1)
