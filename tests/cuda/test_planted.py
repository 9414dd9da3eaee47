"""Device bugs as people write them: each raises what PyTorch raises, or is named by the strict mode."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest

import rushlight as torch
from rushlight import nn

F = nn.functional
SAME = "Expected all tensors to be on the same device"


def model() -> nn.Module:
    """A small classifier on the device."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3)).cuda()


def x(device: str = "cuda") -> torch.Tensor:
    """A batch."""
    return torch.randn(5, 4, device=device)


def y(device: str = "cuda") -> torch.Tensor:
    """Its labels."""
    return torch.zeros(5, dtype=torch.int64, device=device)


class Masked(nn.Module):
    """A module whose mask is no buffer, so that it is left behind."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.mask = nn.Linear(4, 4), torch.ones(4)

    def forward(self, value: torch.Tensor) -> torch.Tensor:
        return self.layer(value) * self.mask


class Positions(nn.Module):
    """A module that makes its positions on the CPU."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(4, 4)

    def forward(self, value: torch.Tensor) -> torch.Tensor:
        return value + self.table(torch.arange(value.shape[1]))


class Scaled(torch.autograd.Function):
    """A function of one's own that makes its gradient on the CPU."""

    @staticmethod
    def forward(ctx: object, value: torch.Tensor) -> torch.Tensor:
        return value * 2

    @staticmethod
    def backward(ctx: object, grad: torch.Tensor) -> torch.Tensor:
        return grad * torch.full((5, 4), 2.0)


def _step_with(optimizer: torch.optim.Optimizer, m: nn.Module) -> None:
    F.cross_entropy(m(x()), y()).backward()
    optimizer.step()


def loaded_state() -> None:
    m = model()
    optimizer = torch.optim.Adam(m.parameters())
    _step_with(optimizer, m)
    for state in optimizer.state.values():
        state["exp_avg"] = state["exp_avg"].cpu()
    _step_with(optimizer, m)


def gradient_of_another_device() -> None:
    m = model()
    m[0].weight.grad = torch.zeros(8, 4)


def confusion_left_behind() -> None:
    counts = torch.zeros(3, dtype=torch.int64)
    counts.index_add_(0, y(), torch.ones(5, dtype=torch.int64, device="cuda"))


def ema_left_behind() -> None:
    m = model()
    average = [p.detach().clone().cpu() for p in m.parameters()]
    for a, p in zip(average, m.parameters(), strict=True):
        a.mul_(0.9).add_(p.detach(), alpha=0.1)


def schedule_left_behind() -> None:
    m, table = model(), torch.linspace(1, 0, 5, device="cuda")
    chosen = torch.eye(5)
    torch.optim.lr_scheduler.LambdaLR(
        torch.optim.SGD(m.parameters(), 0.1), lambda epoch: (table * chosen[epoch]).sum().item()
    )


def plateau_of_two_devices() -> None:
    m = model()
    schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(torch.optim.SGD(m.parameters(), 0.1))
    losses = [F.cross_entropy(m(x()), y()), torch.zeros(())[None]]
    schedule.step(torch.stack([losses[0][None], losses[1]]).mean())


def hidden_state_left_behind() -> None:
    nn.LSTM(4, 3).cuda()(x().unsqueeze(0), (torch.zeros(1, 5, 3), torch.zeros(1, 5, 3)))


def wrong_generator() -> None:
    torch.randn(3, device="cuda", generator=torch.Generator().manual_seed(0))


def loaded_without_a_device() -> None:
    file = io.BytesIO()
    torch.save(torch.ones(2, device="cuda:1"), file)
    file.seek(0)
    torch.load(file, map_location="cuda:7")


def class_weights_left_behind() -> None:
    nn.CrossEntropyLoss(weight=torch.ones(3))(model()(x()), y())


BUGS: dict[str, tuple[Callable[[], object], type[Exception], str]] = {
    "input left behind": (
        lambda: model()(x("cpu")),
        RuntimeError,
        r"but got mat1 is on cpu, different from other tensors on cuda:0 .*wrapper_CUDA_addmm",
    ),
    "model left behind": (lambda: nn.Linear(4, 2)(x()), RuntimeError, SAME),
    "convolution's input left behind": (
        lambda: nn.Conv2d(1, 2, 3).cuda()(torch.randn(1, 1, 5, 5)),
        RuntimeError,
        r"Input type \(torch.FloatTensor\) and weight type \(torch.cuda.FloatTensor\) should be the same or",
    ),
    "convolution left behind": (
        lambda: nn.Conv2d(1, 2, 3)(torch.randn(1, 1, 5, 5, device="cuda")),
        RuntimeError,
        r"Input type \(torch.cuda.FloatTensor\) and weight type \(torch.FloatTensor\) should be the same$",
    ),
    "labels left behind": (
        lambda: F.cross_entropy(model()(x()), y("cpu")),
        RuntimeError,
        r"but got target is on cpu, .*wrapper_CUDA_nll_loss_forward",
    ),
    "class weights left behind": (class_weights_left_behind, RuntimeError, SAME),
    "targets of a regression left behind": (lambda: F.mse_loss(x(), x("cpu")), RuntimeError, SAME),
    "mask that is no buffer": (lambda: Masked().cuda()(x()), RuntimeError, SAME),
    "positions made on the CPU": (
        lambda: Positions().cuda()(x()),
        RuntimeError,
        r"but got index is on cpu, .*wrapper_CUDA__index_select",
    ),
    "ids left behind": (lambda: nn.Embedding(4, 2).cuda()(y("cpu")), RuntimeError, SAME),
    "hidden state left behind": (hidden_state_left_behind, RuntimeError, "device"),
    "attention mask left behind": (
        lambda: F.scaled_dot_product_attention(
            *[torch.randn(1, 2, 3, device="cuda")] * 3, attn_mask=torch.zeros(2, 2)
        ),
        RuntimeError,
        SAME,
    ),
    "optimizer state loaded to the CPU": (loaded_state, RuntimeError, SAME),
    "gradient of another device": (gradient_of_another_device, RuntimeError, "device"),
    "scheduler's table left behind": (schedule_left_behind, RuntimeError, SAME),
    "a scheduler's losses of two devices": (plateau_of_two_devices, RuntimeError, SAME),
    "metric left behind": (confusion_left_behind, RuntimeError, SAME),
    "running average left behind": (ema_left_behind, RuntimeError, SAME),
    "two cards": (lambda: x("cuda:0") + x("cuda:1"), RuntimeError, f"{SAME}.*cuda:0 and cuda:1"),
    "a product over two cards": (lambda: x("cuda:0") @ x("cuda:1").t(), RuntimeError, SAME),
    "cat of two devices": (lambda: torch.cat([x(), x("cpu")]), RuntimeError, SAME),
    "where on two devices": (lambda: torch.where(x() > 0, x(), x("cpu")), RuntimeError, SAME),
    "in place from the CPU": (lambda: x().add_(x("cpu")), RuntimeError, SAME),
    "out= on the CPU": (lambda: torch.add(x(), x(), out=x("cpu")), RuntimeError, SAME),
    "index of another card": (
        lambda: x("cuda:0")[y("cuda:1")],
        RuntimeError,
        "indices should be either on cpu",
    ),
    "CPU tensor read at CUDA indices": (
        lambda: x("cpu")[y()],
        RuntimeError,
        "indices should be either on cpu",
    ),
    "a gradient made on the CPU": (
        lambda: Scaled.apply(x().requires_grad_()).sum().backward(),
        RuntimeError,
        SAME,
    ),
    "numpy of a CUDA tensor": (
        lambda: x().numpy(),
        TypeError,
        "can't convert cuda:0 device type tensor to numpy",
    ),
    "numpy of one with a gradient": (lambda: model()(x()).numpy(), RuntimeError, "requires grad"),
    "plotting a CUDA tensor": (lambda: __import__("numpy").asarray(x()), TypeError, "Use Tensor.cpu()"),
    "a card that is not there": (lambda: x("cuda:5"), RuntimeError, "invalid device ordinal"),
    "a card that is not there, of a module": (
        lambda: model().to("cuda:9"),
        RuntimeError,
        "invalid device ordinal",
    ),
    "set_device out of range": (lambda: torch.cuda.set_device(4), RuntimeError, "invalid device ordinal"),
    "a misspelt device": (lambda: x("gpu"), RuntimeError, "Expected one of cpu, cuda"),
    "generator of the CPU": (wrong_generator, RuntimeError, "Expected a 'cuda' device type for generator"),
    "map_location that is not there": (loaded_without_a_device, RuntimeError, r"device_count\(\) is 2"),
    "pinning a CUDA tensor": (lambda: x().pin_memory(), RuntimeError, "only dense CPU tensors can be pinned"),
    "too large a batch": (
        lambda: torch.empty(400, 1 << 20, device="cuda"),
        torch.cuda.OutOfMemoryError,
        "CUDA out of memory. Tried to allocate 1.56 GiB",
    ),
    "probabilities under autocast": (
        lambda: torch.autocast("cuda")(lambda: F.binary_cross_entropy(torch.sigmoid(x()), x()))(),
        RuntimeError,
        "unsafe to autocast",
    ),
    "half in a float module": (lambda: model()(x().half()), RuntimeError, "same dtype"),
    "time of an event that is not reached": (
        lambda: torch.cuda.Event(enable_timing=True).elapsed_time(torch.cuda.Event(enable_timing=True)),
        ValueError,
        "Both events must be recorded",
    ),
    "labels out of range": (
        lambda: F.cross_entropy(model()(x()), y() + 7).item(),
        torch.AcceleratorError,
        "device-side assert triggered",
    ),
    "ids out of range": (
        lambda: nn.Embedding(3, 2).cuda()(y() + 3).sum().item(),
        torch.AcceleratorError,
        "device-side assert triggered",
    ),
    "gather out of range": (
        lambda: x().gather(1, torch.full((5, 1), 9, device="cuda")).sum().item(),
        torch.AcceleratorError,
        "device-side assert triggered",
    ),
}


@pytest.mark.parametrize("name", BUGS)
def test_it_raises_as_pytorch_does(name: str) -> None:
    program, kind, words = BUGS[name]
    with pytest.raises(kind, match=words):
        program()


def test_losses_kept_with_their_graph_are_a_leak_that_shows() -> None:
    kept, held = [], []
    m = model()
    for _ in range(3):
        kept.append(F.cross_entropy(m(x()), y()))
        held.append(torch.cuda.memory_allocated())
    assert held[1] - held[0] > 1000 and held[2] - held[1] == held[1] - held[0]
    kept.clear()
    assert torch.cuda.memory_allocated() < held[0]


def test_fragments_fill_memory_and_are_given_back() -> None:
    held = [torch.empty(40 << 20, dtype=torch.uint8, device="cuda") for _ in range(20)]
    del held[::2]
    free = torch.cuda.memory_reserved() - torch.cuda.memory_allocated()
    assert free == 400 << 20
    with pytest.raises(torch.OutOfMemoryError, match=r"0 bytes is reserved by PyTorch but unallocated"):
        torch.empty(700 << 20, dtype=torch.uint8, device="cuda")
    assert torch.empty(400 << 20, dtype=torch.uint8, device="cuda").is_cuda


def test_a_smaller_batch_recovers() -> None:
    m, batch = nn.Linear(1 << 10, 1 << 10).cuda(), 1 << 18
    while True:
        try:
            m(torch.zeros(batch, 1 << 10, device="cuda")).sum().backward()
            break
        except torch.cuda.OutOfMemoryError:
            batch //= 4
    assert batch < 1 << 18 and m.weight.grad is not None
