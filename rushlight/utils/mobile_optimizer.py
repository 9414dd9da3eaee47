"""torch.utils.mobile_optimizer: scripted models made ready to be run only."""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum
from typing import Any

import rushlight as torch
from rushlight.jit.clones import register_attribute
from rushlight.jit.freezing import optimizations
from rushlight.jit.freezing.module import frozen
from rushlight.jit.modules import ScriptModule
from rushlight.jit.passes.patterns import fuse_add_relu
from rushlight.jit.program.memory import sweep
from rushlight.jit.program.types import BOOL
from rushlight.utils.bundled_inputs import _get_bundled_inputs_attributes_and_methods


class MobileOptimizerType(Enum):
    """What optimize_for_mobile does. Packing of weights and the move to a GPU have no meaning here."""

    CONV_BN_FUSION = 0
    INSERT_FOLD_PREPACK_OPS = 1
    REMOVE_DROPOUT = 2
    FUSE_ADD_RELU = 3
    HOIST_CONV_PACKED_PARAMS = 4
    VULKAN_AUTOMATIC_GPU_TRANSFER = 5


class LintCode(Enum):
    """What generate_mobile_module_lints tells of."""

    BUNDLED_INPUT = 1
    REQUIRES_GRAD = 2
    DROPOUT = 3
    BATCHNORM = 4


def optimize_for_mobile(
    script_module: ScriptModule,
    optimization_blocklist: Collection[MobileOptimizerType] | None = None,
    preserved_methods: list[Any] | None = None,
    backend: str = "CPU",
) -> ScriptModule:
    """A frozen copy of a scripted module in evaluation mode, whose layers are merged.

    Batch norms go into the convolutions before them, dropout is taken out, relu of a sum is one op; what is
    in optimization_blocklist is left out. preserved_methods: what stays beside forward; methods of bundled
    inputs do by themselves. The copy has an attribute `mobile_optimized`.
    Raises TypeError for what is no ScriptModule, AttributeError for methods that it has not.
    """
    _check(script_module)
    if backend.lower() not in ("cpu", "vulkan", "metal"):
        raise TypeError("Unknown backend, must be one of 'CPU', 'Vulkan' or 'Metal'")
    names = [str(name) for name in preserved_methods or ()]
    names += [n for n in _get_bundled_inputs_preserved_attributes(script_module, names) if n not in names]
    missing = [name for name in names if not hasattr(script_module, name)]
    if missing:
        raise AttributeError(
            f"The following methods to preserve do not exist in script_module: {', '.join(missing)}"
        )
    left_out = set(optimization_blocklist or ())
    script_module.eval()
    made = frozen(script_module, names)
    for name in ("forward", *names):
        if made._c._has_method(name):
            _merge(made._c._get_method(name).graph, left_out)
    register_attribute(made, "mobile_optimized", BOOL, True)
    return made


def _merge(graph: Any, left_out: set[MobileOptimizerType]) -> None:
    block = graph._function.block
    if MobileOptimizerType.CONV_BN_FUSION not in left_out:
        optimizations.fold_conv_bn(block)
    if MobileOptimizerType.REMOVE_DROPOUT not in left_out:
        optimizations.remove_dropout(block)
    graph.changed(graph._function)
    if MobileOptimizerType.FUSE_ADD_RELU not in left_out:
        fuse_add_relu(graph)
    sweep(graph._function.block)
    graph.edited()


def generate_mobile_module_lints(script_module: ScriptModule) -> list[dict[str, str]]:
    """What to change in a scripted module before it is saved to be run only: a name and a message each."""
    _check(script_module)
    found: list[dict[str, str]] = []

    def tell(code: LintCode, message: str) -> None:
        found.append({"name": code.name, "message": message})

    if not hasattr(script_module, "_generate_bundled_inputs_for_forward"):
        tell(
            LintCode.BUNDLED_INPUT,
            "No bundled input for forward, please add bundled inputs before saving the module using "
            "torch.utils.bundled_inputs.augment_model_with_bundled_inputs.",
        )
    for name, parameter in script_module.named_parameters():
        if parameter.requires_grad:
            tell(
                LintCode.REQUIRES_GRAD,
                f"Param {name} requires grad, please set torch.no_grad() to reduce memory usage and improve "
                "computation speed during inference phase.",
            )
    ops = torch.jit.export_opnames(script_module)
    for name in ops:
        if "dropout" in name:
            tell(
                LintCode.DROPOUT,
                f"Operator {name} exists, remember to call eval() before saving the module.and call "
                "torch.utils.mobile_optimizer.optimize_for_mobile to drop dropout operator.",
            )
        if "batch_norm" in name:
            tell(
                LintCode.BATCHNORM,
                f"Operator {name} exists, remember to call eval() before saving the module and call "
                "torch.utils.mobile_optimizer.optimize_for_mobile to drop batch_norm operator.",
            )
    return found


def _get_bundled_inputs_preserved_attributes(
    script_module: ScriptModule, preserved_methods: list[str]
) -> list[str]:
    """The attributes and methods that a model has for its bundled inputs; none where one is missing."""
    methods, attributes = _get_bundled_inputs_attributes_and_methods(script_module)
    methods = [name for name in methods if name != "run_on_bundled_input"]
    return [*methods, *attributes] if attributes else []


def _check(module: Any) -> None:
    if not isinstance(module, ScriptModule):
        raise TypeError(f"Got {type(module)}, but ScriptModule is expected.")


__all__ = ["LintCode", "MobileOptimizerType", "generate_mobile_module_lints", "optimize_for_mobile"]
