"""Ops of programs, held to what they say of themselves while a program is recorded with real tensors.

torch._functorch.config.fake_tensor_propagate_real_tensors asks for it: what an op writes into, whether its
results lie in memory of their own, and whether its fake function tells what the op gives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import rushlight as torch
from rushlight._engine.core.pytree import flatten
from rushlight._functorch import config
from rushlight._library.fake_profile import MissingOpProfile, profile_of
from rushlight._subclasses.fake_tensor import FakeTensor, FakeTensorMode, MetadataMismatchError
from rushlight.export._draft_export import FailureReport, Failures, FailureType


def wanted() -> bool:
    """Whether programs' ops are to be held to their word."""
    return bool(config.fake_tensor_propagate_real_tensors)


def tensors(tree: Any) -> list[torch.Tensor]:
    """The tensors of nested arguments or results."""
    return [leaf for leaf in flatten(tree)[0] if isinstance(leaf, torch.Tensor)]


def checked(
    op: Any,
    run: Callable[[], Any],
    named: dict[str, Any],
    fake: Callable[[], Any],
    failures: list[FailureReport] | None = None,
) -> Any:
    """The op's result. named: its arguments; fake: calls its fake function with fake tensors.

    RuntimeError where it writes into what it does not name, or gives what lies in its arguments' memory;
    MetadataMismatchError where its fake function gives something else: of a draft, a failure of its report.
    """
    before = {name: [t.detach().clone() for t in tensors(value)] for name, value in named.items()}
    result = run()
    _check_writes(op, named, before)
    _check_memory(op, named, result)
    if failures is None and "Meta" in op._kernels:
        _check_fake(op._opoverload, named, result, fake)
        return result
    try:
        reasons = None if "Meta" not in op._kernels else list(_differences(result, *fake()))
    except MissingOpProfile:
        reasons = None
    if reasons is None:
        for t in tensors(result):
            _check_dense(op, t)
        _note(failures, FailureType.MISSING_FAKE_KERNEL, op, "")
    for reason in reasons or ():
        _note(failures, FailureType.MISMATCHED_FAKE_KERNEL, op, reason)
    if reasons != [] and isinstance(failures, Failures):
        order = [named[p.name] for p in op._opoverload._schema.arguments if p.name in named]
        failures.op_profiles[str(op._opoverload)].add(profile_of(order, result))
    return result


def _check_writes(op: Any, named: dict[str, Any], before: dict[str, list[torch.Tensor]]) -> None:
    """RuntimeError where arguments were written into, or not, against what the signature says."""
    written = {p.name for p in op._opoverload._schema.arguments if p.is_written}
    for name, value in named.items():
        now = tensors(value)
        if not now:
            continue
        changed = not all(
            torch.equal(old, new) or bool(old.isnan().all() and new.isnan().all())
            for old, new in zip(before[name], now, strict=True)
        )
        if changed and name not in written:
            raise RuntimeError(
                f"{op._name}: for argument '{name}': the operator's schema {op._opoverload._schema} "
                "specified that the operator does not mutate the argument, but this seems to be empirically "
                "wrong. Please make the schema and operator behavior consistent. You can specify that an "
                "operator mutates a Tensor by e.g. changing its schema type from 'Tensor name' to "
                "'Tensor(a!) name'(use different identifiers (a, b, c, ...) for different Tensors)"
            )


def _check_memory(op: Any, named: dict[str, Any], result: Any) -> None:
    """RuntimeError for a result in the memory of an argument, or of another result."""
    taken = {t.untyped_storage()._cdata for t in tensors(named)}
    for t in tensors(result):
        if t.untyped_storage()._cdata in taken:
            raise RuntimeError(
                f"{op._name}: The output of this custom operator (1) must not also be an input to this "
                "custom operator and (2) may not alias any inputs to this custom operator or other returns. "
                "The most common way to trigger this error is if we have y = custom_op(x) and y and x are "
                "the same Tensor. Please instead return a clone of the offending output tensor(s) (e.g. "
                "return x.clone()) or refactor the custom operator to not return y."
            )
        taken.add(t.untyped_storage()._cdata)


def _check_dense(op: Any, t: torch.Tensor) -> None:
    """RuntimeError for a result of which no fake function could be inferred."""
    why = None
    if t.storage_offset() != 0:
        why = f"a return has a non-zero storage offset {t.storage_offset()}"
    expected = 1
    for step, at in sorted(((s, -i) for i, s in enumerate(t.stride()))):
        if step != expected and why is None:
            why = f"a return was not dense in memory (sizes {t.shape} strides {t.stride()})"
        expected *= t.shape[-at]
    if why is not None:
        raise RuntimeError(
            "propagate_real_tensors: we cannot infer a Fake kernel (meta kernel) for operator "
            f"{op._name} because {why}. Please use torch.library.register_fake to add a Fake kernel."
        )


def _check_fake(own: Any, named: dict[str, Any], result: Any, fake: Callable[[], Any]) -> None:
    """MetadataMismatchError where the fake function tells of something else than the op gives."""
    given, told = fake()
    if {id(t) for t in tensors(given)} & {id(t) for t in tensors(told)}:
        raise MetadataMismatchError(
            f"Real tensor propagation found an aliasing mismatch between fake output {told} and real output "
            f"{result},  for func: {own}"
        )
    several = isinstance(result, (tuple, list))
    for i, (shown, real) in enumerate(zip(tensors(told), tensors(result), strict=True)):
        place = f"[{i}]" if several else ""
        if (shown.dtype, shown.dim()) != (real.dtype, real.dim()):
            raise MetadataMismatchError(
                f"Real tensor propagation found a metadata mismatch between fake tensor {shown} and real "
                f"tensor {real},  at output{place}, for func: {own}"
            )
        for dim, (size, so) in enumerate(zip(shown.shape, real.shape, strict=True)):
            if int.__int__(size) != so:
                raise MetadataMismatchError(
                    f"Real tensor propagation found an output size mismatch between fake shape {size} and "
                    f"real shape {so}, at output{place}.size({dim}), for func: {own}"
                )


def _note(failures: list[FailureReport] | None, kind: FailureType, op: Any, reason: str) -> None:
    """A failure of a draft's report, once."""
    told = FailureReport(kind, {"op": str(op._opoverload)} | ({"reason": reason} if reason else {}))
    if failures is not None and told not in failures:
        failures.append(told)


def _differences(result: Any, given: Any, told: Any) -> Iterator[str]:
    """In what the fake function tells of something else than the op gives. Sizes that it leaves open fit."""
    if {id(t) for t in tensors(given)} & {id(t) for t in tensors(told)}:
        yield "Mismatched aliasing spec between fake kernel and real kernel"
    for shown, real in zip(tensors(told), tensors(result), strict=False):
        if shown.dtype != real.dtype:
            yield f"Dtypes {real.dtype} and {shown.dtype} are not equal!"
            continue
        if shown.dim() != real.dim():
            yield f"mismatch between fake value {shown.dim()} and real value {real.dim()} "
            continue
        sizes = [
            (n, int.__int__(n), so) for n, so in zip(shown.shape, real.shape, strict=True) if _is_told(n)
        ]
        wrong = next(((n, so) for n, size, so in sizes if size != so), None)
        if wrong is not None:
            yield f"mismatch between fake value {wrong[0]} and real value {wrong[1]} "


def _is_told(size: Any) -> bool:
    """Whether a size is a number, or one of the inputs'."""
    return type(size) is int or not any(name.startswith("u") for name in size.expr.free())


def faked(mode: FakeTensorMode, t: torch.Tensor, sizes: Any) -> FakeTensor:
    """A fake tensor for a real one, with sizes that may be symbolic."""
    return FakeTensor.of(mode, tuple(t._geometry.shape), t.stride(), sizes, t.stride(), t.dtype, t.device)
