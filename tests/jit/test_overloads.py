"""Functions for which signatures are declared (torch.jit._overload): a call chooses by its arguments."""

import io
from typing import Optional

import pytest

import rushlight as torch
from rushlight import Tensor


@torch.jit._overload
def scaled(x, y, k=3):
    # type: (Tensor, int, int) -> Tensor
    pass


@torch.jit._overload
def scaled(x, y, k=3):  # noqa: F811
    # type: (Tensor, Optional[Tensor], int) -> tuple[Tensor, Optional[Tensor]]
    pass


def scaled(  # noqa: F811
    x: Tensor, y: int | Optional[Tensor] = None, k: int = 3
) -> Tensor | tuple[Tensor, Optional[Tensor]]:
    if isinstance(y, int):
        return x * y + k
    return x + k, y


@torch.jit._overload
def doubled(x: int) -> int: ...


@torch.jit._overload
def doubled(x: str) -> str: ...  # noqa: F811


def doubled(x):  # noqa: F811
    return x + x


@torch.jit._overload
def other(y: int) -> int: ...


def other(x):  # noqa: F811
    return x


@torch.jit._overload
def longer(x: int, y: int) -> int: ...


def longer(x):  # noqa: F811
    return x


class Calls(torch.nn.Module):
    def forward(self, x: Tensor):
        a = scaled(x, 2)
        b, c = scaled(x, x)
        d, e = scaled(x, k=5)
        return a, b, c, d, e is None, doubled(2), doubled("a")


def test_a_call_chooses_and_files_keep_it():
    x = torch.ones(2)
    scripted = torch.jit.script(Calls())
    file = io.BytesIO()
    torch.jit.save(scripted, file)
    file.seek(0)
    for module in (Calls(), scripted, torch.jit.load(file)):
        a, b, c, d, *rest = module(x)
        assert [t.tolist() for t in (a, b, c, d)] == [[5, 5], [4, 4], [1, 1], [6, 6]]
        assert rest == [True, 4, "aa"]


def test_it_is_not_compiled_alone():
    with pytest.raises(RuntimeError, match="cannot be directly compiled because it is overloaded"):
        torch.jit.script(doubled)


def test_declarations_are_those_of_the_function():
    def of_other():
        return other(1)

    def of_longer():
        return longer(1, 2)

    with pytest.raises(RuntimeError, match="must have the same names. Found y and x on argument 0"):
        torch.jit.script(of_other)
    with pytest.raises(RuntimeError, match="should not have more parameters than implementation"):
        torch.jit.script(of_longer)


def given(n: Optional[int]) -> int:
    return 0 if n is None else n


def of_rest(n: Optional[tuple[int, int]]) -> int:
    if isinstance(n, (tuple, list)):
        return n[0]
    return given(n)


def test_what_is_no_tuple_is_none():
    scripted = torch.jit.script(of_rest)
    assert [scripted(None), scripted((4, 5))] == [0, 4]


class Over(torch.nn.Module):
    @torch.jit._overload_method
    def forward(self, x: tuple[Tensor, Tensor]) -> Tensor: ...

    @torch.jit._overload_method
    def forward(self, x: Tensor) -> Tensor: ...  # noqa: F811

    def forward(self, x):  # noqa: F811
        return x + 20 if isinstance(x, Tensor) else x[0] + 5

    @torch.jit._overload_method
    def times(self, x: Tensor, k: int) -> Tensor: ...

    @torch.jit._overload_method
    def times(self, x: int, k: int) -> int: ...  # noqa: F811

    def times(self, x, k):  # noqa: F811
        return x * k

    @torch.jit.export
    def own(self, x: Tensor):
        return self.times(x, 1) + self.times(x, 2) + self.times(3, 1)


class Around(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.over = Over()

    def forward(self, x: Tensor) -> Tensor:
        return self.over(x) + self.over((x, x)) + self.over.own(x) + self.over.times(4, 1)


class Wrong(Around):
    def forward(self, x: Tensor):
        return self.over(3)


def test_methods() -> None:
    x = torch.ones(1)
    module = torch.jit.script(Around())
    assert module(x).tolist() == [37.0]
    calls = "_0 = (over).forward__1(x, )"
    assert calls in module.code and "(over0).forward__0((x, x), )" in module.code
    stream = io.BytesIO()
    torch.jit.save(module, stream)
    stream.seek(0)
    assert torch.jit.load(stream)(x).tolist() == [37.0]
    alone = torch.jit.script(Over())
    assert alone.forward__0((x, x)).tolist() == [6.0] and alone.own(x).tolist() == [6.0]
    assert not hasattr(alone, "times")


def test_no_method_fits() -> None:
    with pytest.raises(RuntimeError) as told:
        torch.jit.script(Wrong())
    message = str(told.value)
    assert "The following variants are available:\n  \n  forward__0(__torch__." in message
    assert "Expected a value of type 'Tuple[Tensor, Tensor]' for argument 'x' but instead found" in message
    assert "Expected a value of type 'Tensor' for argument 'x' but instead found type 'int'.\n" in message


def test_methods_that_are_not_declared_well() -> None:
    class Untyped(torch.nn.Module):
        @torch.jit._overload_method
        def forward(self, x): ...

        def forward(self, x):  # noqa: F811
            return x

    class Missing(torch.nn.Module):
        @torch.jit._overload_method
        def forward(self, x: int) -> int: ...

    with pytest.raises(RuntimeError, match=r"Must explicitly add type annotations .*\.forward"):
        torch.jit.script(Untyped())
    with pytest.raises(RuntimeError, match="Implementation for the method .* is missing"):
        torch.jit.script(Missing())
    with pytest.raises(RuntimeError, match="in two different classes with the same name"):

        class Over(torch.nn.Module):
            @torch.jit._overload_method
            def forward(self, x: int) -> int: ...


def test_what_has_several_forwards_or_none_has_no_forward() -> None:
    class Exporting(torch.nn.Module):
        @torch.jit.export
        def own(self, n: int) -> int:
            return n

    for module in (torch.jit.script(Over()), torch.jit.script(Exporting()), torch.jit.ScriptModule()):
        assert not hasattr(module, "forward")
        with pytest.raises(AttributeError, match="object has no attribute 'forward'"):
            module(1)


class Ignoring(torch.nn.Module):
    @torch.jit._overload_method
    def times(self, x: int) -> int: ...

    @torch.jit._overload_method
    def times(self, x: Tensor) -> Tensor: ...  # noqa: F811

    @torch.jit.ignore
    def times(self, x):  # noqa: F811
        return x * 2

    def forward(self, x: Tensor, n: int) -> Tensor:
        return self.times(x) + self.times(n)


def test_signatures_of_what_stays_python() -> None:
    assert torch.jit.script(Ignoring())(torch.ones(1), 3).tolist() == [8.0]


class Redeclared(torch.nn.Module):
    @torch.jit._overload_method
    def forward(self, x: int) -> int: ...

    def forward(self, x):  # noqa: F811
        return x


class Redeclared(torch.nn.Module):  # type: ignore[no-redef]  # noqa: F811
    def forward(self, x: Tensor) -> Tensor:
        return x


@torch.jit._overload_method
def in_no_class(self, x: int) -> int: ...


def test_declarations_are_of_the_class_that_they_are_in() -> None:
    with pytest.raises(AssertionError, match="redeclared within the same file"):
        torch.jit.script(Redeclared())


class Recursive(torch.nn.Module):
    @torch.jit._overload_method
    def product(self, n: int) -> int: ...

    def product(self, n):  # noqa: F811
        return 1 if n < 2 else n * self.product(n - 1)

    def plain(self, n: int) -> int:
        return 1 if n < 2 else n * self.plain(n - 1)

    @torch.jit.export
    def own(self, n: int) -> int:
        return self.plain(n)


def recursive(n: int) -> int:
    return 1 if n < 2 else n * recursive(n - 1)


def test_recursive_calls_are_refused_where_the_result_is_said() -> None:
    class Plain(Recursive):
        def forward(self, n: int) -> int:
            return self.own(n)

    for made, told in (
        (Recursive(), "method 'product__0'"),
        (Plain(), "method 'plain'"),
        (recursive, "function 'recursive'"),
    ):
        with pytest.raises(RuntimeError, match=f" {told} is called recursively"):
            torch.jit.script(made)
