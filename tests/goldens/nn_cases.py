"""Modules to run on PyTorch (to record) and on Rushlight (to compare): one call each.

A case is a module, its constructor's arguments, and inputs described so that both packages get the
same numbers from NumPy.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Case:
    """`inputs`: (kind, *shape), ("int", high, *shape), a list of these for a tuple, a literal.

    `call`: keyword arguments, described in the same way. `again`: a second call in evaluation mode.
    """

    name: str
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    inputs: tuple[Any, ...] = ()
    call: dict[str, Any] = field(default_factory=dict)
    training: bool = True
    again: bool = False
    gradients: bool = True

    @property
    def id(self) -> str:
        words = [
            self.name,
            *map(str, self.args),
            *(f"{k}={v}" for k, v in self.kwargs.items()),
            *map(str, self.inputs),
            *(f"{k}={v}" for k, v in self.call.items()),
            "" if self.training else "eval",
        ]
        return "-".join(w for w in words if w).replace(" ", "")


_KINDS = {"normal", "unit", "sign", "spread", "int", "bool", "grid"}


def _array(spec: Any, rng: np.random.RandomState) -> Any:
    if not (isinstance(spec, tuple) and spec and spec[0] in _KINDS):
        return spec
    kind, *rest = spec
    if kind == "int":
        return rng.randint(0, rest[0], rest[1:])
    if kind == "bool":
        return rng.rand(*rest) < 0.3
    if kind == "unit":
        return (rng.rand(*rest) * 0.9 + 0.05).astype(np.float32)
    if kind == "sign":
        return np.where(rng.rand(*rest) < 0.5, -1.0, 1.0).astype(np.float32)
    if kind == "grid":  # different values everywhere: a maximum is never tied
        return (rng.permutation(int(np.prod(rest))).reshape(rest) / 7.0 - 2).astype(np.float32)
    scale = 3.0 if kind == "spread" else 1.0
    return (rng.randn(*rest) * scale).astype(np.float32)


def make_inputs(torch: Any, specs: tuple[Any, ...], seed: str) -> list[Any]:
    """Tensors (floating-point ones require grad) and literals."""
    rng = np.random.RandomState(zlib.crc32(seed.encode()) % 2**31)
    return [_to_tensor(torch, _make(spec, rng)) for spec in specs]


def _make(spec: Any, rng: np.random.RandomState) -> Any:
    if isinstance(spec, list):  # a tuple of inputs, as an LSTM's state
        return tuple(_make(s, rng) for s in spec)
    return _array(spec, rng)


def _to_tensor(torch: Any, value: Any) -> Any:
    if isinstance(value, tuple) and value and isinstance(value[0], np.ndarray):
        return tuple(_to_tensor(torch, v) for v in value)
    if not isinstance(value, (np.ndarray, np.generic)):
        return value
    made = torch.from_numpy(np.array(value))
    # Signs are labels: PyTorch takes no gradient of them.
    labels = np.all(np.abs(value) == 1)
    return made.requires_grad_() if made.is_floating_point() and not labels else made


def tensors(value: Any) -> list[Any]:
    """All tensors in a result."""
    if hasattr(value, "detach"):
        return [value]
    if isinstance(value, (tuple, list)):
        return [t for v in value for t in tensors(v)]
    return []


def numpy_of(t: Any) -> np.ndarray[Any, Any]:
    return np.array(t.detach().numpy())


def run(torch: Any, nn: Any, case: Case, salt: str = "") -> dict[str, Any]:
    """repr, state, outputs and gradients of one case; arrays and strings by name.

    Another `salt` gives other inputs.
    """
    torch.manual_seed(11)
    module = getattr(nn, case.name)(*case.args, **case.kwargs)
    found: dict[str, Any] = {"repr": repr(module)}
    found |= {f"state:{k}": numpy_of(v) for k, v in module.state_dict().items()}
    module.train(case.training)
    inputs = make_inputs(torch, case.inputs, case.id + salt)
    keywords = dict(zip(case.call, make_inputs(torch, tuple(case.call.values()), case.id + "k" + salt)))
    torch.manual_seed(5)
    result = tensors(module(*inputs, **keywords))
    found |= {f"out:{i}": numpy_of(t) for i, t in enumerate(result)}
    loss = sum(_weighed(torch, t) for t in result if t.requires_grad)
    if case.gradients and hasattr(loss, "backward"):
        loss.backward()
        leaves = tensors(inputs)
        found |= {f"grad:{i}": numpy_of(t.grad) for i, t in enumerate(leaves) if t.grad is not None}
        found |= {f"grad:{n}": numpy_of(p.grad) for n, p in module.named_parameters() if p.grad is not None}
    if case.again:
        module.eval()
        with torch.no_grad():
            later = tensors(module(*inputs, **keywords))
        found |= {f"eval:{i}": numpy_of(t) for i, t in enumerate(later)}
        found |= {f"after:{k}": numpy_of(v) for k, v in module.state_dict().items()}
    return found


def _weighed(torch: Any, t: Any) -> Any:
    weights = np.linspace(0.5, 1.5, max(t.numel(), 1), dtype=np.float32)[: t.numel()]
    return (t * torch.from_numpy(weights.reshape(tuple(t.shape)))).sum()


def _activations() -> list[Case]:
    x = (("spread", 3, 4),)
    plain = [
        "ReLU",
        "ReLU6",
        "ELU",
        "CELU",
        "SELU",
        "GELU",
        "GLU",
        "Hardshrink",
        "Hardsigmoid",
        "Hardswish",
        "Hardtanh",
        "LeakyReLU",
        "LogSigmoid",
        "Mish",
        "SiLU",
        "Sigmoid",
        "Softplus",
        "Softshrink",
        "Softsign",
        "Tanh",
        "Tanhshrink",
        "PReLU",
    ]
    cases = [Case(name, inputs=x) for name in plain]
    cases += [
        Case("ELU", (0.5,), inputs=x),
        Case("CELU", (2.0,), inputs=x),
        Case("GELU", ("tanh",), inputs=x),
        Case("Hardtanh", (-2, 0.5), inputs=x),
        Case("LeakyReLU", (0.2,), inputs=x),
        Case("Softplus", (2.0, 1.0), inputs=x),
        Case("Threshold", (0.1, 20), inputs=x),
        Case("GLU", (0,), inputs=(("normal", 4, 3),)),
        Case("PReLU", (3,), inputs=(("normal", 2, 3, 4),)),
        Case("RReLU", training=False, inputs=x),
        Case("Softmax2d", inputs=(("normal", 2, 3, 2, 2),)),
    ]
    return cases + [
        Case(name, (dim,), inputs=x) for dim in (0, -1) for name in ("Softmax", "LogSoftmax", "Softmin")
    ]


def _linear() -> list[Case]:
    return [
        Case("Linear", (4, 3), inputs=(("normal", 2, 4),)),
        Case("Linear", (4, 3, False), inputs=(("normal", 2, 5, 4),)),
        Case("Linear", (4, 3), inputs=(("normal", 4),)),
        Case("Bilinear", (2, 3, 4), inputs=(("normal", 5, 2), ("normal", 5, 3))),
        Case("Identity", inputs=(("normal", 3),)),
        Case("Embedding", (6, 3), inputs=(("int", 6, 2, 4),)),
        Case("Embedding", (6, 3, 2), inputs=(("int", 6, 2, 4),)),
        Case("Embedding", (6, 3), {"max_norm": 1.0, "scale_grad_by_freq": True}, inputs=(("int", 6, 2, 4),)),
        Case("EmbeddingBag", (6, 3), inputs=(("int", 6, 2, 4),)),
        Case("EmbeddingBag", (6, 3), {"mode": "sum", "padding_idx": 1}, inputs=(("int", 6, 2, 4),)),
        Case("EmbeddingBag", (6, 3), {"mode": "max"}, inputs=(("int", 6, 2, 4),)),
        Case("Flatten", inputs=(("normal", 2, 3, 4),)),
        Case("Unflatten", (1, (2, 3)), inputs=(("normal", 2, 6),)),
        Case("Fold", ((4, 5), (2, 3)), inputs=(("normal", 2, 12, 9),)),
        Case("Unfold", ((2, 3),), {"padding": 1, "stride": 2}, inputs=(("normal", 2, 2, 4, 5),)),
        Case("PixelShuffle", (2,), inputs=(("normal", 2, 8, 3, 2),)),
        Case("PixelUnshuffle", (2,), inputs=(("normal", 2, 2, 4, 6),)),
        Case("ChannelShuffle", (2,), inputs=(("normal", 2, 6, 3, 2),)),
        Case("CosineSimilarity", inputs=(("normal", 4, 5), ("normal", 4, 5))),
        Case("PairwiseDistance", (1.5,), inputs=(("normal", 4, 5), ("normal", 4, 5))),
    ]


def _convolutions() -> list[Case]:
    x1, x2, x3 = (("normal", 2, 4, 9),), (("normal", 2, 4, 6, 7),), (("normal", 1, 2, 4, 4, 4),)
    return [
        Case("Conv1d", (4, 6, 3), inputs=x1),
        Case("Conv1d", (4, 6, 3, 2, 1, 2, 2), inputs=x1),
        Case("Conv1d", (4, 6, 4), {"padding": "same"}, inputs=x1),
        Case("Conv1d", (4, 6, 3), inputs=(("normal", 4, 9),)),
        Case("Conv2d", (4, 6, 3), inputs=x2),
        Case("Conv2d", (4, 6, (3, 2), 2, (1, 0), (1, 2), 2), inputs=x2),
        Case("Conv2d", (4, 8, 3), {"groups": 4, "bias": False}, inputs=x2),
        Case("Conv2d", (4, 6, 3), {"padding": 1, "padding_mode": "reflect"}, inputs=x2),
        Case("Conv2d", (4, 6, 3), {"padding": 1, "padding_mode": "circular"}, inputs=x2),
        Case("Conv2d", (4, 6, 3), {"padding": "same", "padding_mode": "replicate"}, inputs=x2),
        Case("Conv3d", (2, 3, 2), inputs=x3),
        Case("ConvTranspose1d", (4, 6, 3, 2, 1, 1), inputs=x1),
        Case("ConvTranspose2d", (4, 6, 3, 2, 1, 1, 2, True, 2), inputs=x2),
        Case("ConvTranspose2d", (4, 6, 3, 2), inputs=x2, call={"output_size": [14, 16]}),
        Case("ConvTranspose3d", (2, 3, 2), inputs=x3),
    ]


def _pooling() -> list[Case]:
    x1, x2, x3 = (("grid", 2, 3, 9),), (("grid", 2, 3, 6, 7),), (("grid", 1, 2, 4, 5, 6),)
    return [
        Case("MaxPool1d", (3,), inputs=x1),
        Case("MaxPool2d", (3, 2, 1), inputs=x2),
        Case("MaxPool2d", (2,), {"dilation": 2, "ceil_mode": True, "return_indices": True}, inputs=x2),
        Case("MaxPool3d", (2,), inputs=x3),
        Case("MaxPool2d", (2,), inputs=(("grid", 3, 6, 7),)),
        Case("AvgPool1d", (3, 2, 1), inputs=x1),
        Case("AvgPool2d", (3, 2, 1), {"count_include_pad": False}, inputs=x2),
        Case("AvgPool2d", (3,), {"ceil_mode": True, "divisor_override": 2}, inputs=x2),
        Case("AvgPool3d", (2,), inputs=x3),
        Case("LPPool1d", (2, 3), inputs=x1),
        Case("LPPool2d", (2, 2), inputs=x2),
        Case("LPPool3d", (2, 2), inputs=x3),
        Case("AdaptiveAvgPool1d", (4,), inputs=x1),
        Case("AdaptiveAvgPool2d", ((3, None),), inputs=x2),
        Case("AdaptiveAvgPool3d", (2,), inputs=x3),
        Case("AdaptiveMaxPool1d", (4,), inputs=x1),
        Case("AdaptiveMaxPool2d", ((3, 2), True), inputs=x2),
        Case("AdaptiveMaxPool3d", (2,), inputs=x3),
        Case("MaxUnpool2d", (2,), inputs=(("normal", 1, 1, 2, 2), np.array([[[[0, 3], [9, 14]]]]))),
        Case("Upsample", (), {"scale_factor": 2}, inputs=(("normal", 1, 2, 3, 4),)),
        Case("Upsample", (), {"size": 7, "mode": "linear"}, inputs=(("normal", 1, 2, 4),)),
        Case(
            "Upsample",
            (),
            {"scale_factor": 1.5, "mode": "bilinear", "align_corners": True},
            inputs=(("normal", 1, 2, 4, 4),),
        ),
        Case("UpsamplingNearest2d", (5,), inputs=(("normal", 1, 2, 3, 4),)),
        Case("UpsamplingBilinear2d", (), {"scale_factor": 2}, inputs=(("normal", 1, 2, 3, 4),)),
    ]


def _padding() -> list[Case]:
    inputs = {1: ("normal", 2, 3, 5), 2: ("normal", 2, 3, 4, 5), 3: ("normal", 1, 2, 3, 4, 3)}
    widths = {1: (1, 2), 2: (1, 2, 0, 1), 3: (1, 1, 0, 2, 1, 0)}
    cases = []
    for n in (1, 2, 3):
        for name in ("CircularPad", "ReflectionPad", "ReplicationPad", "ZeroPad"):
            cases.append(Case(f"{name}{n}d", (widths[n],), inputs=(inputs[n],)))
        cases.append(Case(f"ConstantPad{n}d", (1, 3.5), inputs=(inputs[n],)))
    return cases


def _normalisation() -> list[Case]:
    x2, x3, x4, x5 = (
        (("normal", 4, 3),),
        (("normal", 4, 3, 5),),
        (("normal", 2, 4, 3, 3),),
        (("normal", 2, 3, 2, 2, 2),),
    )
    return [
        Case("BatchNorm1d", (3,), inputs=x2, again=True),
        Case("BatchNorm1d", (3,), {"momentum": None}, inputs=x3, again=True),
        Case("BatchNorm2d", (4,), {"affine": False}, inputs=x4, again=True),
        Case("BatchNorm2d", (4,), {"bias": False, "track_running_stats": False}, inputs=x4, again=True),
        Case("BatchNorm3d", (3,), inputs=x5, again=True),
        Case("BatchNorm2d", (4,), inputs=x4, training=False),
        Case("SyncBatchNorm", (4,), inputs=x4, again=True),
        Case("InstanceNorm1d", (3,), inputs=x3, again=True),
        Case("InstanceNorm1d", (3,), {"affine": True}, inputs=(("normal", 3, 5),)),
        Case("InstanceNorm2d", (4,), {"affine": True, "track_running_stats": True}, inputs=x4, again=True),
        Case("InstanceNorm3d", (3,), inputs=x5),
        Case("LayerNorm", (3,), inputs=x2),
        Case("LayerNorm", ((3, 5),), {"bias": False}, inputs=x3),
        Case("LayerNorm", (3,), {"elementwise_affine": False}, inputs=x2),
        Case("GroupNorm", (2, 4), inputs=x4),
        Case("GroupNorm", (1, 3), {"affine": False}, inputs=x2),
        Case("RMSNorm", (3,), inputs=x2),
        Case("RMSNorm", ((3, 5), 0.1), inputs=x3),
        Case("LocalResponseNorm", (2,), inputs=x4),
        Case("LocalResponseNorm", (3, 0.5), inputs=x3),
        # PyTorch's gradient of this one is not the derivative of its result.
        Case("CrossMapLRN2d", (3, 0.5), inputs=x4, gradients=False),
        Case("CrossMapLRN2d", (4, 0.5), inputs=x4, gradients=False),
        Case("Dropout", (0.3,), inputs=(("normal", 3, 4),), again=True),
        Case("Dropout1d", (0.3,), inputs=(("normal", 3, 4, 2),)),
        Case("Dropout2d", (0.3,), inputs=(("normal", 3, 4, 2, 2),)),
        Case("Dropout3d", (0.3,), inputs=(("normal", 3, 4, 2, 2, 2),)),
        Case("AlphaDropout", (0.3,), inputs=(("normal", 3, 4),)),
        Case("FeatureAlphaDropout", (0.3,), inputs=(("normal", 3, 4, 2),)),
    ]


def _losses() -> list[Case]:
    xy = (("normal", 4, 3), ("normal", 4, 3))
    prob = (("unit", 4, 3), ("unit", 4, 3))
    signed = (("normal", 4, 3), ("sign", 4, 3))
    classes = (("normal", 4, 3), ("int", 3, 4))
    cases = []
    for reduction in ("mean", "sum", "none"):
        r = {"reduction": reduction}
        cases += [Case(name, (), r, inputs=xy) for name in ("L1Loss", "MSELoss", "SmoothL1Loss", "HuberLoss")]
        cases += [
            Case("BCELoss", (), r, inputs=prob),
            Case("BCEWithLogitsLoss", (), r, inputs=prob),
            Case("KLDivLoss", (), r, inputs=xy[:1] + prob[:1]),
            Case("CrossEntropyLoss", (), r, inputs=classes),
            Case("NLLLoss", (), r, inputs=classes),
            Case("MultiMarginLoss", (), r, inputs=classes),
            Case("PoissonNLLLoss", (), r, inputs=prob),
            Case("GaussianNLLLoss", (), r, inputs=(*xy, ("unit", 4, 3))),
            Case("HingeEmbeddingLoss", (), r, inputs=signed),
            Case("SoftMarginLoss", (), r, inputs=signed),
            Case("MultiLabelSoftMarginLoss", (), r, inputs=prob),
            Case(
                "MultiLabelMarginLoss",
                (),
                r,
                inputs=(("normal", 2, 4), np.array([[3, 0, -1, 1], [1, -1, 0, 2]])),
            ),
            Case("CosineEmbeddingLoss", (), r, inputs=(*xy, ("sign", 4))),
            Case("MarginRankingLoss", (), r, inputs=(("normal", 4), ("normal", 4), ("sign", 4))),
            Case("TripletMarginLoss", (), r, inputs=(*xy, ("normal", 4, 3))),
            Case("TripletMarginWithDistanceLoss", (), {**r, "swap": True}, inputs=(*xy, ("normal", 4, 3))),
            # Its gradient is compared behind a log_softmax: PyTorch's formula supposes one.
            Case(
                "CTCLoss",
                (),
                r,
                inputs=(
                    ("normal", 6, 2, 4),
                    np.array([[1, 2, 2], [3, 1, 0]]),
                    np.array([6, 5]),
                    np.array([3, 2]),
                ),
                gradients=False,
            ),
        ]
    return cases + [
        Case("SmoothL1Loss", (), {"beta": 0.3}, inputs=xy),
        Case("HuberLoss", (), {"delta": 0.3}, inputs=xy),
        Case("KLDivLoss", (), {"reduction": "batchmean", "log_target": True}, inputs=xy),
        Case("CrossEntropyLoss", (), {"label_smoothing": 0.1, "ignore_index": 1}, inputs=classes),
        Case("CrossEntropyLoss", inputs=(("normal", 2, 3, 4, 2), ("int", 3, 2, 4, 2))),
        Case("CrossEntropyLoss", (), {"label_smoothing": 0.2}, inputs=(("normal", 4, 3), ("unit", 4, 3))),
        Case("CrossEntropyLoss", inputs=(("normal", 3), ("int", 3))),
        Case("PoissonNLLLoss", (False, True), inputs=prob),
        Case("GaussianNLLLoss", (), {"full": True}, inputs=(*xy, ("unit", 4, 1))),
        Case("MultiMarginLoss", (2, 0.5), inputs=classes),
        Case("CosineEmbeddingLoss", (0.2,), inputs=(*xy, ("sign", 4))),
        Case("TripletMarginLoss", (0.5, 1), {"swap": True}, inputs=(*xy, ("normal", 4, 3))),
        Case(
            "AdaptiveLogSoftmaxWithLoss",
            (8, 12, [3, 7]),
            {"div_value": 2.0},
            inputs=(("normal", 5, 8), ("int", 12, 5)),
        ),
        Case("LinearCrossEntropyLoss", (4, 5), {"bias": True}, inputs=(("normal", 3, 4), ("int", 5, 3))),
        Case(
            "LinearCrossEntropyLoss",
            (4, 5),
            {"out_features": (2,)},
            inputs=(("normal", 3, 4), ("int", 5, 3, 2)),
        ),
    ]


def _recurrent() -> list[Case]:
    x = ("normal", 5, 2, 3)
    cases = []
    for name, state in (
        ("RNN", ("normal", 1, 2, 4)),
        ("GRU", ("normal", 1, 2, 4)),
        ("LSTM", [("normal", 1, 2, 4), ("normal", 1, 2, 4)]),
    ):
        cases += [
            Case(name, (3, 4), inputs=(x,)),
            Case(name, (3, 4), inputs=(x, state)),
            Case(
                name, (3, 4, 2), {"bidirectional": True, "batch_first": True}, inputs=(("normal", 2, 5, 3),)
            ),
            Case(name, (3, 4), {"bias": False, "num_layers": 2, "dropout": 0.5}, inputs=(x,), training=False),
            Case(name, (3, 4), inputs=(("normal", 5, 3),)),
        ]
    return cases + [
        Case("RNN", (3, 4), {"nonlinearity": "relu"}, inputs=(x,)),
        Case("LSTM", (3, 4), {"proj_size": 2, "num_layers": 2, "bidirectional": True}, inputs=(x,)),
        Case("RNNCell", (3, 4), inputs=(("normal", 2, 3), ("normal", 2, 4))),
        Case("RNNCell", (3, 4, False, "relu"), inputs=(("normal", 3),)),
        Case("GRUCell", (3, 4), inputs=(("normal", 2, 3), ("normal", 2, 4))),
        Case("LSTMCell", (3, 4), inputs=(("normal", 2, 3), [("normal", 2, 4), ("normal", 2, 4)])),
        Case("LSTMCell", (3, 4), inputs=(("normal", 3),)),
    ]


def _attention() -> list[Case]:
    q, k, v = ("normal", 5, 2, 8), ("normal", 6, 2, 8), ("normal", 6, 2, 8)
    mask = np.triu(np.ones((5, 5), bool), 1)
    padding = np.array([[False, False, False, True, True], [False] * 5])
    layer = {"dim_feedforward": 16, "dropout": 0.0}
    return [
        Case("MultiheadAttention", (8, 2), inputs=(q, k, v)),
        Case("MultiheadAttention", (8, 2), inputs=(q, k, v), call={"need_weights": False}),
        Case("MultiheadAttention", (8, 2), inputs=(q, k, v), call={"average_attn_weights": False}),
        Case(
            "MultiheadAttention",
            (8, 2),
            {"batch_first": True, "bias": False},
            inputs=(("normal", 2, 5, 8), ("normal", 2, 6, 8), ("normal", 2, 6, 8)),
        ),
        Case(
            "MultiheadAttention",
            (8, 2),
            {"kdim": 3, "vdim": 5, "add_bias_kv": True, "add_zero_attn": True},
            inputs=(q, ("normal", 6, 2, 3), ("normal", 6, 2, 5)),
        ),
        Case("MultiheadAttention", (8, 2), inputs=(("normal", 5, 8), ("normal", 6, 8), ("normal", 6, 8))),
        Case(
            "MultiheadAttention",
            (8, 2),
            inputs=(q, ("normal", 5, 2, 8), ("normal", 5, 2, 8)),
            call={"attn_mask": mask, "key_padding_mask": padding},
        ),
        Case(
            "MultiheadAttention",
            (8, 2),
            inputs=(q, ("normal", 5, 2, 8), ("normal", 5, 2, 8)),
            call={"attn_mask": mask, "need_weights": False, "is_causal": True},
        ),
        Case(
            "MultiheadAttention",
            (8, 2),
            inputs=(q, ("normal", 5, 2, 8), ("normal", 5, 2, 8)),
            call={"attn_mask": ("normal", 4, 5, 5), "need_weights": False},
        ),
        Case("TransformerEncoderLayer", (8, 2), layer, inputs=(q,)),
        Case(
            "TransformerEncoderLayer",
            (8, 2),
            {**layer, "norm_first": True, "batch_first": True, "activation": "gelu", "bias": False},
            inputs=(("normal", 2, 5, 8),),
            call={"src_mask": mask, "src_key_padding_mask": padding},
        ),
        Case("TransformerDecoderLayer", (8, 2), layer, inputs=(q, k)),
        Case(
            "TransformerDecoderLayer",
            (8, 2),
            {**layer, "norm_first": True},
            inputs=(q, k),
            call={"tgt_mask": mask, "tgt_is_causal": True},
        ),
        Case("Transformer", (8, 2, 2, 2, 16, 0.0), inputs=(q, ("normal", 4, 2, 8))),
        Case("Transformer", (8, 2, 1, 1, 16, 0.1), inputs=(q, ("normal", 4, 2, 8)), training=False),
    ]


def cases() -> list[Case]:
    """All of them."""
    return [
        case
        for family in (
            _activations,
            _linear,
            _convolutions,
            _pooling,
            _padding,
            _normalisation,
            _losses,
            _recurrent,
            _attention,
        )
        for case in family()
    ]
