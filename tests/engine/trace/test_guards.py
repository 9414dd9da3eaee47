"""A replay hears of what Python would do otherwise by now: classes, functions, containers, switches, arguments.

Each case is a program that defines `f` (and, where it is called with more than x, `args`), what changes after
it has been replayed, and what takes the change back, between lines of dashes. `args = ...` in the second part
calls it with other arguments.
"""

import gc
from types import ModuleType

import pytest

import rushlight as torch
from rushlight import nn
from rushlight._engine.core.settings import settings
from rushlight._engine.trace.effects.contents import Contents

CASES = """
the_attributes_of_an_object_at_once
class S: pass
s = S()
s.k = 2.0
def f(x): return x * s.k
---
s.__dict__ = {"k": 5.0}

an_array_of_c
import array
a = array.array("d", [2.0])
class S:
    def g(self, x): return x * a[0]
s = S()
def f(x): return s.g(x)
---
a[0] = 5.0

an_attribute_of_a_number
class I(int): pass
i = I(3)
class S:
    def g(self, x): return x * getattr(i, "k", 2.0)
s = S()
def f(x): return s.g(x)
---
i.k = 5.0

an_attribute_of_a_tuple
class T(tuple): pass
t = T([3])
class S:
    def g(self, x): return x * getattr(t, "k", 2.0)
s = S()
def f(x): return s.g(x)
---
t.k = 5.0

a_dict_by_its_method
d = {"k": 2.0}
get = d.get
class S:
    def g(self, x): return x * get("k")
s = S()
def f(x): return s.g(x)
---
d["k"] = 5.0

the_seed_of_a_generator
r = torch.Generator().manual_seed(2)
class S:
    def g(self, x): return x * r.initial_seed()
s = S()
def f(x): return s.g(x)
---
r.manual_seed(5)

the_first_attribute_of_a_function
def g(x): return x
def f(x): return g(x) * getattr(g, "k", 1.0)
---
g.k = 5.0

a_method_of_a_class
class N(nn.Module):
    def helper(self, x): return x * 2
    def forward(self, x): return self.helper(x)
f = N()
---
N.helper = lambda self, x: x * 5

forward_of_a_class
class N(nn.Module):
    def forward(self, x): return x * 2
f = nn.Sequential(N(), nn.ReLU())
---
N.forward = lambda self, x: x * 5

forward_of_one_layer
f = nn.Sequential(nn.Identity(), nn.ReLU())
---
f[0].forward = lambda x: x * 5

forward_of_a_layer_of_the_package
f = nn.Sequential(nn.ReLU(), nn.ReLU())
old = nn.ReLU.forward
---
nn.ReLU.forward = lambda self, x: x * 5
---
nn.ReLU.forward = old

a_method_of_a_base_class
class B(nn.Module):
    def helper(self, x): return x * 2
class N(B):
    def forward(self, x): return self.helper(x)
f = N()
---
N.helper = lambda self, x: x * 5

what_super_finds
class B(nn.Module):
    def helper(self, x): return x * 2
class N(B):
    def helper(self, x): return super().helper(x)
    def forward(self, x): return self.helper(x)
f = N()
---
B.helper = lambda self, x: x * 5

a_special_method
class N(nn.Module):
    def __len__(self): return 2
    def forward(self, x): return x * len(self)
f = N()
---
N.__len__ = lambda self: 5

bases_of_a_class
class A:
    def s(self): return 5.0
class B:
    def s(self): return 2.0
class C(B): pass
c = C()
def f(x): return x * c.s()
---
C.__bases__ = (A,)

the_class_of_an_object
class C:
    def s(self): return 2.0
class D:
    def s(self): return 5.0
c = C()
def f(x): return x * c.s()
---
c.__class__ = D

the_class_of_a_layer
class N(nn.Module):
    def forward(self, x): return x * 2
class M(N):
    def forward(self, x): return x * 5
f = nn.Sequential(N())
---
f[0].__class__ = M

a_property
class C:
    @property
    def s(self): return 2.0
c = C()
def f(x): return x * c.s
---
C.s = property(lambda self: 5.0)

an_attribute_that_hides_the_class's
class N(nn.Module):
    scale = 2.0
    def forward(self, x): return x * self.scale
f = N()
---
f.scale = 5.0

an_attribute_of_a_class
class C: scale = 2.0
def f(x): return x * C.scale
---
C.scale = 5.0

an_item_of_a_class's_list
class C: scales = [2.0]
def f(x): return x * C.scales[0]
---
C.scales[0] = 5.0

a_static_method
class C:
    @staticmethod
    def s(x): return x * 2
def f(x): return C.s(x)
---
C.s = staticmethod(lambda x: x * 5)

what_a_class_method_reads
class C:
    s = 2.0
    @classmethod
    def m(cls, x): return x * cls.s
def f(x): return C.m(x)
---
C.s = 5.0

a_class_in_a_list
class C: scale = 2.0
cs = [C]
def f(x): return x * cs[0].scale
---
C.scale = 5.0

a_metaclass
class Meta(type): s = 2.0
class C(metaclass=Meta): pass
def f(x): return x * C.s
---
Meta.s = 5.0

a_member_of_an_enum
import enum
class E(enum.Enum): A = 1
E.A.scale = 2.0
def f(x): return x * E.A.scale
---
E.A.scale = 5.0

an_attribute_of_a_function
def g(x): return x * g.scale
g.scale = 2.0
def f(x): return g(x)
---
g.scale = 5.0

defaults
def g(x, s=2.0): return x * s
def f(x): return g(x)
---
g.__defaults__ = (5.0,)

a_default_by_name
def g(x, *, s=2.0): return x * s
def f(x): return g(x)
---
g.__kwdefaults__["s"] = 5.0

a_method's_default_list
class N(nn.Module):
    def helper(self, x, c=[2.0]): return x * c[0]
    def forward(self, x): return self.helper(x)
f = N()
---
N.helper.__defaults__[0][0] = 5.0

code
def g(x): return x * 2
def f(x): return g(x)
---
g.__code__ = (lambda x: x * 5).__code__

a_function_of_another_module
def f(x): return other.helper(x)
---
other.helper = lambda x: x * 5

a_global_of_another_module
helper = other.helper
def f(x): return helper(x)
---
other.SCALE = 5.0

a_variable_of_an_enclosing_function
def outer():
    s = 2.0
    def g(x): return x * s
    def change():
        nonlocal s
        s = 5.0
    return g, change
g, change = outer()
def f(x): return g(x)
---
change()

a_global_that_hides_a_builtin
def f(x): return x * max(1, 2)
---
max = lambda *a: 5

private_function
class N(nn.Module):
    def __init__(self):
        super().__init__()
        self._act = torch.relu
    def forward(self, x): return self._act(x)
f = N()
---
f._act = torch.tanh

private_list
class N(nn.Module):
    def __init__(self):
        super().__init__()
        self._s = [2.0]
    def forward(self, x): return x * self._s[0]
f = N()
---
f._s[0] = 5.0

private_object
class C: s = 2.0
class N(nn.Module):
    def __init__(self):
        super().__init__()
        self._c = C()
    def forward(self, x): return x * self._c.s
f = N()
---
f._c.s = 5.0

private_tensor
class N(nn.Module):
    def __init__(self):
        super().__init__()
        self._t = torch.ones(8)
    def forward(self, x): return x * self._t
f = nn.Sequential(N())
---
f[0]._t = torch.ones(8) * 5

what_getattr_finds
class N(nn.Module):
    def __init__(self):
        super().__init__()
        self.__dict__["_extra"] = {"s": 2.0}
    def __getattr__(self, name): return self.__dict__["_extra"]["s"] if name == "s" else super().__getattr__(name)
    def forward(self, x): return x * self.s
f = N()
---
f._extra["s"] = 5.0

a_hook_for_another
f = nn.Sequential(nn.Identity())
hook = f[0].register_forward_hook(lambda m, i, o: o * 2)
---
hook.remove()
f[0].register_forward_hook(lambda m, i, o: o * 5)

a_hook_of_all_layers
f = nn.Sequential(nn.Identity())
---
hook = nn.modules.module.register_module_forward_hook(lambda m, i, o: o * 5 if type(m) is nn.Identity else o)
---
hook.remove()

layers_in_another_order
f = nn.Sequential()
f._modules.update(a=nn.Identity(), b=nn.ReLU(), c=nn.Tanh(), d=nn.Hardtanh(-0.5, 0.25))
---
f._modules["b"] = f._modules.pop("b")

functional_as_layers_call_it
f = nn.Linear(8, 8)
old = nn.functional.linear
---
nn.functional.linear = lambda x, w, b=None: x * 5
---
nn.functional.linear = old

a_method_of_tensors
x.relu()
old = torch.Tensor.relu
def f(x): return x.relu()
---
torch.Tensor.relu = lambda x: x * 5
---
torch.Tensor.relu = old

an_attribute_of_a_tensor
t = torch.ones(8)
t.scale = 2.0
def f(x): return x * t.scale
---
t.scale = 5.0

an_attribute_of_a_parameter
n = nn.Linear(8, 8)
def f(x): return n(x) * (5 if hasattr(n.weight, "scale") else 1)
---
n.weight.scale = 2.0

how_many_threads
def f(x): return x * torch.get_num_threads()
old = torch.get_num_threads()
---
torch.set_num_threads(old + 1)
---
torch.set_num_threads(old)

precision_of_products
def f(x): return x * (2 if torch.get_float32_matmul_precision() == "high" else 1)
---
torch.set_float32_matmul_precision("high")
---
torch.set_float32_matmul_precision("highest")

anomaly_mode
def f(x): return x * (5 if torch.is_anomaly_enabled() else 1)
---
torch.autograd.set_detect_anomaly(True)
---
torch.autograd.set_detect_anomaly(False)

the_seed
def f(x): return x * (torch.initial_seed() % 7)
torch.manual_seed(2)
---
torch.manual_seed(5)

the_environment
import os
def f(x): return x * float(os.environ.get("RUSHLIGHT_OF_A_TEST", "2"))
---
os.environ["RUSHLIGHT_OF_A_TEST"] = "5"
---
del os.environ["RUSHLIGHT_OF_A_TEST"]

autocast_around
n = nn.Linear(8, 8)
def f(x): return n(x)
cast = torch.autocast("cpu", torch.bfloat16)
---
cast.__enter__()
---
cast.__exit__(None, None, None)

what_a_custom_function_reads
class Fn(torch.autograd.Function):
    K = 2.0
    @staticmethod
    def forward(ctx, x): return x * Fn.K
    @staticmethod
    def backward(ctx, g): return g
def f(x): return Fn.apply(x)
---
Fn.K = 5.0

a_context_variable
import contextvars
v = contextvars.ContextVar("v", default=2.0)
def f(x): return x * v.get()
---
v.set(5.0)

a_thread's_own
import threading
own = threading.local()
own.s = 2.0
def f(x): return x * own.s
---
own.s = 5.0

numpy's_memory
import numpy as np
a = np.full(8, 2.0, np.float32)
def f(x): return x * float(a[0])
---
a.fill(5.0)

zeros_of_two_signs
def f(x, s): return x / s
args = (x, 0.0)
---
args = (x, -0.0)

true_and_one
def f(x, s): return x * (5 if s is True else 1)
args = (x, 1)
---
args = (x, True)

true_and_one_as_keys
def f(x, d): return x * (5 if next(iter(d)) is True else 1)
args = (x, {1: 2})
---
args = (x, {True: 2})

a_class_of_tensors
class T(torch.Tensor): pass
def f(x): return x * (5 if type(x) is not torch.Tensor else 1)
---
args = (x.as_subclass(T),)

a_parameter
def f(x): return x * (5 if isinstance(x, nn.Parameter) else 1)
args = (torch.ones(8, requires_grad=True),)
---
args = (nn.Parameter(torch.ones(8)),)

an_argument_with_an_attribute
def f(x): return x * getattr(x, "scale", 1.0)
---
x.scale = 5.0

an_equal_dataclass
import dataclasses
@dataclasses.dataclass(frozen=True)
class C:
    a: int
    s: float = dataclasses.field(compare=False, default=2.0)
def f(x, c): return x * c.s
args = (x, C(1))
---
args = (x, C(1, 5.0))

an_equal_string
class S(str): pass
a, b = S("q"), S("q")
a.s, b.s = 2.0, 5.0
def f(x, d): return x * d.s
args = (x, a)
---
args = (x, b)

made_in_inference_mode
def f(x): return x * (5 if x.is_inference() else 1)
---
with torch.inference_mode():
    args = (torch.ones(8, 8),)

a_leaf
def f(x): return x * (5 if x.is_leaf else 1)
args = (torch.ones(8, requires_grad=True),)
---
args = (torch.ones(8, requires_grad=True) * 1,)

which_node
def f(x): return x * (5 if "Mul" in str(x.grad_fn) else 1)
args = (torch.ones(8, requires_grad=True) * 1,)
---
args = (torch.ones(8, requires_grad=True) + 1,)

which_result
def f(x): return x * (1 + x.output_nr)
args = (torch.ones(8, requires_grad=True).chunk(2)[1],)
---
args = (torch.ones(8, requires_grad=True).chunk(2)[0],)

which_version
def f(x): return x * (1 + x._version)
args = (torch.zeros(8).add_(1),)
---
args = (torch.ones(8),)
"""
PARTS = dict(block.split("\n", 1) for block in CASES.strip().split("\n\n"))
OTHER = """
SCALE = 2.0
def helper(x): return x * SCALE
"""


def run(text, variables):
    exec(compile(text, "<case>", "exec"), variables)
    return variables.get("args") or (variables["x"],)


@pytest.fixture
def alone():
    """All that was there before the test is left out where the process is searched for who holds a function."""
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("name", PARTS)
def test_what_has_changed_is_heard_of(name):
    first, change, *back = PARTS[name].split("---\n")
    other = ModuleType("other")
    exec(OTHER, vars(other))
    variables = {"torch": torch, "nn": nn, "x": torch.randn(8, 8), "other": other}
    args = run(first, variables)
    function = variables["f"]
    with settings.using(kernels="llvm"):
        compiled = torch.compile(function)
        for _ in range(6):
            assert same(compiled(*args), function(*args))
        try:
            args = run(change, variables)
            for _ in range(5):
                assert same(compiled(*args), function(*args))
        finally:
            if back:
                run(back[0], variables)


def same(a, b):
    if type(a) is not type(b) or a.dtype != b.dtype:
        return False
    return torch.equal(a.detach().nan_to_num(), b.detach().nan_to_num())


def test_who_asks_meanwhile_is_not_told_that_all_holds(monkeypatch):
    """What a guard's long way has begun to look at counts once it has found that all holds."""

    class Scale:
        pass

    scale = Scale()
    scale.factor = 2.0

    def f(x):
        return x * scale.factor

    compiled, x = torch.compile(f), torch.ones(3)
    for _ in range(3):
        compiled(x)
    meanwhile, failure = [], Contents.failure

    def asked(self):
        if not meanwhile:
            meanwhile.append(None)
            meanwhile[0] = compiled(x).tolist()
        return failure(self)

    monkeypatch.setattr(Contents, "failure", asked)
    scale.factor = 5.0
    assert compiled(x).tolist() == [5.0] * 3
    assert meanwhile == [[5.0] * 3]


def trained():
    torch.manual_seed(0)
    layer = nn.Linear(3, 2)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.01)

    def step(x):
        optimizer.zero_grad()
        loss = layer(x).square().sum()
        loss.backward()
        optimizer.step()
        return loss

    return layer, optimizer, step


def other_memory(layer, optimizer):
    layer.bias.grad.data = layer.bias.grad.data.clone()


def shared(layer, optimizer):
    layer.share_memory()


def fewer_parameters(layer, optimizer):
    optimizer.param_groups[0]["params"] = [layer.weight]


def one_parameter_less(layer, optimizer):
    optimizer.param_groups[0]["params"].remove(layer.weight)


def another_parameter(layer, optimizer):
    optimizer.param_groups[0]["params"] = [layer.weight, nn.Parameter(torch.ones(2))]


@pytest.mark.parametrize(
    "change", [other_memory, shared, fewer_parameters, one_parameter_less, another_parameter]
)
def test_gradients_of_steps_between_which_something_is_done_to_them(change):
    eager, compiled = trained(), trained()
    steps = eager[2], torch.compile(compiled[2])
    for t in range(14):
        if t == 8:
            for layer, optimizer, _ in (eager, compiled):
                change(layer, optimizer)
        for step in steps:
            step(torch.full((4, 3), 1 + t / 10))
        for p, q in zip(eager[0].parameters(), compiled[0].parameters(), strict=True):
            torch.testing.assert_close(p.grad, q.grad)
            torch.testing.assert_close(p, q)


def test_whether_a_process_group_is_there_is_guarded(monkeypatch: pytest.MonkeyPatch) -> None:
    from rushlight.distributed.groups import world

    def function(x):
        return x * 2 if torch.distributed.is_available() and torch.distributed.is_initialized() else x + 1

    compiled, x = torch.compile(function), torch.ones(2)
    assert [compiled(x).tolist() for _ in range(4)] == [[2.0, 2.0]] * 4
    assert "replayed" in str(torch.explain(compiled, x))
    monkeypatch.setattr(world, "default", object())
    assert compiled(x * 3).tolist() == [6.0, 6.0]
