"""torch.onnx.export: a model's exported program, its nodes told in ONNX's ops."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np

import rushlight as torch
from rushlight._engine.core.callers import warn
from rushlight._engine.core.pytree import flatten
from rushlight.export.functional import Unsupported, values_alone
from rushlight.export.program import ExportedProgram
from rushlight.export.tracing import recorded
from rushlight.onnx.errors import OnnxExporterError, refused

# The opset that nodes are written in, unless a later one is asked for; earlier ones are made of it.
WRITTEN, DEFAULT = 18, 20
_exporting = [False]


def is_in_onnx_export() -> bool:
    """Whether export() is recording a model."""
    return _exporting[0]


def export(
    model: Any,
    args: Any = (),
    f: Any = None,
    *,
    kwargs: dict[str, Any] | None = None,
    verbose: bool | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    opset_version: int | None = None,
    dynamo: bool = True,
    external_data: bool = True,
    dynamic_shapes: Any = None,
    verify: bool = False,
    dynamic_axes: Any = None,
    export_params: bool = True,
    **options: Any,
) -> Any:
    """Write a model (or an ExportedProgram) as ONNX, and give it as an ONNXProgram (None with dynamo=False).

    args: example inputs, a tensor or a tuple. input_names, output_names: in order. dynamic_shapes: as of
    torch.export; dynamic_axes: {name: [dims] or {dim: name}}. opset_version defaults to 20. external_data:
    weights beside the model, in `f.data`. verbose=False prints no progress. options: what else PyTorch's
    exporter takes (do_constant_folding, report, ...), which changes nothing here. OnnxExporterError, or
    UnsupportedOperatorError with the op and its line, for what ONNX has no form for.
    """
    try:
        import onnx  # noqa: F401
    except ImportError as error:
        raise OnnxExporterError("Module onnx is not installed! Install it by pip install onnx") from error
    args = args if isinstance(args, tuple) else (args,)
    if args and isinstance(args[-1], dict) and kwargs is None and not dynamo:
        args, kwargs = args[:-1], args[-1]
    progress = _progress if dynamo and verbose is not False else lambda step: nullcontext()
    first, *more = repr(model).split("\n")
    shown = f"{first}{'[...]' * bool(more)}"
    with progress(f"Obtain model graph for `{shown}` with `torch.export.export(..., strict=False)`"):
        program = _program(model, args, kwargs, dynamic_shapes, dynamic_axes, input_names)
    from rushlight.onnx.model import checked, converted  # it imports this file

    with progress("Run decompositions"):
        pass  # what PyTorch does afterwards, the recording has done: only ops with a form are in the program
    with progress("Translate the graph into ONNX"):
        made = converted(
            program,
            input_names,
            output_names,
            opset_version or DEFAULT,
            export_params,
            _axes_names(dynamic_axes),
        )
    with progress("Optimize the ONNX graph"):
        found = ONNXProgram(checked(made), program)
    if verify:
        found.verify()
    if f is not None:
        found.save(f, external_data=external_data and dynamo)
    return found if dynamo else None


@contextmanager
def _progress(step: str) -> Iterator[None]:
    """Print that a step begins, and how it ended, as PyTorch's exporter does."""
    print(f"[torch.onnx] {step}...")
    try:
        yield
    except BaseException:
        print(f"[torch.onnx] {step}... \N{CROSS MARK}")
        raise
    print(f"[torch.onnx] {step}... \N{WHITE HEAVY CHECK MARK}")


def _program(
    model: Any, args: tuple[Any, ...], kwargs: Any, shapes: Any, axes: Any, names: Sequence[str] | None
) -> ExportedProgram:
    # the forms load with the first export
    from rushlight.onnx.op_forms import FORMS

    def opened(row: Any, found: Any) -> bool:
        name = row.name if found is None else found[0]._schema.op_name
        return name not in FORMS

    if isinstance(model, ExportedProgram):
        given, named = model.example_inputs
        return _without_writes(recorded(model.module(check_guards=False), given, named, None, opened, model))
    if model.training:
        warn(
            "Exporting a model while it is in training mode. Please ensure that this is intended, as it may "
            "lead to different behavior during inference. Calling model.eval() before export is recommended.",
            UserWarning,
        )
    if shapes is None and axes:
        shapes = _shapes(model, args, kwargs or {}, axes, names or ())
    before, _exporting[0] = _exporting[0], True
    try:
        return _without_writes(recorded(model, args, kwargs or {}, shapes, opened))
    finally:
        _exporting[0] = before


def _without_writes(program: ExportedProgram) -> ExportedProgram:
    """The program as ONNX can say it, whose values do not change."""
    try:
        found: ExportedProgram = values_alone(program)
    except Unsupported as error:
        why = f"it writes through a view, or in place alone, for which ONNX has no form ({error})"
        raise refused(error.node, f"{why}: make a new tensor (torch.where, torch.cat)") from None
    return found


def _shapes(
    model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], axes: dict[str, Any], names: Sequence[str]
) -> Any:
    """dynamic_axes as dynamic_shapes: one Dim for each name of a dimension, one of their own for the
    nameless.
    """
    leaves, tree = flatten((args, kwargs))
    given: dict[int, Any] = {}
    for i, name in enumerate(names):
        dims = axes.get(name)
        if dims and i < len(leaves):
            given[i] = (
                {d: torch.export.Dim(str(n)) for d, n in dims.items()}
                if isinstance(dims, dict)
                else {d: torch.export.Dim.DYNAMIC for d in dims}
            )
    shaped = tree.unflatten([given.get(i) for i in range(len(leaves))])
    return [*shaped[0], *shaped[1].values()]


def _axes_names(axes: Any) -> dict[str, dict[int, str]]:
    return {
        name: {d: str(n) for d, n in dims.items()} if isinstance(dims, dict) else {}
        for name, dims in (axes or {}).items()
    }


class ONNXProgram:
    """A model in ONNX: `model_proto`, the exported program that it was made of, and ways to save and run
    it.
    """

    def __init__(self, model_proto: Any, exported_program: ExportedProgram) -> None:
        self.model_proto, self.exported_program = model_proto, exported_program
        self._session: Any = None

    def save(self, destination: Any, *, external_data: bool | None = None, **options: Any) -> None:
        """Write it to a path or file object; external_data: tensors in a file beside it,
        `destination.data`.
        """
        from rushlight.onnx.model import written  # it imports this file

        written(self.model_proto, destination, bool(external_data))

    def __call__(self, *args: Any, **kwargs: Any) -> list[Any]:
        """Its results for the model's inputs, by onnxruntime, or by onnx's own evaluator where that is not
        there.
        """
        tensors = [t for t in flatten((args, kwargs))[0] if isinstance(t, torch.Tensor)]
        names = [v.name for v in self.model_proto.graph.input]
        feeds = {name: t.detach().numpy() for name, t in zip(names, tensors, strict=True)}
        if self._session is None:
            self.initialize_inference_session()
        return [torch.from_numpy(np.array(v)) for v in self._session.run(None, feeds)]

    def initialize_inference_session(self, initializer: Any = None) -> None:
        """Make what runs it."""
        data = self.model_proto.SerializeToString()
        try:
            from onnxruntime import InferenceSession
        except ImportError:
            from onnx.reference import ReferenceEvaluator

            self._session = ReferenceEvaluator(self.model_proto)
            return
        self._session = (initializer or InferenceSession)(data)

    def verify(self, rtol: float = 1e-3, atol: float = 1e-5) -> None:
        """AssertionError unless it gives the module's results for the example inputs."""
        args, kwargs = self.exported_program.example_inputs
        wanted = flatten(self.exported_program.module()(*args, **kwargs))[0]
        for found, want in zip(self(*args, **kwargs), wanted, strict=True):
            torch.testing.assert_close(found, want, rtol=rtol, atol=atol)

    def __repr__(self) -> str:
        from onnx.printer import to_text

        program = str(self.exported_program).replace("\n", "\n        ")
        model = to_text(self.model_proto)
        return f"ONNXProgram(\n    model=\n{model}\n    ,\n    exported_program=\n        {program}\n)"
