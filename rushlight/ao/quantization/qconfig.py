"""QConfig: which observers a layer's activations and weight get, and the usual ones."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import rushlight as torch
from rushlight import nn
from rushlight._engine.core.callers import warn
from rushlight.ao.quantization import fake_quantize as fake, observer as seen


class QConfig(namedtuple("QConfig", ["activation", "weight"])):
    """Classes of observers or fake-quantize modules, or what makes such: never modules."""

    __slots__ = ()

    def __new__(cls, activation: Any, weight: Any) -> QConfig:
        """ValueError for modules."""
        if isinstance(activation, nn.Module) or isinstance(weight, nn.Module):
            raise ValueError(
                "QConfig received observer instance, please pass observer class instead. "
                "Use MyObserver.with_args(x=1) to override arguments to constructor if needed"
            )
        return super().__new__(cls, activation, weight)


class QConfigDynamic(namedtuple("QConfigDynamic", ["activation", "weight"])):
    """The older form of a QConfig for dynamic quantization."""

    __slots__ = ()

    def __new__(cls, activation: Any = nn.Identity, weight: Any = nn.Identity) -> QConfigDynamic:
        """ValueError for modules."""
        warn(
            "`QConfigDynamic` is going to be deprecated in PyTorch 1.12, please use `QConfig` instead",
            FutureWarning,
        )
        if isinstance(weight, nn.Module):
            raise ValueError(
                "QConfigDynamic received observer instance, please pass observer class instead. "
                "Use MyObserver.with_args(x=1) to override arguments to constructor if needed"
            )
        return super().__new__(cls, activation, weight)


QConfigAny = QConfig | None
default_qconfig = QConfig(seen.default_observer, seen.default_weight_observer)
default_debug_qconfig = QConfig(seen.default_debug_observer, seen.default_weight_observer)
default_per_channel_qconfig = QConfig(seen.default_observer, seen.default_per_channel_weight_observer)
default_dynamic_qconfig = QConfig(seen.default_dynamic_quant_observer, seen.default_weight_observer)
float16_dynamic_qconfig = QConfig(
    seen.PlaceholderObserver.with_args(dtype=torch.float16, is_dynamic=True),
    seen.PlaceholderObserver.with_args(dtype=torch.float16),
)
float16_static_qconfig = QConfig(
    seen.PlaceholderObserver.with_args(dtype=torch.float16),
    seen.PlaceholderObserver.with_args(dtype=torch.float16),
)
per_channel_dynamic_qconfig = QConfig(
    seen.default_dynamic_quant_observer, seen.default_per_channel_weight_observer
)
float_qparams_weight_only_qconfig = QConfig(
    seen.default_placeholder_observer, seen.default_float_qparams_observer
)
float_qparams_weight_only_qconfig_4bit = QConfig(
    seen.default_placeholder_observer, seen.default_float_qparams_observer_4bit
)
default_qat_qconfig = QConfig(fake.default_fake_quant, fake.default_weight_fake_quant)
default_dynamic_qat_qconfig = QConfig(fake.default_dynamic_fake_quant, fake.default_weight_fake_quant)
default_weight_only_qconfig = QConfig(nn.Identity, fake.default_weight_fake_quant)
default_activation_only_qconfig = QConfig(fake.default_fake_quant, nn.Identity)
default_qat_qconfig_v2 = QConfig(fake.default_fused_act_fake_quant, fake.default_fused_wt_fake_quant)
default_reuse_input_qconfig = QConfig(seen.default_reuse_input_observer, seen.NoopObserver)
_signed_histogram = seen.HistogramObserver.with_args(dtype=torch.qint8, reduce_range=False, eps=2**-12)
default_symmetric_qnnpack_qconfig = QConfig(_signed_histogram, seen.weight_observer_range_neg_127_to_127)
default_per_channel_symmetric_qnnpack_qconfig = QConfig(
    _signed_histogram, seen.per_channel_weight_observer_range_neg_127_to_127
)
default_embedding_qat_qconfig = QConfig(
    seen.NoopObserver.with_args(dtype=torch.float32), fake.default_embedding_fake_quant
)
default_embedding_qat_qconfig_4bit = QConfig(
    seen.NoopObserver.with_args(dtype=torch.float32), fake.default_embedding_fake_quant_4bit
)
default_quint8_weight_qconfig = QConfig(seen.HistogramObserver, seen.MinMaxObserver)
_BACKENDS = ("fbgemm", "x86", "qnnpack", "onednn")


def _check_backend(backend: str) -> None:
    if backend not in _BACKENDS:
        raise AssertionError(f"backend: {backend} not supported. backend must be one of {list(_BACKENDS)}")


def get_default_qconfig(backend: str = "x86", version: int = 0) -> QConfig:
    """What PyTorch recommends for a backend's kernels, to quantize after training."""
    _check_backend(backend)
    if version != 0:
        raise AssertionError(
            f"Version number: {version} in get_default_qconfig is not supported. Version number must be 0"
        )
    reduced = backend in ("fbgemm", "x86")
    by_channel = backend != "qnnpack"
    return QConfig(
        seen.HistogramObserver.with_args(reduce_range=reduced),
        seen.default_per_channel_weight_observer if by_channel else seen.default_weight_observer,
    )


def get_default_qat_qconfig(backend: str = "x86", version: int | None = 1) -> QConfig:
    """The same, to train with fake quantization; version 1: observers and rounding in one op."""
    _check_backend(backend)
    if version not in (0, 1):
        raise AssertionError(
            f"Version number: {version}in get_default_qat_qconfig is not supported. "
            "Version number must be 0 or 1"
        )
    kind = fake.FusedMovingAvgObsFakeQuantize if version else fake.FakeQuantize
    options: dict[str, Any] = {"observer": seen.MovingAverageMinMaxObserver, "quant_min": 0, "quant_max": 255}
    if backend != "onednn":
        options["reduce_range"] = backend in ("fbgemm", "x86")
    by_channel = (fake.default_per_channel_weight_fake_quant, fake.default_fused_per_channel_wt_fake_quant)
    whole = (fake.default_weight_fake_quant, fake.default_fused_wt_fake_quant)
    weights = whole if backend == "qnnpack" else by_channel
    return QConfig(kind.with_args(**options), weights[version])


def get_default_qconfig_dict(backend: str = "x86", version: int = 0) -> dict[str, Any]:
    """get_default_qconfig_mapping as a dict."""
    # it imports this file
    from rushlight.ao.quantization.qconfig_mapping import get_default_qconfig_mapping

    return get_default_qconfig_mapping(backend, version).to_dict()


def get_default_qat_qconfig_dict(backend: str = "x86", version: int = 1) -> dict[str, Any]:
    """get_default_qat_qconfig_mapping as a dict."""
    # it imports this file
    from rushlight.ao.quantization.qconfig_mapping import get_default_qat_qconfig_mapping

    return get_default_qat_qconfig_mapping(backend, version).to_dict()


def _assert_valid_qconfig(qconfig: Any, mod: nn.Module) -> None:
    """AssertionError where a transposed convolution is to have a scale for each channel."""
    transposed = (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)
    if qconfig is None or not isinstance(mod, transposed) or qconfig.weight is None:
        return
    example = qconfig.weight()
    by_channel = (seen.PerChannelMinMaxObserver, seen.MovingAveragePerChannelMinMaxObserver)
    if isinstance(example, by_channel):
        raise AssertionError("Per channel weight observer is not supported yet for ConvTranspose{n}d.")


def _activation_is_memoryless(qconfig: Any) -> bool:
    """Whether activations are rounded at their own range, before a layer rather than behind it."""

    def forgets(module: Any) -> bool:
        return getattr(module, "averaging_constant", None) == 1

    made = qconfig.activation()
    if isinstance(made, fake.FakeQuantizeBase) and hasattr(made, "activation_post_process"):
        return forgets(made.activation_post_process)
    return forgets(made)


def _parts(made: Any) -> tuple[Any, dict[str, Any]]:
    return (made.p.func, dict(made.p.keywords)) if isinstance(made, seen._PartialWrapper) else (made, {})


def _obs_or_fq_ctr_equals(first: Any, second: Any) -> bool:
    """Whether two constructors make the same."""
    (a, given), (b, others) = _parts(first), _parts(second)
    inner = given.pop("observer", None), others.pop("observer", None)
    alike = inner == (None, None) or _obs_or_fq_ctr_equals(*inner)
    return a == b and given == others and alike


def qconfig_equals(q1: Any, q2: Any) -> bool:
    """Whether two configurations make the same observers."""
    if q1 is None or q2 is None:
        return q1 is q2
    return _obs_or_fq_ctr_equals(q1.activation, q2.activation) and _obs_or_fq_ctr_equals(q1.weight, q2.weight)
