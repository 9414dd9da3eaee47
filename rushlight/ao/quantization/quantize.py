"""Models with quantized layers in place of float ones: after training, while training, call by call."""

from __future__ import annotations

import copy
import inspect
from typing import Any

import rushlight as torch
from rushlight import nn
from rushlight._engine.core.callers import warn
from rushlight.ao.nn.intrinsic import _FusedModule
from rushlight.ao.nn.quantized import FloatFunctional, QFunctional
from rushlight.ao.quantization import quantization_mappings as mappings
from rushlight.ao.quantization.qconfig import (
    _activation_is_memoryless,
    _assert_valid_qconfig,
    default_dynamic_qconfig,
    float16_dynamic_qconfig,
    float_qparams_weight_only_qconfig,
    float_qparams_weight_only_qconfig_4bit,
)
from rushlight.ao.quantization.stubs import DeQuantStub, QuantWrapper
from rushlight.ao.quantization.utils import (
    _is_activation_post_process,
    has_no_children_ignoring_parametrizations,
)
from rushlight.nn.utils.parametrize import type_before_parametrizations


def get_default_custom_config_dict() -> dict[str, Any]:
    """Classes of one's own that conversion knows: none by default."""
    return {"float_to_observed_custom_module_class": {}, "observed_to_quantized_custom_module_class": {}}


def propagate_qconfig_(module: Any, qconfig_dict: Any = None, prepare_custom_config_dict: Any = None) -> None:
    """Give each submodule a `qconfig`: its own, that of its name or class in the dict, or its parent's."""
    _propagate(module, qconfig_dict or {}, None, "")


def _propagate(module: Any, known: dict[Any, Any], above: Any, prefix: str) -> None:
    found = known.get(type_before_parametrizations(module), above)
    found = getattr(module, "qconfig", known.get(prefix, found))
    _assert_valid_qconfig(found, module)
    module.qconfig = found
    for name, child in module.named_children():
        _propagate(child, known, found, f"{prefix}.{name}" if prefix else name)


def _observer_forward_hook(self: Any, input: Any, output: Any) -> Any:
    return self.activation_post_process(output)


def _observer_forward_pre_hook(self: Any, input: Any) -> Any:
    return self.activation_post_process(input[0])


def _observe(module: Any, kind: Any = None) -> None:
    """Let a module's results, or its inputs where each call has its own range, go through an observer."""
    if getattr(module, "qconfig", None) is None or isinstance(module, DeQuantStub):
        return
    module.add_module("activation_post_process", module.qconfig.activation() if kind is None else kind())
    if _activation_is_memoryless(module.qconfig):
        module.register_forward_pre_hook(_observer_forward_pre_hook, prepend=True)
    else:
        module.register_forward_hook(_observer_forward_hook, prepend=True)


def _add_observer_(module: Any, observed: Any, whole: Any, custom: dict[Any, Any]) -> None:
    """Observe submodules. observed: classes of leaves; whole: classes of others that are observed as one."""
    for name, child in module.named_children():
        kind = type_before_parametrizations(child)
        special = mappings._get_special_act_post_process(child) if child.training else None
        wanted = getattr(child, "qconfig", None) is not None
        if kind is nn.Dropout:
            continue
        if issubclass(kind, (FloatFunctional, QFunctional)):
            if wanted:
                child.activation_post_process = child.qconfig.activation()
        elif isinstance(child, _FusedModule) or (whole is not None and kind in whole):
            _observe(child)
        elif special is not None:
            _observe(child, special)
        elif wanted and kind in custom:
            made = custom[kind].from_float(child)
            setattr(module, name, made)
            _observe(made)
        else:
            _add_observer_(child, observed, whole, custom)
    kind = type_before_parametrizations(module)
    leaf = has_no_children_ignoring_parametrizations(module) or hasattr(module, "weight_fake_quant")
    if leaf and not isinstance(module, nn.Sequential) and kind in observed:
        _observe(module)


def prepare(
    model: Any,
    inplace: bool = False,
    allow_list: Any = None,
    observer_non_leaf_module_list: Any = None,
    prepare_custom_config_dict: Any = None,
) -> Any:
    """A model, with observers in it, that is to see examples and then to be converted.

    What is observed has a `qconfig`, its own or that of a module above it. allow_list: classes of leaves that
    are observed, by default those that have a quantized class.
    """
    custom = (prepare_custom_config_dict or {}).get("float_to_observed_custom_module_class", {})
    model = model if inplace else copy.deepcopy(model)
    propagate_qconfig_(model)
    if not any(getattr(m, "qconfig", None) for m in model.modules()):
        warn(
            "None of the submodule got qconfig applied. Make sure you passed correct configuration through "
            "`qconfig_dict` or by assigning the `.qconfig` attribute directly on submodules"
        )
    observed = mappings.get_default_qconfig_propagation_list() if allow_list is None else allow_list
    _add_observer_(model, observed, observer_non_leaf_module_list, custom)
    return model


def add_quant_dequant(module: Any) -> Any:
    """A model whose leaves with a `qconfig` are between stubs each."""
    if has_no_children_ignoring_parametrizations(module) and getattr(module, "qconfig", None):
        return QuantWrapper(module)
    for name, child in module.named_children():
        module._modules[name] = add_quant_dequant(child)
    return module


def _remove_qconfig(module: Any) -> None:
    """Take configurations and observers out again."""
    for child in module.children():
        _remove_qconfig(child)
    if hasattr(module, "qconfig"):
        del module.qconfig
    if _is_activation_post_process(getattr(module, "activation_post_process", None)):
        del module.activation_post_process
    for hooks, ours in (
        (module._forward_pre_hooks, _observer_forward_pre_hook),
        (module._forward_hooks, _observer_forward_hook),
    ):
        for key in [key for key, hook in hooks.items() if hook is ours]:
            hooks.pop(key)


def swap_module(
    mod: Any, mapping: Any, custom_module_class_mapping: Any, use_precomputed_fake_quant: bool = False
) -> Any:
    """The module that takes the place of one with a `qconfig`; itself where the mapping has none."""
    kind, made = type_before_parametrizations(mod), None
    if getattr(mod, "qconfig", None) is None:
        return mod
    if kind in custom_module_class_mapping:
        made = custom_module_class_mapping[kind].from_observed(mod)
    elif kind in mapping:
        make = mapping[kind].from_float
        taken = "use_precomputed_fake_quant" in inspect.signature(make).parameters
        made = make(mod, **({"use_precomputed_fake_quant": use_precomputed_fake_quant} if taken else {}))
    if made is None:
        return mod
    for hook in mod._forward_pre_hooks.values():
        made.register_forward_pre_hook(hook)
    for hook in mod._forward_hooks.values():
        if hook is not _observer_forward_hook:
            made.register_forward_hook(hook)
    return made


def _convert(module: Any, mapping: Any, custom: dict[Any, Any], precomputed: bool) -> None:
    for name, child in list(module.named_children()):
        if not isinstance(child, _FusedModule) and type_before_parametrizations(child) not in custom:
            _convert(child, mapping, custom, precomputed)
        module._modules[name] = swap_module(child, mapping, custom, precomputed)


def convert(
    module: Any,
    mapping: Any = None,
    inplace: bool = False,
    remove_qconfig: bool = True,
    is_reference: bool = False,
    convert_custom_config_dict: Any = None,
    use_precomputed_fake_quant: bool = False,
) -> Any:
    """A model whose observed submodules are those of `mapping`, by default quantized ones."""
    if is_reference:
        raise NotImplementedError(
            "convert(is_reference=True): reference modules are not there; the quantized modules of the "
            "default compute the same numbers"
        )
    custom = (convert_custom_config_dict or {}).get("observed_to_quantized_custom_module_class", {})
    module = module if inplace else copy.deepcopy(module)
    table = mappings.get_default_static_quant_module_mappings() if mapping is None else mapping
    _convert(module, table, custom, use_precomputed_fake_quant)
    if remove_qconfig:
        _remove_qconfig(module)
    return module


def quantize(model: Any, run_fn: Any, run_args: Any, mapping: Any = None, inplace: bool = False) -> Any:
    """prepare, run_fn(model, *run_args) with examples, convert."""
    model = model if inplace else copy.deepcopy(model)
    model.eval()
    prepare(model, inplace=True)
    run_fn(model, *run_args)
    return convert(model, mapping, inplace=True)


_LAYERS = (nn.Linear, nn.LSTM, nn.GRU, nn.LSTMCell, nn.RNNCell, nn.GRUCell)
_DYNAMIC = {
    torch.qint8: (default_dynamic_qconfig, _LAYERS),
    torch.float16: (float16_dynamic_qconfig, _LAYERS),
    torch.quint8: (float_qparams_weight_only_qconfig, (nn.EmbeddingBag, nn.Embedding)),
    torch.quint4x2: (float_qparams_weight_only_qconfig_4bit, (nn.EmbeddingBag,)),
}


def quantize_dynamic(
    model: Any, qconfig_spec: Any = None, dtype: Any = torch.qint8, mapping: Any = None, inplace: bool = False
) -> Any:
    """A model whose linear and recurrent layers have quantized weights, and quantize inputs call by call.

    qconfig_spec: a set of classes and names of submodules, or a dict from these to configurations; by default
    all such layers. dtype: torch.qint8, or torch.float16 for weights in half precision.
    """
    if dtype not in _DYNAMIC and not isinstance(qconfig_spec, dict):
        if qconfig_spec is None:
            raise ValueError(
                f"Don't know how to quantize with default settings for {dtype}. Provide full qconfig please"
            )
        raise RuntimeError("Unknown dtype specified for quantize_dynamic: ", str(dtype))
    if not isinstance(qconfig_spec, dict):
        qconfig, layers = _DYNAMIC[dtype]
        qconfig_spec = dict.fromkeys(layers if qconfig_spec is None else qconfig_spec, qconfig)
    table = mappings.get_default_dynamic_quant_module_mappings() if mapping is None else mapping
    model = model if inplace else copy.deepcopy(model)
    model.eval()
    propagate_qconfig_(model, qconfig_spec)
    return convert(model, table, inplace=True)


def prepare_qat(model: Any, mapping: Any = None, inplace: bool = False) -> Any:
    """A model in training whose weights and results are fake-quantized, by its `qconfig`."""
    if not model.training:
        raise AssertionError("prepare_qat only works on models in training mode")
    table = mappings.get_default_qat_module_mappings() if mapping is None else mapping
    model = model if inplace else copy.deepcopy(model)
    propagate_qconfig_(model)
    convert(model, table, inplace=True, remove_qconfig=False)
    return prepare(model, observer_non_leaf_module_list=set(table.values()), inplace=True)


def quantize_qat(model: Any, run_fn: Any, run_args: Any, inplace: bool = False) -> Any:
    """prepare_qat, run_fn(model, *run_args), which trains, convert."""
    model = model if inplace else copy.deepcopy(model)
    model.train()
    prepare_qat(model, inplace=True)
    run_fn(model, *run_args)
    return convert(model, inplace=True)
