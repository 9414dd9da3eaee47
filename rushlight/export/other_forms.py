"""What computes an overload that is no row by itself: variants with `out=`, and methods that are no rows."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import rushlight as torch
from rushlight._engine.core.recording import TAPE
from rushlight._engine.dispatch import out_arguments
from rushlight._engine.dispatch.dispatcher import lookup
from rushlight._prims_common import layouts
from rushlight._torch_dispatch import answers
from rushlight.export import spellings


def outs(schema: Any) -> list[str]:
    """The parameters that a signature with `out=` writes its results into."""
    return [p.name for p in schema.arguments if p.is_out]


def into(schema: Any, others: dict[str, Any]) -> Callable[..., Any] | None:
    """The overload among `others` of the same parameters without `out=`, computed into it."""
    names = outs(schema)
    given = [(p.name, p.type) for p in schema.arguments if p.name not in names]
    base = next(
        (
            other
            for other in others.values()
            if [(p.name, p.type) for p in other._schema.arguments] == given and not other._schema.writes
        ),
        None,
    )
    if not names or base is None:
        return None

    compute = base.function
    try:
        row = base.row()[0].name
    except NotImplementedError:
        row = ""

    def run(**values: Any) -> Any:
        targets = tuple(values.pop(name) for name in names)
        out = targets if len(names) > 1 else targets[0]
        if row:
            return out_arguments.compute_into(row, out, list(values.values()), lambda: compute(**values))
        _write(out, compute(**values))
        return out

    return run


def _write(out: Any, found: Any) -> None:
    """Results of any nesting into their places, which take over their shapes."""
    if isinstance(found, (tuple, list)):
        for one, other in zip(out, found, strict=True):
            _write(one, other)
        return
    if out.shape != found.shape:
        out.resize_(found.shape)
    out.copy_(found)


def method(schema: Any) -> Callable[..., Any] | None:
    """A method or attribute of tensors, or a function of torch, of the op's name."""
    name = {"numpy_T": "T", "_nnz": "_nnz"}.get(schema.op_name, schema.op_name)
    of_tensor = bool(schema.arguments) and schema.arguments[0].name == "self"
    owner: Any = torch.Tensor if of_tensor and hasattr(torch.Tensor, name) else torch
    found = getattr(owner, name, None) or lookup("torch", name)
    if found is None:
        return None

    def run(**values: Any) -> Any:
        plain = [p.name for p in schema.arguments if not p.kwarg_only]
        while plain and _left_out(schema, plain[-1], values):
            plain.pop()
        first = [values[name] for name in plain]
        if not callable(found):
            return getattr(first[0], name)
        rest = {
            p.name: values[p.name]
            for p in schema.arguments
            if p.kwarg_only and not _left_out(schema, p.name, values)
        }
        result = found(*first, **rest)
        if schema.text.endswith("-> ()"):
            return None
        return list(result) if re.search(r"-> \(?Tensor(\(\w\))?\[\]", schema.text) else result

    return run


def _left_out(schema: Any, name: str, values: dict[str, Any]) -> bool:
    """Whether an argument is its default, which the method may not know."""
    p = next(p for p in schema.arguments if p.name == name)
    return bool(p.has_default_value() and values[name] == p.default_value)


def _assert_tensor_metadata(a: Any, **facts: Any) -> None:
    """Raise where a tensor is not as told; of a program that is recorded again, it is told again."""
    torch._assert_tensor_metadata(a, **facts)
    listener = _listener()
    if listener is not None and listener.decomposes:
        listener._assert_metadata(a)


def _lifted(self: Any) -> Any:
    """A copy of a constant; a program of a program has it again as such."""
    listener = _listener()
    if listener is None or listener.decomposes:
        return self.clone()
    aten: Any = torch.ops.aten
    return listener.told(aten.lift_fresh_copy.default, (self,), {})


def _sym_size(self: Any, dim: int | None = None) -> Any:
    """A size, or all; symbolic in a program that is recorded again, where it is the program that asks."""
    listener = _listener()
    told = listener is not None and listener.symbolic
    found = listener.sizes(self) if told else self.shape
    return found if dim is None else found[dim]


def _dense(self: Any) -> bool:
    """Whether the elements of a tensor fill its memory, each place once, in any order."""
    own = answers.ask(self, "is_non_overlapping_and_dense")
    return bool(layouts.is_non_overlapping_and_dense(self) if own is None else own)


def _is_like(self: Any, memory_format: Any) -> bool:
    """Whether the strides of a tensor are in the order of a memory format."""
    own = answers.ask(self, "is_strides_like_format", memory_format)
    if own is not None:
        return bool(own)
    if self.dim() != {torch.channels_last: 4, torch.channels_last_3d: 5}.get(memory_format):
        return False
    return layouts.are_strides_like_channels_last_or_false(self.shape, self.stride())


def _overwritten(self: Any, src: Any) -> Any:
    """What copy_() makes of a tensor, as a new one that lies in the same way."""
    if any(step == 0 and n > 1 for n, step in zip(self.shape, self.stride(), strict=True)):
        return src.to(self).expand(self.shape).clone()
    made = torch.empty_strided(self.shape, self.stride(), dtype=self.dtype, device=self.device)
    return made.copy_(src)


def _resize(self: Any, size: Any, memory_format: Any) -> Any:
    given = {} if memory_format is None else {"memory_format": memory_format}
    return self.resize_(size, **given)


def _listener() -> Any:
    """What records a program that calls an op by its name, if anything does."""
    listener = getattr(TAPE[-1], "to", None) if TAPE else None
    return None if listener is None or listener.depth else listener


def special(schema: Any) -> Callable[..., Any] | None:
    """What computes an op that is no row."""
    found: dict[str, Callable[..., Any]] = {
        "copy_": lambda self, src, **_: self.copy_(src),
        "fill_": lambda self, value: self.fill_(value),
        "zero_": lambda self: self.zero_(),
        "lift_fresh_copy": _lifted,
        "resize_": lambda self, size, memory_format=None: _resize(self, size, memory_format),
        "resize": lambda self, size, memory_format=None: _resize(self.clone(), size, memory_format),
        "copy": lambda self, src, **_: _overwritten(self, src),
        "view.dtype": lambda self, dtype: self.view(dtype),
        "view_copy.dtype": lambda self, dtype, **_: self.view(dtype).clone(),
        "log_sigmoid": lambda self: torch.nn.functional.logsigmoid(self),
        "detach_": lambda self: self.detach_(),
        "detach": lambda self: self.detach(),
        "alias": lambda self: self.view_as(self),
        "sym_size": _sym_size,
        "size": lambda self, dim=None: self.size() if dim is None else self.size(dim),
        "stride": (strides := lambda self, dim=None: self.stride() if dim is None else self.stride(dim)),
        "sym_stride": strides,
        "is_non_overlapping_and_dense": _dense,
        "is_strides_like_format": _is_like,
        "item": lambda self: self.item(),
        "_assert_tensor_metadata": _assert_tensor_metadata,
        "contiguous": lambda self, memory_format: self.contiguous(
            memory_format=memory_format or torch.contiguous_format
        ),
        "rsub": lambda self, other, alpha: torch.sub(other, self, alpha=alpha),
        "arange": lambda end, start=0, step=1, *, dtype=None, device=None, **_: torch.arange(
            start, end, step, dtype=dtype, device=device
        ),
        "_to_copy": lambda self, dtype=None, device=None, memory_format=None, **_: self.to(
            device or self.device, dtype or self.dtype, copy=True, memory_format=memory_format
        ),
    }
    own = found.get(f"{schema.op_name}.{schema.overload}") or found.get(schema.op_name)
    return own or spellings.meaning(schema.op_name)


def own_tags(op: Any) -> tuple[str, ...]:
    """What is to be said of an op that is none of PyTorch's: whether it draws random numbers."""
    draws = op._schema.op_name == "_keep" or any(p.name == "generator" for p in op._schema.arguments)
    return ("nondeterministic_seeded",) if draws and op.namespace == "rushlight" else ()
