"""gradcheck: gradients against finite differences."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, NamedTuple

from rushlight._engine.autograd.engine import grad as _grad
from rushlight._engine.autograd.node_classes import UndefinedGrad
from rushlight._engine.core.callers import warn
from rushlight._engine.core.promotion import promote_types
from rushlight._engine.tensors.generator import Generator
from rushlight._engine.tensors.geometry import strided
from rushlight._engine.tensors.tensor import Tensor
from rushlight.autograd.jacobians import (
    GradcheckError,
    Matrix,
    alike,
    along,
    analytical,
    as_tuple,
    backwards,
    continuous,
    dense,
    entry,
    forwards,
    numerical,
    ops,
    tangents,
    tracked,
    units,
    zeros,
)

__all__ = [
    "GradcheckError",
    "get_analytical_jacobian",
    "get_numerical_jacobian",
    "gradcheck",
    "gradgradcheck",
]
_UNDEFINED = (
    'Please look at "Notes about undefined output gradients" in '
    '"tools/autograd/derivatives.yaml": a backward may get None, or zeros'
)
_BATCHED = "gradcheck or gradgradcheck failed while testing batched gradient computation."
_FORWARD = "gradcheck failed while testing batched gradient computation with forward-mode AD."
_FAST = (
    "\nThe above quantities relating the numerical and analytical jacobians are computed \nin fast "
    "mode: they are v J u of random u and v. fast_mode=False compares element by element."
)


class Options(NamedTuple):
    """How closely to look."""

    eps: float
    atol: float
    rtol: float
    nondet_tol: float
    dtypes: bool
    undefined: bool
    fast: bool


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Whether func's gradients equal finite differences; inputs should be float64.

    nondet_tol: how far two backward runs may lie apart. fast_mode: compare one random combination of the
    Jacobian's elements instead of each (of complex functions, all are compared). check_undefined_grad:
    backward and forward mode without some of the gradients, too. check_grad_dtypes: gradients have their
    inputs' dtypes. check_batched_grad, check_batched_forward_grad: under vmap, too. masked: accepted; of
    sparse inputs, the specified elements are compared. Errors: GradcheckError, or False without
    raise_exception; ValueError where no input requires a gradient, AssertionError for checks that need
    another one and for results whose shapes depend on values, RuntimeError for an input with a stride of 0.
    """
    _check_choices(check_backward_ad, check_forward_ad, check_batched_grad, check_batched_forward_grad)
    options = Options(eps, atol, rtol, nondet_tol, check_grad_dtypes, check_undefined_grad, fast_mode)
    try:
        inputs = as_tuple(inputs)
        _check_inputs(inputs)
        found = func(*inputs)
        outputs = tracked(as_tuple(found))
        if any(o.layout is not strided for o in outputs):
            raise ValueError(
                "Sparse output is not supported at gradcheck yet. Please call "
                "to_dense(masked_grad=...) on the output of fn for gradcheck."
            )
        if check_backward_ad:
            _by_backward(func, inputs, as_tuple(found), options)
        if check_forward_ad:
            _by_forward(func, inputs, options)
        if check_batched_forward_grad:
            _check_batched_forward(func, inputs)
        if check_backward_ad:
            for o in outputs if check_batched_grad else ():
                _check_batched(o, tracked(inputs))
            _check_zeros(outputs, tracked(inputs))
            if check_undefined_grad:
                _check_undefined(func, inputs)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _check_choices(backward: bool, forward: bool, batched: bool, batched_forward: bool) -> None:
    if not (forward or backward):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    for name, chosen, other, needed in (
        ("check_batched_grad", batched, "check_backward_ad", backward),
        ("check_batched_forward_grad", batched_forward, "check_forward_ad", forward),
    ):
        if chosen and not needed:
            raise AssertionError(f"Setting {name}=True requires {other} to be True")


def _check_inputs(inputs: tuple[Any, ...]) -> None:
    for i, t in enumerate(inputs):
        if not isinstance(t, Tensor) or not t.requires_grad:
            continue
        if t.dtype.name not in ("float64", "complex128"):
            warn(
                f"Input #{i} requires gradient and is not a double precision floating point or "
                "complex. This check will likely fail if all the inputs are not of double "
                "precision floating point or complex. "
            )
        if t.layout is strided and any(st == 0 and n > 1 for st, n in zip(t.stride(), t.shape, strict=True)):
            raise RuntimeError(
                f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs that are "
                "non-overlapping to be able to compute the numerical gradients correctly. You should call "
                ".contiguous on the input before passing it to gradcheck."
            )
    if not tracked(inputs):
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them "
            "have requires_grad=True."
        )


# --- comparing ----------------------------------------------------------------------------------------


def _close(a: Matrix, b: Matrix, rtol: float, atol: float) -> bool:
    common = promote_types(a.dtype, b.dtype)
    return bool(ops.allclose(a.to(common), b.to(a.device, common), rtol, atol, equal_nan=True))


def _disagree(i: int, j: int, expected: Matrix, found: Matrix, part: str, forward: bool, fast: bool) -> Any:
    what = "computed with forward mode " * forward
    side = "inputs" if forward else "outputs"
    where = f"While considering the {part} part of complex {side} only, " * bool(part)
    raise GradcheckError(
        f"{where}Jacobian {what}mismatch for output {i} with respect to input {j},\n"
        f"numerical:{expected}\nanalytical:{found}\n" + _FAST * fast
    )


def _by_backward(func: Any, inputs: tuple[Any, ...], found: tuple[Any, ...], options: Options) -> None:
    """Backward against differences; of complex results, of both parts."""
    if not any(isinstance(o, Tensor) and o.is_complex() for o in found):
        return _backward_part(func, inputs, "", [], options)
    outputs = tracked(found)
    for part in ("imag", "real"):

        def one(*given: Any, part: str = part) -> tuple[Any, ...]:
            return tuple(
                getattr(o, part) if isinstance(o, Tensor) and o.is_complex() else o
                for o in as_tuple(func(*given))
            )

        _backward_part(
            one,
            inputs,
            "imaginary" if part == "imag" else part,
            [i for i, o in enumerate(outputs) if o.is_complex()],
            options,
        )
    return None


def _backward_part(
    func: Any, inputs: tuple[Any, ...], part: str, parted: list[int], options: Options
) -> None:
    outputs, targets = tracked(as_tuple(func(*inputs))), tracked(inputs)
    if not outputs:
        for x in targets:
            if any(bool(ops.any(m != 0)) for m in numerical(func, inputs, x, options.eps)):
                raise GradcheckError("Numerical gradient for function expected to be zero")
        return
    compare = _fast if options.fast and not part and not any(t.is_complex() for t in targets) else _slow
    compare(func, inputs, outputs, targets, lambda i: part if i in parted else "", options)


def _slow(
    func: Any, inputs: Any, outputs: list[Tensor], targets: list[Tensor], part: Any, options: Options
) -> None:
    def differentiable(*given: Any) -> list[Tensor]:
        return tracked(as_tuple(func(*given)))

    expected = [numerical(differentiable, inputs, x, options.eps) for x in targets]
    for i, o in enumerate(outputs):
        found = analytical(o, targets, units(o), options.nondet_tol, options.dtypes)
        for j, a in enumerate(found):
            if not _close(a, expected[j][i], options.rtol, options.atol):
                _disagree(i, j, expected[j][i], a, part(i), False, False)


def _direction(like: Tensor, generator: Any) -> Tensor:
    """A random direction of length 1 with positive components."""
    drawn = ops.rand(like.numel(), generator=generator, dtype=like.dtype).to(like.device)
    return (drawn / drawn.norm()).reshape(like.shape) if like.numel() else drawn.reshape(like.shape)


def _fast(
    func: Any, inputs: Any, outputs: list[Tensor], targets: list[Tensor], part: Any, options: Options
) -> None:
    draws = Generator().manual_seed(0)
    seeds = [_direction(o, draws) for o in outputs]
    rows = [
        analytical(o, targets, [v], options.nondet_tol, options.dtypes)
        for o, v in zip(outputs, seeds, strict=True)
    ]

    def differentiable(*given: Any) -> list[Tensor]:
        return tracked(as_tuple(func(*given)))

    for j, x in enumerate(targets):
        part_of, places = entry(x)
        u = _direction(part_of, draws)
        slope = along(differentiable, inputs, part_of, u, options.eps)
        for i, (v, s) in enumerate(zip(seeds, slope, strict=True)):
            row = rows[i][j][:, 0]
            found = ((row if places is None else row[places]) * u.reshape(-1)).sum()
            expected = (s * v.reshape(-1)).sum()
            # What the differences' rounding adds up to over all elements, as PyTorch allows for.
            atol = options.atol * max(float(u.sum()) * float(v.sum()), 1)
            if not _close(found, expected, options.rtol, atol):
                _disagree(i, j, expected, found, "", False, True)


def _by_forward(func: Any, inputs: tuple[Any, ...], options: Options) -> None:
    """Forward mode against differences; of complex inputs, by both parts."""
    places = [i for i, t in enumerate(inputs) if isinstance(t, Tensor) and t.requires_grad and t.is_complex()]
    if not places:
        return _forward_part(func, inputs, "", options)
    for part in ("imag", "real"):

        def one(*given: Any, part: str = part) -> Any:
            values = list(given)
            for i in places:
                whole = inputs[i].detach()
                values[i] = given[i] + whole.imag * 1j if part == "real" else whole.real + given[i] * 1j
            return func(*values)

        split = tuple(
            getattr(t.detach(), part).clone().requires_grad_() if i in places else t
            for i, t in enumerate(inputs)
        )
        _forward_part(one, split, "imaginary" if part == "imag" else part, options)
    return None


def _forward_part(func: Any, inputs: tuple[Any, ...], part: str, options: Options) -> None:
    outputs = continuous(func(*inputs))
    for j, (place, zero) in enumerate(zeros(inputs).items()):
        x = inputs[place]
        if options.fast and not part and not any(o.is_complex() for o in outputs):
            seeds = [_direction(zero, Generator().manual_seed(0))]
            expected = [s[None] for s in along(func, inputs, entry(x)[0], seeds[0], options.eps)]
        else:
            seeds, expected = units(zero), numerical(func, inputs, x, options.eps)
        found = forwards(func, inputs, place, seeds, outputs, options.dtypes)
        for i, (a, e) in enumerate(zip(found, expected, strict=True)):
            if not _close(a, e, options.rtol, options.atol):
                _disagree(i, j, e, a, part, True, False)
    if options.undefined:
        _check_undefined_forward(func, inputs)


# --- what else is to hold -----------------------------------------------------------------------------


def _check_undefined_forward(func: Any, inputs: tuple[Any, ...]) -> None:
    """A tangent of zeros, and none at all, give the same."""
    draws = Generator().manual_seed(0)
    given = {i: _direction(z, draws) for i, z in zeros(inputs).items()}
    for place, zero in zeros(inputs).items():
        both = [tangents(func, inputs, {**given, place: t}) for t in (zero, None)]
        for number, (a, b) in enumerate(zip(*both, strict=True)):
            if a is not None and b is not None and not ops.allclose(a, b):
                raise GradcheckError(
                    f"Mismatch in tangent values for output with index: {number} when input: {inputs[place]} "
                    f"has an undefined tangent value.  Got: {a} but expected: {b}"
                )


def _check_zeros(outputs: list[Tensor], targets: list[Tensor]) -> None:
    """Gradients of zeros give zeros, of the inputs' layout and dtype."""
    found = (
        _grad(
            outputs,
            targets,
            [ops.zeros_like(o.detach()) for o in outputs],
            retain_graph=True,
            allow_unused=True,
        )
        if outputs
        else ()
    )
    for g, t in zip(found, targets, strict=False):
        if g is None:
            continue
        if g.layout is not strided:
            if g.layout is not t.layout:
                raise GradcheckError(f"grad is incorrect layout ({g.layout} is not {t.layout})")
            for dims in ("sparse_dim", "dense_dim"):
                a, b = (getattr(s, dims)() for s in (g, t))
                if a != b:
                    raise GradcheckError(f"grad is sparse tensor, but has incorrect {dims} {a}, expected {b}")
        if bool(ops.any(dense(g) != 0)):
            raise GradcheckError("backward not multiplied by grad_output")
        if g.dtype is not t.dtype:
            raise GradcheckError("grad is incorrect type")
        if g.shape != t.shape:
            raise GradcheckError("grad is incorrect size")


def _check_undefined(func: Any, inputs: tuple[Any, ...]) -> None:
    """Backward with no gradient of any result, and of each in turn, gives zeros or none."""
    targets, count = tracked(inputs), len(tracked(as_tuple(func(*inputs))))
    each = [range(i, i + 1) for i in range(count)] if count > 1 else []
    for missing in [range(count), *each] if count else []:
        outputs = [
            UndefinedGrad()(o) if i in missing else o for i, o in enumerate(tracked(as_tuple(func(*inputs))))
        ]
        try:
            found = _grad(outputs, targets, [ops.zeros_like(o.detach()) for o in outputs], allow_unused=True)
        except RuntimeError as error:
            _warn_of_feature()
            raise GradcheckError(
                "Expected backward function to handle undefined output grads. " + _UNDEFINED
            ) from error
        if any(g is not None and bool(ops.any(dense(g) != 0)) for g in found):
            _warn_of_feature()
            raise GradcheckError(
                "Expected all input grads to be undefined or zero when all output grads are "
                "undefined or zero. " + _UNDEFINED
            )


def _warn_of_feature() -> None:
    warn(
        "Backwards compatibility: New undefined gradient support checking feature is enabled by default, "
        "but it may break existing callers of this function. If this is true for you, you can call this "
        'function with "check_undefined_grad=False" to disable the feature',
        UserWarning,
    )


def _check_batched(output: Tensor, targets: list[Tensor]) -> None:
    """A batch of gradients by vmap, against one after the other."""

    def back(seed: Tensor) -> tuple[Any, ...]:
        found = _grad([output], targets, [seed], retain_graph=True, allow_unused=True)
        return tuple(
            ops.zeros((), dtype=t.dtype).expand(t.shape) if g is None else g
            for g, t in zip(found, targets, strict=True)
        )

    _compare_batched(back, output, _BATCHED)


def _check_batched_forward(func: Any, inputs: tuple[Any, ...]) -> None:
    """The same of tangents."""
    for place in zeros(inputs):
        outputs = continuous(func(*inputs))

        def ahead(seed: Tensor, place: int = place, outputs: list[Tensor] = outputs) -> tuple[Any, ...]:
            found = tangents(func, inputs, {place: seed})
            return tuple(
                ops.zeros((), dtype=o.dtype).expand(o.shape) if t is None else t
                for t, o in zip(found, outputs, strict=True)
            )

        _compare_batched(ahead, inputs[place], _FORWARD)


def _compare_batched(run: Callable[..., Any], like: Tensor, what: str) -> None:
    """run(seed) of two seeds at once, by vmap, against one after the other."""
    draws = Generator().manual_seed(0)
    seeds = [ops.randn(like.shape, generator=draws, dtype=like.dtype).to(like.device) for _ in range(2)]
    single = [run(seed) for seed in seeds]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="There is a performance drop")
        try:
            together = import_module("rushlight._vmap_internals")._vmap(run)(ops.stack(seeds))
        except RuntimeError as error:
            raise GradcheckError(f"While computing batched gradients, got: {error}\n\n{what}") from error
    for number, (found, *each) in enumerate(zip(together, *single, strict=True)):
        expected = ops.stack([dense(e) for e in each])
        if not _close(found, expected, 1e-5, 1e-8):
            raise GradcheckError(f"For input {number}:\n\n{what}\n\nGot:\n{found}\n\nExpected:\n{expected}")


# --- of the gradients, and Jacobians by themselves ------------------------------------------------------


def _uniform(like: Tensor, apart: bool) -> Tensor:
    """Numbers of [-1, 1), drawn as torch.testing.make_tensor does; `apart` from each other in memory."""
    t = like.detach().new_empty(like.shape)
    (t.view_as_real() if t.is_complex() else t).uniform_(-1, 1)
    return (t.repeat_interleave(2, -1)[..., ::2] if apart and t.numel() > 1 else t).requires_grad_()


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """gradcheck of the gradients themselves, by gradients of the results that are given, or drawn."""
    inputs = as_tuple(inputs)
    if grad_outputs is None:
        seeds = [_uniform(o, gen_non_contig_grad_outputs) for o in tracked(as_tuple(func(*inputs)))]
    else:
        seeds = list(as_tuple(grad_outputs))
    count = len(inputs)
    follows = [isinstance(v, Tensor) and v.requires_grad for v in (*inputs, *seeds)]

    def gradients(*values: Any) -> Any:
        # Forward mode hands over detached inputs.
        given = [
            v.requires_grad_() if f and not v.requires_grad else v
            for v, f in zip(values, follows, strict=True)
        ]
        targets = [v for v, f in zip(given[:count], follows, strict=False) if f]
        results = tracked(as_tuple(func(*given[:count])))
        found = _grad(results, targets, given[count:], create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None)

    return gradcheck(
        gradients,
        (*inputs, *seeds),
        eps=eps,
        atol=atol,
        rtol=rtol,
        nondet_tol=nondet_tol,
        raise_exception=raise_exception,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        fast_mode=fast_mode,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
    )


def _deprecated(name: str, grad_out: float) -> None:
    warn(
        f"`{name}` was part of PyTorch's private API and not meant to be exposed. We are deprecating it and "
        "it will be removed in a future version of PyTorch.",
        FutureWarning,
    )
    if grad_out != 1.0:
        raise ValueError(f"Expected grad_out to be 1.0. {name} no longer supports values of grad_out != 1.0.")


def get_numerical_jacobian(
    fn: Any, inputs: Any, target: Any = None, eps: float = 1e-3, grad_out: float = 1.0
) -> tuple[Matrix, ...]:
    """Deprecated: the Jacobians of the first result of fn(inputs) by each target, by differences."""
    _deprecated("get_numerical_jacobian", grad_out)
    targets = tracked(as_tuple(inputs if target is None else target))
    return tuple(numerical(lambda given: fn(given), (inputs,), x, eps)[0] for x in targets)


def get_analytical_jacobian(
    inputs: Any, output: Any, nondet_tol: float = 0.0, grad_out: float = 1.0
) -> tuple[tuple[Matrix, ...], bool, bool, bool]:
    """Deprecated: (Jacobians by backward, whether two runs agree, whether sizes and dtypes are right)."""
    _deprecated("get_analytical_jacobian", grad_out)
    if output.is_complex():
        raise ValueError(
            "Expected output to be non-complex. get_analytical_jacobian no longer supports "
            "functions that return complex outputs."
        )
    targets = tracked(as_tuple(inputs))
    (first, dtypes, sizes), (second, _, _) = (backwards(output, targets, units(output)) for _ in range(2))
    return tuple(first), alike(first, second, nondet_tol), sizes, dtypes


def _get_numerical_jacobian(
    fn: Any,
    inputs: Any,
    outputs: Any = None,
    target: Any = None,
    eps: float = 1e-3,
    is_forward_ad: bool = False,
) -> list[tuple[Matrix, ...]]:
    """For each target that requires gradients, the Jacobians of all results of fn(*inputs)."""
    targets = tracked(as_tuple(inputs if target is None else target))
    return [tuple(numerical(fn, as_tuple(inputs), x, eps)) for x in targets]


def _iter_tensors(x: Any, only_requiring_grad: bool = False) -> Iterator[Tensor]:
    """The tensors in nested lists and tuples."""
    if isinstance(x, Tensor):
        if x.requires_grad or not only_requiring_grad:
            yield x
    elif isinstance(x, (list, tuple)):
        for item in x:
            yield from _iter_tensors(item, only_requiring_grad)
