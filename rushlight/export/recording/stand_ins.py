"""Tensors that stand in for fake ones while a program is recorded: their sizes, filled with zeros."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import rushlight as torch
from rushlight._engine.dispatch.method_overrides import unasked
from rushlight._subclasses.fake_tensor import FakeTensor, FakeTensorMode, unset_fake_temporarily


class StandIns:
    """The tensors in the place of fake ones, each the same for the same; `mode` is that of the first."""

    def __init__(self) -> None:
        self.mode: FakeTensorMode | None = None
        self._made: dict[int, tuple[Any, Any]] = {}

    def of(self, value: Any) -> Any:
        """The tensor for a fake one; everything else as it is."""
        if not isinstance(value, FakeTensor):
            return value
        self.mode = self.mode or value.fake_mode
        if id(value) not in self._made:
            lies = {
                "size": value._geometry.shape,
                "stride": unasked(torch.Tensor.stride)(value),
                "dtype": value.dtype,
            }
            made: Any = torch.empty_strided(**lies, device=value.device).zero_()
            made.requires_grad = value.requires_grad
            self._made[id(value)] = value, made
        return self._made[id(value)][1]

    @contextmanager
    def within(self, module: Any) -> Iterator[None]:
        """A context in which a module holds these for its fake parameters and buffers, outside of all modes
        that make tensors fake.
        """
        before = []
        with unset_fake_temporarily():
            for part in module.modules():
                for held, parameter in ((part._parameters, True), (part._buffers, False)):
                    for name, value in held.items():
                        if isinstance(value, FakeTensor):
                            before.append((held, name, value))
                            made = self.of(value)
                            held[name] = torch.nn.Parameter(made, value.requires_grad) if parameter else made
            try:
                yield
            finally:
                for held, name, value in before:
                    held[name] = value
