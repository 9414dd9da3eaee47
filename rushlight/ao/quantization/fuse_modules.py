"""fuse_modules: layers of a model that belong together as one module."""

from __future__ import annotations

import copy
from collections.abc import Callable
from operator import attrgetter
from typing import Any

from rushlight import nn
from rushlight.ao.quantization.fuser_method_mappings import _DEFAULT_OP_LIST_TO_FUSER_METHOD
from rushlight.nn.utils.parametrize import type_before_parametrizations


def fuse_known_modules(
    mod_list: list[Any], is_qat: bool, additional_fuser_method_mapping: Any = None
) -> list[Any]:
    """The one module of several and identities for the others; NotImplementedError for unknown kinds."""
    types = tuple(type_before_parametrizations(m) for m in mod_list)
    method = {**_DEFAULT_OP_LIST_TO_FUSER_METHOD, **(additional_fuser_method_mapping or {})}.get(types)
    if method is None:
        raise NotImplementedError(f"Cannot fuse modules: {types}")
    made = method(is_qat, *mod_list)
    for hook in mod_list[0]._forward_pre_hooks.values():
        made.register_forward_pre_hook(hook)
    mod_list[0]._forward_pre_hooks.clear()
    for hook in mod_list[-1]._forward_hooks.values():
        made.register_forward_hook(hook)
    mod_list[-1]._forward_hooks.clear()
    return [made, *[nn.Identity().train(mod_list[0].training) for _ in mod_list[1:]]]


def _put(model: Any, path: str, module: Any) -> None:
    above, _, name = path.rpartition(".")
    setattr(attrgetter(above)(model) if above else model, name, module)


def _fuse(
    model: Any, groups: Any, is_qat: bool, inplace: bool, fuser_func: Callable[..., Any], custom: Any
) -> Any:
    model = model if inplace else copy.deepcopy(model)
    more = (custom or {}).get("additional_fuser_method_mapping", {})
    for group in [groups] if all(isinstance(name, str) for name in groups) else groups:
        found = fuser_func([attrgetter(path)(model) for path in group], is_qat, more)
        for path, module in zip(group, found):
            _put(model, path, module)
    return model


def fuse_modules(
    model: Any,
    modules_to_fuse: Any,
    inplace: bool = False,
    fuser_func: Callable[..., Any] = fuse_known_modules,
    fuse_custom_config_dict: Any = None,
) -> Any:
    """A model in which lists of modules, by name, are one each: convolution, norm and relu, linear and relu.

    modules_to_fuse: a list of names, or a list of such. The first of a list becomes the one, the others the
    identity. A norm is taken up into the weights before it, so the model has to be in evaluation mode.
    """
    return _fuse(model, modules_to_fuse, False, inplace, fuser_func, fuse_custom_config_dict)


def fuse_modules_qat(
    model: Any,
    modules_to_fuse: Any,
    inplace: bool = False,
    fuser_func: Callable[..., Any] = fuse_known_modules,
    fuse_custom_config_dict: Any = None,
) -> Any:
    """The same for a model that is to be trained: norms stay, beside the weights that they belong to."""
    return _fuse(model, modules_to_fuse, True, inplace, fuser_func, fuse_custom_config_dict)
