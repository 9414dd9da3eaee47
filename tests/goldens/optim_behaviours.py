"""What optimizers do, as functions of the package; PyTorch's answers are in optim_behaviours.json."""

from __future__ import annotations

import copy
import importlib
import io
import pickle
import warnings
from typing import Any

import numpy as np
from answers import Table, attempt, attempts

OPTIM = Table("optim_behaviours.json")

# --- numbers: a few steps on parameters of several shapes, gradients a function of step and value ---

ALL = (
    "ASGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "LBFGS",
    "Muon",
    "NAdam",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SGD",
    "SparseAdam",
)
SHAPES = [(3,), (2, 3), ()]
CONFIGURATIONS = """
SGD(ps, lr=0.1)
SGD(ps)
SGD(ps, lr=0.1, momentum=0.9)
SGD(ps, lr=0.1, momentum=0.9, nesterov=True)
SGD(ps, lr=0.1, momentum=0.8, dampening=0.3)
SGD(ps, lr=0.1, weight_decay=0.05)
SGD(ps, lr=0.1, momentum=0.9, weight_decay=0.05, nesterov=True)
SGD(ps, lr=0.1, momentum=0.9, dampening=0.1, weight_decay=0.05)
SGD(ps, lr=0.1, maximize=True)
SGD(ps, lr=0.1, momentum=0.9, weight_decay=0.1, maximize=True)
SGD(ps, lr=0.1, momentum=0.9, foreach=True)
SGD(ps, lr=0.1, momentum=0.9, foreach=False)
SGD(ps, lr=0.1, momentum=0.9, weight_decay=0.01, fused=True)
SGD(ps, lr=torch.tensor(0.1), momentum=0.9)
SGD([{'params': ps[:1]}, {'params': ps[1:], 'lr': 0.01, 'momentum': 0.5}], lr=0.1, momentum=0.9)
Adam(ps)
Adam(ps, lr=0.1)
Adam(ps, lr=0.1, betas=(0.7, 0.8), eps=1e-4)
Adam(ps, lr=0.1, betas=(0.0, 0.9))
Adam(ps, lr=0.1, weight_decay=0.1)
Adam(ps, lr=0.1, weight_decay=0.1, decoupled_weight_decay=True)
Adam(ps, lr=0.1, amsgrad=True)
Adam(ps, lr=0.1, amsgrad=True, weight_decay=0.1, maximize=True)
Adam(ps, lr=0.1, maximize=True)
Adam(ps, lr=0.1, foreach=True)
Adam(ps, lr=0.1, foreach=False, amsgrad=True)
Adam(ps, lr=0.1, fused=True)
Adam(ps, lr=torch.tensor(0.1))
Adam(ps, lr=torch.tensor(0.1), foreach=False)
Adam([{'params': ps[:2], 'betas': (0.5, 0.6)}, {'params': ps[2], 'lr': 0.02, 'amsgrad': True}], lr=0.1)
AdamW(ps)
AdamW(ps, lr=0.1)
AdamW(ps, lr=0.1, weight_decay=0.3)
AdamW(ps, lr=0.1, weight_decay=0.0)
AdamW(ps, lr=0.1, amsgrad=True)
AdamW(ps, lr=0.1, maximize=True, amsgrad=True)
AdamW(ps, lr=0.1, foreach=True)
AdamW(ps, lr=0.1, fused=True)
AdamW(ps, lr=torch.tensor(0.1), weight_decay=0.1)
AdamW([{'params': ps[1:], 'weight_decay': 0.0}, {'params': ps[:1], 'eps': 1e-3}], lr=0.1)
Adam(ps, lr=0.1, betas=(torch.tensor(0.9, dtype=torch.float64), torch.tensor(0.99, dtype=torch.float64)))
SGD(ps, lr=0.1, weight_decay=torch.tensor(0.25))
Adadelta(ps)
Adadelta(ps, lr=0.5, rho=0.8, eps=1e-4, weight_decay=0.1, maximize=True)
Adadelta(ps, 0.5, 0.9, 1e-6, 0, True)
Adagrad(ps)
Adagrad(ps, lr=0.1, lr_decay=0.1, weight_decay=0.1, initial_accumulator_value=0.5, maximize=True)
Adagrad(ps, lr=0.1, fused=True)
Adamax(ps)
Adamax(ps, lr=0.1, betas=(0.7, 0.8), eps=1e-4, weight_decay=0.1)
Adamax(ps, lr=torch.tensor(0.125), maximize=True)
NAdam(ps)
NAdam(ps, lr=0.1, weight_decay=0.1, momentum_decay=0.1, maximize=True)
NAdam(ps, lr=0.1, weight_decay=0.1, decoupled_weight_decay=True)
RAdam(ps)
RAdam(ps, lr=0.1, betas=(0.8, 0.5), weight_decay=0.1)
RAdam(ps, lr=0.1, betas=(0.8, 0.7), weight_decay=0.1, decoupled_weight_decay=True, maximize=True)
RMSprop(ps)
RMSprop(ps, lr=0.1, alpha=0.8, eps=1e-4, weight_decay=0.1, momentum=0.9)
RMSprop(ps, lr=0.1, centered=True)
RMSprop(ps, lr=0.1, centered=True, momentum=0.5, maximize=True, foreach=True)
ASGD(ps)
ASGD(ps, lr=0.1, lambd=0.1, alpha=0.5, t0=2, weight_decay=0.1)
ASGD([{'params': ps[:1]}, {'params': ps[1:], 'lr': 0.2, 't0': 1.0}], maximize=True)
Rprop(ps)
Rprop(ps, lr=0.1, etas=(0.3, 1.5), step_sizes=(0.01, 0.15), maximize=True)
Adafactor(ps)
Adafactor(ps, lr=0.1, beta2_decay=-0.5, eps=(1e-3, 1e-2), d=1.5, weight_decay=0.1, maximize=True)
Muon(ps[1:2], lr=0.1)
Muon(ps[1:2], lr=0.1, nesterov=False, weight_decay=0.0, adjust_lr_fn='match_rms_adamw', ns_steps=3)
"""
# dtype -> the configurations (by a word that they contain) that run in it.
DTYPES = {"float64": "", "float32": "", "bfloat16": "ps, lr=0.1, m", "float16": "ps, lr=0.1, w"}


def wave(*shape: int, phase: float = 0.0) -> np.ndarray:
    """Numbers between -1 and 1 without a pattern."""
    n = int(np.prod(shape))
    return np.cos(1.7 * np.arange(1, n + 1) + phase).reshape(shape)


def parameters(torch: Any, dtype: str = "float64") -> list[Any]:
    """Leaves of SHAPES."""
    return [
        torch.from_numpy(wave(*s, phase=i)).to(getattr(torch, dtype)).requires_grad_()
        for i, s in enumerate(SHAPES)
    ]


def give_grads(torch: Any, ps: list[Any], step: int) -> None:
    """Set .grad of all parameters but, at every third step, the second one's."""
    for i, p in enumerate(ps):
        g = torch.from_numpy(wave(*p.shape, phase=i + 10.0 * step)).to(p.dtype)
        p.grad = None if (i == 1 and step % 3 == 0) else g


def built(torch: Any, text: str, ps: list[Any]) -> Any:
    """The optimizer of a configuration."""
    return eval(f"torch.optim.{text}", {"torch": torch, "ps": ps})  # noqa: S307 - our own texts


def runs() -> list[tuple[str, str]]:
    """(configuration, dtype) of all runs."""
    return [
        (text.strip(), dtype)
        for dtype, word in DTYPES.items()
        for text in CONFIGURATIONS.strip().splitlines()
        if word in text
    ]


def run(torch: Any, text: str, dtype: str, steps: int = 5) -> dict[str, Any]:
    """Parameters after the last step, and the state by parameter number."""
    ps = parameters(torch, dtype)
    optimizer = built(torch, text, ps)
    for step in range(1, steps + 1):
        give_grads(torch, ps, step)
        optimizer.step()
    state = optimizer.state_dict()["state"]
    return {"params": ps, "state": {k: dict(sorted(v.items())) for k, v in state.items()}}


for _text, _dtype in runs():
    OPTIM[f"{_text} {_dtype}"] = lambda torch, t=_text, d=_dtype: run(torch, t, d)


# --- the rest ---------------------------------------------------------------------------------------


def _names(torch: Any) -> dict[str, Any]:
    p = torch.zeros(2, requires_grad=True)
    q = torch.zeros(3, requires_grad=True)
    m = torch.zeros(2, 2, requires_grad=True)

    def stepped(o: Any) -> Any:
        for group in o.param_groups:
            for x in group["params"]:
                x.grad = torch.ones_like(x)
        return o.step()

    return {
        "torch": torch,
        "p": p,
        "q": q,
        "m": m,
        "stepped": stepped,
        **{n: getattr(torch.optim, n) for n in (*ALL, "Optimizer")},
    }


@OPTIM
def mistakes(torch: Any) -> Any:
    return attempts(
        """
        SGD([p], lr=-0.1)
        SGD([p], momentum=-1)
        SGD([p], weight_decay=-1)
        SGD([p], nesterov=True)
        SGD([p], nesterov=True, momentum=0.9, dampening=0.1)
        SGD([p], lr=torch.tensor([0.1, 0.2]))
        SGD([p], lr=torch.tensor(0.1), foreach=True)
        SGD([p], foreach=True, fused=True)
        SGD([p], fused=True, differentiable=True)
        SGD([])
        SGD(p)
        SGD([1.0])
        SGD([p * 2])
        SGD([{'params': [p]}, {'params': [p]}])
        SGD([{'params': {p, q}}])
        SGD([{'params': [p], 'lr': 0.1}, {'params': [p, q]}])
        SGD([{}])
        SGD([('a', p), q])
        SGD([p], 0.1, 0.9, 0, 0, False, True)
        SGD([p], learning_rate=1)
        SGD()
        SGD(3)
        SGD(None)
        Adam([p], lr=-1)
        Adam([p], eps=-1)
        Adam([p], betas=(1.0, 0.9))
        Adam([p], betas=(-0.1, 0.9))
        Adam([p], betas=(0.9, 1.5))
        Adam([p], betas=(0.9, -1))
        Adam([p], weight_decay=-1)
        Adam([p], lr=torch.tensor([0.1, 0.2]))
        Adam([p], lr=torch.tensor(0.1), foreach=True)
        Adam([p], foreach=True, fused=True)
        Adam([p], fused=True, differentiable=True)
        Adam([])
        Adam(p)
        Adam(['p'])
        AdamW([p], lr=-1)
        AdamW([p], betas=(0.9, 2))
        AdamW([p], weight_decay=-0.1)
        AdamW([])
        AdamW([p], eps=-1e-9)
        SGD([p]).add_param_group({'params': p})
        SGD([p]).add_param_group([q])
        SGD([p]).add_param_group({'params': [q * 1]})
        SGD([p]).add_param_group({'params': {q}})
        SGD([p]).add_param_group({'params': 'ab'})
        SGD([p]).load_state_dict({})
        SGD([p]).load_state_dict({'state': {}, 'param_groups': []})
        SGD([p]).load_state_dict(SGD([p, q]).state_dict())
        SGD([p]).load_state_dict(SGD([{'params': [p]}, {'params': [q]}]).state_dict())
        Optimizer([p], {}).step()
        SGD([p]).step(3)
        Adadelta([p], rho=1.1)
        Adadelta([p], lr=-1)
        Adadelta([p], eps=-1)
        Adagrad([p], lr_decay=-1)
        Adagrad([p], initial_accumulator_value=-1)
        Adagrad([p], fused=True, foreach=True)
        Adagrad([p], fused=True, differentiable=True)
        Adamax([p], betas=(0.9, 1.0))
        Adamax([p], eps=-1)
        NAdam([p], momentum_decay=-1)
        NAdam([p], betas=(1.0, 0.9))
        RAdam([p], weight_decay=-1)
        RAdam([p], lr=torch.tensor([0.1, 0.2]))
        RMSprop([p], alpha=-1)
        RMSprop([p], momentum=-1)
        ASGD([p], weight_decay=-1)
        ASGD([p], lr=-1)
        Rprop([p], etas=(1.0, 1.2))
        Rprop([p], etas=(0.5, 1.0))
        LBFGS([p], lr=-1)
        LBFGS([{'params': [p]}, {'params': [q]}])
        LBFGS([p]).step()
        Adafactor([p], eps=(-1, 1))
        Adafactor([p], eps=(None, -1))
        Adafactor([p], d=0.5)
        Adafactor([p], beta2_decay=1)
        Adafactor([p], weight_decay=-1)
        Adafactor([p], lr=-1)
        Adafactor([p], lr=torch.tensor([0.1, 0.2]))
        Muon([p])
        Muon([m], lr=-1)
        Muon([m], momentum=-1)
        Muon([m], weight_decay=-1)
        Muon([m], adjust_lr_fn='x')
        Muon([m], lr=torch.tensor([0.1, 0.2]))
        stepped(Muon([m], ns_steps=100))
        stepped(Muon([m], ns_coefficients=(1, 2)))
        stepped(SparseAdam([p]))
        SparseAdam([p], lr=0)
        SparseAdam([p], eps=0)
        SparseAdam([p], betas=(1.0, 0.9))
        Adam([p], betas=(torch.tensor(0.9), 0.999))
        Adam([p], betas=(torch.tensor(0.9), torch.tensor(0.999)), foreach=True)
        Adam([p], betas=(torch.tensor(1.8), torch.tensor(0.3)))
        stepped(Adam([p], capturable=True))
        stepped(NAdam([p], capturable=True))
        stepped(ASGD([p], capturable=True))
        stepped(Adadelta([p], capturable=True))
        stepped(RMSprop([p], foreach=True, differentiable=True))
        stepped(Rprop([p], differentiable=True))
    """,
        _names(torch),
    )


@OPTIM
def duplicates_warn(torch: Any) -> Any:
    p = torch.zeros(2, requires_grad=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.optim.SGD([p, p], lr=0.1)
    return [[w.category.__name__, str(w.message)] for w in caught]


@OPTIM
def texts(torch: Any) -> Any:
    return attempts(
        """
        repr(SGD([p], lr=0.5))
        repr(Adam([{'params': [p]}, {'params': q, 'lr': 1.0}], lr=0.5))
        repr(AdamW([p], lr=0.5))
        repr(AdamW([p], lr=torch.tensor(0.5)))
        repr(SGD([('a', p)], lr=0.5))
        [repr(kind([m])) for kind in (ASGD, Adadelta, Adafactor, Adagrad, Adamax, LBFGS, Muon, NAdam)]
        [repr(kind([m])) for kind in (RAdam, RMSprop, Rprop, SparseAdam)]
        [kind([m]).defaults for kind in (ASGD, Adadelta, Adafactor, Adagrad, Adamax, LBFGS, Muon, NAdam)]
        [kind([m]).defaults for kind in (RAdam, RMSprop, Rprop, SparseAdam)]
        Adagrad([m]).state_dict()
        SGD([p], lr=0.5).defaults
        Adam([p]).defaults
        AdamW([p]).defaults
        AdamW([p]).param_groups
        SGD([('a', p), ('b', q)]).state_dict()
        SGD([{'params': [('a', p)]}, {'params': [('b', q)], 'lr': 1}]).state_dict()
        Adam(iter([p, q])).state_dict()
        Adam({'params': [p]}.values()).state_dict()
        isinstance(AdamW([p]), Adam)
        SGD(({'params': x} for x in [p, q])).state_dict()
    """,
        _names(torch),
    )


@OPTIM
def groups(torch: Any) -> Any:
    ps = parameters(torch)
    o = torch.optim.Adam(ps[:1], lr=0.1)
    given = {"params": ps[1], "lr": 0.01}
    o.add_param_group(given)
    o.add_param_group({"params": (p for p in ps[2:]), "weight_decay": 0.5, "name": "last"})
    for step in (1, 2):
        give_grads(torch, ps, step)
        o.step()
    return [o.state_dict(), ps, sorted(given)]


@OPTIM
def zero_grad(torch: Any) -> Any:
    ps = parameters(torch)
    o = torch.optim.SGD(ps, lr=0.1)
    give_grads(torch, ps, 3)
    kept = ps[0].grad
    o.zero_grad(set_to_none=False)
    found = [[p.grad for p in ps], kept is ps[0].grad]
    ps[0].grad = ps[0] * 2  # with a history
    o.zero_grad(False)
    found.append([ps[0].grad, ps[0].grad.requires_grad])
    o.zero_grad()
    return [*found, [p.grad for p in ps]]


@OPTIM
def closures(torch: Any) -> Any:
    p = torch.tensor([1.0, 2.0], requires_grad=True)
    o = torch.optim.SGD([p], lr=0.1)
    seen = []

    def closure() -> Any:
        seen.append(torch.is_grad_enabled())
        o.zero_grad()
        loss = (p**2).sum()
        loss.backward()
        return loss

    with torch.no_grad():
        first = o.step(closure)
    return [
        first,
        first.requires_grad,
        o.step(closure=closure),
        o.step(),
        p,
        seen,
        torch.is_grad_enabled(),
        o.step(lambda: 5),
    ]


@OPTIM
def a_closure_that_fails(torch: Any) -> Any:
    p = torch.tensor([1.0], requires_grad=True)
    o = torch.optim.Adam([p])
    return [attempt(lambda: o.step(lambda: 1 / 0)), torch.is_grad_enabled(), p]


@OPTIM
def hooks(torch: Any) -> Any:
    p = torch.tensor([1.0], requires_grad=True)
    o = torch.optim.SGD([p], lr=0.5)
    log: list[Any] = []
    module = importlib.import_module(f"{torch.__name__}.optim.optimizer")
    handles = [
        module.register_optimizer_step_pre_hook(lambda *a: log.append("global pre")),
        module.register_optimizer_step_post_hook(lambda *a: log.append("global post")),
        o.register_step_pre_hook(lambda opt, args, kw: log.append(["pre", opt is o, len(args), kw])),
        o.register_step_post_hook(lambda opt, args, kw: log.append(["post", opt is o, args[0] is o, kw])),
        o.register_state_dict_pre_hook(lambda opt: log.append("saving")),
        o.register_state_dict_post_hook(lambda opt, d: {**d, "more": 1}),
        o.register_state_dict_post_hook(lambda opt, d: log.append(sorted(d)), prepend=True),
        o.register_load_state_dict_pre_hook(lambda opt, d: log.append("loading")),
        o.register_load_state_dict_post_hook(lambda opt: log.append("loaded")),
    ]
    p.grad = torch.ones(1)
    o.step()
    o.step(closure=None)
    saved = o.state_dict()
    o.load_state_dict(saved)
    for h in handles:
        h.remove()
    o.step()
    o.state_dict()
    return [log, sorted(saved), p]


@OPTIM
def hooks_that_change(torch: Any) -> Any:
    p = torch.tensor([1.0], requires_grad=True)
    o = torch.optim.SGD([p], lr=0.5)
    handle = o.register_step_pre_hook(lambda opt, args, kw: ((*args, lambda: 7), {}))
    found = [o.step()]
    handle.remove()
    o.register_step_pre_hook(lambda opt, args, kw: 3)
    return [*found, attempt(o.step).split(">")[-1]]


@OPTIM
def copies(torch: Any) -> Any:
    found = []
    for kind in ("SGD", "Adam", "AdamW"):
        ps = parameters(torch)
        keywords = {"momentum": 0.9} if kind == "SGD" else {"amsgrad": True}
        o = getattr(torch.optim, kind)(ps, lr=0.1, **keywords)
        give_grads(torch, ps, 1)
        o.step()
        for other in (copy.deepcopy(o), pickle.loads(pickle.dumps(o)), copy.copy(o)):
            theirs = other.param_groups[0]["params"]
            give_grads(torch, theirs, 2)
            other.step()
            found.append([theirs, other.state_dict(), theirs[0] is ps[0]])
        found.append(ps)
    return found


@OPTIM
def resumed(torch: Any) -> Any:
    """Load a state dict into a fresh optimizer, through a file, and go on."""
    found = []
    for text in (
        "SGD(ps, lr=0.1, momentum=0.9)",
        "Adam(ps, lr=0.1, amsgrad=True)",
        "AdamW([{'params': ps[:1]}, {'params': ps[1:], 'lr': 0.2}])",
    ):
        ps = parameters(torch)
        o = built(torch, text, ps)
        give_grads(torch, ps, 1)
        o.step()
        file = io.BytesIO()
        torch.save([o.state_dict(), ps], file)
        file.seek(0)
        state, qs = torch.load(file)
        other = built(torch, text, qs)
        other.load_state_dict(state)
        for step in (2, 3):
            for opt, leaves in ((o, ps), (other, qs)):
                give_grads(torch, leaves, step)
                opt.step()
        found.append([qs, other.state_dict(), all(bool((p == q).all()) for p, q in zip(ps, qs))])
    return found


@OPTIM
def loaded_state(torch: Any) -> Any:
    """Loading casts state to the parameter's dtype but for `step`, and copies it."""
    ps, qs = parameters(torch, "float32"), parameters(torch, "float64")
    o, other = torch.optim.Adam(ps, lr=0.1), torch.optim.Adam(qs, lr=0.5, weight_decay=0.1)
    give_grads(torch, ps, 1)
    o.step()
    saved = o.state_dict()
    shared = saved["state"][0]["exp_avg"] is o.state[ps[0]]["exp_avg"]
    other.load_state_dict(saved)
    mine = other.state[qs[0]]
    o.state[ps[0]]["exp_avg"].zero_()
    mine = {k: [v.dtype, v.float()] for k, v in mine.items()}
    return [shared, mine, other.param_groups[0]["lr"], other.param_groups[0]["weight_decay"]]


@OPTIM
def parameters_moved_under_the_optimizer(torch: Any) -> Any:
    """.data replaced, grads of another layout, a parameter without grad, lr changed by hand."""
    ps = parameters(torch)
    o = torch.optim.Adam(ps, lr=0.1)
    for step in range(1, 6):
        give_grads(torch, ps, step)
        if step == 2:
            ps[0].data = torch.from_numpy(wave(3, phase=5.0))
        if step == 3:
            ps[1].grad = torch.from_numpy(wave(3, 2)).t()
        if step == 4:
            o.param_groups[0]["lr"] = 0.01
            ps[2].grad = None
        o.step()
    return [ps, o.state_dict()]


@OPTIM
def strided_parameters(torch: Any) -> Any:
    base = torch.from_numpy(wave(4, 6))
    found = []
    for kind in ("SGD", "Adam", "AdamW"):
        p = base.clone()[:, ::2].t().requires_grad_()
        o = getattr(torch.optim, kind)([p], lr=0.1)
        for _ in range(3):
            o.zero_grad()
            (p * torch.from_numpy(wave(3, 4, phase=2.0)) * p).sum().backward()
            o.step()
        found.append(p)
    return found


@OPTIM
def complex_parameters(torch: Any) -> Any:
    found = []
    for text in (
        "SGD([p], lr=0.1, momentum=0.9, weight_decay=0.1)",
        "Adam([p], lr=0.1)",
        "AdamW([p], lr=0.1)",
        "Adam([p], lr=0.1, amsgrad=True)",
    ):
        p = torch.from_numpy(wave(4) + 1j * wave(4, phase=1.0)).requires_grad_()
        o = eval(f"torch.optim.{text}", {"torch": torch, "p": p})  # noqa: S307
        for step in range(3):
            p.grad = torch.from_numpy(wave(4, phase=step + 2.0) + 1j * wave(4, phase=step + 3.0))
            o.step()
        found.append(p)
    return found


@OPTIM
def versions_and_graph(torch: Any) -> Any:
    """A step is an in-place write: a graph that saved the old value refuses to run backward."""
    p = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = (p**2).sum()
    loss.backward(retain_graph=True)
    o = torch.optim.SGD([p], lr=0.1)
    before = p._version
    o.step()
    return [p._version > before, attempt(loss.backward), p.is_leaf, p.grad_fn]


@OPTIM
def base_class(torch: Any) -> Any:
    """An optimizer written by a user, with `required` settings and a closure."""

    class Sign(torch.optim.Optimizer):
        def __init__(self, params: Any, lr: float) -> None:
            super().__init__(params, {"lr": lr})

        @torch.no_grad()
        def step(self, closure: Any = None) -> Any:
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        self.state[p]["seen"] = self.state[p].get("seen", 0) + 1
                        p.add_(p.grad.sign(), alpha=-group["lr"])
            return None if closure is None else closure()

    ps = parameters(torch)
    o = Sign(ps, 0.25)
    log: list[Any] = []
    o.register_step_post_hook(lambda *a: log.append("stepped"))
    for step in (1, 2, 3):
        give_grads(torch, ps, step)
        o.step()
    return [ps, o.state_dict(), log, repr(o)]


@OPTIM
def training(torch: Any) -> Any:
    """A small regression, all three optimizers."""
    nn = torch.nn
    found = []
    for kind in ("SGD", "Adam", "AdamW"):
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 1)).double()
        o = getattr(torch.optim, kind)(net.parameters(), lr=0.05)
        x = torch.from_numpy(wave(8, 3))
        losses = []
        for _ in range(6):
            loss = ((net(x) - x.sum(1, keepdim=True)) ** 2).mean()
            o.zero_grad()
            loss.backward()
            o.step()
            losses.append(loss.item())
        found.append(losses)
    return found


@OPTIM
def two_byte_steps(torch: Any) -> Any:
    """To the last bit: every op of a step rounds (sizes that PyTorch takes in whole vectors)."""
    found = {}
    for text in (
        "SGD([p], lr=0.1, momentum=0.9, weight_decay=0.1)",
        "SGD([p], lr=0.1, momentum=0.9, nesterov=True)",
        "Adam([p], lr=0.1, weight_decay=0.1)",
        "AdamW([p], lr=0.1)",
        "RMSprop([p], lr=0.1, momentum=0.9)",
        "Adamax([p], lr=0.1)",
        "Adagrad([p], lr=0.1)",
        "Rprop([p], lr=0.1)",
        "ASGD([p], lr=0.1, t0=2)",
    ):
        for dtype in (torch.bfloat16, torch.float16):
            p = torch.from_numpy(wave(64)).to(dtype).requires_grad_()
            o = eval(f"torch.optim.{text}", {"torch": torch, "p": p})  # noqa: S307
            for step in range(6):
                p.grad = torch.from_numpy(wave(64, phase=step + 2.0)).to(dtype)
                o.step()
            found[f"{text} {dtype}"] = p.float().tolist()
    return found


def _fit(torch: Any, steps: int, **options: Any) -> Any:
    x, y = torch.from_numpy(wave(8, 3)), torch.from_numpy(wave(8, 1, phase=3.0))
    ws = [torch.from_numpy(wave(*s, phase=i)).requires_grad_() for i, s in enumerate([(3, 4), (4,), (4, 1)])]
    o, calls = torch.optim.LBFGS(ws, **options), []

    def closure() -> Any:
        o.zero_grad()
        loss = (((x @ ws[0] + ws[1]).tanh() @ ws[2] - y) ** 2).mean()
        loss.backward()
        calls.append(torch.is_grad_enabled())
        return loss

    losses = [o.step(closure).item() for _ in range(steps)]
    return o, closure, calls, torch.tensor(losses, dtype=torch.float64)


def _kind_of(value: Any) -> Any:
    if hasattr(value, "shape"):
        return [str(value.dtype), list(value.shape)]
    return (
        [len(value), sum(v is None for v in value)]
        if isinstance(value, list)
        else (value if isinstance(value, int) else type(value).__name__)
    )


@OPTIM
def quasi_newton(torch: Any) -> Any:
    found: list[Any] = []
    for options in (
        {"lr": 0.3, "max_iter": 4},
        {"lr": 0.2, "max_iter": 4, "history_size": 3},
        {"line_search_fn": "strong_wolfe", "max_iter": 3},
        {"line_search_fn": "strong_wolfe", "max_iter": 6, "history_size": 2, "max_eval": 5},
        {"line_search_fn": "strong_wolfe", "lr": 30.0, "max_iter": 3},
        {"lr": 0.1, "tolerance_grad": 0.2},
        {"lr": 0.1, "tolerance_change": 1e-3},
    ):
        o, _, calls, losses = _fit(torch, 3, **options)
        state = sorted(o.state_dict()["state"][0].items())
        found += [losses, len(calls), all(calls), [[k, _kind_of(v)] for k, v in state]]
    return found


@OPTIM
def quasi_newton_goes_on_from_a_state(torch: Any) -> Any:
    """A copy by state dict goes on as the original does; an unknown line search is refused in step()."""
    for options in ({"lr": 0.3, "max_iter": 3}, {"line_search_fn": "strong_wolfe", "max_iter": 3}):
        o, closure, _, _ = _fit(torch, 2, **options)
        other, theirs, _, _ = _fit(torch, 0, **options)
        other.load_state_dict(copy.deepcopy(o.state_dict()))
        for p, q in zip(o.param_groups[0]["params"], other.param_groups[0]["params"], strict=True):
            q.data.copy_(p)
        same = [o.step(closure).item() == other.step(theirs).item() for _ in range(2)]
    return [same, attempt(lambda: _fit(torch, 1, line_search_fn="golden"))]


@OPTIM
def all_copies(torch: Any) -> Any:
    """deepcopy and pickle of every optimizer go on alike."""
    found = []
    for kind in ALL[:-1]:
        if kind == "LBFGS":
            continue
        p = torch.from_numpy(wave(4, 3)).requires_grad_()
        o = getattr(torch.optim, kind)([p], lr=0.1)
        p.grad = torch.from_numpy(wave(4, 3, phase=1.0))
        o.step()
        for other in (copy.deepcopy(o), pickle.loads(pickle.dumps(o))):
            q = other.param_groups[0]["params"][0]
            q.grad = torch.from_numpy(wave(4, 3, phase=2.0))
            other.step()
            found.append([kind, q, other.state_dict()["param_groups"]])
    return found


@OPTIM
def through_the_step(torch: Any) -> Any:
    """differentiable=True: gradients of what steps lead to, by the first value and by the rate."""
    found = {}
    for text in (
        "SGD([p], lr=lr)",
        "SGD([p], lr=0.1, momentum=0.9, weight_decay=0.1)",
        "Adadelta([p], lr=0.1)",
        "SGD([p], lr=0.1, momentum=0.9, nesterov=True, maximize=True)",
        "Adagrad([p], lr=0.1)",
        "RAdam([p], lr=0.1, betas=(0.8, 0.9))",
        "ASGD([p], lr=0.1, t0=2)",
    ):
        leaf = torch.from_numpy(wave(2, 3)).requires_grad_()
        lr = torch.tensor(0.1, dtype=torch.float64, requires_grad=True)
        p = leaf.clone()
        text = text.replace("([p], ", "([p], differentiable=True, ")
        o = eval(f"torch.optim.{text}", {"torch": torch, "p": p, "lr": lr})  # noqa: S307
        for step in range(4):
            p.grad = leaf * torch.from_numpy(wave(2, 3, phase=step + 1.0)) + 1.0
            o.step()
        found[text] = torch.autograd.grad((p**2).sum(), [leaf, lr], allow_unused=True)
    return found


@OPTIM
def parameters_exchanged(torch: Any) -> Any:
    """A parameter of a group replaced by another, and a state tensor by another."""
    p, q = (torch.from_numpy(wave(3, phase=i)).requires_grad_() for i in (0.0, 1.0))
    o = torch.optim.RMSprop([p], lr=0.1)
    for x in (p, q, q):
        o.param_groups[0]["params"][0] = x
        x.grad = torch.from_numpy(wave(3, phase=2.0))
        o.step()
    o.state[q]["square_avg"] = torch.ones(3, dtype=torch.float64)
    o.step()
    s = torch.optim.SGD([p], lr=0.1, momentum=0.9)
    for _ in range(3):
        s.step()
        s.state[p]["momentum_buffer"] = None
    return [p, q, o.state[q]["square_avg"], o.state[q]["step"]]


@OPTIM
def swapped_in(torch: Any) -> Any:
    swap = torch.optim.swap_in_optimizer_params_and_state
    p = torch.tensor([1.0, 2.0], requires_grad=True)
    o = torch.optim.Adam([p], lr=0.1)

    def enter(parameters: Any, state: Any) -> Any:
        with swap(o, parameters, state):
            return None

    found = [attempt(lambda: enter({"a": p}, o.state_dict()))]
    p.grad = torch.ones(2)
    o.step()
    other, state = {"a": torch.tensor([5.0, 6.0])}, copy.deepcopy(o.state_dict())
    with swap(o, other, state):
        for group in o.param_groups:
            for x in group["params"]:
                x.grad = torch.ones(2)
            group["lr"] = 7.0
        o.step()
    o.step()
    return [
        *found,
        attempt(lambda: enter({}, state)),
        attempt(lambda: enter(other, {**state, "param_groups": []})),
        other,
        state,
        p,
        o.state_dict(),
    ]
