"""Which class takes the place of which: layers after training, while training, and call by call."""

from __future__ import annotations

import copy
from typing import Any

from rushlight import nn
from rushlight.ao.nn import intrinsic as nni, qat as nnqat, quantized as nnq
from rushlight.ao.nn.intrinsic import qat as nniqat, quantized as nniq
from rushlight.ao.nn.qat import dynamic as nnqatd
from rushlight.ao.nn.quantized import dynamic as nnqd
from rushlight.ao.quantization.fake_quantize import (
    default_fixed_qparams_range_0to1_fake_quant,
    default_fixed_qparams_range_neg1to1_fake_quant,
)
from rushlight.ao.quantization.stubs import DeQuantStub, QuantStub

_Linear = nn.modules.linear.NonDynamicallyQuantizableLinear
_SAME = (
    "BatchNorm2d BatchNorm3d Dropout Conv1d Conv2d Conv3d ELU GroupNorm Hardswish InstanceNorm1d "
    "InstanceNorm2d InstanceNorm3d LayerNorm LeakyReLU Linear ReLU6"
).split()
_FUSED = "BNReLU2d BNReLU3d ConvReLU1d ConvReLU2d ConvReLU3d LinearReLU".split()

DEFAULT_STATIC_QUANT_MODULE_MAPPINGS: dict[Any, Any] = {
    QuantStub: nnq.Quantize,
    DeQuantStub: nnq.DeQuantize,
    **{getattr(nn, name): getattr(nnq, name) for name in _SAME},
    _Linear: nnq.Linear,
    nnq.FloatFunctional: nnq.QFunctional,
    **{getattr(nni, name): getattr(nniq, name) for name in _FUSED},
    **{getattr(nniqat, f"ConvBn{n}d"): getattr(nnq, f"Conv{n}d") for n in (1, 2, 3)},
    **{getattr(nniqat, f"ConvBnReLU{n}d"): getattr(nniq, f"ConvReLU{n}d") for n in (1, 2, 3)},
    **{getattr(nniqat, f"ConvReLU{n}d"): getattr(nniq, f"ConvReLU{n}d") for n in (1, 2, 3)},
    nniqat.LinearReLU: nniq.LinearReLU,
    nnqat.Linear: nnq.Linear,
    nnqat.Conv1d: nnq.Conv1d,
    nnqat.Conv2d: nnq.Conv2d,
    nnqat.Conv3d: nnq.Conv3d,
}
DEFAULT_QAT_MODULE_MAPPINGS: dict[Any, Any] = {
    nn.Conv2d: nnqat.Conv2d,
    nn.Conv3d: nnqat.Conv3d,
    nn.Linear: nnqat.Linear,
    _Linear: nnqat.Linear,
    **{getattr(nni, f"ConvBn{n}d"): getattr(nniqat, f"ConvBn{n}d") for n in (1, 2, 3)},
    **{getattr(nni, f"ConvBnReLU{n}d"): getattr(nniqat, f"ConvBnReLU{n}d") for n in (1, 2, 3)},
    nni.ConvReLU2d: nniqat.ConvReLU2d,
    nni.ConvReLU3d: nniqat.ConvReLU3d,
    nni.LinearReLU: nniqat.LinearReLU,
}
DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS: dict[Any, Any] = {
    nn.GRUCell: nnqd.GRUCell,
    nn.Linear: nnqd.Linear,
    nnqatd.Linear: nnqd.Linear,
    _Linear: nnqd.Linear,
    nn.LSTM: nnqd.LSTM,
    nn.GRU: nnqd.GRU,
    nn.LSTMCell: nnqd.LSTMCell,
    nn.RNNCell: nnqd.RNNCell,
}
DEFAULT_MODULE_TO_ACT_POST_PROCESS: dict[Any, Any] = {
    nn.Hardsigmoid: default_fixed_qparams_range_0to1_fake_quant,
    nn.Sigmoid: default_fixed_qparams_range_0to1_fake_quant,
    nn.Softmax: default_fixed_qparams_range_0to1_fake_quant,
    nn.Tanh: default_fixed_qparams_range_neg1to1_fake_quant,
}


def no_observer_set() -> set[Any]:
    """Observed classes that are not observed once more: none are here."""
    return set()


def get_default_static_quant_module_mappings() -> dict[Any, Any]:
    """For models that are quantized after training, or were trained with fake quantization."""
    return copy.copy(DEFAULT_STATIC_QUANT_MODULE_MAPPINGS)


def get_default_qat_module_mappings() -> dict[Any, Any]:
    """For models that are to be trained with fake quantization."""
    return copy.copy(DEFAULT_QAT_MODULE_MAPPINGS)


def get_embedding_qat_module_mappings() -> dict[Any, Any]:
    """The same with embeddings."""
    more = {nn.EmbeddingBag: nnqat.EmbeddingBag, nn.Embedding: nnqat.Embedding}
    return {**DEFAULT_QAT_MODULE_MAPPINGS, **more}


def get_default_dynamic_quant_module_mappings() -> dict[Any, Any]:
    """For layers whose input is quantized call by call."""
    return copy.copy(DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS)


def get_default_qconfig_propagation_list() -> set[Any]:
    """Classes that are observed."""
    tables = (
        DEFAULT_STATIC_QUANT_MODULE_MAPPINGS,
        DEFAULT_QAT_MODULE_MAPPINGS,
        DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS,
    )
    return {kind for table in tables for kind in table} | {nn.Sequential}


def _of(table: dict[Any, Any], kind: Any, what: str) -> Any:
    found = table.get(kind)
    if found is None:
        raise AssertionError(
            f"Floating point module class {kind} does not have a corresponding {what} module class"
        )
    return found


def get_static_quant_module_class(
    float_module_class: Any, additional_static_quant_mapping: Any = None, is_reference: bool = False
) -> Any:
    """The quantized class of a float one; AssertionError where there is none."""
    table = {**DEFAULT_STATIC_QUANT_MODULE_MAPPINGS, **(additional_static_quant_mapping or {})}
    return _of(table, float_module_class, "quantized")


def get_dynamic_quant_module_class(
    float_module_class: Any, additional_dynamic_quant_mapping: Any = None
) -> Any:
    """The class of a float one whose input is quantized call by call; AssertionError where there is none."""
    table = {**DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS, **(additional_dynamic_quant_mapping or {})}
    return _of(table, float_module_class, "quantized")


def _get_special_act_post_process(module: Any) -> Any:
    return DEFAULT_MODULE_TO_ACT_POST_PROCESS.get(nn.utils.parametrize.type_before_parametrizations(module))


def _has_special_act_post_process(module: Any) -> bool:
    return module.training and _get_special_act_post_process(module) is not None
