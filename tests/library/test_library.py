"""torch.library's older spelling: a signature, and functions for dispatch keys."""

from __future__ import annotations

import copy
from collections.abc import Iterator

import pytest

import rushlight as torch
from rushlight.library import Library, define, fallthrough_kernel, get_kernel, impl

SCHEMA = "scaled(Tensor x, float by=2., *, int[] dims=[1, 2], Tensor? weight=None, bool flag=False) -> Tensor"
_number = iter(range(1000))


@pytest.fixture
def lib() -> Iterator[Library]:
    """A namespace of its own."""
    return Library(f"libtest{next(_number)}", "DEF")


def ops(lib: Library) -> object:
    """torch.ops.NAMESPACE."""
    return getattr(torch.ops, lib.ns)


def test_calls_bind_by_the_signature(lib: Library) -> None:
    seen = []
    assert lib.define(SCHEMA) == "scaled"

    def scaled(x: torch.Tensor, by: float = 2.0, **named: object) -> torch.Tensor:
        seen.append((by, named))
        return x * by

    with pytest.raises(NotImplementedError, match="from the 'CPU' backend"):
        ops(lib).scaled(torch.ones(2))
    lib.impl("scaled", scaled, "CPU")
    op = ops(lib).scaled
    assert op(torch.ones(2), 3.0, dims=[4]).tolist() == [3.0, 3.0] and op(x=torch.ones(1)).tolist() == [2.0]
    assert seen == [(3.0, {"dims": [4]}), (2.0, {})]
    assert str(op) == f"{lib.ns}.scaled" and repr(op) == f"<OpOverloadPacket(op='{lib.ns}.scaled')>"
    assert op.overloads() == ["default"] and op.default(torch.ones(1)).item() == 2.0
    for message, args, named in (
        ("type 'Tensor' for argument 'x' but instead found type 'str'", ("a",), {}),
        ("Unknown keyword argument 'nope' for operator", (torch.ones(1),), {"nope": 1}),
        ("is missing value for argument 'x'", (), {}),
    ):
        with pytest.raises(RuntimeError, match=message):
            op(*args, **named)
    with pytest.raises(AttributeError, match=f"'_OpNamespace' '{lib.ns}' object has no attribute 'other'"):
        ops(lib).other
    with pytest.raises(AttributeError, match="has no overload name 'out'"):
        op.out


def test_gradients_flow_through_the_function_or_by_its_own_formula(lib: Library) -> None:
    x = torch.tensor([3.0], requires_grad=True)
    lib.define("square(Tensor x) -> Tensor")
    lib.impl("square", lambda x: x * x)
    ops(lib).square(x).sum().backward()
    assert x.grad.item() == 6.0

    class Seven(torch.autograd.Function):
        @staticmethod
        def forward(ctx: object, x: torch.Tensor) -> torch.Tensor:
            return x * 3

        @staticmethod
        def backward(ctx: object, grad: torch.Tensor) -> torch.Tensor:
            return 7 * grad

    lib.define("seven(Tensor x) -> Tensor")
    lib.impl("seven", lambda x: x * 3, "CPU")
    lib.impl("seven", Seven.apply, "Autograd")
    x.grad = None
    ops(lib).seven(x).backward()
    assert x.grad.item() == 7.0
    define(f"{lib.ns}::numpys", "(Tensor x, *, float by=1.) -> Tensor")
    impl(f"{lib.ns}::numpys", "cpu", lambda x, by=1.0: torch.from_numpy(x.numpy() * by))
    torch.library.register_autograd(
        f"{lib.ns}::numpys",
        lambda ctx, grad: grad * ctx.by,
        setup_context=lambda ctx, inputs, keyword_only_inputs, output: setattr(
            ctx, "by", keyword_only_inputs["by"]
        ),
    )
    x.grad = None
    ops(lib).numpys(x, by=5.0).backward()
    assert x.grad.item() == 5.0


def test_meta_tensors_go_to_their_own_function(lib: Library) -> None:
    lib.define("twice(Tensor x) -> Tensor")
    lib.impl("twice", lambda x: x + x, "CPU")
    with pytest.raises(NotImplementedError, match="from the 'Meta' backend"):
        ops(lib).twice(torch.ones(3, device="meta"))
    torch.library.register_fake(f"{lib.ns}::twice", torch.empty_like)
    assert ops(lib).twice(torch.ones(3, device="meta")).shape == (3,)


def test_vmap_goes_by_a_rule(lib: Library) -> None:
    lib.define("double(Tensor x) -> Tensor")
    lib.impl("double", lambda x: x + x, "CompositeExplicitAutograd")
    found = torch.vmap(ops(lib).double)(torch.arange(4.0).reshape(2, 2))
    assert found.tolist() == [[0.0, 2.0], [4.0, 6.0]]

    @torch.library.register_vmap(f"{lib.ns}::double")
    def rule(info: object, in_dims: tuple[int, ...], x: torch.Tensor) -> tuple[torch.Tensor, int]:
        assert info.batch_size == 2 and in_dims == (0,)
        return x - x, 0

    assert torch.vmap(ops(lib).double)(torch.ones(2, 3)).tolist() == [[0.0] * 3] * 2


def test_a_call_takes_the_overload_that_fits(lib: Library) -> None:
    lib.define("copied.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", tags=torch.Tag.pt2_compliant_tag)
    lib.define("copied(Tensor x) -> Tensor")
    lib.impl("copied.out", lambda x, out: out.copy_(x), "CPU")
    lib.impl("copied", lambda x: x.clone(), "CPU")
    out = torch.zeros(2)
    assert ops(lib).copied(torch.ones(2), out=out) is out and out.tolist() == [1.0, 1.0]
    assert ops(lib).copied.overloads() == ["out", "default"]
    assert ops(lib).copied(torch.ones(1)) is not out


def test_decorators_and_what_is_refused(lib: Library) -> None:
    @define(lib, "one(Tensor x) -> Tensor")
    def one(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    lib.define("two(Tensor x) -> Tensor")

    @impl(lib, "two", "CPU")
    def two(x: torch.Tensor) -> torch.Tensor:
        return x + 2

    lib.impl("two", fallthrough_kernel, "Autograd")
    assert ops(lib).one(torch.zeros(())).item() == 1.0 and ops(lib).two(torch.zeros(())).item() == 2.0
    kernel = get_kernel(f"{lib.ns}::two", torch.DispatchKey.CPU)
    assert kernel.call_boxed(None, torch.zeros(())).item() == 2.0
    assert (
        get_kernel("aten::add.Tensor", "CPU").call_boxed(None, torch.ones(()), torch.ones(())).item() == 2.0
    )
    with pytest.raises(RuntimeError, match="operator aten::nothing does not exist"):
        get_kernel("aten::nothing", "CPU")
    with pytest.raises(RuntimeError, match="same name and overload name multiple times"):
        lib.define("two(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError, match="Tried to parse a function schema"):
        lib.define("three")
    with pytest.raises(RuntimeError, match="could not parse dispatch key: Nowhere"):
        lib.impl("two", two, "Nowhere")
    with pytest.raises(RuntimeError, match="Only a single TORCH_LIBRARY"):
        Library(lib.ns, "DEF")
    with pytest.raises(ValueError, match="Unsupported kind: OTHER"):
        Library(lib.ns, "OTHER")
    with pytest.raises(NotImplementedError, match="TorchFunctionMode"):
        Library("aten", "IMPL").impl("matmul", two, "CPU")
    with pytest.raises(TypeError, match="Input function is required to be a callable"):
        lib.impl("two", 2, "CPU")
    with pytest.raises(RuntimeError, match=r"\(aten\) in operator name does not match namespace"):
        lib.impl("aten::sin", two, "CPU")
    with pytest.raises(RuntimeError, match="already a kernel registered from python overriding two's"):
        lib.impl("two", two, "CPU", allow_override=False)
    with pytest.raises(RuntimeError, match="inconsistent with the dispatch key"):
        Library(lib.ns, "IMPL", "CPU").impl("two", two, "Meta")
    with pytest.raises(RuntimeError, match="inside of a TORCH_LIBRARY_IMPL block"):
        Library(lib.ns, "IMPL").define("three(Tensor x) -> Tensor")


def test_copies_of_ops_are_the_ops():
    @torch.library.custom_op("mylib::copied", mutates_args=())
    def copied(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    assert copy.copy(copied) is copied and copy.deepcopy([copied])[0] is copied
    assert copied._opoverload(torch.ones(1)).item() == 2 and copied._qualname == "mylib::copied"
    assert copied._init_fn.__name__ == "copied" and copied._init_fn(torch.ones(1)).item() == 2


def test_autocast_casts_arguments():
    @torch.library.custom_op("tests_autocast::mul", mutates_args=())
    def mul(x, y):
        return x * y

    torch.library.register_autocast("tests_autocast::mul", "cpu", torch.bfloat16)
    x = torch.ones(3)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert mul(x, x).dtype is torch.bfloat16
        assert mul(x.double(), x.double()).dtype is torch.float64
    assert mul(x, x).dtype is torch.float32
    with pytest.raises(RuntimeError, match="device type"):
        torch.library.register_autocast("tests_autocast::mul", "nowhere", torch.float16)


def test_modes_and_classes_hear_of_ops():
    from rushlight.utils._python_dispatch import TorchDispatchMode

    @torch.library.custom_op("tests_heard::double", mutates_args=())
    def double(x):
        return x * 2

    torch.library.register_autograd("tests_heard::double", lambda ctx, grad: grad * 2)
    heard = []

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            heard.append(str(func))
            return func(*args, **(kwargs or {}))

    x = torch.ones(3, requires_grad=True)
    with Mode():
        y = double(x)
    assert heard == ["tests_heard.double.default"]  # and not of what it is made of
    y.sum().backward()
    assert x.grad.tolist() == [2.0] * 3

    @torch.library.register_torch_dispatch("tests_heard::double", Mode)
    def ruled(mode, func, types, args, kwargs):
        assert isinstance(mode, Mode) and types == () and kwargs == {}
        return args[0] + 1

    with Mode():
        assert double(x).tolist() == [2.0] * 3
    assert heard == ["tests_heard.double.default"]
    assert double(x).tolist() == [2.0] * 3


def test_ops_of_tritons_kernels():
    @torch.library.triton_op("tests_triton::twice", mutates_args={})
    def twice(x):
        return x.sin() * 2

    x = torch.ones(3)
    assert torch.equal(twice(x), x.sin() * 2)
    with pytest.raises((ModuleNotFoundError, RuntimeError), match="triton"):
        torch.library.wrap_triton(len)


def test_sizes_that_depend_on_numbers_have_no_meta_function():
    with pytest.raises(RuntimeError, match="data-dependent output shape"):
        torch.library.get_ctx()


def test_a_scoped_library_takes_its_ops_back():
    for factor in (2, 3):
        with torch.library._scoped_library("scoped_here", "DEF") as library:
            library.define("times(Tensor x) -> Tensor")
            library.impl("times", lambda x, factor=factor: x * factor, "CPU")
            assert torch.ops.scoped_here.times(torch.ones(2)).tolist() == [factor] * 2
        with pytest.raises(AttributeError, match="times"):
            torch.ops.scoped_here.times(torch.ones(2))


def test_a_signature_may_name_its_library() -> None:
    lib = torch.library.Library("spaces", "DEF")
    lib.define("spaces::twice(Tensor x) -> Tensor")
    lib.impl("twice", lambda x: x * 2, "CPU")
    assert torch.ops.spaces.twice(torch.ones(2)).tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="does not match namespace"):
        lib.define("others::twice(Tensor x) -> Tensor")


def test_ops_go_with_the_library_that_defines_them():
    for _ in range(2):  # the second defines them again
        lib = torch.library.Library("goes_here", "FRAGMENT")
        torch.library.define("goes_here::one.tensor", "(Tensor x) -> Tensor", lib=lib)
        torch.library.define(
            "goes_here::one.int", "(Tensor x, int n) -> Tensor", lib=lib, tags=torch.Tag.pt2_compliant_tag
        )
        torch.library.impl("goes_here::one.tensor", "CompositeImplicitAutograd", torch.sin)
        torch.library.impl("goes_here::one.int", "CompositeImplicitAutograd", lambda x, n: x + n)
        assert torch.ops.goes_here.one(torch.zeros(1)).item() == 0
        assert torch.ops.goes_here.one(torch.zeros(1), 3).item() == 3
        assert torch.ops.goes_here.one.int.tags == [torch.Tag.pt2_compliant_tag]
        assert torch.ops.goes_here.one.tensor.tags == []
        del lib
        assert not hasattr(torch.ops.goes_here, "one")


def test_define_gives_the_name_as_it_was_written() -> None:
    own = Library("defined_names", "DEF")
    assert own.define("foo(Tensor x) -> Tensor") == "foo"
    assert own.define("foo.bar(Tensor x, int y) -> Tensor") == "foo"
    assert own.define("defined_names::baz(Tensor x) -> Tensor") == "defined_names::baz"


def test_what_a_library_has_given_goes_with_it(lib):
    """Its overloads alone, and its functions."""
    lib.define("twice(Tensor x) -> Tensor")
    more = Library(lib.ns, "FRAGMENT")
    more.impl("twice", lambda x: x * 2, "CPU")
    more.define("twice.by(Tensor x, Tensor y) -> Tensor")
    assert ops(lib).twice(torch.ones(1)).tolist() == [2.0]
    assert ops(lib).twice.overloads() == ["default", "by"]
    more._destroy()
    assert ops(lib).twice.overloads() == ["default"]
    with pytest.raises(NotImplementedError, match="Could not run"):
        ops(lib).twice(torch.ones(1))


def test_whether_there_is_a_function_for_a_key():
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    assert has("aten::add.Tensor", "CPU")
    with pytest.raises(RuntimeError, match="aten::nothing does not exist"):
        has("aten::nothing", "CPU")
    assert torch.Tag.core.value == 0


def test_sets_of_dispatch_keys():
    from rushlight import _C

    keys = torch.library.DispatchKey
    some = _C.DispatchKeySet(keys.CPU).add(keys.Meta)
    assert (
        some.has(keys.CPU)
        and not some.has(keys.CUDA)
        and some.remove(keys.Meta) == _C.DispatchKeySet(keys.CPU)
    )
    assert not _C._dispatch_tls_local_exclude_set().has(keys.Python)


def test_an_overload_by_its_name():
    @torch.library.custom_op("tests_overloads::scaled.twice", mutates_args=())
    def twice(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @torch.library.custom_op("tests_overloads::scaled", mutates_args=())
    def scaled(x: torch.Tensor, by: int) -> torch.Tensor:
        return x * by

    twice.register_autograd(lambda ctx, grad: grad * 7)
    x, op = torch.ones(2, requires_grad=True), torch.ops.tests_overloads.scaled
    assert twice(x).tolist() == op.twice(x).tolist() == op(x).tolist() == [2, 2]
    assert scaled(x, 3).tolist() == op(x, 3).tolist() == [3, 3]
    assert str(op.twice._schema) == "tests_overloads::scaled.twice(Tensor x) -> Tensor"
    twice(x).sum().backward()
    assert x.grad.tolist() == [7, 7]
