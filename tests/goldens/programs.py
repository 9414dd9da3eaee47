"""Small training programs, each a function of the package that gives its losses; PyTorch's: programs.json.

`@program` adds one. They cover every optimizer, scheduler and loss, and layers of each family, fifty steps each.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from answers import Table

PROGRAMS = Table("programs.json")
STEPS = 50


def program(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Add a program; it begins from a seed of its own."""

    def seeded(torch: Any) -> Any:
        torch.manual_seed(len(function.__name__))
        return [round(float(loss), 7) for loss in function(torch)]

    seeded.__name__ = function.__name__
    return PROGRAMS(seeded)


def train(
    torch: Any, model: Any, loss: Callable[[int], Any], optimizer: Any = None, scheduler: Any = None
) -> list[float]:
    """Fifty steps; the losses."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3) if optimizer is None else optimizer
    losses = []
    for step in range(STEPS):

        def closure() -> Any:
            optimizer.zero_grad()
            value = loss(step)
            value.backward()
            return value

        if isinstance(optimizer, torch.optim.LBFGS):
            value = optimizer.step(closure)
        else:
            value = closure()
            optimizer.step()
        if scheduler is not None:
            scheduler.step(*([value.item()] if "Plateau" in type(scheduler).__name__ else []))
        losses.append(value.item())
    return losses


def points(torch: Any, n: int = 64, d: int = 8, classes: int = 4, apart: float = 1.5) -> tuple[Any, Any]:
    """Points in classes that a small network can tell apart."""
    y = torch.randint(0, classes, (n,))
    return torch.randn(n, d) + apart * torch.randn(classes, d)[y], y


def mlp(torch: Any, *sizes: int, act: str = "ReLU") -> Any:
    """Linear layers with an activation between."""
    layers: list[Any] = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [torch.nn.Linear(a, b), getattr(torch.nn, act)()]
    return torch.nn.Sequential(*layers[:-1])


def classify(torch: Any, model: Any, *shape: int, classes: int = 4, **kinds: Any) -> list[float]:
    """Train a classifier of random inputs of a shape, 16 at once."""
    x, y = torch.randn(32, *shape), torch.randint(0, classes, (32,))
    x += y.view(-1, *[1] * len(shape)) * 0.5

    def loss(step: int) -> Any:
        part = slice(step % 2 * 16, step % 2 * 16 + 16)
        return torch.nn.functional.cross_entropy(model(x[part]), y[part])

    return train(torch, model, loss, **kinds)


# --- optimizers and schedulers ------------------------------------------------------------------

_OPTIMIZERS = {
    "sgd": "SGD(p, lr=0.1)",
    "sgd_momentum": "SGD(p, lr=0.03, momentum=0.9, weight_decay=1e-3, dampening=0.1)",
    "sgd_nesterov": "SGD(p, lr=0.03, momentum=0.9, nesterov=True)",
    "adam": "Adam(p, lr=0.01)",
    "adam_amsgrad": "Adam(p, lr=0.01, amsgrad=True, weight_decay=0.01)",
    "adamw": "AdamW(p, lr=0.01)",
    "adamw_foreach": "AdamW(p, lr=0.01, foreach=True)",
    "adamax": "Adamax(p, lr=0.01)",
    "nadam": "NAdam(p, lr=0.01, decoupled_weight_decay=True, weight_decay=0.01)",
    "radam": "RAdam(p, lr=0.01)",
    "adagrad": "Adagrad(p, lr=0.05, lr_decay=0.01)",
    "adadelta": "Adadelta(p, lr=1.0)",
    "rmsprop": "RMSprop(p, lr=0.005)",
    "rmsprop_centered": "RMSprop(p, lr=0.003, centered=True, momentum=0.5)",
    "rprop": "Rprop(p, lr=0.01)",
    "asgd": "ASGD(p, lr=0.05)",
    "adafactor": "Adafactor(p, lr=0.02)",
    "lbfgs": "LBFGS(p, lr=0.1, max_iter=3)",
    "lbfgs_wolfe": "LBFGS(p, lr=0.3, max_iter=2, line_search_fn='strong_wolfe')",
    "muon": "Muon([q for q in p if q.ndim == 2], lr=0.02)",
}


def _with_optimizer(name: str, text: str) -> None:
    def run(torch: Any) -> Any:
        # Classes that can be told apart, but for Rprop: where gradients are all but 0, their signs are chance.
        (x, y), model = points(torch, d=8, apart=1.5 * (name != "rprop")), mlp(torch, 8, 16, 4, act="Tanh")
        optimizer = eval(f"torch.optim.{text}", {"torch": torch, "p": list(model.parameters())})  # noqa: S307
        return train(torch, model, lambda step: torch.nn.functional.cross_entropy(model(x), y), optimizer)

    run.__name__ = f"optimizer_{name}"
    program(run)


_SCHEDULERS = {
    "lambda": "LambdaLR(o, lambda e: 0.95 ** e)",
    "multiplicative": "MultiplicativeLR(o, lambda e: 0.97)",
    "step": "StepLR(o, 10, 0.5)",
    "multistep": "MultiStepLR(o, [10, 30], 0.3)",
    "constant": "ConstantLR(o, 0.5, 7)",
    "linear": "LinearLR(o, 0.1, 1.0, 20)",
    "exponential": "ExponentialLR(o, 0.96)",
    "cosine": "CosineAnnealingLR(o, 50, 1e-4)",
    "restarts": "CosineAnnealingWarmRestarts(o, 10, 2)",
    "onecycle": "OneCycleLR(o, 0.2, total_steps=51)",
    "polynomial": "PolynomialLR(o, 50, 2.0)",
    "cyclic": "CyclicLR(o, 0.01, 0.1, 8, mode='triangular2')",
    "plateau": "ReduceLROnPlateau(o, patience=2, threshold=0.05)",
    "sequential": "SequentialLR(o, [s.LinearLR(o, 0.1, total_iters=10), s.CosineAnnealingLR(o, 40)], [10])",
    "chained": "ChainedScheduler([s.ExponentialLR(o, 0.98), s.ConstantLR(o, 0.1, 5)])",
}


def _with_scheduler(name: str, text: str) -> None:
    def run(torch: Any) -> Any:
        (x, y), model = points(torch), mlp(torch, 8, 16, 4)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.8)
        s = torch.optim.lr_scheduler
        scheduler = eval(f"s.{text}", {"s": s, "o": optimizer})  # noqa: S307 - our own texts
        return train(
            torch, model, lambda step: torch.nn.functional.cross_entropy(model(x), y), optimizer, scheduler
        )

    run.__name__ = f"scheduler_{name}"
    program(run)


for _name, _text in _OPTIMIZERS.items():
    _with_optimizer(_name, _text)
for _name, _text in _SCHEDULERS.items():
    _with_scheduler(_name, _text)


# --- losses -------------------------------------------------------------------------------------

# Of out (32, 4), more (32, 4), classes y, bits (32, 4) and signs.
_LOSSES = {
    "l1": "L1Loss()(out, real)",
    "mse": "MSELoss(reduction='sum')(out, real) / 32",
    "huber": "HuberLoss(delta=0.5)(out, real)",
    "smooth_l1": "SmoothL1Loss(beta=0.7)(out, real)",
    "cross_entropy": "CrossEntropyLoss(weight, label_smoothing=0.1)(out, y)",
    "cross_entropy_soft": "CrossEntropyLoss()(out, soft)",
    "nll": "NLLLoss(ignore_index=2)(out.log_softmax(-1), y)",
    "bce": "BCELoss()(out.sigmoid(), bits)",
    "bce_logits": "BCEWithLogitsLoss(pos_weight=weight)(out, bits)",
    "kl": "KLDivLoss(reduction='batchmean')(out.log_softmax(-1), soft)",
    "poisson": "PoissonNLLLoss(full=True)(out, bits * 3)",
    "gaussian": "GaussianNLLLoss()(out, real, more.exp())",
    "cosine": "CosineEmbeddingLoss(margin=0.2)(out, real, signs)",
    "hinge_embedding": "HingeEmbeddingLoss()(out, bits * 2 - 1)",
    "soft_margin": "SoftMarginLoss()(out, bits * 2 - 1)",
    "margin_ranking": "MarginRankingLoss(0.1)(out[:, 0], out[:, 1], signs)",
    "multi_margin": "MultiMarginLoss()(out, y)",
    "multi_label_margin": "MultiLabelMarginLoss()(out, labels)",
    "triplet": "TripletMarginLoss(0.5)(out, real, more)",
    "multi_label_soft": "MultiLabelSoftMarginLoss()(out, bits)",
    "triplet_distance": "TripletMarginWithDistanceLoss(distance_function=far)(out, real, more)",
    "ctc": "CTCLoss()(out.log_softmax(-1).view(8, 4, 4), words, (8, 8, 8, 8), (3, 2, 3, 1))",
}


def _with_loss(name: str, text: str) -> None:
    def run(torch: Any) -> Any:
        x, y = points(torch, 32)
        model, second = mlp(torch, 8, 16, 4, act="GELU"), mlp(torch, 8, 4)
        known = {
            "y": y,
            "real": torch.randn(32, 4),
            "bits": torch.rand(32, 4).round(),
            "weight": torch.rand(4) + 0.5,
            "soft": torch.rand(32, 4).softmax(-1),
            "signs": torch.where(torch.rand(32) < 0.5, -1.0, 1.0),
            "labels": torch.tensor([[0, 2, -1, 1]]).expand(32, 4).contiguous(),
            "words": torch.randint(1, 4, (4, 3)),
            "far": lambda a, b: (a - b).abs().sum(-1),
        }
        both = torch.nn.ModuleList([model, second])
        code = compile(f"nn.{text}", name, "eval")
        return train(
            torch,
            both,
            lambda step: eval(
                code,
                {  # noqa: S307 - our own texts
                    **known,
                    "nn": torch.nn,
                    "out": model(x),
                    "more": second(x),
                },
            ),
        )

    run.__name__ = f"loss_{name}"
    program(run)


for _name, _text in _LOSSES.items():
    _with_loss(_name, _text)


@program
def loss_adaptive_softmax(torch: Any) -> Any:
    head = torch.nn.AdaptiveLogSoftmaxWithLoss(16, 40, [8, 20])
    model = torch.nn.ModuleList([mlp(torch, 8, 16), head])
    x, y = torch.randn(32, 8), torch.randint(0, 40, (32,))
    return train(torch, model, lambda step: head(model[0](x), y).loss)


# --- layers -------------------------------------------------------------------------------------

_ACTIVATIONS = (
    "ReLU GELU SiLU Mish ELU SELU CELU LeakyReLU PReLU RReLU Softplus Softsign Tanh Sigmoid Hardtanh Hardswish "
    "Hardsigmoid ReLU6 LogSigmoid Tanhshrink Softshrink Hardshrink"
).split()


@program
def layer_activations(torch: Any) -> Any:
    layers: list[Any] = []
    for name in _ACTIVATIONS:
        layers += [torch.nn.Linear(8, 8), getattr(torch.nn, name)(), torch.nn.LayerNorm(8)]
    return classify(torch, torch.nn.Sequential(*layers, torch.nn.Linear(8, 4)), 8)


_LAYERS = {
    "conv1d": (
        "nn.Conv1d(3, 8, 5, padding=2), nn.BatchNorm1d(8), nn.ReLU(), nn.MaxPool1d(2), nn.Conv1d(8, 8, 3, stride=2), "
        "nn.AvgPool1d(2), nn.Flatten(), nn.LazyLinear(4)",
        (3, 24),
    ),
    "conv2d": (
        "nn.Conv2d(3, 8, 3, padding='same', padding_mode='reflect'), nn.BatchNorm2d(8), nn.SiLU(), nn.MaxPool2d(2), "
        "nn.Conv2d(8, 8, 3, groups=4, dilation=2), nn.GroupNorm(2, 8), nn.AdaptiveAvgPool2d(1), nn.Flatten(), "
        "nn.Linear(8, 4)",
        (3, 12, 12),
    ),
    "conv3d": (
        "nn.Conv3d(2, 4, 3), nn.BatchNorm3d(4), nn.ReLU(), nn.AvgPool3d(2), nn.Flatten(), nn.LazyLinear(4)",
        (2, 6, 6, 6),
    ),
    "transposed": (
        "nn.ConvTranspose2d(2, 4, 3, stride=2, output_padding=1, padding=1), nn.InstanceNorm2d(4, affine=True), "
        "nn.ELU(), nn.AdaptiveMaxPool2d(3), nn.Flatten(), nn.LazyLinear(4)",
        (2, 5, 5),
    ),
    "upsampling": (
        "nn.Upsample(scale_factor=2, mode='bilinear'), nn.PixelUnshuffle(2), nn.Conv2d(8, 8, 1), nn.PixelShuffle(2), "
        "nn.ReflectionPad2d(1), nn.LPPool2d(2, 2), nn.Flatten(), nn.LazyLinear(4)",
        (2, 6, 6),
    ),
    "norms": (
        "nn.Linear(8, 16), nn.LayerNorm(16), nn.Tanh(), nn.Linear(16, 16), nn.RMSNorm(16), nn.Unflatten(1, (4, 4)), "
        "nn.LocalResponseNorm(2), nn.Flatten(), nn.Linear(16, 4)",
        (8,),
    ),
    "dropout": (
        "nn.Linear(8, 32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 16), nn.SELU(), nn.AlphaDropout(0.1), "
        "nn.Unflatten(1, (4, 4)), nn.Dropout1d(0.2), nn.Flatten(), nn.Linear(16, 4)",
        (8,),
    ),
    "dropout2d": (
        "nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Dropout2d(0.2), nn.Conv2d(8, 4, 3), nn.FeatureAlphaDropout(0.1), nn.Flatten(), "
        "nn.LazyLinear(4)",
        (3, 6, 6),
    ),
    "weight_norm": (
        "W.weight_norm(nn.Linear(8, 16)), nn.Tanh(), W.spectral_norm(nn.Linear(16, 8)), nn.Tanh(), "
        "W.orthogonal(nn.Linear(8, 8)), nn.Tanh(), nn.Linear(8, 4)",
        (8,),
    ),
    "folding": (
        "nn.Unfold(3, padding=1), nn.Fold((6, 6), 3, padding=1), nn.ChannelShuffle(2), nn.Flatten(), nn.LazyLinear(4)",
        (4, 6, 6),
    ),
    "glu": (
        "nn.Linear(8, 32), nn.GLU(), nn.Linear(16, 12), nn.Softmax(-1), nn.Linear(12, 8), nn.LogSoftmax(-1), nn.Linear(8, 4)",
        (8,),
    ),
    "padding": (
        "nn.Conv2d(2, 4, 3), nn.MaxPool2d(3, 2, 1, ceil_mode=True), nn.ZeroPad2d(1), nn.CircularPad2d(1), nn.ReplicationPad2d(1), "
        "nn.Flatten(), nn.LazyLinear(4)",
        (2, 8, 8),
    ),
}


def _with_layers(name: str, text: str, shape: tuple[int, ...]) -> None:
    def run(torch: Any) -> Any:
        layers = eval(f"[{text}]", {"nn": torch.nn, "W": torch.nn.utils.parametrizations})  # noqa: S307
        model = torch.nn.Sequential(*layers)
        model(torch.zeros(2, *shape))
        return classify(torch, model, *shape)

    run.__name__ = f"layer_{name}"
    program(run)


for _name, (_text, _shape) in _LAYERS.items():
    _with_layers(_name, _text, _shape)


def _recurrent(torch: Any, cell: Any, directions: int = 1) -> Any:
    class Reader(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.cell = torch.nn.Embedding(20, 8, padding_idx=0), cell
            self.head = torch.nn.Linear(12 * directions, 4)

        def forward(self, tokens: Any) -> Any:
            return self.head(self.cell(self.embed(tokens))[0].mean(1))

    model, tokens = Reader(), torch.randint(0, 20, (16, 9))
    y = tokens.sum(1) % 4
    return train(
        torch,
        model,
        lambda step: torch.nn.functional.cross_entropy(model(tokens), y),
        torch.optim.Adam(model.parameters(), lr=0.01),
    )


@program
def layer_rnn(torch: Any) -> Any:
    return _recurrent(torch, torch.nn.RNN(8, 12, 2, nonlinearity="relu", batch_first=True))


@program
def layer_lstm(torch: Any) -> Any:
    return _recurrent(torch, torch.nn.LSTM(8, 12, 2, batch_first=True, bidirectional=True, dropout=0.1), 2)


@program
def layer_gru(torch: Any) -> Any:
    return _recurrent(torch, torch.nn.GRU(8, 12, batch_first=True))


@program
def layer_cells(torch: Any) -> Any:
    cells = torch.nn.ModuleList(
        [torch.nn.LSTMCell(4, 8), torch.nn.GRUCell(8, 8), torch.nn.RNNCell(8, 8), torch.nn.Linear(8, 1)]
    )
    x = torch.sin(torch.arange(13.0)[:, None] * 0.3 + torch.rand(1, 16)).unsqueeze(-1).expand(13, 16, 4)

    def loss(step: int) -> Any:
        state, g, r = None, None, None
        total = 0.0
        for t in range(12):
            state = cells[0](x[t], state)
            g = cells[1](state[0], g)
            r = cells[2](g, r)
            total = total + torch.nn.functional.mse_loss(cells[3](r), x[t + 1, :, :1])
        return total / 12

    return train(torch, cells, loss)


@program
def layer_packed_lstm(torch: Any) -> Any:
    lstm, head = torch.nn.LSTM(6, 10), torch.nn.Linear(10, 3)
    rnn = torch.nn.utils.rnn
    sequences = [torch.randn(n, 6) for n in (7, 5, 5, 2)]
    y = torch.tensor([0, 1, 2, 1])

    def loss(step: int) -> Any:
        packed = rnn.pack_sequence(sequences)
        _, (h, _) = lstm(packed)
        padded, lengths = rnn.pad_packed_sequence(lstm(packed)[0])
        return torch.nn.functional.cross_entropy(head(h[-1]), y) + padded.pow(2).mean() * lengths.sum() / 19

    return train(torch, torch.nn.ModuleList([lstm, head]), loss)


@program
def layer_embedding_bag(torch: Any) -> Any:
    bag, head = torch.nn.EmbeddingBag(30, 8, mode="mean"), torch.nn.Linear(8, 3)
    tokens, offsets = torch.randint(0, 30, (40,)), torch.arange(0, 40, 5)
    y = torch.randint(0, 3, (8,))
    return train(
        torch,
        torch.nn.ModuleList([bag, head]),
        lambda step: torch.nn.functional.cross_entropy(head(bag(tokens, offsets)), y),
    )


@program
def layer_bilinear(torch: Any) -> Any:
    layers = torch.nn.ModuleList(
        [torch.nn.Bilinear(5, 6, 4), torch.nn.CosineSimilarity(), torch.nn.PairwiseDistance()]
    )
    a, b, c = torch.randn(16, 5), torch.randn(16, 6), torch.randn(16, 4)
    return train(
        torch,
        layers,
        lambda step: (1 - layers[1](layers[0](a, b), c)).mean() + 0.1 * layers[2](layers[0](a, b), c).mean(),
    )


@program
def layer_transformer_encoder(torch: Any) -> Any:
    nn = torch.nn
    layer = nn.TransformerEncoderLayer(
        16, 4, 32, dropout=0.0, batch_first=True, norm_first=True, activation="gelu"
    )
    model = nn.ModuleList(
        [nn.Embedding(20, 16), nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Linear(16, 4)]
    )
    tokens = torch.randint(1, 20, (16, 7))
    tokens[:4, 5:] = 0
    y = tokens.max(1).values % 4
    return train(
        torch,
        model,
        lambda step: nn.functional.cross_entropy(
            model[2](model[1](model[0](tokens), src_key_padding_mask=tokens == 0).mean(1)), y
        ),
    )


@program
def layer_transformer(torch: Any) -> Any:
    nn = torch.nn
    model = nn.ModuleList(
        [
            nn.Embedding(12, 16),
            nn.Transformer(16, 2, 1, 1, 32, dropout=0.1, batch_first=True),
            nn.Linear(16, 12),
        ]
    )
    source = torch.randint(1, 12, (8, 6))
    target = torch.cat((torch.zeros(8, 1, dtype=torch.long), source.flip(1)), 1)
    mask = nn.Transformer.generate_square_subsequent_mask(6)

    def loss(step: int) -> Any:
        out = model[1](model[0](source), model[0](target[:, :-1]), tgt_mask=mask, tgt_is_causal=True)
        return nn.functional.cross_entropy(model[2](out).flatten(0, 1), target[:, 1:].flatten())

    return train(torch, model, loss)


@program
def layer_multihead_attention(torch: Any) -> Any:
    nn = torch.nn
    attend = nn.MultiheadAttention(16, 4, kdim=10, vdim=6, batch_first=True, add_bias_kv=True)
    model = nn.ModuleList([attend, nn.Linear(16, 4)])
    q, k, v = torch.randn(8, 3, 16), torch.randn(8, 5, 10), torch.randn(8, 5, 6)
    y = torch.randint(0, 4, (8,))

    def loss(step: int) -> Any:
        out, weights = attend(q, k, v, need_weights=True)
        return nn.functional.cross_entropy(model[1](out.mean(1)), y) + weights.pow(2).mean()

    return train(torch, model, loss)


# --- kinds of programs --------------------------------------------------------------------------


@program
def regression_by_hand(torch: Any) -> Any:
    x, w, b = torch.randn(50, 3), torch.zeros(3, requires_grad=True), torch.zeros(1, requires_grad=True)
    y = x @ torch.tensor([2.0, -1.0, 0.5]) + 0.3 + 0.1 * torch.randn(50)
    losses = []
    for _ in range(STEPS):
        loss = ((x @ w + b - y) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            w -= 0.05 * w.grad
            b -= 0.05 * b.grad
            w.grad.zero_()
            b.grad = None
        losses.append(loss.item())
    return losses


@program
def convolutional_network(torch: Any) -> Any:
    nn = torch.nn
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Dropout(0.25),
        nn.Linear(16 * 16, 32),
        nn.ReLU(),
        nn.Linear(32, 4),
    )
    return classify(torch, model, 1, 16, 16)


@program
def residual_network(torch: Any) -> Any:
    nn, F = torch.nn, torch.nn.functional

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self, a: int, b: int, stride: int) -> None:
            super().__init__()
            self.one, self.norm1 = nn.Conv2d(a, b, 3, stride, 1, bias=False), nn.BatchNorm2d(b)
            self.two, self.norm2 = nn.Conv2d(b, b, 3, 1, 1, bias=False), nn.BatchNorm2d(b)
            self.short = (
                nn.Sequential(nn.Conv2d(a, b, 1, stride, bias=False), nn.BatchNorm2d(b))
                if a != b
                else nn.Identity()
            )

        def forward(self, x: Any) -> Any:
            out = self.norm2(self.two(F.relu(self.norm1(self.one(x)), inplace=True)))
            return F.relu(out + self.short(x))

    model = nn.Sequential(
        Block(3, 8, 1),
        Block(8, 8, 1),
        Block(8, 16, 2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(16, 4),
    )
    for m in model.modules():
        if isinstance(m, nn.Conv2d):
            nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
    return classify(
        torch, model, 3, 8, 8, optimizer=torch.optim.SGD(model.parameters(), 0.05, 0.9, weight_decay=5e-4)
    )


@program
def u_net(torch: Any) -> Any:
    nn = torch.nn
    down, mid = nn.Conv2d(1, 8, 3, padding=1), nn.Conv2d(8, 8, 3, padding=1)
    up, out = nn.ConvTranspose2d(8, 8, 2, 2), nn.Conv2d(16, 1, 1)
    x = torch.randn(4, 1, 8, 8)
    y = (x > 0.5).float()

    def loss(step: int) -> Any:
        a = torch.relu(down(x))
        b = torch.relu(mid(nn.functional.max_pool2d(a, 2)))
        p = out(torch.cat((a, up(b)), 1))
        dice = 1 - 2 * (p.sigmoid() * y).sum() / (p.sigmoid().sum() + y.sum() + 1)
        return nn.functional.binary_cross_entropy_with_logits(p, y) + dice

    model = nn.ModuleList([down, mid, up, out])
    return train(torch, model, loss, torch.optim.SGD(model.parameters(), 0.2, 0.9))


@program
def character_model(torch: Any) -> Any:
    text = "the quick brown fox jumps over the lazy dog and runs away from the big bad wolf " * 3
    letters = sorted(set(text))
    data = torch.tensor([letters.index(c) for c in text])
    nn = torch.nn
    embed, lstm, head = nn.Embedding(len(letters), 12), nn.LSTM(12, 24), nn.Linear(24, len(letters))

    def loss(step: int) -> Any:
        at = torch.randint(0, len(data) - 17, (8,))
        x = torch.stack([data[i : i + 16] for i in at], 1)
        y = torch.stack([data[i + 1 : i + 17] for i in at], 1)
        return nn.functional.cross_entropy(head(lstm(embed(x))[0]).flatten(0, 1), y.flatten())

    model = nn.ModuleList([embed, lstm, head])
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    optimizer.register_step_pre_hook(lambda *a: nn.utils.clip_grad_norm_(model.parameters(), 1.0) and None)
    return train(torch, model, loss, optimizer)


@program
def small_gpt(torch: Any) -> Any:
    nn, F = torch.nn, torch.nn.functional

    class Attention(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.qkv, self.out = nn.Linear(24, 72, bias=False), nn.Linear(24, 24)

        def forward(self, x: Any) -> Any:
            B, T, C = x.shape
            q, k, v = (t.view(B, T, 3, 8).transpose(1, 2) for t in self.qkv(x).split(24, 2))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            return self.out(y.transpose(1, 2).contiguous().view(B, T, C))

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.attend, self.norm2 = nn.LayerNorm(24), Attention(), nn.LayerNorm(24)
            self.mlp = nn.Sequential(
                nn.Linear(24, 96), nn.GELU(approximate="tanh"), nn.Linear(96, 24), nn.Dropout(0.1)
            )

        def forward(self, x: Any) -> Any:
            x = x + self.attend(self.norm1(x))
            return x + self.mlp(self.norm2(x))

    tok, pos, body = (
        nn.Embedding(16, 24),
        nn.Embedding(12, 24),
        nn.Sequential(Block(), Block(), nn.LayerNorm(24)),
    )
    head = nn.Linear(24, 16, bias=False)
    head.weight = tok.weight
    model = nn.ModuleList([tok, pos, body, head])
    for p in model.parameters():
        if p.ndim > 1:
            nn.init.normal_(p, 0.0, 0.05)
    data = torch.arange(200) * 7 % 31 % 16

    def loss(step: int) -> Any:
        at = torch.randint(0, 187, (8,))
        x = data[at[:, None] + torch.arange(13)]
        return F.cross_entropy(
            head(body(tok(x[:, :-1]) + pos(torch.arange(12)))).flatten(0, 1), x[:, 1:].flatten()
        )

    groups = [
        {"params": [p for p in model.parameters() if p.ndim > 1], "weight_decay": 0.1},
        {"params": [p for p in model.parameters() if p.ndim < 2], "weight_decay": 0.0},
    ]
    return train(torch, model, loss, torch.optim.AdamW(groups, lr=5e-3, betas=(0.9, 0.95)))


@program
def rotary_swiglu_block(torch: Any) -> Any:
    nn, F = torch.nn, torch.nn.functional
    wq, wk, wv, wo = (nn.Linear(16, 16, bias=False) for _ in range(4))
    w1, w2, w3, norm = (
        nn.Linear(16, 40, bias=False),
        nn.Linear(40, 16, bias=False),
        nn.Linear(16, 40, bias=False),
        nn.RMSNorm(16),
    )
    angles = torch.outer(torch.arange(6.0), 1.0 / 100 ** (torch.arange(0, 8, 2) / 8))
    turn = torch.polar(torch.ones_like(angles), angles)

    def rotate(t: Any) -> Any:
        return torch.view_as_real(torch.view_as_complex(t.reshape(4, 2, 6, 4, 2)) * turn).flatten(3)

    x, y = torch.randn(4, 6, 16), torch.randn(4, 6, 16)

    def loss(step: int) -> Any:
        q, k, v = (w(norm(x)).view(4, 6, 2, 8).transpose(1, 2) for w in (wq, wk, wv))
        h = x + wo(
            F.scaled_dot_product_attention(rotate(q), rotate(k), v, is_causal=True).transpose(1, 2).flatten(2)
        )
        return F.mse_loss(h + w2(F.silu(w1(norm(h))) * w3(norm(h))), y)

    return train(torch, nn.ModuleList([wq, wk, wv, wo, w1, w2, w3, norm]), loss)


@program
def autoencoder(torch: Any) -> Any:
    encode, decode = mlp(torch, 20, 12, 3), mlp(torch, 3, 12, 20)
    x = torch.rand(32, 3) @ torch.randn(3, 20)

    def loss(step: int) -> Any:
        code = encode(x + 0.1 * torch.randn_like(x))
        return torch.nn.functional.mse_loss(decode(code), x) + 1e-3 * code.abs().mean()

    return train(torch, torch.nn.ModuleList([encode, decode]), loss)


@program
def variational_autoencoder(torch: Any) -> Any:
    encode, decode = mlp(torch, 16, 24, 8), mlp(torch, 4, 24, 16)
    x = torch.bernoulli(torch.rand(32, 1).expand(32, 16))

    def loss(step: int) -> Any:
        mean, spread = encode(x).chunk(2, 1)
        z = mean + torch.exp(0.5 * spread) * torch.randn_like(spread)
        reconstruction = torch.nn.functional.binary_cross_entropy_with_logits(decode(z), x, reduction="sum")
        return (reconstruction - 0.5 * torch.sum(1 + spread - mean.pow(2) - spread.exp())) / 32

    return train(torch, torch.nn.ModuleList([encode, decode]), loss)


@program
def adversarial_networks(torch: Any) -> Any:
    nn = torch.nn
    G, D = (
        mlp(torch, 4, 16, 2),
        nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1), nn.Sigmoid()),
    )
    og, od = (torch.optim.Adam(m.parameters(), lr=2e-3, betas=(0.5, 0.999)) for m in (G, D))
    losses, bce = [], nn.BCELoss()
    for _ in range(STEPS):
        real, fake = torch.randn(16, 2) * 0.5 + 2, G(torch.randn(16, 4))
        od.zero_grad()
        d = bce(D(real), torch.ones(16, 1)) + bce(D(fake.detach()), torch.zeros(16, 1))
        d.backward()
        od.step()
        og.zero_grad()
        g = bce(D(fake), torch.ones(16, 1))
        g.backward()
        og.step()
        losses.append(d.item() + 10 * g.item())
    return losses


@program
def wasserstein_with_penalty(torch: Any) -> Any:
    D, real, fake = mlp(torch, 2, 16, 16, 1, act="Tanh"), torch.randn(32, 2) + 2, torch.randn(32, 2)

    def loss(step: int) -> Any:
        t = torch.rand(32, 1)
        mix = (t * real + (1 - t) * fake).requires_grad_()
        (slope,) = torch.autograd.grad(D(mix).sum(), mix, create_graph=True)
        return D(fake).mean() - D(real).mean() + 10 * ((slope.norm(2, dim=1) - 1) ** 2).mean()

    return train(torch, D, loss)


@program
def denoising_diffusion(torch: Any) -> Any:
    model, data = mlp(torch, 3, 32, 32, 2, act="SiLU"), torch.randn(64, 2) * 0.1 + torch.tensor([1.0, -1.0])
    keep = torch.cumprod(1 - torch.linspace(1e-4, 0.2, 20), 0)

    def loss(step: int) -> Any:
        t = torch.randint(0, 20, (64,))
        noise, a = torch.randn_like(data), keep[t].unsqueeze(1)
        noisy = a.sqrt() * data + (1 - a).sqrt() * noise
        return torch.nn.functional.mse_loss(model(torch.cat((noisy, t[:, None] / 20), 1)), noise)

    return train(torch, model, loss)


@program
def differential_equation(torch: Any) -> Any:
    model = mlp(torch, 1, 16, 16, 1, act="Tanh")
    x = torch.linspace(0, 1, 20)[:, None].requires_grad_()

    def loss(step: int) -> Any:
        u = model(x)
        (du,) = torch.autograd.grad(u.sum(), x, create_graph=True)
        (ddu,) = torch.autograd.grad(du.sum(), x, create_graph=True)
        return (ddu + u).pow(2).mean() + (u[0] - 1).pow(2).sum() + du[0].pow(2).sum()

    return train(torch, model, loss)


@program
def meta_learning(torch: Any) -> Any:
    w = torch.nn.Parameter(torch.randn(5) * 0.1)
    x, y = torch.randn(2, 10, 5), torch.randn(2, 10)

    def loss(step: int) -> Any:
        inner = (x[0] @ w - y[0]).pow(2).mean()
        (g,) = torch.autograd.grad(inner, w, create_graph=True)
        return (x[1] @ (w - 0.1 * g) - y[1]).pow(2).mean()

    return train(torch, None, loss, torch.optim.SGD([w], 0.05))


@program
def policy_gradient(torch: Any) -> Any:
    policy = mlp(torch, 4, 16, 3)
    payoff = torch.randn(4, 3)

    def loss(step: int) -> Any:
        state = torch.nn.functional.one_hot(torch.randint(0, 4, (32,)), 4).float()
        logp = policy(state).log_softmax(-1)
        action = torch.multinomial(logp.detach().exp(), 1)
        reward = (state @ payoff).gather(1, action)
        advantage = (reward - reward.mean()) / (reward.std() + 1e-6)
        return -(logp.gather(1, action) * advantage).mean() + 0.01 * (logp.exp() * logp).sum(-1).mean()

    return train(torch, policy, loss)


@program
def q_learning(torch: Any) -> Any:
    import copy

    q = mlp(torch, 4, 16, 2)
    target = copy.deepcopy(q).requires_grad_(False)
    s, a, r, n = torch.randn(64, 4), torch.randint(0, 2, (64, 1)), torch.randn(64), torch.randn(64, 4)

    def loss(step: int) -> Any:
        if step % 10 == 9:
            target.load_state_dict(q.state_dict())
        wanted = r + 0.9 * target(n).max(1).values
        return torch.nn.functional.smooth_l1_loss(q(s).gather(1, a).squeeze(1), wanted)

    return train(torch, q, loss, torch.optim.RMSprop(q.parameters(), 1e-3))


@program
def contrastive_pairs(torch: Any) -> Any:
    left, right = mlp(torch, 8, 16, 6), mlp(torch, 5, 16, 6)
    scale = torch.nn.Parameter(torch.tensor(math.log(10.0)))
    a, b = torch.randn(16, 8), torch.randn(16, 5)
    F = torch.nn.functional

    def loss(step: int) -> Any:
        logits = F.normalize(left(a), dim=-1) @ F.normalize(right(b), dim=-1).T * scale.exp()
        labels = torch.arange(16)
        return (F.cross_entropy(logits, labels) + F.cross_entropy(logits.T, labels)) / 2

    parameters = [*left.parameters(), *right.parameters(), scale]
    return train(torch, None, loss, torch.optim.AdamW(parameters, 3e-3))


@program
def word_vectors(torch: Any) -> Any:
    inner, outer = torch.nn.Embedding(30, 8), torch.nn.Embedding(30, 8)

    def loss(step: int) -> Any:
        word = torch.randint(0, 30, (32,))
        near, far = (word + 1) % 30, torch.randint(0, 30, (32, 5))
        v = inner(word)
        positive = torch.nn.functional.logsigmoid((v * outer(near)).sum(-1))
        negative = torch.nn.functional.logsigmoid(-torch.bmm(outer(far), v.unsqueeze(2)).squeeze(2)).sum(-1)
        return -(positive + negative).mean()

    return train(
        torch,
        torch.nn.ModuleList([inner, outer]),
        loss,
        torch.optim.Adagrad([*inner.parameters(), *outer.parameters()], 0.5),
    )


@program
def matrix_factors(torch: Any) -> Any:
    users, items = torch.nn.Embedding(12, 4), torch.nn.Embedding(15, 4)
    bias = torch.nn.ParameterDict({"u": torch.zeros(12), "i": torch.zeros(15)})
    u, i = torch.randint(0, 12, (60,)), torch.randint(0, 15, (60,))
    stars = torch.randint(1, 6, (60,)).float()
    return train(
        torch,
        torch.nn.ModuleList([users, items, bias]),
        lambda step: torch.nn.functional.mse_loss(
            (users(u) * items(i)).sum(-1) + bias["u"][u] + bias["i"][i] + 3, stars
        ),
    )


@program
def sequence_to_sequence(torch: Any) -> Any:
    nn = torch.nn
    embed, encode, decode, head = nn.Embedding(10, 8), nn.GRU(8, 12), nn.GRUCell(20, 12), nn.Linear(24, 10)
    source = torch.randint(1, 10, (5, 8))
    target = source.flip(0)

    def loss(step: int) -> Any:
        memory, h = encode(embed(source))
        h, total, word = h[0], 0.0, torch.zeros(8, dtype=torch.long)
        context = torch.zeros(8, 12)
        for t in range(5):
            h = decode(torch.cat((embed(word), context), 1), h)
            weights = torch.einsum("tbh,bh->bt", memory, h).softmax(1)
            context = torch.einsum("bt,tbh->bh", weights, memory)
            logits = head(torch.cat((h, context), 1))
            total = total + nn.functional.cross_entropy(logits, target[t])
            word = target[t] if step % 2 else logits.argmax(1)
        return total / 5

    return train(torch, nn.ModuleList([embed, encode, decode, head]), loss)


@program
def graph_network(torch: Any) -> Any:
    edges = (torch.rand(20, 20) < 0.2).float()
    adjacency = ((edges + edges.T) > 0).float() + torch.eye(20)
    d = adjacency.sum(1).rsqrt()
    spread = d[:, None] * adjacency * d
    x, y, one, two = (
        torch.randn(20, 6),
        torch.randint(0, 3, (20,)),
        torch.nn.Linear(6, 12),
        torch.nn.Linear(12, 3),
    )
    known = torch.arange(20) % 2 == 0
    src, dst = adjacency.nonzero(as_tuple=True)

    def loss(step: int) -> Any:
        h = torch.relu(spread @ one(x))
        h = h + torch.zeros_like(h).index_add(0, dst, h[src] / 10)
        return torch.nn.functional.cross_entropy(two(spread @ h)[known], y[known])

    return train(torch, torch.nn.ModuleList([one, two]), loss)


@program
def mixture_of_experts(torch: Any) -> Any:
    gate, experts = torch.nn.Linear(8, 4), torch.nn.ModuleList([mlp(torch, 8, 8, 4) for _ in range(4)])
    x, y = points(torch)

    def loss(step: int) -> Any:
        weight, which = gate(x).softmax(-1).topk(2)
        out = torch.zeros(64, 4)
        for k, expert in enumerate(experts):
            row, slot = torch.where(which == k)
            out.index_add_(0, row, weight[row, slot, None] * expert(x[row]))
        load = torch.zeros(4).scatter_add(0, which.flatten(), torch.ones(128)) / 128
        return torch.nn.functional.cross_entropy(out, y) + 0.01 * (load * gate(x).softmax(-1).mean(0)).sum()

    return train(torch, torch.nn.ModuleList([gate, experts]), loss)


@program
def low_rank_adapter(torch: Any) -> Any:
    base = mlp(torch, 8, 16, 4).requires_grad_(False)
    a, b = torch.nn.Parameter(torch.randn(2, 8) * 0.1), torch.nn.Parameter(torch.zeros(16, 2))
    base[0].register_forward_hook(lambda module, args, out: out + args[0] @ a.T @ b.T * 4)
    x, y = points(torch)
    return train(
        torch,
        None,
        lambda step: torch.nn.functional.cross_entropy(base(x), y),
        torch.optim.AdamW([a, b], 0.01),
    )


@program
def distillation(torch: Any) -> Any:
    teacher, student = mlp(torch, 8, 32, 4).eval(), mlp(torch, 8, 8, 4)
    x, y = points(torch)
    F = torch.nn.functional
    with torch.no_grad():
        soft = F.log_softmax(teacher(x) / 2, -1)
    return train(
        torch,
        student,
        lambda step: (
            4 * F.kl_div(F.log_softmax(student(x) / 2, -1), soft, reduction="batchmean", log_target=True)
            + F.cross_entropy(student(x), y)
        ),
    )


@program
def accumulated_gradients(torch: Any) -> Any:
    (x, y), model = points(torch), mlp(torch, 8, 16, 4)
    optimizer, losses = torch.optim.SGD(model.parameters(), 0.1, 0.9), []
    for _ in range(STEPS):
        total = 0.0
        for part in range(4):
            loss = torch.nn.functional.cross_entropy(model(x[part::4]), y[part::4]) / 4
            loss.backward()
            total += loss.item()
        torch.nn.utils.clip_grad_value_(model.parameters(), 0.5)
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)
        losses.append(total)
    return losses


@program
def averaged_weights(torch: Any) -> Any:
    (x, y), model = (
        points(torch),
        torch.nn.Sequential(
            torch.nn.Linear(8, 16), torch.nn.BatchNorm1d(16), torch.nn.ReLU(), torch.nn.Linear(16, 4)
        ),
    )
    mean = torch.optim.swa_utils.AveragedModel(
        model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.9), use_buffers=True
    )
    optimizer, losses = torch.optim.SGD(model.parameters(), 0.1), []
    for _ in range(STEPS):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        mean.update_parameters(model)
        mean.eval()
        losses.append(torch.nn.functional.cross_entropy(mean(x), y).item())
    return losses


@program
def mixed_precision(torch: Any) -> Any:
    (x, y), model = points(torch), mlp(torch, 8, 16, 4)

    def loss(step: int) -> Any:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            out = model(x)
        return torch.nn.functional.cross_entropy(out.float(), y)

    return train(torch, model, loss, torch.optim.SGD(model.parameters(), 0.05))


@program
def double_precision(torch: Any) -> Any:
    (x, y), model = points(torch), mlp(torch, 8, 16, 4, act="Softplus").double()
    return train(torch, model, lambda step: torch.nn.functional.cross_entropy(model(x.double()), y))


@program
def loaded_data(torch: Any) -> Any:
    data = torch.utils.data.TensorDataset(*points(torch))
    first, rest = torch.utils.data.random_split(data, [48, 16])
    sampler = torch.utils.data.WeightedRandomSampler(torch.rand(16), 16)
    model, losses = mlp(torch, 8, 16, 4), []
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    while len(losses) < STEPS:
        for loader in (
            torch.utils.data.DataLoader(first, 16, shuffle=True),
            torch.utils.data.DataLoader(rest, 8, sampler=sampler),
        ):
            for x, y in loader:
                optimizer.zero_grad()
                loss = torch.nn.functional.cross_entropy(model(x), y)
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
    return losses[:STEPS]


@program
def style_by_gram(torch: Any) -> Any:
    conv = torch.nn.Conv2d(3, 6, 3).requires_grad_(False)
    image, style = torch.nn.Parameter(torch.rand(1, 3, 8, 8)), torch.rand(1, 3, 8, 8)

    def gram(t: Any) -> Any:
        f = conv(t).flatten(2)
        return f @ f.mT / f[0].numel()

    def loss(step: int) -> Any:
        rough = (image[..., 1:] - image[..., :-1]).abs().mean()
        return 100 * (gram(image) - gram(style)).pow(2).sum() + 0.1 * rough

    return train(torch, None, loss, torch.optim.LBFGS([image], max_iter=2, lr=0.5))


@program
def adversarial_examples(torch: Any) -> Any:
    (x, y), model = points(torch), mlp(torch, 8, 16, 4)
    F = torch.nn.functional

    def loss(step: int) -> Any:
        moved = x.clone().requires_grad_()
        (slope,) = torch.autograd.grad(F.cross_entropy(model(moved), y), moved)
        return F.cross_entropy(model(x + 0.1 * slope.sign()), y)

    return train(torch, model, loss)


@program
def own_function_and_hooks(torch: Any) -> Any:
    class Clipped(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x.clamp(-1, 1)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (x,) = ctx.saved_tensors
            return grad * (0.1 + 0.9 * (x.abs() <= 1).to(grad.dtype))

    (x, y), one, two = points(torch), torch.nn.Linear(8, 16), torch.nn.Linear(16, 4)
    one.weight.register_hook(lambda g: g * 2)
    return train(
        torch,
        torch.nn.ModuleList([one, two]),
        lambda step: torch.nn.functional.cross_entropy(two(Clipped.apply(one(x))), y),
    )


@program
def checkpointed(torch: Any) -> Any:
    from importlib import import_module

    checkpoint = import_module(f"{torch.__name__}.utils.checkpoint").checkpoint
    (x, y), first, last = (
        points(torch),
        mlp(torch, 8, 16, 16),
        torch.nn.Sequential(torch.nn.Dropout(0.2), torch.nn.Linear(16, 4)),
    )
    return train(
        torch,
        torch.nn.ModuleList([first, last]),
        lambda step: torch.nn.functional.cross_entropy(last(checkpoint(first, x, use_reentrant=False)), y),
    )


@program
def multiple_tasks(torch: Any) -> Any:
    trunk, heads = (
        mlp(torch, 8, 16),
        torch.nn.ModuleDict({"kind": torch.nn.Linear(16, 4), "size": torch.nn.Linear(16, 1)}),
    )
    x, y = points(torch)
    size, weights = x.norm(dim=1, keepdim=True), torch.nn.Parameter(torch.zeros(2))

    def loss(step: int) -> Any:
        h = torch.tanh(trunk(x))
        both = torch.stack(
            (
                torch.nn.functional.cross_entropy(heads["kind"](h), y),
                torch.nn.functional.mse_loss(heads["size"](h), size),
            )
        )
        return (both * torch.exp(-weights) + weights).sum()

    return train(
        torch, None, loss, torch.optim.Adam([*trunk.parameters(), *heads.parameters(), weights], 0.01)
    )


@program
def spectral_filter(torch: Any) -> Any:
    weight = torch.nn.Parameter(torch.randn(9, dtype=torch.complex64) * 0.1)
    x = torch.randn(8, 16)
    y = x.roll(2, 1) + 0.5 * x

    def loss(step: int) -> Any:
        return torch.nn.functional.mse_loss(torch.fft.irfft(torch.fft.rfft(x) * weight, n=16), y)

    return train(torch, None, loss, torch.optim.Adam([weight], 0.05))


@program
def gaussian_process(torch: Any) -> Any:
    x = torch.linspace(0, 1, 12, dtype=torch.float64)
    y, logs = torch.sin(6 * x), torch.nn.Parameter(torch.zeros(3, dtype=torch.float64))

    def loss(step: int) -> Any:
        scale, width, noise = logs.exp()
        K = scale * torch.exp(-(torch.cdist(x[:, None], x[:, None]) ** 2) / (2 * (0.3 * width) ** 2)) + (
            0.1 * noise + 1e-3
        ) * torch.eye(12)
        L = torch.linalg.cholesky(K)
        a = torch.cholesky_solve(y[:, None], L)
        return 0.5 * (y @ a.squeeze(1)) + L.diagonal().log().sum()

    return train(torch, None, loss, torch.optim.Adam([logs], 0.05))


@program
def quantised_aware(torch: Any) -> Any:
    (x, y), one, two = points(torch), torch.nn.Linear(8, 16), torch.nn.Linear(16, 4)

    def rounded(w: Any) -> Any:
        scale = w.detach().abs().amax(1, keepdim=True) / 7
        return w + ((w / scale).round().clamp(-8, 7) * scale - w).detach()

    F = torch.nn.functional
    return train(
        torch,
        torch.nn.ModuleList([one, two]),
        lambda step: F.cross_entropy(two(F.relu(F.linear(x, rounded(one.weight), one.bias))), y),
    )
