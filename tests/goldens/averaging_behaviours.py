"""What torch.optim.swa_utils does, as functions of the package; PyTorch's answers are in the JSON file."""

from __future__ import annotations

import copy
import importlib
import pickle
from typing import Any

from answers import Table, attempts
from optim_behaviours import wave

AVERAGING = Table("averaging_behaviours.json")


def _module(torch: Any) -> Any:
    return importlib.import_module(f"{torch.__name__}.optim.swa_utils")


def _net(torch: Any, dtype: str = "float64") -> Any:
    net = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2), torch.nn.Linear(2, 1))
    _fill(torch, net, 0)
    return net.to(getattr(torch, dtype))


def _fill(torch: Any, net: Any, number: int) -> None:
    with torch.no_grad():
        for i, p in enumerate(net.parameters()):
            p.copy_(torch.from_numpy(wave(*p.shape, phase=i + 5.0 * number)))


def _values(net: Any) -> Any:
    return {name: value.clone() for name, value in net.state_dict().items()}


def _followed(torch: Any, dtype: str = "float64", **options: Any) -> Any:
    net = _net(torch, dtype)
    averaged = _module(torch).AveragedModel(net, **options)
    for number in range(1, 5):
        _fill(torch, net, number)
        net(torch.from_numpy(wave(4, 3, phase=number)).to(getattr(torch, dtype)))
        averaged.update_parameters(net)
    return averaged


@AVERAGING
def averages(torch: Any) -> Any:
    m, found = _module(torch), []
    for options in (
        {},
        {"use_buffers": True},
        {"avg_fn": m.get_swa_avg_fn()},
        {"avg_fn": m.get_ema_avg_fn(0.7)},
        {"multi_avg_fn": m.get_ema_multi_avg_fn(0.7)},
        {"multi_avg_fn": m.get_swa_multi_avg_fn()},
        {"multi_avg_fn": m.get_ema_multi_avg_fn(0.3), "use_buffers": True},
        {"avg_fn": lambda a, c, n: torch.maximum(a, c) / n},
        {"device": "cpu"},
    ):
        for dtype in ("float64", "float32"):
            averaged = _followed(torch, dtype, **options)
            found.append([_values(averaged), averaged(torch.ones(2, 3, dtype=getattr(torch, dtype)))])
    return found


@AVERAGING
def copies(torch: Any) -> Any:
    averaged = _followed(torch)
    other = _module(torch).AveragedModel(_net(torch))
    other.load_state_dict(averaged.state_dict())
    same = [_values(x) for x in (other, copy.deepcopy(averaged), pickle.loads(pickle.dumps(averaged)))]
    return [
        same,
        repr(averaged),
        list(averaged.state_dict()),
        averaged.training,
        [p.requires_grad for p in averaged.parameters()],
    ]


@AVERAGING
def statistics(torch: Any) -> Any:
    found = []
    batches = [torch.from_numpy(wave(4, 3, phase=i)) for i in range(3)]
    for loader in (batches, [(b, 0) for b in batches], [[b] for b in batches]):
        net = _net(torch)
        net.eval()
        net[1].momentum = 0.3
        _module(torch).update_bn(loader, net)
        found.append([_values(net), net.training, net[1].momentum, net[0].training])
    return [*found, _module(torch).update_bn([3], torch.nn.Linear(2, 2))]


@AVERAGING
def rates(torch: Any) -> Any:
    found = {}
    for text in (
        "SWALR(o, 0.05)",
        "SWALR(o, [0.05, 0.2], anneal_epochs=4)",
        "SWALR(o, 0.3, 3, 'linear')",
        "SWALR(o, 0.05, anneal_epochs=0)",
        "SWALR(o, (0.5, 0.1), anneal_strategy='linear')",
    ):
        ps = [torch.zeros(1, requires_grad=True) for _ in range(2)]
        o = torch.optim.SGD([{"params": ps[:1]}, {"params": ps[1:], "lr": 0.05}], lr=0.1)
        s = eval(text, {**vars(_module(torch)), "o": o})  # noqa: S307 - our own texts
        other = torch.optim.lr_scheduler.ExponentialLR(o, 0.9)
        seen = [s.get_last_lr()]
        for step in range(14):
            o.step()
            (other if step == 2 else s).step()
            seen.append([group["lr"] for group in o.param_groups])
        state = s.state_dict()
        s.load_state_dict(state)
        found[text] = [seen, sorted(state.items()), sorted(o.param_groups[0])]
    return found


@AVERAGING
def mistakes(torch: Any) -> Any:
    m = _module(torch)
    o = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
    return attempts(
        """
        get_ema_avg_fn(2)
        get_ema_avg_fn(-0.1)
        get_ema_multi_avg_fn(1.5)
        AveragedModel(net, avg_fn=get_ema_avg_fn(), multi_avg_fn=get_ema_multi_avg_fn())
        SWALR(o, [0.1, 0.2])
        SWALR(o, 0.1, anneal_strategy='square')
        SWALR(o, 0.1, anneal_epochs=-1)
        SWALR(o, 0.1, anneal_epochs=1.5)
        get_ema_avg_fn(0.5)(torch.tensor([3]), torch.tensor([4]), 1)
        get_swa_avg_fn()(torch.ones(2), torch.zeros(2), torch.tensor(3))
    """,
        {**{n: getattr(m, n) for n in m.__all__}, "torch": torch, "o": o, "net": torch.nn.Linear(2, 2)},
    )
