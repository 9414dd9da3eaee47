"""What nn.Module, containers, hooks and nn.utils do, as functions of (torch, nn).

Each returns tensors, numbers, texts, lists and dicts of them. PyTorch's answers are recorded in
nn_behaviours.json; errors are answers as well.
"""

from __future__ import annotations

import copy
import importlib
import pickle
import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

Behaviour = Callable[[Any, Any], Any]
BEHAVIOURS: dict[str, Behaviour] = {}


def behaviour(function: Behaviour) -> Behaviour:
    BEHAVIOURS[function.__name__] = function
    return function


def plain(value: Any) -> Any:
    """A result as JSON can hold it."""
    if hasattr(value, "detach"):
        return {"tensor": value.detach().tolist(), "dtype": str(value.dtype)}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {"dict": [[k, plain(v)] for k, v in value.items()]}
    return value if isinstance(value, (int, float, str, bool, type(None))) else repr(value)


def answer(function: Behaviour, torch: Any, nn: Any) -> Any:
    """The behaviour's result in plain form."""
    torch.manual_seed(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return plain(function(torch, nn))


def attempt(function: Callable[[], Any]) -> Any:
    """A result, or the error's class and text; the package's name is PyTorch's."""
    try:
        found = function()
    except Exception as error:
        return f"{type(error).__name__}: {error}".replace("rushlight", "torch")
    return (
        found
        if isinstance(found, (int, float, bool, type(None)))
        else (repr(found).replace("rushlight", "torch") if not hasattr(found, "detach") else found)
    )


def small_net(nn: Any) -> Any:
    """Parameters, a None, persistent and other buffers, children, a plain attribute."""

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a = nn.Linear(2, 3)
            self.b = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.ReLU())
            self.register_buffer("buf", self.a.bias.detach() * 2)
            self.register_buffer("np", self.a.bias.detach() + 1, persistent=False)
            self.register_parameter("none", None)
            self.k = 5

        def forward(self, x: Any) -> Any:
            return self.b(self.a(x)) + self.buf

    return Net()


# --- attributes and registration ------------------------------------------------------------------


@behaviour
def before_init(torch: Any, nn: Any) -> Any:
    class Bare(nn.Module):
        def __init__(self) -> None:
            pass

    return [
        attempt(lambda: setattr(Bare(), "x", nn.ReLU())),
        attempt(lambda: setattr(Bare(), "x", nn.Parameter(torch.zeros(1)))),
        attempt(lambda: setattr(Bare(), "x", nn.Buffer(torch.zeros(1)))),
        attempt(lambda: Bare().register_buffer("x", torch.zeros(1))),
        attempt(lambda: Bare().register_parameter("x", None)),
        attempt(lambda: Bare().x),
    ]


@behaviour
def assignment_errors(torch: Any, nn: Any) -> Any:
    zero = torch.zeros(3)
    cases = [
        ("a.weight", 3),
        ("a.weight", zero),
        ("none", zero),
        ("a", 3),
        ("a", zero),
        ("buf", 3),
        ("buf", zero),
        ("none", nn.ReLU()),
        ("b", None),
        ("buf", None),
        ("a.bias", None),
    ]

    def assign(path: str, value: Any) -> None:
        net = small_net(nn)
        owner, _, name = path.rpartition(".")
        setattr(net.get_submodule(owner), name, value)

    return [attempt(lambda path=path, value=value: assign(path, value)) for path, value in cases]


@behaviour
def registration_errors(torch: Any, nn: Any) -> Any:
    found = []
    for name in ("a.b", "", 3, "k", "a", "forward", "new"):
        found += [
            attempt(lambda name=name: small_net(nn).register_buffer(name, torch.zeros(1))),
            attempt(lambda name=name: small_net(nn).register_parameter(name, nn.Parameter(torch.zeros(1)))),
            attempt(lambda name=name: small_net(nn).add_module(name, nn.ReLU())),
        ]
    return found + [
        attempt(lambda: small_net(nn).register_buffer("q", 3)),
        attempt(lambda: small_net(nn).register_parameter("q", torch.zeros(1))),
        attempt(lambda: small_net(nn).add_module("q", 3)),
        attempt(lambda: delattr(small_net(nn), "zzz")),
        attempt(lambda: small_net(nn).zzz),
        attempt(lambda: nn.Module()(3)),
        attempt(lambda: nn.Module(3)),
        attempt(lambda: nn.Module(a=3)),
        attempt(lambda: small_net(nn).train("a")),
    ]


@behaviour
def moving_names(torch: Any, nn: Any) -> Any:
    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.b = nn.Buffer(torch.ones(2))
            self.n = nn.Buffer(torch.zeros(2), persistent=False)
            self.p = nn.Parameter(torch.ones(1))

    m = M()
    found = [
        list(m.state_dict()),
        [n for n, _ in m.named_buffers()],
        isinstance(m.b, nn.Buffer),
        isinstance(torch.ones(1), nn.Buffer),
        isinstance(m.p, nn.Parameter),
        isinstance(m.b, nn.Parameter),
    ]
    m.b = torch.zeros(3)
    found.append(m.b)
    m.b = None
    m.p = None
    found.append(list(m.state_dict()))
    m.p = nn.Parameter(torch.ones(2))
    found.append(list(m.state_dict()))
    del m.p
    m.n = nn.Parameter(torch.zeros(1))
    found.append([list(m._parameters), list(m._buffers), list(m._non_persistent_buffers_set)])
    m.z = torch.zeros(1)
    found.append("z" in m.__dict__)
    m.z = nn.Parameter(torch.zeros(1))
    return [*found, "z" in m.__dict__, list(m._parameters)]


# --- the tree -------------------------------------------------------------------------------------


@behaviour
def paths(torch: Any, nn: Any) -> Any:
    found = []
    for get in ("get_submodule", "get_parameter", "get_buffer"):
        for path in ("zz", "a.zz", "k", "a", "b.0.weight", "buf", "np", ""):
            found.append(attempt(lambda get=get, path=path: getattr(small_net(nn), get)(path)))
    for path in ("zz", "a.zz", "k", "a", "b.0", "", "b.0.weight"):
        for strict in (False, True):
            net = small_net(nn)
            found += [attempt(lambda: net.set_submodule(path, nn.Tanh(), strict)), repr(net)]
    return [*found, attempt(lambda: small_net(nn).set_submodule("a", 3))]


@behaviour
def walking(torch: Any, nn: Any) -> Any:
    m = small_net(nn)
    m.c = m.a
    return [
        [n for n, _ in m.named_parameters()],
        [n for n, _ in m.named_parameters(remove_duplicate=False)],
        [n for n, _ in m.named_parameters("pre", recurse=False)],
        [n for n, _ in m.named_buffers("q")],
        [n for n, _ in m.named_modules()],
        [n for n, _ in m.named_modules(remove_duplicate=False, prefix="z")],
        [n for n, _ in m.named_children()],
        len(list(m.modules())),
        len(list(m.parameters())),
        len(list(m.modules(remove_duplicate=False))),
        len(list(m.children())),
        repr(m),
        [n for n in ("a", "b", "buf", "none", "k", "weight") if n in dir(m)],
        m.b.training,
        m.eval().b[1].training,
    ]


@behaviour
def applied(torch: Any, nn: Any) -> Any:
    log: list[str] = []
    small_net(nn).apply(lambda m: log.append(type(m).__name__))
    return log


@behaviour
def gradients_forgotten(torch: Any, nn: Any) -> Any:
    m = small_net(nn)
    (m(torch.ones(4, 2)) ** 2).sum().backward()
    grad = m.a.weight.grad
    m.zero_grad(set_to_none=False)
    found = [m.a.weight.grad is grad, grad]
    m.zero_grad()
    m.requires_grad_(False)
    return [*found, m.a.weight.grad is None, [p.requires_grad for p in m.parameters()]]


@behaviour
def conversions(torch: Any, nn: Any) -> Any:
    m = small_net(nn)
    p = m.a.weight
    (m(torch.ones(4, 2)) ** 2).sum().backward()
    found = []
    for convert in (
        lambda: m.double(),
        lambda: m.half(),
        lambda: m.bfloat16(),
        lambda: m.float(),
        lambda: m.to(torch.float64),
        lambda: m.to("cpu", torch.float32),
        lambda: m.to(torch.zeros(1, dtype=torch.float64)),
        lambda: m.to(device="cpu"),
        lambda: m.to(dtype=torch.float32),
        lambda: m.to(torch.device("cpu")),
        lambda: m.type(torch.float64),
        lambda: m.cpu(),
        lambda: m.to(),
    ):
        convert()
        found += [
            m.a.weight is p,
            str(p.dtype),
            str(p.grad.dtype),
            str(m.buf.dtype),
            str(m.b[1].num_batches_tracked.dtype),
            p.requires_grad,
            p.is_leaf,
        ]
    return [*found, attempt(lambda: m.to(torch.int32))]


@behaviour
def on_meta(torch: Any, nn: Any) -> Any:
    m = nn.Linear(2, 3, device="meta")
    found = [str(m.weight.device), m.weight.is_meta, list(m.weight.shape)]
    same = m.to_empty(device="cpu")
    found += [same is m, str(m.weight.device), type(m.weight).__name__]
    m = nn.Linear(2, 3, device="meta")
    m.load_state_dict({"weight": torch.zeros(3, 2), "bias": torch.ones(3)}, assign=True)
    found += [m.weight, m.bias, type(m.bias).__name__, str(nn.Linear(2, 3).to("meta").weight.device)]
    m = nn.utils.skip_init(nn.Linear, 2, 3)
    return [*found, str(m.weight.device), m.weight.requires_grad]


@behaviour
def copies(torch: Any, nn: Any) -> Any:
    m = small_net(nn)
    m.b[1].running_mean.fill_(3.0)
    m.c = m.a
    deep = copy.deepcopy(m)
    deep.a.weight.data.zero_()
    shallow = copy.copy(m)
    shallow.extra = 1
    return [
        m.a.weight,
        deep.a.weight,
        deep.b[1].running_mean,
        deep.c is deep.a,
        hasattr(m, "extra"),
        shallow.a is m.a,
        shallow._modules is m._modules,
    ]


@behaviour
def parameters(torch: Any, nn: Any) -> Any:
    p = nn.Parameter(torch.ones(2))
    deep = copy.deepcopy(p)
    read = pickle.loads(pickle.dumps(p))
    base = torch.ones(2)
    shared = nn.Parameter(base)
    shared.data.mul_(2)
    shared.tag = "x"
    return [
        repr(p),
        type(deep).__name__,
        deep is p,
        deep,
        type(p * 2).__name__,
        p.requires_grad,
        nn.Parameter(torch.ones(1, dtype=torch.int64), requires_grad=False),
        type(p.data).__name__,
        p.is_leaf,
        type(p.detach()).__name__,
        type(p[0]).__name__,
        type(p.clone()).__name__,
        type(read).__name__,
        read.requires_grad,
        base,
        pickle.loads(pickle.dumps(shared)).tag,
        nn.Parameter(),
    ]


# --- state dicts ----------------------------------------------------------------------------------


@behaviour
def state_dicts(torch: Any, nn: Any) -> Any:
    m, other = small_net(nn), small_net(nn)
    state = m.state_dict()
    found = [
        dict(state),
        [(k, v) for k, v in state._metadata.items()],
        state["a.weight"].requires_grad,
        m.state_dict(keep_vars=True)["a.weight"] is m.a.weight,
        list(m.state_dict(prefix="p.")),
        repr(other.load_state_dict(state)),
        dict(other.state_dict()),
        repr(other.load_state_dict({"x": torch.zeros(1)}, strict=False)),
    ]
    p = other.a.weight
    other.load_state_dict(state, assign=True)
    return [
        *found,
        other.a.weight is p,
        type(other.a.weight).__name__,
        other.a.weight.data_ptr() == state["a.weight"].data_ptr(),
    ]


@behaviour
def load_errors(torch: Any, nn: Any) -> Any:
    def load(change: dict[str, Any], strict: bool = True, whole: bool = True) -> Any:
        m = small_net(nn)
        return m.load_state_dict({**(m.state_dict() if whole else {}), **change}, strict=strict)

    odd = {"a.weight": torch.zeros(1, 2), "x": torch.zeros(1), "a.foo": torch.zeros(1)}
    return [
        attempt(lambda: small_net(nn).load_state_dict(3)),
        attempt(lambda: load({}, whole=False)),
        attempt(lambda: load(odd)),
        attempt(lambda: load(odd, False)),
        attempt(lambda: load({"a.weight": 3})),
        attempt(lambda: load({"x": torch.zeros(1)}, False, False)),
        attempt(
            lambda: nn.InstanceNorm1d(3).load_state_dict(
                {"running_mean": torch.zeros(3), "running_var": torch.zeros(3)}
            )
        ),
        attempt(lambda: nn.BatchNorm1d(3).load_state_dict({"running_mean": torch.zeros(3)})),
    ]


@behaviour
def state_hooks(torch: Any, nn: Any) -> Any:
    log: list[Any] = []
    m = small_net(nn)

    def rename(module: Any, state: Any, prefix: str, metadata: Any) -> Any:
        return OrderedDict((k + "!", v) for k, v in state.items())

    def drop(module: Any, state: Any, prefix: str, metadata: Any, strict: bool, *lists: Any) -> None:
        log.append((type(module).__name__, prefix, dict(metadata), strict))
        state.pop("x", None)

    def forgive(module: Any, keys: Any) -> None:
        log.append(repr(keys))
        keys.missing_keys.clear()

    handles = [
        m.register_state_dict_pre_hook(lambda mod, prefix, keep: log.append(("pre", prefix, keep))),
        m.register_state_dict_post_hook(
            lambda mod, state, prefix, meta: log.append(("post", list(state), prefix, dict(meta)))
        ),
        m._register_state_dict_hook(rename),
        m.register_load_state_dict_pre_hook(drop),
        m.register_load_state_dict_post_hook(forgive),
        m.b.register_load_state_dict_post_hook(lambda mod, keys: log.append(repr(keys))),
    ]
    log.append(list(m.state_dict()))
    state = small_net(nn).state_dict()
    state["x"] = torch.zeros(1)
    del state["buf"]
    log.append(repr(m.load_state_dict(state)))
    for handle in handles:
        handle.remove()
    log.append(list(m.state_dict()))
    m.register_state_dict_post_hook(lambda *a: 3)
    log.append(attempt(m.state_dict))
    m = small_net(nn)
    m.register_load_state_dict_post_hook(lambda *a: 3)
    return [*log, attempt(lambda: m.load_state_dict(small_net(nn).state_dict()))]


@behaviour
def extra_state(torch: Any, nn: Any) -> Any:
    class Extra(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.v = 1
            self.l = nn.Linear(1, 1)

        def get_extra_state(self) -> Any:
            return {"v": self.v}

        def set_extra_state(self, state: Any) -> None:
            self.v = state["v"]

    m, other = nn.Sequential(Extra()), nn.Sequential(Extra())
    m[0].v = 7
    state = m.state_dict()
    other.load_state_dict(state)
    found = [list(state), other[0].v]
    state.pop("0._extra_state")
    plain_state = {"0.weight": torch.zeros(1, 1), "0.bias": torch.zeros(1), "0._extra_state": 3}
    return [
        *found,
        attempt(lambda: other.load_state_dict(state)),
        attempt(lambda: nn.Sequential(nn.Linear(1, 1)).load_state_dict(plain_state)),
    ]


# --- hooks ----------------------------------------------------------------------------------------


@behaviour
def forward_hooks(torch: Any, nn: Any) -> Any:
    log: list[Any] = []
    m, x = nn.Linear(2, 2), torch.ones(2)

    def note(what: Any, result: Any = None) -> Any:
        log.append(what)
        return result

    first = m.register_forward_pre_hook(lambda mod, a: note(("p1", len(a)), (a[0] * 2,)))
    others = [
        m.register_forward_pre_hook(lambda mod, a, k: note(("p2", list(k))), with_kwargs=True, prepend=True),
        m.register_forward_hook(lambda mod, a, out: note("f1", out + 1)),
        m.register_forward_hook(lambda mod, a, k, out: note(("f2", list(k))), with_kwargs=True, prepend=True),
    ]
    log.append(m(x))
    with first:
        pass
    for handle in (*others, others[0]):
        handle.remove()
    log.append(m(x))
    m.register_forward_pre_hook(lambda mod, a, k: 3, with_kwargs=True)
    return [*log, attempt(lambda: m(x))]


@behaviour
def always_called_hooks(torch: Any, nn: Any) -> Any:
    log: list[Any] = []

    class Failing(nn.Module):
        def forward(self, x: Any) -> Any:
            raise ValueError("boom")

    def bad(mod: Any, args: Any, out: Any) -> None:
        raise RuntimeError("bad hook")

    m = Failing()
    m.register_forward_hook(lambda mod, a, out: log.append(("skipped", out is None)))
    m.register_forward_hook(lambda mod, a, out: log.append(("called", out is None)), always_call=True)
    m.register_forward_hook(bad, always_call=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        log.append(attempt(lambda: m(torch.ones(1))))
    return [*log, [str(w.message) for w in caught]]


@behaviour
def global_hooks(torch: Any, nn: Any) -> Any:
    home = importlib.import_module(nn.Module.__module__)
    log: list[Any] = []
    handles = [
        home.register_module_forward_pre_hook(lambda m, a: log.append(("pre", type(m).__name__))),
        home.register_module_forward_hook(lambda m, a, o: log.append(("post", type(m).__name__))),
        home.register_module_forward_hook(
            lambda m, a, k, o: log.append(("kwargs", list(k))), with_kwargs=True
        ),
        home.register_module_module_registration_hook(lambda m, n, v: log.append(("module", n))),
        home.register_module_parameter_registration_hook(lambda m, n, v: log.append(("param", n))),
        home.register_module_buffer_registration_hook(lambda m, n, v: log.append(("buffer", n))),
    ]
    try:
        m = small_net(nn)
        m(torch.ones(3, 2))
        m.q = nn.ReLU()
        m.a.weight = nn.Parameter(torch.zeros(1))
        m.buf = torch.ones(2)
        m.add_module("x", None)
    finally:
        for handle in handles:
            handle.remove()
    return log


@behaviour
def backward_hooks(torch: Any, nn: Any) -> Any:
    log: list[Any] = []
    m = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))

    def note(what: str, *grads: Any) -> None:
        log.append((what, *map(list, grads)))

    def doubled(mod: Any, grad_in: Any, grad_out: Any) -> Any:
        note("second", grad_in, grad_out)
        return (grad_in[0] * 2,)

    def tripled(mod: Any, grad_out: Any) -> Any:
        note("before second", grad_out)
        return (grad_out[0] * 3,)

    handles = [
        m[0].register_full_backward_hook(lambda mod, i, o: note("first", i, o)),
        m[2].register_full_backward_hook(doubled),
        m[2].register_full_backward_pre_hook(tripled),
        m.register_full_backward_hook(lambda mod, i, o: note("all", i, o)),
    ]
    x = torch.ones(4, 2).requires_grad_()
    m(x).sum().backward()
    log += [x.grad, [p.grad for p in m.parameters()]]
    m(torch.ones(4, 2)).sum().backward()  # no input requires grad
    log.append([p.grad for p in m.parameters()])
    for handle in handles:
        handle.remove()
    m.zero_grad()
    m(x).sum().backward()
    return [*log, [p.grad for p in m.parameters()]]


@behaviour
def backward_hooks_of_many(torch: Any, nn: Any) -> Any:
    log: list[Any] = []

    class Pair(nn.Module):
        def forward(self, a: Any, b: Any, c: int = 1) -> Any:
            return a * b, a + b, c

    m = Pair()
    m.register_full_backward_hook(lambda mod, i, o: log.append((list(i), list(o))))
    a, b = torch.ones(2).requires_grad_(), torch.ones(2) * 2
    out = m(a, b, 3)
    (out[0] * 2).sum().backward()
    short = Pair()
    short.register_full_backward_hook(lambda mod, i, o: (None,))
    mixed = nn.Linear(1, 1)
    mixed.register_backward_hook(lambda *args: None)
    return [
        *log,
        a.grad,
        out[2],
        len(out),
        attempt(lambda: short(torch.ones(2).requires_grad_(), b)[0].sum().backward()),
        attempt(lambda: mixed.register_full_backward_hook(lambda *args: None)),
    ]


# --- containers -----------------------------------------------------------------------------------


@behaviour
def sequentials(torch: Any, nn: Any) -> Any:
    S = nn.Sequential
    a = S(nn.ReLU(), nn.Tanh(), nn.GELU())
    b = S(OrderedDict(x=nn.ReLU(), y=nn.Tanh(), z=nn.GELU()))
    return [
        attempt(f)
        for f in (
            lambda: a + [1],
            lambda: a * 1.5,
            lambda: a * 0,
            lambda: a[7],
            lambda: a.insert(9, nn.ReLU()),
            lambda: a.insert(0, 3),
            lambda: a.extend(3),
            lambda: a.append(3),
            lambda: a[1:],
            lambda: a[-1],
            lambda: len(a),
            lambda: a * 2,
            lambda: a + a,
            lambda: a.insert(1, nn.SELU()),
            lambda: a.pop(-1),
            lambda: b + S(nn.ReLU()),
            lambda: b[:2],
            lambda: b.__delitem__(1),
            lambda: b,
            lambda: b.pop("x"),
            lambda: S({"a": nn.ReLU()}),
            lambda: b(torch.ones(2)),
            lambda: b.__setitem__(0, nn.Linear(1, 1)),
            lambda: b,
            lambda: b.__imul__(2),
            lambda: 2 * b,
            lambda: [type(x).__name__ for x in b],
            lambda: b.__delitem__(slice(0, 2)),
            lambda: b,
        )
    ]


@behaviour
def module_lists(torch: Any, nn: Any) -> Any:
    m = nn.ModuleList(
        [nn.Linear(1, 1), nn.Linear(1, 1), nn.ReLU(), nn.ReLU(), nn.Sequential(nn.Linear(2, 2), nn.Tanh())]
    )
    return [
        attempt(f)
        for f in (
            lambda: m,
            lambda: m[1:3],
            lambda: m[-1],
            lambda: m[9],
            lambda: m + [nn.Tanh()],
            lambda: m.insert(1, nn.SELU()),
            lambda: m,
            lambda: m.pop(0),
            lambda: m.extend(3),
            lambda: m.append(3),
            lambda: m(3),
            lambda: m.__delitem__(slice(0, 2)),
            lambda: m,
            lambda: nn.ModuleList(),
            lambda: m.__setitem__(0, nn.GELU()),
            lambda: m.__setitem__(-1, nn.ReLU()),
            lambda: m,
            lambda: len(m),
            lambda: [n for n in dir(m) if n[0].isdigit()],
            lambda: nn.ReLU() in m,
            lambda: m.extend([nn.CELU()]),
        )
    ]


@behaviour
def module_dicts(torch: Any, nn: Any) -> Any:
    d = nn.ModuleDict({"b": nn.ReLU(), "a": nn.Tanh()})
    return [
        attempt(f)
        for f in (
            lambda: d,
            lambda: list(d.keys()),
            lambda: d["zz"],
            lambda: d.pop("b"),
            lambda: d.update(3),
            lambda: d.update([(1, 2, 3)]),
            lambda: d.update([("q", nn.ReLU())]),
            lambda: d,
            lambda: "q" in d,
            lambda: len(d),
            lambda: list(d),
            lambda: d(3),
            lambda: d.__setitem__("a.b", nn.ReLU()),
            lambda: d.__setitem__("keys", nn.ReLU()),
            lambda: d.__delitem__("q"),
            lambda: d.clear(),
            lambda: d,
            lambda: nn.ModuleDict({"a": 3}),
        )
    ]


@behaviour
def parameter_lists(torch: Any, nn: Any) -> Any:
    p = nn.ParameterList(
        [
            nn.Parameter(torch.zeros(2, 3)),
            torch.zeros(2),
            3,
            "a",
            nn.Parameter(torch.zeros(2, dtype=torch.float64)),
        ]
    )
    return [
        attempt(f)
        for f in (
            lambda: p,
            lambda: list(p.state_dict()),
            lambda: p[9],
            lambda: p(3),
            lambda: p.extend(3),
            lambda: p[1:3],
            lambda: p + [1],
            lambda: p.__iadd__([torch.ones(1)]),
            lambda: p.append(torch.ones(4)),
            lambda: list(p),
            lambda: p.pop(0),
            lambda: p.__setitem__(0, torch.zeros(1)),
            lambda: p,
            lambda: p.extend(torch.ones(2)),
            lambda: p[-1],
            lambda: nn.ParameterList(3),
        )
    ]


@behaviour
def parameter_dicts(torch: Any, nn: Any) -> Any:
    d = nn.ParameterDict(
        {
            "a": torch.zeros(2),
            "b": nn.Parameter(torch.zeros(3)),
            "c": 4,
            "z": nn.ParameterDict({"q": torch.zeros(1)}),
        }
    )
    return [
        attempt(f)
        for f in (
            lambda: d,
            lambda: d | {"q": 1},
            lambda: {"q": 1} | d,
            lambda: d.copy(),
            lambda: d.fromkeys(["a", "b"], torch.zeros(1)),
            lambda: d.setdefault("n", torch.ones(1)),
            lambda: d.popitem(),
            lambda: d.get("zz", 5),
            lambda: d.pop("a"),
            lambda: d["a"],
            lambda: list(reversed(d)),
            lambda: d.update(3),
            lambda: d.update([(1, 2, 3)]),
            lambda: d(3),
            lambda: d.update({"b": torch.zeros(1), "a": 3}),
            lambda: list(d.keys()),
            lambda: d.__delitem__("nope"),
            lambda: list(d.state_dict()),
            lambda: d.clear(),
            lambda: d,
            lambda: len(d),
        )
    ]


@behaviour
def lazy_modules(torch: Any, nn: Any) -> Any:
    found = []
    for name, args, shape in (
        ("LazyLinear", (3,), (2, 4)),
        ("LazyConv1d", (3, 2), (1, 4, 6)),
        ("LazyConv2d", (4, 2, 1, 0, 1, 2, False), (1, 4, 6, 6)),
        ("LazyConvTranspose1d", (3, 2), (1, 4, 6)),
        ("LazyBatchNorm1d", (), (2, 4)),
        ("LazyBatchNorm2d", (), (2, 4, 2, 2)),
        ("LazyInstanceNorm1d", (), (2, 4, 3)),
    ):
        torch.manual_seed(1)
        m = getattr(nn, name)(*args)
        found += [repr(m), m.has_uninitialized_params()]
        y = m(torch.ones(shape))
        found += [
            repr(m),
            dict(m.state_dict()),
            list(y.shape),
            type(m).__name__,
            len(m._forward_pre_hooks),
            len(m._load_state_dict_pre_hooks),
        ]
    m = nn.LazyLinear(3)
    m.load_state_dict(nn.Linear(5, 3).state_dict())
    found += [m.weight, type(m.weight).__name__, list(m(torch.ones(5)).shape), type(m).__name__]
    m = nn.LazyLinear(3)
    deep, read = copy.deepcopy(m), pickle.loads(pickle.dumps(m))
    found += [list(deep(torch.ones(2, 5)).shape), list(read(torch.ones(2, 4)).shape), repr(m)]
    m = nn.LazyLinear(3).double()
    m(torch.ones(2, 5, dtype=torch.float64))
    return [*found, str(m.weight.dtype)]
