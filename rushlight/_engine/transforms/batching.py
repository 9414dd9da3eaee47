"""vmap's interpreter: an op on examples as one op on the whole batch.

A Batched tensor holds its batch in dim 0 of `value` and looks like one example of it. How a row takes the
batch in follows from its kind and, for hand-written kernels, from the lists of `policies`; what neither tells
runs example by example, with PyTorch's warning.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rushlight._engine.autograd.grad_mode import LOCAL
from rushlight._engine.autograd.in_place import View
from rushlight._engine.core.callers import warn
from rushlight._engine.ops.table import ROWS
from rushlight._engine.tensors.meta import meta_array
from rushlight._engine.tensors.tensor import Tensor
from rushlight._engine.transforms import policies
from rushlight._engine.transforms.levels import (
    Level,
    Wrapped,
    mapped,
    operands,
    sizes,
    stand_in,
    with_views,
    wrapper,
)

_RANDOM = (
    "vmap: called random operation while in randomness error mode. Please either use the 'same' or "
    "'different' randomness flags on vmap or perform the randomness operation out of vmap"
)
_MORE = (
    "vmap: inplace arithmetic(self, *extra_args) is not possible because there exists a Tensor `other` "
    "in extra_args that has more elements than `self`: it is vmapped over and `self` is not. Make "
    "`self` by zeros_like(other) or other.new_zeros(...), which are batched too"
)


def _sizes_of(t: Any) -> Any:
    """An example's, without its values."""
    return t._example(t.value._geometry)


class Batched(Wrapped):
    """A tensor of a vmap: the batch lies in dim 0 of `value`."""

    __slots__ = ()
    _many = True

    @property
    def _array(self) -> Any:
        return self._example(self.value._array)

    @_array.setter
    def _array(self, value: Any) -> None:
        raise NotImplementedError(
            "vmap: set_() and .data = ... of batched tensors; copy_() into them instead"
        )

    _geometry = property(_sizes_of)

    def _example(self, held: Any) -> Any:
        """The first one's array."""
        if not self.level.alive:
            raise RuntimeError(
                "vmap: a tensor was used outside the vmap that it belongs to: return it instead"
            )
        if len(held):
            return held[0]
        return meta_array(held.shape[1:], held.dtype)

    def _again(self, value: Any) -> Tensor:
        return wrapper(Batched, value, self.level)

    def resize_(self, *sizes: Any, **_options: Any) -> Any:
        """Another shape for every example."""
        self.value.resize_(len(self.value), *(sizes if isinstance(sizes[0], int) else sizes[0]))
        return self

    @property  # type: ignore[misc]  # nothing may be put in its place
    def data(self) -> Any:
        """Refused: what is done to it, vmap would not see."""
        raise RuntimeError("accessing `data` under vmap transform is not allowed; use detach()")

    def item(self) -> Any:
        """Refused: there is one for each example."""
        raise RuntimeError(
            "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling "
            ".item() on a Tensor, rewrite what you're doing with other operations."
        )

    _single = item

    def __bool__(self) -> bool:
        raise RuntimeError(
            "vmap: It looks like you're attempting to use a Tensor in some data-dependent "
            "control flow. We don't support that yet: use torch.where, or masks"
        )

    def numpy(self, *, force: bool = False) -> Any:
        """Refused: there is one for each example."""
        raise RuntimeError(
            "Cannot access data pointer of Tensor that doesn't have storage: it stands for many"
        )

    tolist = numpy

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        text = repr(self.value).replace("\n", "\n    ")
        return f"BatchedTensor(lvl={self.level.number}, bdim=0, value=\n    {text}\n)"

    def _view_dtype(self, dtype: Any) -> Any:
        if not self.dim():
            self.value[0].view(dtype)  # an example of no dims cannot have elements of another size
        return self.level.through(self, lambda t: t.view(dtype))


class Batching(Level):
    """One running vmap over `size` examples."""

    what = "vmap"
    spread = False  # whether tensors that came in alike were made batches, to be differentiated

    def __init__(self, size: int, randomness: str = "error") -> None:
        self.size, self.randomness = size, randomness
        # Tensors whose batch was moved to dim 0: of which they are views, and where it was.
        self.entered: dict[int, tuple[Any, int, Any]] = {}

    def holds(self, value: Any) -> bool:
        """Whether `value` is mapped over by this vmap.

        What an ended vmap of the same number left is this one's: to PyTorch levels are their numbers, and
        programs keep what entered a vmap for the next call.
        """
        if value.__class__ is not Batched:
            return False
        level = value.level
        if level is self:
            return True
        if level.alive or level.number != self.number or level.size != self.size:
            return False
        value.level = self
        return True

    def concerned(self, row: Any, args: Any, kwargs: dict[str, Any]) -> bool:
        """Random ops concern it always."""
        return row.name in policies.DRAWS or super().concerned(row, args, kwargs)

    def placed(self, value: Any) -> tuple[Any, int | None]:
        """(a whole batch, the dim that it lies in): the caller's tensor of what entered; None without."""
        if not self.holds(value):
            return value, None
        original, d, _ = self.entered.get(id(value.value), (value.value, 0, None))
        return original, d

    def wrap(self, value: Any) -> Any:
        """The tensors of a result, whose dim 0 is the batch, as this level's."""
        return mapped(lambda t: wrapper(Batched, t, self), value)

    def through(self, t: Any, change: Callable[[Any], Any]) -> Any:
        """The batch changed as a whole."""
        return self.wrap(change(t.value))

    def whole(self, t: Any) -> Any:
        """The batch of a tensor, repeated where it has none."""
        if self.holds(t):
            return t.value
        return ROWS["expand"](t, (self.size, *t._geometry.shape)) if isinstance(t, Tensor) else t

    def aligned(self, t: Any, rank: int) -> Any:
        """The batch of a tensor with dims of size 1 behind dim 0, so that examples broadcast to `rank`."""
        if not self.holds(t):
            return t
        shape = t.value.shape
        lacking = rank + 1 - len(shape)
        return t.value.reshape(shape[0], *[1] * lacking, *shape[1:]) if lacking > 0 else t.value

    # --- ops ------------------------------------------------------------------------------------------

    def rule(self, row: Any, bound: dict[str, Any]) -> Any:
        """A row that is not pointwise, on arguments by name."""
        if row.name in policies.DYNAMIC:
            raise RuntimeError(policies.DYNAMIC_RESULT.format(row.name))
        if row.name in policies.RANDOM:
            return self._random(row, bound)
        if row.name in _DIMS:
            _check_dims(row.name, bound)
        found = policies.rule(row)(self, row, bound)
        return self.one_by_one(row, bound) if found is NotImplemented else found

    def formula(self, formula: Any, values: Any) -> Any:
        """A pointwise expression: examples broadcast, and promote as they would alone."""
        rank = max(v._geometry.ndim for v in values if isinstance(v, Tensor))
        phys = [self.aligned(v, rank) for v in values]
        common = formula.compute_dtype(values)
        if formula.compute_dtype(phys) is not common:
            phys = [
                v.to(common) if isinstance(v, Tensor) and name in formula.promoting else v
                for name, v in zip(formula.operands, phys, strict=True)
            ]
        return self.wrap(formula(*phys))

    def one_by_one(self, row: Any, bound: dict[str, Any]) -> Any:
        """The row on each example, stacked."""
        if not FALLBACK["enabled"]:
            raise RuntimeError(
                f"vmap: aten::{row.name} hit the vmap fallback which is currently disabled: it has no "
                "batching rule, and would run example by example"
            )
        warn(
            "There is a performance drop because we have not yet implemented the batching rule for "
            f"aten::{row.name}: it runs example by example.",
            UserWarning,
        )
        return self.wrap(stacked([row(**self._example(bound, i)) for i in range(self.size)]))

    def _example(self, bound: dict[str, Any], i: int) -> dict[str, Any]:
        return {
            n: mapped(lambda t: ROWS["select"](t.value, 0, i) if self.holds(t) else t, v)
            for n, v in bound.items()
        }

    def write(self, target: Any, row: Any, bound: dict[str, Any]) -> Any:
        """An op in place, or with out=, which is refused."""
        name = row.params[0].name
        if row.name in policies.RANDOM and self.randomness == "error":
            raise RuntimeError(_RANDOM)
        if target is not bound[name] and row.name in policies.RANDOM:
            raise RuntimeError(
                "vmap: We do not support calling out variants of random operations inside of vmap. Please "
                "use non-out variants as a workaround"
            )
        if target is not bound[name]:
            raise RuntimeError(
                f"Batching rule not implemented for aten::{row.name}.out; the fallback path "
                "doesn't work on out= or view ops"
            )
        if not self.holds(target):
            if row.name in policies.RANDOM and self.randomness == "same":
                return target.copy_(row(**bound))
            if not self.spread:
                raise RuntimeError(_MORE)
            with_views(target, self, self._spread)
        if row.kind == "view" or row.options.get("is_view"):
            target.value = self.apply(row, bound).value
            return target
        if LOCAL.enabled and any(t._grad_node is not None for t in operands(tuple(bound.values()))):
            bound = {**bound, name: target._again(target.value.clone())}
        target.value.copy_(self.whole(self.apply(row, bound)))
        return target

    def _spread(self, t: Any, taken: View | None) -> None:
        """A tensor becomes a batch where it stands."""
        if taken is not None and taken.again is not None:
            value = self.inside(taken.again, taken.base, *taken.rest).value
            stand_in(t, Batched)
        else:
            value = self.whole(stand_in(t, Batched)).clone()
        t.value, t.level = value, self

    # --- random numbers -------------------------------------------------------------------------------

    def _random(self, row: Any, bound: dict[str, Any]) -> Any:
        if self.randomness == "error":
            raise RuntimeError(_RANDOM)
        batched = any(self.holds(t) for t in operands(tuple(bound.values())))
        if self.randomness == "same":
            given = operands(tuple(bound.values()))
            if row.name in policies.BY_VALUE and not all(_alike(t) for t in given if self.holds(t)):
                raise RuntimeError(
                    "Vmap does not currently support same randomness with a batched tensor input. Please "
                    "file "
                    "an issue with functorch"
                )
            return row(**(self._example(bound, 0) if batched else bound))
        if "size" in bound:
            return self.wrap(row(**{**bound, "size": (self.size, *sizes(bound["size"]))}))
        if row.name == "multinomial":  # one draw of all rows, as they lie in memory
            rows = self.whole(bound["input"])
            found = row(**{**bound, "input": rows.flatten(0, -2)})
            return self.wrap(found.reshape(*rows.shape[:-1], -1))
        if row.name in policies.ELEMENTWISE_RANDOM and not bound.get("channels"):
            return self.wrap(row(**self._broadcast(bound)))
        return self.wrap(stacked([row(**self._example(bound, i)) for i in range(self.size)]))

    def _broadcast(self, bound: dict[str, Any]) -> dict[str, Any]:
        """The batches of all operands, whose examples broadcast to one shape."""
        wholes = {n: self.whole(v) for n, v in bound.items()}
        tensors = {n: v for n, v in wholes.items() if isinstance(v, Tensor)}
        rank = max((v.dim() for v in tensors.values()), default=0)
        for n, v in tensors.items():
            if v.dim() < rank:
                wholes[n] = v.reshape(v.shape[0], *[1] * (rank - v.dim()), *v.shape[1:])
        return wholes


def _alike(t: Any) -> bool:
    """Whether all examples of a batch have the same values, as those do that came in alike and are batched
    only
    to be differentiated.
    """
    dim, value = 0, t.value
    while isinstance(value, Wrapped):
        dim, value = dim + isinstance(value, Batched), value.value
    array = value._array
    return not array.size or bool((array == array.take([0], axis=dim)).all())


_DIMS = {"mm": (2, 2), "bmm": (3, 3), "mv": (2, 1), "dot": (1, 1), "vdot": (1, 1)}
FALLBACK = {"enabled": True}
"""Whether ops without a rule run example by example, or raise."""


def _check_dims(name: str, bound: dict[str, Any]) -> None:
    """Raise where an example of a matrix product's operand has not as many dims as it should."""
    found, wanted = tuple(t.dim() for t in bound.values()), _DIMS[name]
    if found != wanted:
        raise RuntimeError(
            f"Shape mismatch: Got incorrect dims for {name}(a, b). a has dim {found[0]} and b has dim "
            f"{found[1]} but expected them to have dim {wanted[0]} and dim {wanted[1]}"
        )


def stacked(results: list[Any]) -> Any:
    """Results of single examples as one."""
    first = results[0]
    if isinstance(first, Tensor):
        return ROWS["stack"](results)
    if isinstance(first, (tuple, list)):
        items = [stacked(list(column)) for column in zip(*results, strict=True)]
        return type(first)(*items) if hasattr(first, "_fields") else type(first)(items)
    raise RuntimeError(
        f"vmap: Batching rule not implemented for ops that answer with a Python value, as here {first!r}"
    )
