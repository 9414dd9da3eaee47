"""grad, vjp and jvp of functions; they nest in each other and in vmap."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import rushlight as torch
from rushlight._engine.autograd.grad_mode import LOCAL, OutsideInference, Transformed
from rushlight._engine.core.pytree import flatten, tree_map
from rushlight._engine.tensors.geometry import Geometry
from rushlight._engine.tensors.lazy_views import put_off
from rushlight._engine.trace.guards import VisibleTensors
from rushlight._engine.transforms import pullback
from rushlight._engine.transforms.levels import Wrapped
from rushlight._engine.transforms.tangents import Forward, dual

Argnums = int | tuple[int, ...]
Func = Callable[..., Any]
_VJP, _JVP = "vjp(f, *primals)", "jvp(f, primals, tangents)"
_HOOKS = (
    "torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks. Please open an issue with "
    "your use case."
)


def chosen(argnums: Any, args: tuple[Any, ...]) -> Any:
    """The arguments to differentiate by; PyTorch's errors for bad argnums."""
    numbers = argnums if isinstance(argnums, tuple) else (argnums,)
    for n in numbers:
        if not isinstance(n, int):
            raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(n)}")
        if not -len(args) <= n < len(args):
            raise RuntimeError(f"Got argnum={n}, but only {len(args)} positional inputs")
    if not numbers:
        raise RuntimeError(f"Tuple[int, ...] of argnums must be non-empty, got argnums={argnums}")
    if len({n % len(args) for n in numbers}) < len(numbers):
        raise RuntimeError(f"argnums elements must be unique, got {argnums}")
    return args[argnums] if isinstance(argnums, int) else tuple(args[n] for n in argnums)


def replaced(args: tuple[Any, ...], argnums: Argnums, values: Any) -> list[Any]:
    """The arguments with `values` in the places `argnums`."""
    found = list(args)
    for i, n in enumerate(argnums if isinstance(argnums, tuple) else (argnums,)):
        found[n] = values[i] if isinstance(argnums, tuple) else values
    return found


def split(found: Any, has_aux: bool, what: str) -> tuple[Any, Any]:
    """(results, aux) of a function's answer."""
    if has_aux and not (isinstance(found, tuple) and len(found) == 2):
        raise RuntimeError(
            f"{what}: output of function f should be a tuple: (output, aux) if has_aux is True"
        )
    for leaf in flatten(found[1])[0] if has_aux else ():
        if not isinstance(leaf, torch.Tensor):
            raise RuntimeError(f"{what}: aux: Expected tensors, got unsupported type {type(leaf)}")
    return found if has_aux else (found, None)


def only_tensors(leaves: list[Any], what: str) -> None:
    """RuntimeError unless there are results, and all are tensors."""
    if not leaves or leaves == [None]:
        got = leaves[0] if leaves else ()
        raise RuntimeError(
            f"{what}: Expected f to be a function that has non-empty output (got output = {got})"
        )
    for leaf in leaves:
        if not isinstance(leaf, torch.Tensor):
            raise RuntimeError(
                f"{what}: expected f(*primals) to return only tensors, got unsupported type {type(leaf)}"
            )


def _wrap_tensor_for_grad(tensor: Any, level: Any) -> Any:
    """What a function gets of an input that it is differentiated by; level: what each is inside, by its id().

    Programs put functions of their own in its place, which the next derivative calls.
    """
    return level[id(tensor)]


class Pullback:
    """A function's results at a point, and the way back from gradients of them to gradients of its inputs.

    func: what the caller wrote, whose surroundings are not to be written to, and where saved-tensor hooks are
    refused; None: neither.
    """

    def __init__(self, func: Func | None, function: Func, primals: Any, has_aux: bool, what: str) -> None:
        leaves, self.inputs = flatten(primals)
        self.tracked = torch.is_grad_enabled()
        self.aux: Any = None
        self.tree: Any = None
        self.places = [i for i, t in enumerate(leaves) if isinstance(t, torch.Tensor)]

        def flat(*given: Any) -> list[Any]:
            values = list(leaves)
            for i, t in zip(self.places, given, strict=True):
                values[i] = _wrap_tensor_for_grad(leaves[i], {id(leaves[i]): t})
            found, self.aux = split(function(self.inputs.unflatten(values)), has_aux, what)
            outs, self.tree = flatten(found)
            return outs

        self.tensors = [leaves[i] for i in self.places]
        alone = nullcontext() if func is None else torch.autograd.graph.disable_saved_tensors_hooks(_HOOKS)
        with alone:
            self.outs, self._back = pullback.vjp(flat, self.tensors, VisibleTensors(func).known())
        self.count = len(leaves)

    def value(self) -> Any:
        """The results, outside the function."""
        return self.left(self.tree.unflatten(self.outs))

    def left(self, tree: Any) -> Any:
        """Tensors outside the function."""
        return tree_map(lambda t: pullback.left(t, self.tracked), tree)

    def back(self, grads: list[Any], refusal: str = "") -> Any:
        """The gradients of the inputs, in their structure; zeros where the results do not depend on one.

        refusal: what to raise there instead, the number of the input put in.
        """
        found, values = self._back(self.outs, grads), list[Any]([None] * self.count)
        if refusal and None in found:
            raise RuntimeError(refusal.format(found.index(None)))
        for i, g, t in zip(self.places, found, self.tensors, strict=True):
            values[i] = torch.zeros_like(t) if g is None else pullback.left(g, torch.is_grad_enabled())
        return self.inputs.unflatten(values)


def grad_and_value(func: Func, argnums: Argnums = 0, has_aux: bool = False) -> Func:
    """A function that answers (gradient of func by the arguments `argnums`, its value).

    func gives a scalar tensor, with has_aux a pair of that and anything else: then the answer is (gradient,
    (value, aux)). Arguments may be nested tuples, lists and dicts of tensors. RuntimeError for other results.
    """
    what = "grad_and_value(f)(*args)"

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        point = Pullback(
            func,
            lambda given: func(*replaced(args, argnums, given), **kwargs),
            chosen(argnums, args),
            has_aux,
            what,
        )
        out = point.tree.unflatten(point.outs)
        if not isinstance(out, torch.Tensor):
            raise RuntimeError(f"{what}: Expected f(*args) to return a Tensor, got {type(out)}")
        if out.ndim:
            raise RuntimeError(
                f"{what}: Expected f(*args) to return a scalar Tensor, got tensor with "
                f"{out.ndim} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
            )
        with Transformed():
            found = point.back([torch.ones_like(out)])
        return found, (point.value(), point.left(point.aux)) if has_aux else point.value()

    return wrapper


def grad(func: Func, argnums: Argnums = 0, has_aux: bool = False) -> Func:
    """A function that answers func's gradient by the arguments `argnums`; with has_aux, (gradient, aux)."""
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        found, value = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return wrapper


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """(func(*primals), pull), with has_aux (.., .., aux): pull(gradients of results) -> their tuple."""
    point = Pullback(func, lambda given: func(*given), primals, has_aux, _VJP)
    only_tensors(point.outs, _VJP)

    def pull(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        grads, tree = flatten(cotangents)
        if tree != point.tree:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure "
                f"of outputs to the function. cotangents: {tree}, primal output: {point.tree}"
            )
        for i, (g, o) in enumerate(zip(grads, point.outs, strict=True)):
            if g.shape != o.shape:
                raise RuntimeError(
                    f"Mismatch in shape: grad_output[{i}] has a shape of {g.shape} and "
                    f"output[{i}] has a shape of {o.shape}."
                )
        return point.back(grads)

    return (point.value(), pull, point.left(point.aux)) if has_aux else (point.value(), pull)


def _tensors(values: Any, name: str) -> tuple[list[Any], Any]:
    leaves, tree = flatten(values)
    if not leaves:
        raise RuntimeError(f"{_JVP}: Expected {name} to contain at least one Tensor.")
    for v in leaves:
        if not isinstance(v, torch.Tensor):
            raise RuntimeError(f"{_JVP}: Expected {name} to only contain Tensors, got {type(v)}")
    return leaves, tree


def jvp(func: Func, primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """(func(*primals), its derivative in the direction of tangents), with has_aux (.., .., aux).

    primals and tangents are tuples of the same structure. Results that do not depend on the primals have
    zeros; strict refuses them.
    """
    if not isinstance(primals, tuple):
        raise RuntimeError(
            f"{_JVP}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals)."
        )
    if flatten(primals)[1] != flatten(tangents)[1]:
        raise RuntimeError(
            f"{_JVP}: Expected primals and tangents to have the same python structure. Got primals with "
            f"structure {flatten(primals)[1]} and tangents with structure {flatten(tangents)[1]}"
        )
    (leaves, tree), (directions, _) = _tensors(primals, "primals"), _tensors(tangents, "tangents")
    with Forward() as level, OutsideInference(), Transformed():
        given = tree.unflatten([make(p, t, level) for p, t in zip(leaves, directions, strict=True)])
        captured = [t for t in VisibleTensors(func).known() if not any(t is leaf for leaf in leaves)]
        LOCAL.transforms = (*LOCAL.transforms, captured)
        try:
            found, aux = split(func(*given), has_aux, _JVP)
        finally:
            LOCAL.transforms = LOCAL.transforms[:-1]
    outs, shape = flatten(found)
    only_tensors(outs, _JVP)
    if strict and not all(map(level.holds, outs)):
        raise RuntimeError(
            f"{_JVP[:-1]}, strict=True): The output of f is independent of the inputs. This "
            "is not allowed with strict=True."
        )
    others = [o.tangent if level.holds(o) else torch.zeros_like(o) for o in outs]
    answer = shape.unflatten(map(level.primal, outs)), shape.unflatten(others)
    return (*answer, tree_map(level.primal, aux)) if has_aux else answer


def make(primal: Any, tangent: Any, level: Forward) -> Any:
    """A dual tensor; RuntimeError where shapes differ, ValueError for integers."""
    for name, t in (("primal", primal), ("tangent", tangent)):
        if not (t.is_floating_point() or t.is_complex()):
            raise ValueError(f"Expected {name} to be floating point or complex, but got: {t.dtype}")
    if primal.shape != tangent.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the "
            f"original Tensor, this is not supported. Tensor is of size {list(primal.shape)} "
            f"while the given forward gradient is of size {list(tangent.shape)}."
        )
    if level.holds(tangent):
        raise RuntimeError(
            "Trying to set a forward gradient that has a forward gradient at the same level. "
            "This is not supported."
        )
    return dual(primal.view_as(primal), _laid_out_as(primal, tangent), level)


def _laid_out_as(primal: Any, tangent: Any) -> Any:
    """A tangent that can be seen in every way that its primal can: itself, or a copy."""
    if isinstance(primal, Wrapped) or isinstance(tangent, Wrapped) or primal.layout is not torch.strided:
        return tangent
    if any(is_marked(primal) != is_marked(tangent) for is_marked in (Geometry.is_conj, Geometry.is_neg)):
        return tangent.resolve_conj().resolve_neg().clone()
    steps = [s for s, n in zip(primal.stride(), primal.shape, strict=True) if n > 1]
    own = [s for s, n in zip(tangent.stride(), tangent.shape, strict=True) if n > 1]
    size, offset = _memory_of(primal)
    if not primal.numel() or (steps, size, offset) == (own, *_memory_of(tangent)) or 0 in steps:
        return tangent
    made = tangent.new_zeros(size).as_strided(primal.shape, primal.stride(), offset)
    return made.copy_(tangent)


def _memory_of(t: Any) -> tuple[int, int]:
    """(elements of the storage, which of them is the tensor's first)."""
    if put_off(t) and getattr(t, "_view_of", None) is None:  # an op has made it, whole
        return t.numel(), 0
    return t.untyped_storage().nbytes() // t.element_size(), t.storage_offset()


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """(func(*primals), push): push(*tangents) is func's derivative there in their direction.

    The derivative is taken anew at each push: func runs again.
    """

    def push(*tangents: Any) -> Any:
        for i, (t, p) in enumerate(zip(flatten(tangents)[0], flatten(primals)[0], strict=True)):
            if t.shape != p.shape:
                raise RuntimeError(
                    f"tangent:{i} with shape {t.shape} in flattened pytree doesn't match the "
                    f"shape {p.shape} of the corresponding primal."
                )
        return jvp(func, primals, tangents)[1]

    return func(*primals), push
