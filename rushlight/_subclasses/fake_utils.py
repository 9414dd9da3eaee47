"""torch._subclasses.fake_utils: a mode that compares what ops give with what they give on fake tensors."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from itertools import combinations
from typing import Any

import rushlight as torch
from rushlight._engine.core.pytree import flatten, tree_map
from rushlight._engine.tensors.tensor import Tensor, storage
from rushlight._prims_common import compare_tensor_meta
from rushlight._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensorMode,
    MetadataMismatchError,
    UnsupportedFakeTensorException,
)
from rushlight.utils._python_dispatch import TorchDispatchMode

# What has no fake tensors, or none whose sizes are known.
_LEFT_OUT = frozenset(("lift_fresh", "lift_fresh_copy", "set_"))


def _tensors(values: Any) -> list[Any]:
    return [t for t in flatten(values)[0] if isinstance(t, Tensor)]


def _memories(values: Any) -> list[Any]:
    return [storage(t) for t in _tensors(values) if t.layout is torch.strided]


def outputs_alias_inputs(outputs: Any, inputs: Any) -> bool:
    """Whether a result shares memory with an argument."""
    held = _memories(inputs)
    return any(memory is other for memory in _memories(outputs) for other in held)


def outputs_are_inputs(outputs: Any, inputs: Any) -> bool:
    """Whether a result is an argument."""
    given = _tensors(inputs)
    return any(out is other for out in _tensors(outputs) for other in given)


def output_alias_each_other(outputs: Any) -> bool:
    """Whether two results share memory."""
    return any(one is other for one, other in combinations(_memories(outputs), 2))


class CrossRefFakeMode(TorchDispatchMode):
    """Each op runs on fake tensors as well; MetadataMismatchError where these are not what the real ones are.

    ignore_op_fn: whether to leave out an op. check_strides, check_aliasing: compare strides, and who shares
    memory with whom. only_check_ops_with_meta is accepted: every op knows its shapes.
    """

    def __init__(
        self,
        ignore_op_fn: Callable[[Any], bool] | None = None,
        *,
        check_strides: bool = True,
        check_aliasing: bool = True,
        only_check_ops_with_meta: bool = True,
    ) -> None:
        super().__init__()
        self.ignore_op_fn = ignore_op_fn or (lambda fn: False)
        self.check_strides, self.check_aliasing = check_strides, check_aliasing
        self.only_check_ops_with_meta = only_check_ops_with_meta

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        fake = self._fake(func, args, kwargs)
        real = func(*args, **kwargs)
        # Fake tensors can not be conjugates or negatives of what lies in memory.
        if fake is not None and not any(t.is_conj() or t.is_neg() for t in _tensors((real, args, kwargs))):
            self._compare(func, real, (args, kwargs), *fake)
        return real

    def _fake(self, func: Any, args: Any, kwargs: Any) -> tuple[Any, Any] | None:
        """The op's results on fake tensors, and these; None where it can not be said."""
        if func._schema.op_name in _LEFT_OUT or self.ignore_op_fn(func):
            return None
        try:
            with FakeTensorMode() as mode:
                make = partial(_faked, mode)
                given = tree_map(make, args), tree_map(make, kwargs)
                return func(*given[0], **given[1]), given
        except (UnsupportedFakeTensorException, DataDependentOutputException, DynamicOutputShapeException):
            return None

    def _compare(self, func: Any, real: Any, given: Any, fake: Any, fake_given: Any) -> None:
        context = f"When comparing the output of {func} on FakeTensor and concrete Tensors, found"
        outs, fakes = flatten(real)[0], flatten(fake)[0]
        if len(outs) != len(fakes):
            raise AssertionError(f"{context} mismatch in number of returns {len(fakes)} != {len(outs)}")
        if self.check_aliasing:
            for name, found, other in (
                ("outputs_alias_inputs", *_both(outputs_alias_inputs, real, given, fake, fake_given)),
                ("outputs_are_inputs", *_both(outputs_are_inputs, real, given, fake, fake_given)),
                ("outputs_alias_each_other", output_alias_each_other(real), output_alias_each_other(fake)),
            ):
                if found != other:
                    raise MetadataMismatchError(f"{context} mismatch in {name} check {other} != {found}")
        for number, (out, other) in enumerate(zip(outs, fakes, strict=True)):
            if isinstance(out, Tensor) != isinstance(other, Tensor):
                raise AssertionError(f"{context} mismatched number of tensor outputs")
            if isinstance(out, Tensor):
                self._compare_one(out, other, context, f" for output[{number}]" * (len(outs) > 1))

    def _compare_one(self, out: Any, other: Any, context: str, which: str) -> None:
        try:
            if out.requires_grad != other.requires_grad:
                raise MetadataMismatchError(
                    " mismatched requires_grad-ness of outputs. This usually means that you have added "
                    "autograd support for your operator at a dispatch key other than Autograd, which will "
                    "lead to problems"
                )
            if out.layout is torch.strided and out.storage_offset() != other.storage_offset():
                raise MetadataMismatchError(" mismatched storage offset")
            compare_tensor_meta(out, other, check_strides=self.check_strides)
        except Exception as error:
            raise MetadataMismatchError(f"{context} mismatched tensor metadata{which}: {error}") from error


def _faked(mode: FakeTensorMode, value: Any) -> Any:
    return mode.from_tensor(value, static_shapes=True) if isinstance(value, Tensor) else value


def _both(check: Callable[[Any, Any], bool], *values: Any) -> tuple[bool, bool]:
    real, given, fake, fake_given = values
    return check(real, given), check(fake, fake_given)


def __getattr__(name: str) -> Any:
    """What else PyTorch has here can be imported."""
    return import_module("rushlight._engine.names.alternatives").attribute(__name__, name)
