"""What Module.__init__ makes and all parts of Module use, with its types."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

from rushlight import Tensor
from rushlight.nn.parameter import Parameter

# Hooks by the number of their handle.
_HookTable = OrderedDict[int, Callable[..., Any]]
_Marks = OrderedDict[int, bool]


class Tables:
    """The base of Module's parts, which says what they find in an instance.

    `_parameters`, `_buffers` and `_modules` hold what is registered, by name; None reserves a name. The
    others hold hooks, or mark those that are called with keywords, or always.
    """

    training: bool
    children: Callable[[], Iterator[Any]]
    _version: int
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]
    _is_full_backward_hook: bool | None
    _backward_pre_hooks: _HookTable
    _backward_hooks: _HookTable
    _forward_hooks: _HookTable
    _forward_hooks_with_kwargs: _Marks
    _forward_hooks_always_called: _Marks
    _forward_pre_hooks: _HookTable
    _forward_pre_hooks_with_kwargs: _Marks
    _state_dict_hooks: _HookTable
    _state_dict_pre_hooks: _HookTable
    _load_state_dict_pre_hooks: _HookTable
    _load_state_dict_post_hooks: _HookTable
    forward: Callable[..., Any]
