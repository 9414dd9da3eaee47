"""torch._C: the few names of PyTorch's compiled module that packages read, over the public ones."""

from __future__ import annotations

import operator
import sys
import weakref
from enum import Enum
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from rushlight._engine.autograd.engine import current_node
from rushlight._engine.autograd.grad_mode import LOCAL, set_enabled
from rushlight._engine.core import accelerator
from rushlight._engine.core.layout import broadcast_shapes
from rushlight._engine.core.size import Size
from rushlight._engine.dispatch import interpreters, methods
from rushlight._engine.dispatch.method_overrides import asking
from rushlight._engine.dispatch.overrides import disabled as _disabled_torch_function_impl
from rushlight._engine.dispatch.spellings import OF_NN
from rushlight._engine.tensors.generator import Generator
from rushlight._engine.tensors.queries import get_default_device
from rushlight._engine.tensors.tensor import Tensor, TensorMeta as _TensorMeta

__path__: list[str] = []  # modules below it: names/placeholders.tsv

_GRAPHS = frozenset(("Graph", "Node", "Value", "Block", "Use", "TracingState"))
__all__ = ["Generator", "TensorBase", "_TensorBase", "_TensorMeta", "_disabled_torch_function_impl", "_nn"]
TensorBase = _TensorBase = Tensor


def __getattr__(name: str) -> Any:
    if name == "_after_autograd_keyset":
        return import_module("rushlight.library.key_sets").after_autograd()
    if name == "_functions":
        return import_module("rushlight._engine.autograd.node_classes")
    found = _of_tables(name)
    if found is not None:
        return found
    if name in _HOMES:
        return getattr(import_module(f"rushlight.{_HOMES[name][0]}"), _HOMES[name][1])
    if name in ("_Await", "_awaitable", "_awaitable_wait", "_awaitable_nowait"):
        return getattr(import_module("rushlight.jit.awaiting"), name)
    if name in _GRAPHS or name.endswith("Type"):
        graphs = import_module("rushlight.jit.program.graphs")
        found = (graphs.CLASSES | graphs.TYPES).get(name)
        if found is not None:
            return found
    # for the error alone
    from rushlight._engine.names.alternatives import attribute

    return attribute("rushlight._C", name)


# Single names of torch._C: where they are kept, and as what.
_HOMES = {
    "Argument": ("jit.compiler.function_schema", "Argument"),
    "FunctionSchema": ("jit.compiler.function_schema", "FunctionSchema"),
    "parse_schema": ("jit.compiler.parsed_schema", "parse_schema"),
    "_jit_get_all_schemas": ("jit.compiler.parsed_schema", "all_schemas"),
    "_dispatch_has_kernel_for_dispatch_key": ("library.registration", "has_kernel"),
    "_dispatch_get_registrations_for_dispatch_key": ("library.registration", "registrations"),
    "_EnablePythonDispatcher": ("_dispatch.python", "EnablePythonDispatcher"),
    "_AutoDispatchBelowAutograd": ("library.below", "AutoDispatchBelowAutograd"),
    "_get_autograd_fallback_mode": ("library.fallback", "get_mode"),
    "_set_autograd_fallback_mode": ("library.fallback", "set_mode"),
    "_construct_storage_from_data_pointer": (
        "_engine.devices.cuda.accounts.checkpoints",
        "_construct_storage_from_data_pointer",
    ),
    "_accelerator_setAllocatorSettings": ("_engine.devices.cuda.accounts.options", "set_settings"),
    "_activate_gpu_trace": ("_engine.devices.cuda.accounts.tracing", "_activate_gpu_trace"),
    "LockingLogger": ("jit._logging", "LockingLogger"),
    "NoopLogger": ("jit._logging", "NoopLogger"),
    "LoggerBase": ("jit._logging", "LoggerBase"),
    "AggregationType": ("jit._logging", "AggregationType"),
    "_logging_set_logger": ("jit._logging", "set_logger"),
    "CompilationUnit": ("jit.units", "CompilationUnit"),
    "_ivalue_debug_python_object": ("jit.handles", "python_object"),
    "InferredType": ("jit.program.graphtypes", "InferredType"),
    "PyTorchFileReader": ("serialization", "PyTorchFileReader"),
    "PyTorchFileWriter": ("serialization", "PyTorchFileWriter"),
    "_dispatch_keys": ("library.key_sets", "of_tensor"),
    "_dispatch_key_set": ("library.key_sets", "shown"),
    "DispatchKeySet": ("library.key_sets", "DispatchKeySet"),
    "_dispatch_tls_local_exclude_set": ("library.key_sets", "excluded"),
    "_storage_id": ("_engine.tensors.storages.untyped", "storage_id"),
    "_MobileOptimizerType": ("utils.mobile_optimizer", "MobileOptimizerType"),
    "_hack_do_not_use_clone_module_with_class": ("jit.clones", "clone_module_with_class"),
}

# Where names of torch._C that begin so are kept.
_TABLES = (
    (("_get_", "_set_"), "rushlight.backends._switch_names"),
    (("_cuda_",), "rushlight.cuda._primitives"),
    (("_jit_", "_debug_", "_get_graph_", "_set_graph_"), "rushlight.jit.switches"),
    (
        ("_jit_", "_create_function_", "_freeze_module", "_new_symbolic", "_propagate_shapes", "parse_ir"),
        "rushlight.jit.passes",
    ),
)


def _of_tables(name: str) -> Any:
    """A name that is kept in a table of its kind; None for others."""
    for starts, module in _TABLES:
        # What torch.cuda is made of is there where there is a device, as in a build with CUDA.
        if name.startswith(starts) and (starts != ("_cuda_",) or accelerator.platform() is not None):
            found = import_module(module).FUNCTIONS.get(name)
            if found is not None:
                return found
    return None


def _parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """The arguments of `to` as (device, dtype, non_blocking, memory_format)."""
    where, dtype, _, order = methods._to_arguments(args, dict(kwargs))
    return where, dtype, bool(kwargs.get("non_blocking", False)), order


def _set_grad_enabled(enabled: bool) -> None:
    """Record what is computed from now on, or not."""
    set_enabled(enabled)


def is_grad_enabled() -> bool:
    """Whether ops on tensors that require gradients are recorded in this thread."""
    return LOCAL.enabled


def _current_graph_task_id() -> int:
    """A number of the running backward; -1 outside."""
    from rushlight._engine.autograd import tasks  # what few programs need

    return tasks.current_graph_task_id()


def _current_graph_task_execution_order() -> list[Any]:
    """The nodes that the running backward goes through, in its order."""
    from rushlight._engine.autograd import tasks  # what few programs need

    return tasks.current_graph_task_execution_order()


def _current_autograd_node() -> Any:
    """The node that runs in this thread's backward pass, or whose hooks do; None outside one."""
    return current_node()


def _will_engine_execute_node(node: Any) -> bool:
    """Whether the running backward runs a node."""
    from rushlight._engine.autograd import tasks  # what few programs need

    return tasks.will_engine_execute_node(node)


def _set_fwd_grad_enabled(mode: bool) -> None:
    """Let ops on dual tensors give dual tensors, or not."""
    import_module("rushlight.autograd.forward_ad")._set_fwd_grad_enabled(mode)


class _WeakTensorRef:
    """A weak reference to a tensor: `expired()` says whether it is gone."""

    def __init__(self, tensor: Tensor) -> None:
        self._reference = weakref.ref(tensor)

    def expired(self) -> bool:
        """Whether nobody holds the tensor any more."""
        return self._reference() is None


class _Autograd:
    """torch._C._autograd: what is there of it."""

    def __getattr__(self, name: str) -> Any:
        if name == "SavedTensor":
            return import_module("rushlight._engine.autograd.saved_values").SavedTensor
        packing = import_module("rushlight._engine.autograd.saved_tensor_hooks")
        known = {
            "_saved_tensors_hooks_is_enabled": "enabled",
            "_saved_tensors_hooks_enable": "allow",
            "_saved_tensors_hooks_disable": "refuse",
            "_saved_tensors_hooks_get_disabled_error_message": "refusal",
            "_push_saved_tensors_default_hooks": "push",
            "_pop_saved_tensors_default_hooks": "pop",
        }
        if name not in known:
            raise AttributeError(f"module 'torch._C._autograd' has no attribute '{name}'")
        return getattr(packing, known[name])


_autograd = _Autograd()


_LEAVES = {"log_sigmoid": "logsigmoid"}  # names that these have elsewhere


class _Functions(ModuleType):
    """PyTorch's modules of compiled functions, by the names that these have among all ops: torch._C._nn is
    what torch.nn.functional is made of, in the order of the ops' arguments.
    """

    _parse_to = staticmethod(asking(_parse_to))  # what Module.to() calls, of which modes hear

    def __init__(self, space: str, *namespaces: str) -> None:
        super().__init__(f"{__name__}._{space}")
        self.__dict__.update(_prefix=f"{space}_", _namespaces=namespaces)
        sys.modules[f"rushlight._C._{space}"] = sys.modules[self.__name__] = self
        self.__spec__ = ModuleSpec(self.__name__, None)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        # What PyTorch's torch.nn.functional has from there is the same object in both.
        own = ("nn.functional",) if name in OF_NN else self._namespaces
        for path in own:
            namespace = operator.attrgetter(path)(sys.modules["rushlight"])
            for leaf in (name.removeprefix(self._prefix), _LEAVES.get(name, name)):
                found = getattr(namespace, leaf, None)
                if found is not None:
                    setattr(self, name, found)
                    return found
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")


_nn = _Functions("nn", "nn.utils.rnn", "ops.aten", "nn.functional")
_linalg = _Functions("linalg", "linalg")
_fft = _Functions("fft", "fft")
_special = _Functions("special", "special")
_sparse = _Functions("sparse", "sparse")


class _Variables(type):
    """The type of the class that torch's functions are methods of."""

    def __getattr__(cls, name: str) -> Any:
        return getattr(sys.modules["rushlight"], name)


class _VariableFunctionsClass(metaclass=_Variables):
    """Where PyTorch's pickles look for torch's functions."""


class _ConvBackend(Enum):
    """PyTorch's kernels of convolutions, by name: none of them is here."""

    CudaDepthwise2d, CudaDepthwise3d, Cudnn, CudnnTranspose, Empty, Miopen, MiopenDepthwise = range(7)
    MiopenTranspose, Mkldnn, MkldnnTranspose, MkldnnEmpty, NnpackSpatial, Overrideable = range(7, 13)
    Slow2d, Slow3d, SlowDilated2d, SlowDilated3d, SlowTranspose2d, SlowTranspose3d = range(13, 19)
    Winograd3x3Depthwise, Xnnpack2d, Mps, MpsTranspose = range(19, 23)


def _nnpack_available() -> bool:
    """False: NNPACK takes no part."""
    return False


def _are_functorch_transforms_active() -> bool:
    """Whether vmap, grad or another transform runs in this thread."""
    return any(
        type(mode).__module__.startswith("rushlight._engine.transforms") for mode in interpreters.STACK.modes
    )


def _get_tracing_state() -> Any:
    """The state of torch.jit.trace while it records, else None."""
    jit = sys.modules.get("rushlight.jit")
    if jit is None or not jit.is_tracing():
        return None
    tracer = import_module("rushlight.jit.state").tracing()
    return import_module("rushlight.jit.program.graphs").TracingState(tracer)


def _get_default_device() -> str:
    """The type of the device that new tensors lie on."""
    return get_default_device().type


def _get_accelerator(check: bool | None = None) -> Any:
    """The device that is computed on: a CUDA one where there is, else the CPU."""
    torch = sys.modules["rushlight"]
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def _show_config() -> str:
    """What torch.__config__.show() says."""
    found: str = import_module("rushlight.__config__").show()
    return found


def _cuda_isInBadFork() -> bool:
    """False: there is no CUDA to be left behind by a fork."""
    return False


class DisableTorchFunctionSubclass:
    """A context in which subclasses are plain tensors to every function; modes go on."""

    def __enter__(self) -> None:
        self.before, interpreters.CLASSES.asked = interpreters.CLASSES.asked, False

    def __exit__(self, *error: object) -> None:
        interpreters.CLASSES.asked = self.before


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """A context without subclasses that take functions over, and without modes."""

    def __enter__(self) -> None:
        super().__enter__()
        self.modes = [mode for mode in interpreters.STACK.modes if hasattr(mode, "__torch_function__")]
        for mode in self.modes:
            interpreters.pop(mode)

    def __exit__(self, *error: object) -> None:
        for mode in self.modes:
            interpreters.push(mode)
        super().__exit__(*error)


class _DisableFuncTorch:
    """A context in which no transform of torch.func runs."""

    def __enter__(self) -> None:
        modes = interpreters.STACK.modes
        self.levels = [
            mode for mode in modes if type(mode).__module__.startswith("rushlight._engine.transforms")
        ]
        for level in self.levels:
            modes.remove(level)

    def __exit__(self, *error: object) -> None:
        interpreters.STACK.modes.extend(self.levels)


class _EnableTorchFunction:
    """Until it is deleted, classes with __torch_function__ are asked, whatever disabled them."""

    def __init__(self) -> None:
        self.before, interpreters.CLASSES.asked = interpreters.CLASSES.asked, True

    def __del__(self) -> None:
        interpreters.CLASSES.asked = self.before


def _is_torch_function_enabled() -> bool:
    """Whether classes with __torch_function__ are asked."""
    return interpreters.CLASSES.asked


def _len_torch_function_stack() -> int:
    """How many torch-function modes are active."""
    return sum(hasattr(mode, "__torch_function__") for mode in interpreters.STACK.modes)


def _get_function_stack_at(level: int) -> Any:
    """An active torch-function mode, the outermost first."""
    return [mode for mode in interpreters.STACK.modes if hasattr(mode, "__torch_function__")][level]


def _log_api_usage_once(event: str) -> None:
    """Nothing is logged."""


def _infer_size(first: Any, second: Any) -> Size:
    """The shape to which two shapes broadcast; RuntimeError where they do not."""
    return Size(broadcast_shapes(tuple(first), tuple(second)))


def _is_tracing() -> bool:
    """Whether torch.jit.trace records what runs."""
    return _get_tracing_state() is not None
