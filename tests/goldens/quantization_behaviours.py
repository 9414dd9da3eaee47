"""What torch.ao.quantization and quantized tensors do, as functions of the package; its answers in JSON."""

from __future__ import annotations

import importlib
from typing import Any

from answers import Table, attempts
from optim_behaviours import wave

QUANTIZATION = Table("quantization_behaviours.json")


def _x(torch: Any, *shape: int, phase: float = 0.0) -> Any:
    return torch.from_numpy(wave(*shape, phase=phase)).float() * 3


def _q(torch: Any, name: str = "quantization") -> Any:
    return importlib.import_module(f"{torch.__name__}.ao.{name}")


@QUANTIZATION
def quantized_tensors(torch: Any) -> Any:
    x = _x(torch, 4, 6)
    names = {
        "torch": torch,
        "x": x,
        "q": torch.quantize_per_tensor(x, 0.05, 10, torch.quint8),
        "c": torch.quantize_per_channel(
            x, torch.tensor([0.1, 0.02, 0.05, 0.01]), torch.tensor([0, 3, -4, 1]), 0, torch.qint8
        ),
    }
    return attempts(
        """
        q.int_repr()
        q.dequantize()
        q.dtype
        q.qscheme()
        q.q_scale()
        q.q_zero_point()
        q.is_quantized
        x.is_quantized
        str(q)
        str(c)
        c.int_repr()
        c.dequantize()
        c.q_per_channel_scales()
        c.q_per_channel_zero_points()
        c.q_per_channel_axis()
        c.qscheme()
        q[1:3].int_repr()
        q.t().int_repr()
        q.view(3, 8).int_repr()
        torch.relu(q).int_repr()
        torch.cat([q, q]).int_repr()
        torch.equal(q, q.clone())
        q.mean().dequantize()
        torch.dequantize([q, c])[1]
        torch.int_repr(q)
        torch.quantize_per_tensor(x, 0.1, 300, torch.quint8).int_repr()
        torch.quantize_per_tensor(x.double(), 0.1, 3, torch.quint8).int_repr()
        torch.quantize_per_tensor(x, 1e-3, -7, torch.qint32).int_repr()
        torch.quantize_per_tensor_dynamic(x, torch.quint8, False).q_scale()
        torch.quantize_per_tensor_dynamic(x, torch.qint8, True).int_repr()
        str(torch._make_per_tensor_quantized_tensor(q.int_repr(), 0.5, 3))
        torch.per_channel_affine_float_qparams
        """,
        names,
    )


@QUANTIZATION
def fake_quantized(torch: Any) -> Any:
    found = {}
    for dtype in ("float32", "float64", "float16", "bfloat16"):
        x = _x(torch, 3, 4).to(getattr(torch, dtype)).requires_grad_()
        for zero_point in (
            torch.tensor([1, -2, 3, 0], dtype=torch.int32),
            torch.tensor([0.5, 1.3, -2.0, 0.2]),
        ):
            y = torch.fake_quantize_per_channel_affine(
                x, torch.tensor([0.1, 0.2, 0.05, 0.15]), zero_point, 1, -9, 7
            )
            found[f"{dtype} channels {zero_point.dtype}"] = [y, torch.autograd.grad(y.sum(), x)]
        for scale, zero_point in ((0.1, 3), (torch.tensor(0.07), torch.tensor(-2, dtype=torch.int32))):
            y = torch.fake_quantize_per_tensor_affine(x, scale, zero_point, -9, 7)
            found[f"{dtype} {zero_point}"] = [y, type(y.grad_fn).__name__, torch.autograd.grad(y.sum(), x)]
    inf = float("inf")
    odd = torch.tensor([float("nan"), inf, -inf, 1e30, 0.25, 0.35])
    found["odd"] = torch.fake_quantize_per_tensor_affine(odd, 0.1, 0, -5, 5)
    found["errors"] = attempts(
        """
        torch.fake_quantize_per_tensor_affine(x, 0.1, 9, -5, 5)
        torch.fake_quantize_per_channel_affine(x, s, z, 0, -5, 5)
        torch.fake_quantize_per_channel_affine(x, s.double(), z, 1, -5, 5)
        torch.fake_quantize_per_channel_affine(x, s, z.long(), 1, -5, 5)
        torch.fake_quantize_per_channel_affine(x, s, z + 9, 1, -5, 5)
        """,
        {"torch": torch, "x": _x(torch, 3, 4), "s": torch.ones(4), "z": torch.zeros(4, dtype=torch.int32)},
    )
    return found


@QUANTIZATION
def learned_fake_quantization(torch: Any) -> Any:
    x = _x(torch, 3, 4).requires_grad_()
    found = []
    for name, size, more in (("tensor", 1, ()), ("channel", 4, (1,))):
        scale = (_x(torch, size, phase=2.0).abs() * 0.1 + 0.05).requires_grad_()
        zero_point = _x(torch, size, phase=1.0).requires_grad_()
        function = getattr(torch, f"_fake_quantize_learnable_per_{name}_affine")
        y = function(x, scale, zero_point, *more, -8, 7, 0.5)
        found.append([y, torch.autograd.grad((y * y).sum(), (x, scale, zero_point))])
    return found


@QUANTIZATION
def observers(torch: Any) -> Any:
    seen = importlib.import_module(f"{torch.__name__}.ao.quantization.observer")
    symmetric = {"dtype": torch.qint8, "qscheme": torch.per_tensor_symmetric}
    channels = {"dtype": torch.qint8, "qscheme": torch.per_channel_symmetric}
    found = {}
    for name, make in {
        "MinMax": seen.MinMaxObserver,
        "MinMax symmetric": seen.MinMaxObserver.with_args(**symmetric),
        "MinMax half": seen.MinMaxObserver.with_args(reduce_range=True),
        "average": seen.MovingAverageMinMaxObserver,
        "channels": seen.PerChannelMinMaxObserver.with_args(ch_axis=1),
        "channels symmetric": seen.PerChannelMinMaxObserver.with_args(**channels),
        "channels average": seen.MovingAveragePerChannelMinMaxObserver,
        "float points": seen.default_float_qparams_observer,
        "histogram": seen.HistogramObserver.with_args(bins=64),
        "histogram symmetric": seen.HistogramObserver.with_args(bins=64, **symmetric),
    }.items():
        observer = make()
        steps = []
        for number in range(3):
            observer(_x(torch, 6, 7, phase=float(number)) * (number + 1))
            steps.append(observer.calculate_qparams())
        found[name] = [steps, list(observer.state_dict()), type(observer).__name__, observer.quant_min]
    found["errors"] = attempts(
        """
        seen.MinMaxObserver(qscheme=torch.per_channel_affine)
        seen.PerChannelMinMaxObserver(qscheme=torch.per_tensor_affine)
        seen.MinMaxObserver(quant_min=3, quant_max=9)
        seen.MinMaxObserver(quant_min=-3, quant_max=-9)
        seen.MinMaxObserver().calculate_qparams()
        seen.PlaceholderObserver().calculate_qparams()
        str(seen.PlaceholderObserver(dtype=torch.float16))
        """,
        {"torch": torch, "seen": seen},
    )
    return found


@QUANTIZATION
def fake_quantize_modules(torch: Any) -> Any:
    fake = importlib.import_module(f"{torch.__name__}.ao.quantization.fake_quantize")
    found = {}
    for name in (
        "FakeQuantize",
        "default_fake_quant",
        "default_weight_fake_quant",
        "default_per_channel_weight_fake_quant",
        "default_fused_act_fake_quant",
        "default_fused_wt_fake_quant",
        "default_fused_per_channel_wt_fake_quant",
        "fused_wt_fake_quant_range_neg_127_to_127",
        "default_fixed_qparams_range_0to1_fake_quant",
        "default_embedding_fake_quant",
    ):
        module = getattr(fake, name)()
        steps = []
        for number in range(3):
            x = _x(torch, 4, 5, phase=number + 0.5).requires_grad_()
            y = module(x)
            steps.append(
                [y, torch.autograd.grad(y.sum(), x), module.scale.clone(), module.zero_point.clone()]
            )
            if number == 1:
                module.apply(fake.disable_observer)
        module.apply(fake.disable_fake_quant)
        found[name] = [steps, torch.equal(module(x), x), list(module.state_dict())]
    return found


def _net(torch: Any) -> Any:
    nn, quantization = torch.nn, _q(torch)

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.quant, self.dequant = quantization.QuantStub(), quantization.DeQuantStub()
            self.conv, self.bn, self.relu = nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU()
            self.more = nn.Conv2d(4, 4, 3, stride=2, groups=2)
            self.fc = nn.Linear(16, 5)
            self.sum = _q(torch, "nn.quantized").FloatFunctional()

        def forward(self, x: Any) -> Any:
            x = self.relu(self.bn(self.conv(self.quant(x))))
            x = self.more(self.sum.add(x, x))
            return self.dequant(self.fc(torch.flatten(x, 1)))

    net = Net()
    with torch.no_grad():
        for number, p in enumerate(net.parameters()):
            p.copy_(_x(torch, *p.shape, phase=float(number)) * 0.1 + 0.02)
    return net


@QUANTIZATION
def after_training(torch: Any) -> Any:
    quantization, found = _q(torch), {}
    for backend in ("fbgemm", "qnnpack"):
        net = quantization.fuse_modules(_net(torch).eval(), [["conv", "bn", "relu"]])
        net.qconfig = quantization.get_default_qconfig(backend)
        net = quantization.prepare(net)
        for number in range(3):
            net(_x(torch, 4, 3, 6, 6, phase=float(number)))
        net = quantization.convert(net)
        kinds = [type(m).__name__ for m in net.modules()]
        y = net(_x(torch, 4, 3, 6, 6, phase=1.0))
        found[backend] = [kinds, [round(v, 1) for v in y.flatten().tolist()], sorted(net.state_dict())]
    return found


@QUANTIZATION
def while_training(torch: Any) -> Any:
    quantization = _q(torch)
    net = quantization.fuse_modules_qat(_net(torch).train(), [["conv", "bn", "relu"]])
    net.qconfig = quantization.get_default_qat_qconfig("fbgemm")
    net = quantization.prepare_qat(net)
    kinds = [type(m).__name__ for m in net.modules()]
    optimizer, losses = torch.optim.SGD(net.parameters(), 0.01), []
    for number in range(3):
        loss = (net(_x(torch, 4, 3, 6, 6, phase=float(number))) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(round(loss.item(), 3))
    return [kinds, losses, [type(m).__name__ for m in quantization.convert(net.eval()).modules()]]


@QUANTIZATION
def call_by_call(torch: Any) -> Any:
    nn, quantization, found = torch.nn, _q(torch), {}
    x = _x(torch, 3, 2, 5)
    for name, layer in {
        "linear": nn.Linear(5, 4),
        "lstm": nn.LSTM(5, 4, 2, bidirectional=True),
        "gru": nn.GRU(5, 4, batch_first=True),
        "lstm cell": nn.LSTMCell(5, 4),
        "gru cell": nn.GRUCell(5, 4),
        "rnn cell": nn.RNNCell(5, 4, nonlinearity="relu"),
    }.items():
        with torch.no_grad():
            for number, p in enumerate(layer.parameters()):
                p.copy_(_x(torch, *p.shape, phase=float(number)) * 0.2)
        for dtype in (torch.qint8, torch.float16):
            net = quantization.quantize_dynamic(nn.Sequential(layer), dtype=dtype)
            given = x[0] if "cell" in name else x
            found[f"{name} {dtype}"] = [net(given), str(net)]
    packed = nn.utils.rnn.pack_padded_sequence(_x(torch, 4, 3, 5), [4, 2, 1], enforce_sorted=False)
    lstm = nn.LSTM(5, 4, bidirectional=True)
    with torch.no_grad():
        for number, p in enumerate(lstm.parameters()):
            p.copy_(_x(torch, *p.shape, phase=float(number)) * 0.2)
    out, state = quantization.quantize_dynamic(nn.Sequential(lstm))(packed)
    found["packed"] = [out.data, state]
    found["names"] = list(quantization.quantize_dynamic(nn.Sequential(nn.Linear(2, 2))).state_dict())
    return found
