"""torch.overrides: modes, classes, and functions of one's own that let classes take over."""

from typing import NamedTuple

import pytest

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import overrides
from rushlight._engine.dispatch.interpreters import MODES, STACK


class Noted(overrides.TorchFunctionMode):
    def __init__(self):
        self.names, self.types = [], []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.names.append(func.__name__)
        self.types.append(types)
        return func(*args, **(kwargs or {}))


class Said(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func.__name__, types


def test_a_mode_sees_functions_methods_and_operators():
    with Noted() as mode:
        x = torch.ones(2, 2)
        y = torch.nn.functional.relu(torch.add(x, x)).mul(3)
        y.add_(1)
        total = (x @ y).sum()
    assert mode.names == ["ones", "add", "relu", "mul", "add_", "matmul", "sum"] and total.item() == 56
    assert set(mode.types) == {()} and not MODES and not STACK.modes


def test_modes_lie_in_each_other_and_may_change_results():
    class Negated(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            found = func(*args, **(kwargs or {}))
            return -found if func is torch.add else found

    with Noted() as outer, Negated(), overrides.BaseTorchFunctionMode():
        assert torch.add(torch.ones(1), 1).item() == -2
    assert outer.names == ["ones", "add", "neg", "item"]
    with pytest.raises(RuntimeError, match="inconsistent tensor size"), Noted():
        torch.ones(2) @ torch.ones(3)
    assert not MODES and not STACK.modes


def test_gradients_go_through():
    x = torch.ones(3, requires_grad=True)
    with Noted():
        (x * 2).sum().backward()
    assert x.grad.tolist() == [2, 2, 2]


def test_own_functions_ask_classes():
    def double(x):
        if overrides.has_torch_function((x,)):
            return overrides.handle_torch_function(double, (x,), x)
        return x * 2

    said = torch.ones(2).as_subclass(Said)
    assert double(said) == ("double", (Said,)) and double(torch.ones(1)).item() == 2
    assert overrides.has_torch_function_unary(said) and not overrides.has_torch_function_variadic(
        1, torch.ones(1)
    )
    assert overrides.is_tensor_like(said) and not overrides.is_tensor_like(3)
    with Noted():
        assert overrides.has_torch_function(())

    class Silent(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    with pytest.raises(TypeError, match=r"no implementation found for '\S*test_overrides\.double'.*Silent"):
        double(torch.ones(1).as_subclass(Silent))


def test_saved_tensors_may_be_written_to():
    x = torch.full((3,), 2.0, requires_grad=True)
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        y = x * 1
        z = (y**2).sum()
        with torch.no_grad():
            y.zero_()
        z.backward()
    assert x.grad.tolist() == [4, 4, 4]


def test_what_the_caller_gave_is_handed_on_as_it_was():
    seen = []

    class Given:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append((func, args[1:], dict(kwargs or {})))
            return 1

    g, x, named, spread = Given(), torch.ones(2, 3), {"dim": 1}, (0, True)
    torch.sum(g)
    torch.sum(g, 0)
    torch.sum(g, dim=0, keepdim=False)
    torch.sum(g, **named)
    torch.sum(g, *spread)
    torch.add(g, x, alpha=1)
    torch.add(input=g, other=x)
    torch.clamp(g, min=0)
    torch.permute(g, (1, 0))
    torch.diagonal(g, 0, -1, -2)
    torch.where(g, x, 2.0)
    torch.nn.functional.linear(g, x)
    assert [(func.__name__, args, kwargs) for func, args, kwargs in seen] == [
        ("sum", (), {}),
        ("sum", (0,), {}),
        ("sum", (), {"dim": 0, "keepdim": False}),
        ("sum", (), {"dim": 1}),
        ("sum", (0, True), {}),
        ("add", (x,), {"alpha": 1}),
        ("add", (), {"input": g, "other": x}),
        ("clamp", (), {"min": 0}),
        ("permute", ((1, 0),), {}),
        ("diagonal", (0, -1, -2), {}),
        ("where", (x, 2.0), {}),
        ("linear", (x,), {}),
    ]


def test_modes_hear_attributes_and_methods_that_are_no_ops():
    x = torch.ones(2, 3, requires_grad=True)
    with Noted() as mode:
        assert x.shape == (2, 3) and len(x) == 2 and x.dtype is torch.float32
        x.detach()
        x.grad = None
        assert torch.Tensor.detach.__name__ == "detach" and torch.Tensor.shape.__get__ == shape
    assert mode.names == ["__get__", "__len__", "__get__", "detach", "__set__"]


shape = torch.Tensor.shape.__get__


def test_classes_hear_them_too_and_may_be_left_out():
    heard = []

    class Hearing(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            heard.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    x = torch.ones(2, 3).as_subclass(Hearing).requires_grad_()
    (x * 2).sum().backward()
    assert type(x.grad) is torch.Tensor and type(x.detach()) is Hearing and x.dim() == 2 and x[0].size(0) == 3
    assert heard == [
        "requires_grad_",
        "mul",
        "sum",
        "backward",
        "__get__",
        "detach",
        "dim",
        "__getitem__",
        "size",
    ]
    with torch._C.DisableTorchFunctionSubclass():
        assert type(x + 1) is torch.Tensor


def test_lists_of_what_can_be_taken_over():
    stand_ins = overrides.get_testing_overrides()
    assert stand_ins[torch.add](1, 2) == -1 and torch.tensor in overrides.get_ignored_functions()
    assert not overrides.get_ignored_functions() & stand_ins.keys()
    assert torch.add in overrides.get_overridable_functions()[torch]
    assert overrides.resolve_name(torch.nn.functional.gelu) == "torch.nn.functional.gelu"
    assert (
        overrides.resolve_name(torch.Tensor.add_) == "torch.Tensor.add_" and overrides.resolve_name(3) is None
    )
    assert overrides.is_tensor_method_or_property(torch.Tensor.add_)
    assert not overrides.is_tensor_method_or_property(torch.nn.functional.gelu)

    @overrides.wrap_torch_function(lambda a, b: (b,))
    def own(a, b):
        return a

    assert own(1, torch.ones(1).as_subclass(Said)) == ("own", (Said,)) and own(1, 2) == 1


def test_methods_that_are_no_ops_give_plain_tensors_to_a_class_that_answers() -> None:
    names: list[str] = []

    class Told(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            with torch._C.DisableTorchFunctionSubclass():
                found = func(*args, **(kwargs or {}))
            names.append(func.__name__)
            return found

    told = torch.ones(2).as_subclass(Told)
    plain = [told.detach(), told.data, told.view(torch.int32), told.new_tensor([1.0]), told.clone()]
    assert [type(t) for t in plain] == [torch.Tensor] * 5
    assert names == ["detach", "__get__", "view", "new_tensor", "clone"]

    class Quiet(torch.Tensor):
        pass

    quiet = torch.ones(2).as_subclass(Quiet)
    assert {type(t) for t in (quiet.detach(), quiet.view(torch.int32), quiet.new_tensor([1]))} == {Quiet}


def test_redispatch_function_goes_past_one_level() -> None:
    seen: list[str] = []

    class Logged(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            return torch.overrides.redispatch_function(func, types, args, kwargs)

    def scaled(a, b):
        if torch.overrides.has_torch_function((a, b)):
            return torch.overrides.handle_torch_function(scaled, (a, b), a, b)
        return a * b + 1

    x = torch.tensor([3.0]).as_subclass(Logged)
    result = scaled(x, x)
    assert (type(result), seen) == (torch.Tensor, ["scaled", "mul"])

    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            with self:
                return torch.overrides.redispatch_function(func, types, args, kwargs)

    seen.clear()
    a = torch.tensor([3.0])
    with Mode():
        scaled(a, a)
    assert seen == ["scaled", "mul", "add"]


class Parts(NamedTuple):
    value: torch.Tensor
    scale: float


class Rounded(Parts):
    """A tensor to its class, a tuple to Python: brevitas has such ones."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func.__name__, types


@pytest.mark.parametrize(
    "call",
    [
        lambda x, q: F.linear(x, q),
        lambda x, q: torch.add(q, x),
        lambda x, q: x + q,
        lambda x, q: x.matmul(q),
        lambda x, q: F.conv2d(x[None, None], q, None),
        lambda x, q: torch.cat([x, q]),
        lambda x, q: torch.reshape(q, (4,)),
        lambda x, q: torch.nn.Linear(2, 2)(q),
    ],
)
def test_a_named_tuple_may_take_an_op_over(call):
    _, types = call(torch.ones(2, 2), Rounded(torch.ones(2, 2), 2.0))
    assert types == (Rounded,)


def test_optimizers_step_within_a_mode():
    class Mode(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    p, q = (torch.nn.Parameter(torch.arange(4.0) + 1) for _ in range(2))
    of_p, of_q = torch.optim.AdamW([p]), torch.optim.AdamW([q])
    for _ in range(6):
        q.square().sum().backward()
        of_q.step()
        with Mode():
            p.square().sum().backward()
            of_p.step()
    assert torch.equal(p, q)


def test_classes_are_asked_in_the_order_of_arguments_derived_ones_first():
    asked = []

    def hear(cls, func, types, args=(), kwargs=None):
        asked.append(cls.__name__)
        return NotImplemented

    def derived_from(base, name):
        return type(name, (base,), {"__torch_function__": classmethod(hear)})

    base = derived_from(torch.Tensor, "Base")
    classes = {"b": base, "d": derived_from(base, "Derived"), "o": derived_from(torch.Tensor, "Other")}
    x = {name: torch.ones(2).as_subclass(cls) for name, cls in classes.items()}
    for first, second, wanted in (
        ("o", "d", ["Other", "Derived"]),
        ("d", "o", ["Derived", "Other"]),
        ("b", "d", ["Derived", "Base"]),
    ):
        asked.clear()
        with pytest.raises(TypeError):
            torch.mul(x[first], x[second])
        assert asked == wanted


class Taking(torch.Tensor):
    """Takes over whatever it is handed to."""

    calls: list = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.calls.append((func.__name__, tuple(map(type, args))))
        return -1


@pytest.mark.parametrize("index", [(5, "one"), ["one", "one"], "one"], ids=str)
def test_brackets_of_a_plain_tensor_are_taken_over_by_an_index(index):
    def made(item):
        return Taking() if item == "one" else item

    Taking.calls.clear()
    index = made(index) if isinstance(index, str) else type(index)(map(made, index))
    plain = torch.tensor([5])
    assert plain[index] == -1
    plain[index] = 1
    assert [name for name, _ in Taking.calls] == ["__getitem__", "__setitem__"]
    assert plain.tolist() == [5]


def test_default_leaves_unrelated_classes_alone():
    class One(torch.Tensor): ...

    class Other(torch.Tensor): ...

    class Lower(One): ...

    one, other, lower = (cls([5.0]) for cls in (One, Other, Lower))
    assert type(one + lower) is type(lower + one) is Lower
    with pytest.raises(TypeError, match="unsupported operand"):
        one + other
    with pytest.raises(TypeError, match="all __torch_function__ handlers returned NotImplemented"):
        torch.add(one, other)


def test_grad_tells_tuples():
    Taking.calls.clear()
    x = torch.ones(2).as_subclass(Taking)
    assert torch.autograd.grad(x, [x]) == -1
    assert Taking.calls == [("grad", (tuple, tuple))]


def test_callers_variables_are_let_go_of():
    class Handled(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return super().__torch_function__(func, types, args, kwargs)

    class Gone:
        told: list = []

        def __del__(self):
            self.told.append("gone")

    held, x = Gone(), torch.ones(2).as_subclass(Handled)
    torch.sum(x)
    torch.sum(x, 0, keepdim=True)
    del held
    assert Gone.told == ["gone"]
