"""Learning rates over the steps, as functions of the package; PyTorch's are in scheduler_behaviours.json."""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any

from answers import Table, attempts

SCHEDULERS = Table("scheduler_behaviours.json")

SCHEDULES = """
LambdaLR(o, lambda e: 0.95 ** e)
LambdaLR(o, [lambda e: 1 / (e + 1), lambda e: e // 3])
MultiplicativeLR(o, lambda e: 0.9)
MultiplicativeLR(o, [lambda e: 0.9, lambda e: 0.5 + 0.1 * e])
StepLR(o, 3)
StepLR(o, step_size=4, gamma=0.3)
MultiStepLR(o, [2, 5, 5, 9])
MultiStepLR(o, milestones=[3, 7], gamma=0.5)
ConstantLR(o)
ConstantLR(o, factor=0.5, total_iters=4)
LinearLR(o)
LinearLR(o, start_factor=0.1, end_factor=0.7, total_iters=6)
ExponentialLR(o, 0.85)
PolynomialLR(o)
PolynomialLR(o, total_iters=8, power=2.0)
CosineAnnealingLR(o, 6)
CosineAnnealingLR(o, T_max=4, eta_min=0.01)
CosineAnnealingWarmRestarts(o, 3)
CosineAnnealingWarmRestarts(o, T_0=2, T_mult=2, eta_min=0.001)
CyclicLR(o, 0.01, 0.2, 3)
CyclicLR(o, base_lr=0.01, max_lr=[0.2, 0.4], step_size_up=2, step_size_down=5, mode='triangular2')
CyclicLR(o, 0.01, 0.2, 3, mode='exp_range', gamma=0.9, cycle_momentum=False)
CyclicLR(o, 0.01, 0.2, 3, scale_fn=lambda x: 1 / (5 ** (x * 0.001)), scale_mode='iterations')
OneCycleLR(o, 0.5, total_steps=12)
OneCycleLR(o, [0.5, 0.3], epochs=4, steps_per_epoch=3, pct_start=0.25, anneal_strategy='linear')
OneCycleLR(o, max_lr=0.5, total_steps=13, three_phase=True, div_factor=10, final_div_factor=100)
OneCycleLR(o, max_lr=0.5, total_steps=12, cycle_momentum=False)
SequentialLR(o, [LinearLR(o, 0.1, total_iters=3), CosineAnnealingLR(o, 6)], milestones=[3])
SequentialLR(o, [ConstantLR(o, 0.1, 2), ExponentialLR(o, 0.9), StepLR(o, 2)], [2, 6])
ChainedScheduler([ConstantLR(o, 0.1, 4), ExponentialLR(o, 0.9)])
ChainedScheduler([StepLR(o, 3), LinearLR(o, 0.5)], optimizer=o)
"""


def optimizer(torch: Any, lr: Any = 0.1) -> Any:
    """Two groups, with momentum."""
    ps = [torch.zeros(1, requires_grad=True) for _ in range(2)]
    return torch.optim.SGD([{"params": ps[:1]}, {"params": ps[1:], "lr": lr * 0.5}], lr=lr, momentum=0.9)


def names(torch: Any, o: Any = None) -> dict[str, Any]:
    """What SCHEDULES may mention."""
    module = torch.optim.lr_scheduler
    return {
        "torch": torch,
        "o": o,
        **{n: getattr(module, n) for n in module.__all__},
        "S": module.LRScheduler,
    }


def schedule(torch: Any, text: str, o: Any) -> Any:
    """The scheduler of a text."""
    return eval(text, names(torch, o))  # noqa: S307 - our own texts


def follow(o: Any, s: Any, steps: int) -> list[Any]:
    """Rates (and momenta, where they change) after each step."""
    found = []
    for _ in range(steps):
        o.step()
        s.step()
        found.append([*s.get_last_lr(), *{g["momentum"] for g in o.param_groups}])
    return found


def run(torch: Any, text: str) -> Any:
    """Rates from the start, twelve steps on, then on from a saved state in a fresh optimizer."""
    o = optimizer(torch)
    s = schedule(torch, text, o)
    rates = [s.get_last_lr(), *follow(o, s, 5)]
    other = optimizer(torch)
    t = schedule(torch, text, other)
    other.load_state_dict(copy.deepcopy(o.state_dict()))
    t.load_state_dict(copy.deepcopy(s.state_dict()))
    further, resumed = follow(o, s, 6), follow(other, t, 6)
    return [rates, further, resumed == further, sorted(s.state_dict())]


def texts() -> list[str]:
    """All schedules."""
    return SCHEDULES.strip().splitlines()


for _text in texts():
    SCHEDULERS[_text] = lambda torch, t=_text: run(torch, t)


@SCHEDULERS
def by_epoch(torch: Any) -> Any:
    """step(epoch): the closed forms, where there are."""
    found = {}
    for text in texts():
        if text.split("(")[0] in (
            "StepLR",
            "MultiStepLR",
            "ExponentialLR",
            "CosineAnnealingLR",
            "LambdaLR",
            "ConstantLR",
            "LinearLR",
            "PolynomialLR",
            "CosineAnnealingWarmRestarts",
        ):
            o = optimizer(torch)
            s = schedule(torch, text, o)
            rates = []
            for epoch in (2, 7, 3, 8):
                o.step()
                s.step(epoch)
                rates.append(s.get_last_lr())
            o.step()
            s.step()
            found[text] = [*rates, s.get_last_lr()]
    return found


@SCHEDULERS
def fractions_of_epochs(torch: Any) -> Any:
    o = optimizer(torch)
    s = schedule(torch, "CosineAnnealingWarmRestarts(o, 2, 2)", o)
    found = []
    for i in range(12):
        s.step(i / 3)
        found.append(s.get_last_lr())
    return found


@SCHEDULERS
def tensor_rates(torch: Any) -> Any:
    found = {}
    for text in texts():
        if any(word in text for word in ("lambda", "Cyclic", "OneCycle")):
            continue
        p = torch.zeros(1, requires_grad=True)
        o = torch.optim.SGD([p], lr=torch.tensor(0.1, dtype=torch.float64), momentum=0.9)
        rate = o.param_groups[0]["lr"]
        s = schedule(torch, text, o)
        for _ in range(4):
            o.step()
            s.step()
        found[text] = [float(s.get_last_lr()[0]), o.param_groups[0]["lr"] is rate]
    return found


@SCHEDULERS
def plateaus(torch: Any) -> Any:
    found = {}
    losses = [1.0, 0.9, 0.95, 0.91, 0.9, 0.9, 0.89, 0.5, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6]
    for text in (
        "ReduceLROnPlateau(o, patience=2)",
        "ReduceLROnPlateau(o, 'max', factor=0.5, patience=1)",
        "ReduceLROnPlateau(o, patience=0, cooldown=2, min_lr=[0.01, 0.02])",
        "ReduceLROnPlateau(o, threshold=0.1, threshold_mode='abs', patience=1)",
        "ReduceLROnPlateau(o, mode='max', threshold_mode='abs', patience=1, eps=0.02)",
    ):
        o = optimizer(torch)
        s = schedule(torch, text, o)
        rates = []
        for loss in losses:
            s.step(torch.tensor(loss) if loss == 0.9 else loss)
            rates.append(s.get_last_lr())
        state = s.state_dict()
        t = schedule(torch, text, optimizer(torch))
        t.load_state_dict(state)
        found[text] = [rates, {k: v for k, v in sorted(state.items()) if k != "best"}, s.best == t.best]
    return found


@SCHEDULERS
def mistakes(torch: Any) -> Any:
    o, plain = optimizer(torch), torch.optim.Adam([torch.zeros(1, requires_grad=True)])
    bare = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
    return attempts(
        """
        StepLR(3, 1)
        StepLR(None, 1)
        StepLR(o)
        StepLR(fresh(), 1, last_epoch=3)
        LambdaLR(o, [lambda e: 1])
        LambdaLR(o, [lambda e: 1] * 3)
        MultiplicativeLR(o, [lambda e: 1])
        ConstantLR(o, factor=1.5)
        ConstantLR(o, factor=-0.1)
        LinearLR(o, start_factor=0)
        LinearLR(o, start_factor=2)
        LinearLR(o, end_factor=-1)
        CosineAnnealingWarmRestarts(o, 0)
        CosineAnnealingWarmRestarts(o, 2.5)
        CosineAnnealingWarmRestarts(o, 2, 0)
        CosineAnnealingWarmRestarts(o, 2).step(-1)
        CyclicLR(bare, 0.1, 0.2)
        CyclicLR(o, 0.1, 0.2, mode='square')
        CyclicLR(o, [0.1] * 3, 0.2)
        OneCycleLR(o, 0.1)
        OneCycleLR(o, 0.1, total_steps=-1)
        OneCycleLR(o, 0.1, total_steps=2.5)
        OneCycleLR(o, 0.1, epochs=0, steps_per_epoch=2)
        OneCycleLR(o, 0.1, epochs=2, steps_per_epoch=-2)
        OneCycleLR(o, 0.1, total_steps=5, pct_start=1.5)
        OneCycleLR(o, 0.1, total_steps=5, anneal_strategy='quadratic')
        OneCycleLR(o, [0.1] * 3, total_steps=5)
        OneCycleLR(bare, 0.1, total_steps=5)
        finish(OneCycleLR(o, 0.1, total_steps=2))
        SequentialLR(o, [], [])
        SequentialLR(o, [StepLR(o, 1)], [1])
        SequentialLR(o, [StepLR(o, 1), StepLR(plain, 1)], [1])
        SequentialLR(o, [StepLR(o, 1), OneCycleLR(o, 0.1, total_steps=3), StepLR(o, 2)], [1])
        SequentialLR(o, [StepLR(o, 1), ReduceLROnPlateau(o)], [1])
        ChainedScheduler([])
        ChainedScheduler([StepLR(o, 1), StepLR(plain, 1)])
        ChainedScheduler([StepLR(o, 1)], plain)
        ReduceLROnPlateau(o, factor=1.0)
        ReduceLROnPlateau(o, min_lr=[0.1])
        ReduceLROnPlateau(o, mode='least')
        ReduceLROnPlateau(o, threshold_mode='some')
        ReduceLROnPlateau(3)
        ReduceLROnPlateau(o).step()
        S(o).get_lr()
        S(o)
    """,
        {
            **names(torch, o),
            "plain": plain,
            "bare": bare,
            "fresh": lambda: optimizer(torch),
            "finish": lambda s: [s.step() for _ in range(4)],
        },
    )


@SCHEDULERS
def warned(torch: Any) -> Any:
    found: dict[str, Any] = {}

    def told(name: str, action: Any) -> None:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            action()
        found[name] = [[w.category.__name__, str(w.message).split(" See ")[0]] for w in caught]

    o = optimizer(torch)
    s = schedule(torch, "StepLR(o, 2)", o)
    told("scheduler first", s.step)
    told("a second time", s.step)
    told("get_lr", s.get_lr)
    o = optimizer(torch)
    s = schedule(torch, "StepLR(o, 2)", o)
    told("in order", lambda: (o.step(), s.step()))
    told("epoch", lambda: s.step(4))
    o = optimizer(torch)
    s = schedule(torch, "StepLR(o, 2)", o)
    o.step = lambda: None
    told("step replaced", s.step)
    s = schedule(torch, "LambdaLR(o, lambda e: 1.0)", optimizer(torch))
    told("saving", s.state_dict)
    told("made late", lambda: schedule(torch, "CosineAnnealingLR(o, 3)", optimizer(torch)))
    return found


@SCHEDULERS
def states(torch: Any) -> Any:
    """state_dict() as it is, and copies that go on alike."""

    class Rate:
        def __init__(self) -> None:
            self.factor = 0.5

        def __call__(self, epoch: int) -> float:
            return self.factor**epoch

    found: dict[str, Any] = {}
    for text in (
        "StepLR(o, 2)",
        "CosineAnnealingLR(o, 5)",
        "MultiStepLR(o, [1, 3])",
        "LinearLR(o)",
        "ExponentialLR(o, 0.5)",
        "OneCycleLR(o, 0.5, total_steps=9)",
        "PolynomialLR(o)",
        "CosineAnnealingWarmRestarts(o, 3)",
        "LambdaLR(o, rate)",
        "CyclicLR(o, 0.01, 0.2, 3, scale_fn=rate)",
        "ConstantLR(o)",
    ):
        o = optimizer(torch)
        s = eval(text, {**names(torch, o), "rate": Rate()})  # noqa: S307
        follow(o, s, 2)
        state = dict(sorted(s.state_dict().items()))
        found[text] = [state]
        if "rate" not in text:
            p, t = pickle.loads(pickle.dumps((o, s)))
            found[text].append(follow(p, t, 3))
            p, t = copy.deepcopy((o, s))
            found[text].append(follow(p, t, 3))
    return found


@SCHEDULERS
def with_closure_and_training(torch: Any) -> Any:
    p = torch.tensor([1.0, -1.0], dtype=torch.float64, requires_grad=True)
    o = torch.optim.AdamW([p], lr=0.1)
    s = schedule(torch, "OneCycleLR(o, 0.5, total_steps=8)", o)
    found = []
    for _ in range(7):

        def closure() -> Any:
            o.zero_grad()
            loss = (p**4).sum()
            loss.backward()
            return loss

        found.append([o.step(closure).item(), s.get_last_lr()[0], o.param_groups[0]["betas"]])
        s.step()
    return found
