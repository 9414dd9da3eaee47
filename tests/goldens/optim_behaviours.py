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
"""
# dtype -> the configurations (by a word that they contain) that run in it.
DTYPES = {"float64": "", "float32": "", "bfloat16": "ps, lr=0.1, m", "float16": "ps, lr=0.1, w"}


def wave(*shape: int, phase: float = 0.0) -> np.ndarray:
    """Numbers between -1 and 1 without a pattern."""
    n = int(np.prod(shape))
    return np.cos(1.7 * np.arange(1, n + 1) + phase).reshape(shape)


def parameters(torch: Any, dtype: str = "float64") -> list[Any]:
    """Leaves of SHAPES."""
    return [torch.from_numpy(wave(*s, phase=i)).to(getattr(torch, dtype)).requires_grad_()
            for i, s in enumerate(SHAPES)]


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
    return [(text.strip(), dtype) for dtype, word in DTYPES.items()
            for text in CONFIGURATIONS.strip().splitlines() if word in text]


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
    return {"torch": torch, "p": p, "q": q, **{n: getattr(torch.optim, n)
                                              for n in ("SGD", "Adam", "AdamW", "Optimizer")}}


@OPTIM
def mistakes(torch: Any) -> Any:
    return attempts("""
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
    """, _names(torch))


@OPTIM
def duplicates_warn(torch: Any) -> Any:
    p = torch.zeros(2, requires_grad=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.optim.SGD([p, p], lr=0.1)
    return [[w.category.__name__, str(w.message)] for w in caught]


@OPTIM
def texts(torch: Any) -> Any:
    return attempts("""
        repr(SGD([p], lr=0.5))
        repr(Adam([{'params': [p]}, {'params': q, 'lr': 1.0}], lr=0.5))
        repr(AdamW([p], lr=0.5))
        repr(AdamW([p], lr=torch.tensor(0.5)))
        repr(SGD([('a', p)], lr=0.5))
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
    """, _names(torch))


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
        loss = (p ** 2).sum()
        loss.backward()
        return loss
    with torch.no_grad():
        first = o.step(closure)
    return [first, first.requires_grad, o.step(closure=closure), o.step(), p, seen,
            torch.is_grad_enabled(), o.step(lambda: 5)]


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
        o.register_load_state_dict_post_hook(lambda opt: log.append("loaded"))]
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
    for text in ("SGD(ps, lr=0.1, momentum=0.9)", "Adam(ps, lr=0.1, amsgrad=True)",
                 "AdamW([{'params': ps[:1]}, {'params': ps[1:], 'lr': 0.2}])"):
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
    for text in ("SGD([p], lr=0.1, momentum=0.9, weight_decay=0.1)", "Adam([p], lr=0.1)",
                 "AdamW([p], lr=0.1)", "Adam([p], lr=0.1, amsgrad=True)"):
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
    loss = (p ** 2).sum()
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
