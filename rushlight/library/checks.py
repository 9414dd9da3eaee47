"""torch.library.opcheck: whether an op does what its registration says."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import rushlight as torch
from rushlight._engine.core.pytree import flatten
from rushlight.library.below import CONTEXT

_UTILS = (
    "test_schema",
    "test_autograd_registration",
    "test_faketensor",
    "test_aot_dispatch_static",
    "test_aot_dispatch_dynamic",
)
_DEFAULT = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")


class OpCheckError(Exception):
    """A check of opcheck failed."""


def _copied(tree: Any) -> Any:
    leaves, spec = flatten(tree)
    return spec.unflatten(
        [
            x.detach().clone().requires_grad_(x.requires_grad) if isinstance(x, torch.Tensor) else x
            for x in leaves
        ]
    )


def _tensors(tree: Any) -> list[torch.Tensor]:
    return [x for x in flatten(tree)[0] if isinstance(x, torch.Tensor)]


def _named(op: Any, args: Any, kwargs: Any) -> dict[str, Any]:
    """The arguments by their names."""
    schema = getattr(op, "_schema", None)
    names = [p.name for p in schema.arguments] if schema else list(op._signature.parameters)
    return {**dict(zip(names, args, strict=False)), **kwargs}


def _written(op: Any) -> set[str]:
    """The names of arguments that the op says it writes to; "unknown" stands for all."""
    schema, written = getattr(op, "_schema", None), set(getattr(op, "_mutates", ()))
    return written | {p.name for p in schema.arguments if p.is_written} if schema else written


def _schema(op: Any, args: Any, kwargs: Any, **tolerance: Any) -> None:
    """Only what may be written to is written to, and results are tensors of their own."""
    given, written = _tensors((args, kwargs)), _written(op)
    before = {
        name: [(x, x.detach().clone()) for x in _tensors(value)]
        for name, value in _named(op, args, kwargs).items()
        if name not in written and "unknown" not in written
    }
    found = op(*args, **kwargs)
    for name, several in before.items():
        if not all(torch.allclose(old, x.detach(), equal_nan=True) for x, old in several):
            raise RuntimeError(f"Argument {name} is not defined as mutable but was mutated")
    if not hasattr(op, "_signature"):
        return  # an op of PyTorch's own may be a view
    memory = {x.untyped_storage().data_ptr() for x in given if x.numel()}
    for result in _tensors(found):
        if result.numel() and result.untyped_storage().data_ptr() in memory:
            raise RuntimeError(
                f"{op}: The output of this custom operator must not also be an input to this custom operator "
                "and may not alias any inputs to this custom operator: return a clone of it"
            )


def _autograd_registration(op: Any, args: Any, kwargs: Any, **tolerance: Any) -> None:
    """Gradients come by the op's own formula: results are nodes of the graph where inputs are."""
    if not any(x.requires_grad for x in _tensors((args, kwargs))):
        return
    for result in _tensors(op(*args, **kwargs)):
        if not result.requires_grad and result.is_floating_point():
            raise RuntimeError(
                f"{op} was called with tensors that require grad, and its result does not: "
                "torch.library.register_autograd gives it a formula"
            )


def _faketensor(op: Any, args: Any, kwargs: Any, **tolerance: Any) -> None:
    """On the meta device the op gives what it gives on the CPU, but for values."""
    real = _tensors(op(*_copied(args), **_copied(kwargs)))
    unregistered = (
        f"There was no fake impl registered for {op}. This is necessary for torch.export and the meta "
        "device. Please use `register_fake` to add a fake impl."
    )
    if real and getattr(op, "_opaque", False) and "Meta" not in op._kernels:
        raise RuntimeError(unregistered)
    try:
        fake, again = (_on_meta(op, args, kwargs, size) for size in _UNKNOWN)
    except NotImplementedError as error:
        raise RuntimeError(unregistered) from error
    if len(fake) != len(real):
        raise RuntimeError(f"{op} gives {len(real)} tensors, and on the meta device {len(fake)}")
    for ours, other, theirs in zip(fake, again, real, strict=True):
        # Sizes that are not the same again depend on numbers: they are what they are.
        known = [a == b for a, b in zip(ours.shape, other.shape, strict=True)]
        whats = ("shape", "dtype", "stride") if all(known) else ("shape", "dtype")
        for what in whats:
            a, b = (getattr(x, what)() if what == "stride" else getattr(x, what) for x in (theirs, ours))
            if what == "shape" and len(a) == len(b):
                b = torch.Size([n if same else m for m, n, same in zip(a, b, known, strict=True)])
            if a != b:
                raise RuntimeError(
                    f"When comparing the output of {op} on FakeTensor and concrete Tensors, found mismatched "
                    f"tensor metadata: {what} {a} and {b} are not equal!"
                )


# What sizes that depend on tensors' numbers are taken for, one after the other.
_UNKNOWN = (4099, 8209)


class _Sizes:
    """What a function of register_fake is given to ask for sizes that depend on numbers."""

    def __init__(self, first: int) -> None:
        self._numbers = itertools.count(first)

    def new_dynamic_size(self, *, min: int = 0, max: int | None = None) -> int:
        """Another size than any before."""
        return next(self._numbers)

    create_unbacked_symint = new_dynamic_size


def _on_meta(op: Any, args: Any, kwargs: Any, unknown: int) -> list[torch.Tensor]:
    """The op's results on the meta device."""
    leaves, spec = flatten((args, kwargs))
    away = [x.detach().to("meta") if isinstance(x, torch.Tensor) else x for x in leaves]
    given, named = spec.unflatten(away)
    token = CONTEXT.set(_Sizes(unknown))
    try:
        return _tensors(op(*given, **named))
    finally:
        CONTEXT.reset(token)


def _compiled(op: Any, args: Any, kwargs: Any, **tolerance: Any) -> None:
    """compile() gives the results and gradients of a plain call."""

    def run(call: Callable[..., Any]) -> list[Any]:
        given = _copied((args, kwargs))
        found = _tensors(call(*given[0], **given[1]))
        wanted = [x for x in _tensors(given) if x.requires_grad]
        tracked = [x.sum() for x in found if x.requires_grad]
        grads = torch.autograd.grad(tracked, wanted, allow_unused=True) if tracked and wanted else ()
        return [*[x.detach() for x in found], *grads]

    def call(*args: Any, **kwargs: Any) -> Any:
        return op(*args, **kwargs)

    torch.testing.assert_close(run(torch.compile(call)), run(call), **tolerance)


_CHECKS: dict[str, Callable[..., None]] = {
    "test_schema": _schema,
    "test_autograd_registration": _autograd_registration,
    "test_faketensor": _faketensor,
    "test_aot_dispatch_static": _compiled,
    "test_aot_dispatch_dynamic": _compiled,
}


def opcheck(
    op: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    test_utils: str | Sequence[str] = _DEFAULT,
    raise_exception: bool = True,
    atol: float | None = None,
    rtol: float | None = None,
) -> dict[str, Any]:
    """Check an op's registration on sample arguments: {name of the check: "SUCCESS" or what was raised}.

    test_utils: "test_schema" (it writes to what mutates_args names, and nothing else; results are tensors of
    their own), "test_autograd_registration", "test_faketensor" (the function of register_fake agrees with the
    op), "test_aot_dispatch_dynamic" and "..._static" (compiled, it gives the same results and gradients, to
    atol and rtol). Errors: OpCheckError at the first check that fails, unless raise_exception is False;
    ValueError for another name, or for what is no op.
    """
    names = (test_utils,) if isinstance(test_utils, str) else tuple(test_utils)
    if not set(names) <= set(_UTILS):
        raise ValueError(
            f"opcheck(op, ..., test_utils={names}), expected test_utils to be subset of {_UTILS} but it "
            "was not"
        )
    op = getattr(op, "_opoverload", op)
    if not hasattr(op, "_signature") and not hasattr(op, "_schema"):
        raise ValueError(
            "opcheck(op, ...): op must be instance of torch._ops.OpOverload, e.g. torch.ops.aten.sin.default,"
            f" got {type(op)}"
        )
    found: dict[str, Any] = {}
    for name in names:
        given = _copied((args, kwargs or {}))
        try:
            _CHECKS[name](op, *given, atol=atol, rtol=rtol)
            found[name] = "SUCCESS"
        except Exception as error:
            if raise_exception:
                raise OpCheckError(f"opcheck(op, ...): {name} failed with {error}") from error
            found[name] = error
    return found
