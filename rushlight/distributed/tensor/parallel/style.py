"""The ways to share out a module's work: which parts its parameters are, and what goes in and comes out.

A module of such a style takes and gives this rank's tensors; `*_layouts` say which part of the whole they
are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from typing import Any

import rushlight as torch
from rushlight.distributed.tensor.dtensor import DTensor, distribute_tensor
from rushlight.distributed.tensor.factories import distribute_module
from rushlight.distributed.tensor.placement_types import Placement, Replicate, Shard

__all__ = [
    "ColwiseParallel",
    "ParallelStyle",
    "PrepareModuleInput",
    "PrepareModuleInputOutput",
    "PrepareModuleOutput",
    "RowwiseParallel",
    "SequenceParallel",
]

Layouts = Any  # a placement, a tuple of placements and None, or None


class ParallelStyle(ABC):
    """Base of the styles: `_apply` makes a module one of that style.

    src_data_rank: whose parameters' values are taken; None: each rank takes its own.
    """

    src_data_rank: int | None = 0
    _shown: tuple[str, ...] = ()

    @abstractmethod
    def _apply(self, module: Any, device_mesh: Any) -> Any: ...

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)}" for name in self._shown)
        return f"{type(self).__name__}({shown})"


def _as_dtensor(value: Any, mesh: Any, layouts: tuple[Placement, ...]) -> DTensor:
    return value if isinstance(value, DTensor) else DTensor.from_local(value, mesh, layouts, run_check=False)


class _OfLayer(ParallelStyle):
    """Linear or Embedding, by columns or by rows."""

    _shown = ("input_layouts", "output_layouts", "use_local_output")
    _cuts: dict[type, dict[str, Placement]] = {}
    _desired: dict[type, Placement] = {}
    _default: tuple[Placement, Placement] = (Replicate(), Replicate())

    def __init__(
        self,
        *,
        input_layouts: Placement | None = None,
        output_layouts: Placement | None = None,
        use_local_output: bool = True,
    ) -> None:
        super().__init__()
        self.input_layouts = (input_layouts or self._default[0],)
        self.output_layouts = (output_layouts or self._default[1],)
        self.desired_input_layouts: tuple[Placement, ...] = (self._desired[torch.nn.Linear],)
        self.use_local_output = use_local_output

    def _partition(self, name: str, module: Any, mesh: Any) -> None:
        kind = torch.nn.Linear if isinstance(module, torch.nn.Linear) else torch.nn.Embedding
        for key, param in list(module.named_parameters()):
            cut = distribute_tensor(param, mesh, [self._cuts[kind][key]], src_data_rank=self.src_data_rank)
            module.register_parameter(key, torch.nn.Parameter(cut, requires_grad=param.requires_grad))

    def _prepare_input(self, module: Any, inputs: Any, mesh: Any) -> Any:
        value = _as_dtensor(inputs[0], mesh, self.input_layouts)
        if self.input_layouts != self.desired_input_layouts:
            value = value.redistribute(placements=self.desired_input_layouts, async_op=True)
        return value

    def _prepare_output(self, module: Any, outputs: Any, mesh: Any) -> Any:
        if outputs.placements != self.output_layouts:
            outputs = outputs.redistribute(placements=self.output_layouts, async_op=True)
        return outputs.to_local() if self.use_local_output else outputs

    def _apply(self, module: Any, device_mesh: Any) -> Any:
        kind = next((kind for kind in self._cuts if isinstance(module, kind)), None)
        if kind is None:
            raise NotImplementedError(
                f"{type(self).__name__} currently only support nn.Linear and nn.Embedding!"
            )
        self.desired_input_layouts = (self._desired[kind],)
        return distribute_module(
            module, device_mesh, self._partition, self._prepare_input, self._prepare_output
        )


class ColwiseParallel(_OfLayer):
    """Each rank computes some of a Linear's outputs, or of an Embedding's columns.

    input_layouts: by default replicated; output_layouts: by default cut along the last dim.
    """

    _cuts = {
        torch.nn.Linear: {"weight": Shard(0), "bias": Shard(0)},
        torch.nn.Embedding: {"weight": Shard(1)},
    }
    _desired = {torch.nn.Linear: Replicate(), torch.nn.Embedding: Replicate()}
    _default = Replicate(), Shard(-1)


class RowwiseParallel(_OfLayer):
    """Each rank takes some of a Linear's inputs, or has some of an Embedding's rows; what they compute is
    added up.

    input_layouts: by default cut along the last dim; output_layouts: by default replicated.
    """

    _cuts = {
        torch.nn.Linear: {"weight": Shard(1), "bias": Replicate()},
        torch.nn.Embedding: {"weight": Shard(0)},
    }
    _desired = {torch.nn.Linear: Shard(-1), torch.nn.Embedding: Replicate()}
    _default = Shard(-1), Replicate()


class SequenceParallel(ParallelStyle):
    """LayerNorm, Dropout or RMSNorm of parts that are cut along the dim of the sequence; its parameters are
    on all
    ranks.

    sequence_dim: which one that is. use_local_output: give this rank's tensor, not a DTensor.
    """

    def __init__(self, *, sequence_dim: int = 1, use_local_output: bool = False) -> None:
        super().__init__()
        self.sequence_sharding = (Shard(sequence_dim),)
        self.use_local_output = use_local_output

    def _replicate(self, name: str, module: Any, mesh: Any) -> None:
        for key, param in list(module.named_parameters()):
            made = DTensor.from_local(param.detach(), mesh, [Replicate()], run_check=False)
            module.register_parameter(key, torch.nn.Parameter(made))

    def _prepare_input(self, module: Any, inputs: Any, mesh: Any) -> Any:
        value = inputs[0]
        if isinstance(value, DTensor):
            lies = value.placements == self.sequence_sharding
            return value if lies else value.redistribute(placements=self.sequence_sharding, async_op=True)
        if isinstance(value, torch.Tensor):
            return DTensor.from_local(value, mesh, self.sequence_sharding, run_check=False)
        raise ValueError(f"expecting input of {module} to be a torch.Tensor or DTensor, but got {value}")

    def _prepare_output(self, module: Any, outputs: Any, mesh: Any) -> Any:
        return outputs.to_local() if self.use_local_output else outputs

    def _apply(self, module: Any, device_mesh: Any) -> Any:
        return distribute_module(
            module, device_mesh, self._replicate, self._prepare_input, self._prepare_output
        )

    def __repr__(self) -> str:
        (sharding,) = self.sequence_sharding
        return f"{type(self).__name__}(sequence_dim={sharding.dim}, use_local_output={self.use_local_output})"


def _tuple(layouts: Layouts) -> Any:
    return (layouts,) if isinstance(layouts, Placement) else layouts


def _relaid(value: Any, mesh: Any, layout: Any, desired: Any, local: bool) -> Any:
    """A tensor in the layout that is wanted; as it is where `layout` is None."""
    if layout is None:
        return value
    if not isinstance(value, torch.Tensor):
        raise AssertionError("expecting input to be a torch.Tensor!")
    made = _as_dtensor(value, mesh, (layout,))
    if desired is not None and layout != desired:
        made = made.redistribute(placements=(desired,))
    return made.to_local() if local else made


class PrepareModuleInput(ParallelStyle):
    """A module whose arguments are made DTensors and laid out anew; None leaves one as it is.

    input_layouts, input_kwarg_layouts: how they come. desired_...: how the module wants them.
    use_local_output:
    hand it this rank's tensors.
    """

    _shown = (
        "input_layouts",
        "desired_input_layouts",
        "input_kwarg_layouts",
        "desired_input_kwarg_layouts",
        "use_local_output",
    )

    def __init__(
        self,
        *,
        input_layouts: Layouts = None,
        desired_input_layouts: Layouts = None,
        input_kwarg_layouts: dict[str, Placement] | None = None,
        desired_input_kwarg_layouts: dict[str, Placement] | None = None,
        use_local_output: bool = False,
    ) -> None:
        self.input_layouts, self.desired_input_layouts = _tuple(input_layouts), _tuple(desired_input_layouts)
        self.use_local_output = use_local_output
        if self.input_layouts is not None:
            if self.desired_input_layouts is None:
                raise AssertionError("desired module inputs should not be None!")
            if len(self.input_layouts) != len(self.desired_input_layouts):
                raise AssertionError("input_layouts and desired_input_layouts should have same length!")
        self.with_kwargs = input_kwarg_layouts is not None
        self.input_kwarg_layouts = input_kwarg_layouts or {}
        self.desired_input_kwarg_layouts = desired_input_kwarg_layouts or {}
        if self.with_kwargs and len(self.input_kwarg_layouts) != len(self.desired_input_kwarg_layouts):
            raise AssertionError(
                "input_kwarg_layouts and desired_input_kwarg_layouts should have same length!"
            )

    def _prepare_input_fn(self, inputs: Any, device_mesh: Any) -> Any:
        if self.input_layouts is None:
            return inputs
        inputs = inputs if isinstance(inputs, tuple) else (inputs,)
        if len(inputs) != len(self.input_layouts):
            raise ValueError("module inputs and input_layouts should have same length!")
        laid = zip(inputs, self.input_layouts, self.desired_input_layouts, strict=True)
        return tuple(_relaid(v, device_mesh, lies, to, self.use_local_output) for v, lies, to in laid)

    def _prepare_input_kwarg_fn(self, inputs: Any, kwarg_inputs: dict[str, Any], device_mesh: Any) -> Any:
        named = {
            key: _relaid(
                value,
                device_mesh,
                self.input_kwarg_layouts.get(key),
                self.desired_input_kwarg_layouts.get(key),
                self.use_local_output,
            )
            for key, value in kwarg_inputs.items()
        }
        return self._prepare_input_fn(inputs, device_mesh), named

    def _before(self, module: Any, inputs: Any, kwargs: Any = None, *, mesh: Any) -> Any:
        if kwargs is None:
            return self._prepare_input_fn(inputs, mesh)
        return self._prepare_input_kwarg_fn(inputs, kwargs, mesh)

    def _apply(self, module: Any, device_mesh: Any) -> Any:
        hook = partial(self._before, mesh=device_mesh)
        module.register_forward_pre_hook(hook, with_kwargs=self.with_kwargs)
        return module


class PrepareModuleOutput(ParallelStyle):
    """A module whose results are made DTensors and laid out anew; None leaves one as it is.

    output_layouts: how they come. desired_output_layouts: how they are wanted. use_local_output: give this
    rank's
    tensors.
    """

    _shown = ("output_layouts", "desired_output_layouts", "use_local_output")

    def __init__(
        self,
        *,
        output_layouts: Layouts,
        desired_output_layouts: Layouts,
        use_local_output: bool = True,
    ) -> None:
        self.output_layouts, self.desired_output_layouts = (
            _tuple(output_layouts),
            _tuple(desired_output_layouts),
        )
        self.use_local_output = use_local_output
        if len(self.output_layouts) != len(self.desired_output_layouts):
            raise AssertionError("output_layouts and desired_output_layouts should have same length!")

    def _prepare_out_fn(self, outputs: Any, device_mesh: Any) -> Any:
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        if len(outputs) != len(self.output_layouts):
            raise ValueError("module outputs and output_layouts should have same length!")
        laid = zip(outputs, self.output_layouts, self.desired_output_layouts, strict=True)
        made = [_relaid(v, device_mesh, lies, to, self.use_local_output) for v, lies, to in laid]
        return made[0] if len(made) == 1 else tuple(made)

    def _after(self, module: Any, inputs: Any, outputs: Any, *, mesh: Any) -> Any:
        return self._prepare_out_fn(outputs, mesh)

    def _apply(self, module: Any, device_mesh: Any) -> Any:
        module.register_forward_hook(partial(self._after, mesh=device_mesh))
        return module


class PrepareModuleInputOutput(ParallelStyle):
    """PrepareModuleInput and PrepareModuleOutput in one; use_local_input is the former's use_local_output."""

    def __init__(
        self,
        *,
        input_layouts: Layouts = None,
        desired_input_layouts: Layouts = None,
        input_kwarg_layouts: dict[str, Placement] | None = None,
        desired_input_kwarg_layouts: dict[str, Placement] | None = None,
        use_local_input: bool = False,
        output_layouts: Layouts,
        desired_output_layouts: Layouts,
        use_local_output: bool = True,
    ) -> None:
        self.prepare_module_input = PrepareModuleInput(
            input_layouts=input_layouts,
            desired_input_layouts=desired_input_layouts,
            input_kwarg_layouts=input_kwarg_layouts,
            desired_input_kwarg_layouts=desired_input_kwarg_layouts,
            use_local_output=use_local_input,
        )
        self.prepare_module_output = PrepareModuleOutput(
            output_layouts=output_layouts,
            desired_output_layouts=desired_output_layouts,
            use_local_output=use_local_output,
        )

    def _apply(self, module: Any, device_mesh: Any) -> Any:
        self.prepare_module_input._apply(module, device_mesh)
        self.prepare_module_output._apply(module, device_mesh)
        return module

    def __repr__(self) -> str:
        made, given = self.prepare_module_input, self.prepare_module_output
        inner = ", ".join(f"{name}={getattr(made, name)}" for name in made._shown[:-1])
        outer = ", ".join(f"{name}={getattr(given, name)}" for name in given._shown)
        return f"{type(self).__name__}({inner}, use_local_input={made.use_local_output}, {outer})"
