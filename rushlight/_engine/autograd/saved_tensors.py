"""What nodes keep for their gradient rules, and the check that nobody wrote over it since."""

from __future__ import annotations

from contextlib import suppress
from types import MemberDescriptorType
from typing import Any

from rushlight._engine.autograd.grad_mode import LOCAL
from rushlight._engine.autograd.node import AccumulateGrad
from rushlight._engine.tensors.tensor import BELOW, Tensor, alias, storage


def version_of(t: Tensor) -> int:
    """How often the tensor's storage has been written to in place.

    RuntimeError for one of inference mode, but within a function that torch.func differentiates.
    """
    s = t._storage
    if s is None:
        return 0
    if s.inference and not LOCAL.transforms:
        raise RuntimeError(
            "Inference tensors cannot be saved for backward. Please do not use Tensors created in "
            "inference mode in computation tracked by autograd. To work around this, you can make a "
            "clone to get a normal tensor and use it in autograd, or use `torch.no_grad()` instead of "
            "`torch.inference_mode()`."
        )
    return s.version


# A result to be kept by its own node: the same data without the node, to make no cycle.
result_alias = alias


def reattach(t: Tensor, node: Any, number: int = 0) -> Tensor:
    """Such a result at its place in the graph again, which gradients of gradients need."""
    if t.__class__ is Tensor or t.__class__ not in BELOW:
        return alias(t, node, number)
    found = twin(t)
    found._grad_node, found._output_nr = node, number
    return found


def twin(t: Tensor) -> Tensor:
    """The same tensor outside the graph, of its class, with all that it holds."""
    other: Tensor = object.__new__(type(t))
    other._storage = storage(t)
    other._array, other._kind, other._grad_node, other._output_nr = t._array, t._kind, None, 0
    other.__dict__.update(t.__dict__)
    for cls in type(t).__mro__[: type(t).__mro__.index(Tensor)]:  # slots of a program's own class
        if cls.__dict__.get("__slots__"):
            for slot in [d for d in vars(cls).values() if isinstance(d, MemberDescriptorType)]:
                with suppress(AttributeError):  # an empty one
                    slot.__set__(other, slot.__get__(t))
    version_of(t)
    return other


def check_version(node: Any, t: Tensor, version: int) -> Tensor:
    """The saved tensor, if it still holds what it held; RuntimeError otherwise."""
    found = 0 if t._storage is None else t._storage.version
    if found != version:
        raise RuntimeError(
            "one of the variables needed for gradient computation has been modified by an inplace "
            f"operation: [torch.{t._kind.dtype.legacy}Tensor {list(t._geometry.shape)}]{_maker(t, node)} "
            f"is at version {found}; expected version {version} instead. Hint: enable anomaly detection to "
            "find the operation that failed to compute its gradient, with "
            "torch.autograd.set_detect_anomaly(True, check_nan=False)."
        )
    return t


def _maker(t: Tensor, node: Any) -> str:
    if isinstance(t._grad_node, AccumulateGrad):
        return ""
    name = (node if t._grad_node is None else t._grad_node).name()
    return f", which is output {t._output_nr} of {name.partition('Backward')[0]},"
