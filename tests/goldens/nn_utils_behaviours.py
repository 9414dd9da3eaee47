"""What nn.utils does, as functions of (torch, nn): see nn_behaviours.py."""

from __future__ import annotations

import copy
from typing import Any

from nn_behaviours import attempt, behaviour


def _ramp(torch: Any, *shape: int) -> Any:
    count = 1
    for n in shape:
        count *= n
    return (torch.arange(count, dtype=torch.float32).reshape(shape) * 0.37).sin()


def _grads(m: Any) -> list[Any]:
    return [p.grad for p in m.parameters()]


@behaviour
def clipping(torch: Any, nn: Any) -> Any:
    m, utils = nn.Linear(4, 3), nn.utils
    (m(_ramp(torch, 5, 4)) ** 2).sum().backward()
    found = [
        utils.clip_grad_norm_(m.parameters(), 1.0),
        [g.clone() for g in _grads(m)],
        utils.clip_grad_norm_(m.parameters(), 0.3, norm_type=float("inf")),
    ]
    utils.clip_grad_value_(m.parameters(), 0.1)
    found += [_grads(m), utils.get_total_norm(_grads(m)), utils.get_total_norm(_grads(m), 1.0)]
    m.weight.grad[0, 0] = float("nan")
    return [
        *found,
        attempt(lambda: utils.clip_grad_norm_(m.parameters(), 1.0, error_if_nonfinite=True)),
        utils.clip_grad_norm_([torch.ones(2)], 1.0),
    ]


@behaviour
def parameter_vectors(torch: Any, nn: Any) -> Any:
    m = nn.Linear(4, 3)
    v = nn.utils.parameters_to_vector(m.parameters())
    nn.utils.vector_to_parameters(v * 2, m.parameters())
    return [v, list(m.parameters()), attempt(lambda: nn.utils.vector_to_parameters(3, []))]


@behaviour
def weight_norms(torch: Any, nn: Any) -> Any:
    m = nn.utils.parametrizations.weight_norm(nn.Linear(4, 3))
    y = m(_ramp(torch, 2, 4))
    y.sum().backward()
    found = [y, dict(m.state_dict()), _grads(m), repr(m)]
    m.weight = torch.ones(3, 4)
    found += [m.weight, copy.deepcopy(m).weight]
    nn.utils.parametrize.remove_parametrizations(m, "weight")
    found += [repr(m), list(m.state_dict()), m.weight]
    m = nn.utils.weight_norm(nn.Conv1d(4, 3, 2))
    y = m(_ramp(torch, 2, 4, 5))
    y.sum().backward()
    found += [y, dict(m.state_dict()), _grads(m)]
    other = nn.utils.parametrizations.weight_norm(nn.Conv1d(4, 3, 2))
    other.load_state_dict(m.state_dict())
    nn.utils.remove_weight_norm(m)
    return [
        *found,
        dict(other.state_dict()),
        dict(m.state_dict()),
        attempt(lambda: nn.utils.remove_weight_norm(m)).splitlines()[0],
    ]


@behaviour
def spectral_norms(torch: Any, nn: Any) -> Any:
    found = []
    for norm in (nn.utils.parametrizations.spectral_norm, nn.utils.spectral_norm):
        m = norm(nn.Linear(4, 3))
        y = m(_ramp(torch, 2, 4))
        y.sum().backward()
        state = m.state_dict()
        found += [y, dict(state), _grads(m), dict(state._metadata)]
        m.eval()
        found.append(m(_ramp(torch, 2, 4)))
    nn.utils.remove_spectral_norm(m)
    return [*found, dict(m.state_dict())]


def _orthogonal(torch: Any, nn: Any, how: str, shape: tuple[int, int]) -> Any:
    m = nn.utils.parametrizations.orthogonal(nn.Linear(*shape), orthogonal_map=how)
    y = m(_ramp(torch, 2, shape[0]))
    (y**2).sum().backward()
    return [y, dict(m.state_dict()), _grads(m), m.weight]


@behaviour
def orthogonal_by_exponential(torch: Any, nn: Any) -> Any:
    return [_orthogonal(torch, nn, "matrix_exp", shape) for shape in ((3, 3), (4, 3), (3, 4))]


@behaviour
def orthogonal_by_cayley(torch: Any, nn: Any) -> Any:
    return [_orthogonal(torch, nn, "cayley", shape) for shape in ((3, 3), (4, 3), (3, 4))]


@behaviour
def orthogonal_by_reflections(torch: Any, nn: Any) -> Any:
    return [_orthogonal(torch, nn, "householder", shape) for shape in ((3, 3), (4, 3), (3, 4))]


@behaviour
def parametrizations(torch: Any, nn: Any) -> Any:
    class Symmetric(nn.Module):
        def forward(self, x: Any) -> Any:
            return x.triu() + x.triu(1).transpose(-1, -2)

        def right_inverse(self, a: Any) -> Any:
            return a.triu()

    class Doubled(nn.Module):
        def forward(self, x: Any) -> Any:
            return 2 * x

        def right_inverse(self, a: Any) -> Any:
            return a / 2

    P = nn.utils.parametrize
    m = nn.Linear(3, 3)
    p = m.weight
    P.register_parametrization(m, "weight", Symmetric())
    P.register_parametrization(m, "weight", Doubled())
    found = [
        m.weight,
        m.parametrizations.weight.original is p,
        repr(m),
        P.is_parametrized(m, "weight"),
        P.is_parametrized(m, "bias"),
        P.type_before_parametrizations(m).__name__,
    ]
    m.weight = torch.ones(3, 3)
    found += [m.weight, m.parametrizations.weight.original, m.weight is m.weight]
    with P.cached():
        found.append(m.weight is m.weight)
    P.remove_parametrizations(m, "weight", leave_parametrized=False)
    return [
        *found,
        m.weight,
        m.weight is p,
        type(m).__name__,
        attempt(lambda: P.register_parametrization(nn.Linear(2, 2), "foo", nn.Identity())),
    ]


@behaviour
def stateless_calls(torch: Any, nn: Any) -> Any:
    call = nn.utils.stateless._functional_call

    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Linear(2, 2), nn.Linear(2, 2)
            self.b.weight = self.a.weight
            self.register_buffer("n", torch.zeros(1))

        def forward(self, x: Any) -> Any:
            self.n = self.n + 1
            return self.b(self.a(x))

    m, x = Tied(), torch.ones(2)
    given = {"a.weight": torch.zeros(2, 2), "n": torch.zeros(1)}
    both = {"a.weight": torch.zeros(2, 2), "b.weight": torch.ones(2, 2)}
    zero = {"weight": torch.zeros(2, 2)}
    return [
        call(m, given, (x,)),
        m(x),
        given,
        call(m, {"a.bias": torch.ones(2)}, x, tie_weights=False),
        attempt(lambda: call(m, both, x)),
        call(m, both, x, tie_weights=False),
        attempt(lambda: call(nn.Linear(2, 2), zero, (x,), strict=True)),
        attempt(lambda: call(nn.Linear(2, 2), {**zero, "q": x}, (x,), strict=True)),
        attempt(lambda: call(nn.Linear(2, 2), {"weight": 3}, (x,))),
        attempt(lambda: call(nn.Linear(2, 2), {"a.weight": x}, (x,))),
    ]


@behaviour
def packed_sequences(torch: Any, nn: Any) -> Any:
    U = nn.utils.rnn
    s = [_ramp(torch, 3, 2), _ramp(torch, 5, 2) + 1, _ramp(torch, 1, 2)]
    p = U.pack_sequence(s, enforce_sorted=False)
    return [
        U.pad_sequence(s),
        U.pad_sequence(s, True, -1.0, "left"),
        p.data,
        p.batch_sizes,
        p.sorted_indices,
        p.unsorted_indices,
        U.pad_packed_sequence(p),
        U.pad_packed_sequence(p, True, -2.0, 7),
        U.unpack_sequence(p),
        type(p).__name__,
        isinstance(p, tuple),
        str(p.double().data.dtype),
        attempt(lambda: U.pack_sequence([torch.zeros(1), torch.zeros(3)])),
        attempt(lambda: U.pack_padded_sequence(torch.zeros(3, 2, 1), [3, 0])),
        attempt(lambda: U.pack_padded_sequence(torch.zeros(3, 2, 1), [3, 1, 1])),
        attempt(lambda: U.pad_packed_sequence(p, total_length=2)),
    ]


@behaviour
def packed_recurrences(torch: Any, nn: Any) -> Any:
    U = nn.utils.rnn
    found = []
    for name in ("RNN", "GRU", "LSTM"):
        m = getattr(nn, name)(2, 3, num_layers=2, bidirectional=True)
        s = [_ramp(torch, 3, 2), _ramp(torch, 5, 2) + 1, _ramp(torch, 1, 2)]
        for t in s:
            t.requires_grad_()
        out, state = m(U.pack_sequence(s, enforce_sorted=False))
        padded, lengths = U.pad_packed_sequence(out)
        (padded**2).sum().backward()
        found += [padded, lengths, state, [t.grad for t in s], _grads(m)]
    return found


@behaviour
def recurrence_errors(torch: Any, nn: Any) -> Any:
    def run(name: str, *args: Any, **kwargs: Any) -> Any:
        return attempt(lambda: getattr(nn, name)(3, 4, **kwargs)(*args))

    x, unbatched = torch.zeros(5, 2, 3), torch.zeros(5, 3)
    h, small = torch.zeros(1, 2, 4), torch.zeros(1, 4)
    found = []
    for name in ("RNN", "GRU"):
        found += [
            run(name, torch.zeros(5, 2, 2)),
            run(name, x, small),
            run(name, unbatched, h),
            run(name, x, torch.zeros(1, 2, 3)),
        ]
    return [
        *found,
        run("GRU", torch.zeros(3)),
        run("LSTM", x, (h, small)),
        run("LSTM", x, (h, torch.zeros(1, 2, 3))),
        run("LSTM", unbatched, (h, h)),
        run("RNN", x, num_layers=0),
        run("RNN", x, dropout=2.0),
        run("GRU", x, proj_size=2),
        run("LSTM", x, proj_size=4),
        run("RNN", x, nonlinearity="foo"),
        run("RNNCell", torch.zeros(1, 2, 3)),
        run("GRUCell", torch.zeros(2, 2)),
        run("GRUCell", torch.zeros(2, 3), torch.zeros(2, 3)),
        run("LSTMCell", torch.zeros(2, 3), (torch.zeros(3, 4), torch.zeros(3, 4))),
    ]


@behaviour
def fused_batch_norms(torch: Any, nn: Any) -> Any:
    conv, bn = nn.Conv2d(3, 4, 2).eval(), nn.BatchNorm2d(4).eval()
    bn.running_mean.copy_(_ramp(torch, 4))
    bn.running_var.copy_(_ramp(torch, 4) ** 2 + 0.5)
    fused = nn.utils.fuse_conv_bn_eval(conv, bn)
    x = _ramp(torch, 1, 3, 4, 4)
    return [fused(x), bn(conv(x)), dict(fused.state_dict())]


@behaviour
def constructor_errors(torch: Any, nn: Any) -> Any:
    return [
        attempt(lambda name=name, args=args, kwargs=kwargs: getattr(nn, name)(*args, **kwargs))
        for name, args, kwargs in (
            ("Conv2d", (3, 4, 2), {"groups": 2}),
            ("Conv2d", (4, 3, 2), {"groups": 2}),
            ("Conv2d", (4, 4, 2), {"groups": 0}),
            ("Conv2d", (4, 4, 2, 2), {"padding": "same"}),
            ("ConvTranspose1d", (4, 4, 2), {"padding_mode": "reflect"}),
            ("FractionalMaxPool2d", (2,), {}),
            ("FractionalMaxPool2d", (2, 3, 0.5), {}),
            ("FractionalMaxPool3d", (2,), {"output_ratio": 2.0}),
            ("Dropout", (1.5,), {}),
            ("GroupNorm", (3, 4), {}),
            ("Embedding", (3, 4, 7), {}),
            ("EmbeddingBag", (3, 4), {"padding_idx": -7}),
            ("MultiheadAttention", (5, 2), {}),
            ("MultiheadAttention", (0, 2), {}),
            ("Bilinear", (0, 2, 3), {}),
            ("MultiMarginLoss", (3,), {}),
            ("TripletMarginLoss", (0.0,), {}),
            ("Unflatten", (1, 3), {}),
            ("AdaptiveLogSoftmaxWithLoss", (8, 20, [3, 20]), {}),
            ("TransformerEncoderLayer", (4, 2), {"activation": "tanh"}),
        )
    ]


@behaviour
def input_errors(torch: Any, nn: Any) -> Any:
    def run(name: str, args: tuple[Any, ...], *shapes: tuple[int, ...]) -> Any:
        return attempt(lambda: getattr(nn, name)(*args)(*[torch.zeros(s) for s in shapes]))

    return [
        run("BatchNorm1d", (3,), (3,)),
        run("BatchNorm2d", (3,), (3, 4)),
        run("BatchNorm3d", (3,), (3,)),
        run("SyncBatchNorm", (3,), (3,)),
        run("InstanceNorm2d", (3,), (3,)),
        run("InstanceNorm1d", (3, 1e-5, 0.1, True), (4, 4, 4)),
        run("Softmax2d", (), (2, 3)),
        run("CircularPad1d", (1,), (3,)),
        run("LazyConv2d", (3, 2), (4, 4)),
        attempt(lambda: nn.ConvTranspose2d(1, 1, 2, 2)(torch.zeros(1, 1, 3, 3), [9, 9])),
        attempt(lambda: nn.ConvTranspose2d(1, 1, 2, 2)(torch.zeros(1, 1, 3, 3), [9])),
    ]


@behaviour
def padded_encoders(torch: Any, nn: Any) -> Any:
    """In evaluation PyTorch's encoder leaves zeros where the padding is."""
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    m = nn.TransformerEncoder(layer, 2, nn.LayerNorm(8), enable_nested_tensor=True).eval()
    x = _ramp(torch, 2, 4, 8)
    padding = torch.tensor([[False, False, True, True], [False, False, False, False]])
    with torch.no_grad():
        return [m(x, src_key_padding_mask=padding), m(x), m.layers[0](x)]


@behaviour
def adaptive_softmaxes(torch: Any, nn: Any) -> Any:
    m = nn.AdaptiveLogSoftmaxWithLoss(8, 12, [3, 7], div_value=2.0)
    x = _ramp(torch, 5, 8) * 3
    return [
        m.log_prob(x),
        m.predict(x),
        attempt(lambda: m(x, torch.tensor([0, 1, 2, 3, 12]))),
        attempt(lambda: m(x, torch.tensor([0, 1]))),
    ]


@behaviour
def pruning(torch: Any, nn: Any) -> Any:
    import importlib

    P = importlib.import_module(nn.utils.__name__ + ".prune")
    m = nn.Linear(4, 3)
    P.l1_unstructured(m, "weight", 0.3)
    found = [list(m.state_dict()), m.weight, m(torch.ones(4)), P.is_pruned(m)]
    P.random_unstructured(m, "weight", 2)
    found.append(m.weight_mask)
    P.ln_structured(m, "weight", 1, 2, 0)
    found += [m.weight_mask, len(m._forward_pre_hooks)]
    P.remove(m, "weight")
    found += [list(m.state_dict()), m.weight, P.is_pruned(m), attempt(lambda: P.remove(m, "weight"))]
    a, b = nn.Linear(2, 2), nn.Linear(2, 3)
    P.global_unstructured([(a, "weight"), (b, "weight")], P.L1Unstructured, amount=0.4)
    found += [a.weight_mask, b.weight_mask]
    P.random_structured(b, "weight", 1, 0)
    found.append(b.weight_mask)
    P.custom_from_mask(a, "bias", torch.tensor([1, 0]))
    found.append(a.bias)
    P.l1_unstructured(m, "weight", 3, importance_scores=_ramp(torch, 3, 4))
    found.append(m.weight_mask)
    for amount in (-1, 1.5, "a", 100):
        found.append(attempt(lambda amount=amount: P.l1_unstructured(nn.Linear(4, 3), "weight", amount)))
    return [
        *found,
        attempt(lambda: P.ln_structured(nn.Linear(4, 3), "bias", 1, 2, 0)),
        attempt(lambda: P.ln_structured(nn.Linear(4, 3), "weight", 1, 2, 5)),
        attempt(lambda: P.global_unstructured(3, P.L1Unstructured, amount=0.4)),
    ]


@behaviour
def temporal_classification(torch: Any, nn: Any) -> Any:
    found = []
    for reduction in ("mean", "sum", "none"):
        logits = (_ramp(torch, 6, 2, 4) * 3).requires_grad_()
        loss = nn.CTCLoss(reduction=reduction, zero_infinity=True)(
            logits.log_softmax(-1),
            torch.tensor([[1, 2, 2], [3, 1, 0]]),
            torch.tensor([6, 5]),
            torch.tensor([3, 2]),
        )
        loss.sum().backward()
        found += [loss, logits.grad]
    return found
