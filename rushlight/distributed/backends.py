"""Backends by name. There is one, MPI among processes; it answers to PyTorch's names for CPUs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, ClassVar, NamedTuple

from rushlight._engine.core import accelerator
from rushlight._engine.core.callers import warn


class BackendPlugin(NamedTuple):
    """What makes the process groups of a registered backend; extended_api: of one argument that says all."""

    creator_fn: Callable[..., Any]
    extended_api: bool


@dataclass
class _DistributedBackendOptions:
    """What a function of the extended kind is told of the group that it is to make."""

    store: Any = None
    group_rank: int = 0
    group_size: int = 0
    timeout: timedelta = timedelta(0)
    group_id: str = ""
    global_ranks_in_group: list[int] = field(default_factory=list)


class Backend(str):
    """A backend's name in small letters. ValueError for what is no string."""

    UNDEFINED, GLOO, NCCL, UCC, MPI, XCCL, FAKE = "undefined", "gloo", "nccl", "ucc", "mpi", "xccl", "fake"
    backend_list = [UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI, FAKE]
    default_device_backend_map = {"cpu": GLOO, "cuda": NCCL}
    backend_capability: ClassVar[dict[str, list[str]]] = {
        GLOO: ["cpu", "cuda"],
        NCCL: ["cuda"],
        XCCL: ["xpu"],
        UCC: ["cpu", "cuda"],
        MPI: ["cpu", "cuda"],
        FAKE: ["cpu", "cuda", "hpu", "xpu"],
    }
    _plugins: ClassVar[dict[str, BackendPlugin]] = {}

    def __new__(cls, name: Any) -> Any:
        """The name as PyTorch writes it."""
        if not isinstance(name, str):
            raise ValueError("Backend constructor parameter must be string-ish")
        return name.lower()

    @classmethod
    def register_backend(
        cls,
        name: str,
        func: Callable[..., Any],
        extended_api: bool = False,
        devices: str | list[str] | None = None,
    ) -> None:
        """Make a backend of a program's own known by `name`, with what makes its process groups.

        func(store, rank, size, timeout), or func(options, pg_options) with extended_api, gives an instance of
        a class derived from ProcessGroup.
        """
        known = name.lower()
        if not hasattr(cls, name.upper()):
            setattr(cls, name.upper(), known)
        if known not in cls.backend_list:
            cls.backend_list.append(known)
        if devices is None:
            warn(
                f"Device capability of {name} unspecified, assuming `cpu` and `cuda`. "
                "Please specify it via the `devices` argument of `register_backend`."
            )
        listed = ["cpu", "cuda"] if devices is None else [devices] if isinstance(devices, str) else devices
        for device in listed if devices is not None else ():
            cls.default_device_backend_map.setdefault(device, known)
        cls.backend_capability[known] = list(listed)
        cls._plugins[name.upper()] = BackendPlugin(func, extended_api)


class BackendConfig:
    """Which backend is for which kind of device, of a name ("gloo") or pairs ("cpu:gloo,cuda:nccl").

    ValueError for what is neither, and for a device that is named twice.
    """

    def __init__(self, backend: str) -> None:
        name = str(backend)
        known = Backend.backend_capability
        if name == Backend.UNDEFINED:
            kind = "cpu" if accelerator.platform() is None else "cuda"
            self.device_backend_map = {kind: Backend(Backend.default_device_backend_map[kind])}
        elif ":" in name:
            self.device_backend_map = _pairs(name)
        elif name.lower() in known:
            self.device_backend_map = dict.fromkeys(known[name.lower()], Backend(name))
        else:
            raise ValueError(
                f"Unknown backend {name!r}: expected one of {sorted(known)}, or pairs such as "
                "'cpu:gloo,cuda:nccl'"
            )

    def __repr__(self) -> str:
        return ",".join(f"{device}:{backend}" for device, backend in self.device_backend_map.items())

    def get_device_backend_map(self) -> dict[str, str]:
        """The backend's name for each kind of device."""
        return self.device_backend_map


def _pairs(text: str) -> dict[str, str]:
    """The devices and backends of "cpu:gloo,cuda:nccl"."""
    hint = (
        f"The custom backend string argument is invalid: {text}. Expected "
        "'<device_type1>:<backend1>,<device_type2>:<backend2>...', e.g. 'cpu:gloo,cuda:nccl'"
    )
    found: dict[str, str] = {}
    for pair in text.lower().split(","):
        device, *backend = pair.split(":")
        if len(backend) != 1:
            raise ValueError(f"Invalid device:backend pairing: {pair}. {hint}")
        if device in found:
            raise ValueError(f"Duplicate device type {device} in backend string: {backend[0]}. {hint}")
        found[device] = Backend(backend[0])
    return found


def checked_backend(backend: str | None) -> str:
    """The name to remember; RuntimeError for backends of other hardware, AssertionError for unknown ones."""
    if backend is None:
        return Backend.UNDEFINED
    name: str = Backend(backend)
    for part in name.split(","):
        kind = part.partition(":")[2] or part
        if kind == Backend.NCCL and is_nccl_available():
            continue
        if kind == Backend.NCCL and _real():
            from rushlight._engine.devices.cuda.driver import nccl  # real devices alone need it

            nccl.library()  # says why not
        if kind in (Backend.NCCL, Backend.XCCL, Backend.UCC):
            raise RuntimeError(f"Distributed package doesn't have {kind.upper()} built in")
        if kind == Backend.FAKE or kind.upper() in Backend._plugins:
            continue
        if kind not in (Backend.GLOO, Backend.MPI, Backend.UNDEFINED):
            raise AssertionError(f"Unknown backend type {backend}")
    return name


def registered(backend: str) -> BackendPlugin | None:
    """What makes the groups of a backend for the CPU's tensors, or for any, if a program registered it."""
    if backend in (Backend.UNDEFINED, Backend.FAKE):
        return None
    chosen = BackendConfig(backend).get_device_backend_map()
    name = chosen.get("cpu") or next(iter(chosen.values()))
    return Backend._plugins.get(name.upper())


def is_available() -> bool:
    """True: torch.distributed is there."""
    return True


def is_gloo_available() -> bool:
    """True: the backend that there is answers to this name."""
    return True


def is_mpi_available() -> bool:
    """Whether MPI's packages are installed."""
    # it loads NumPy and the hub
    from rushlight.distributed.communication.wire import installed

    return installed()


def _real() -> bool:
    """Whether there are CUDA devices of a driver's."""
    found: Any = accelerator.platform()
    return found is not None and bool(found.setting.real)


def is_nccl_available() -> bool:
    """Whether there are CUDA devices and, where they are real, NCCL; simulated ones' tensors travel as the
    CPU's do.
    """
    if not _real():
        return accelerator.platform() is not None
    from rushlight._engine.devices.cuda.driver import nccl  # real devices alone need it

    return nccl.installed()


def served_by_nccl(backend: str) -> str | None:
    """Whether NCCL serves real devices in groups of a backend: "alone", "both" (with something for the CPU's
    tensors), or not, None.
    """
    if not _real() or (backend == Backend.UNDEFINED and not is_nccl_available()):
        return None
    chosen = BackendConfig(backend).get_device_backend_map()
    if chosen.get("cuda") != Backend.NCCL:
        return None
    return "both" if "cpu" in chosen else "alone"


def is_ucc_available() -> bool:
    """False: it is not there."""
    return False


is_xccl_available = is_ucc_available


def is_backend_available(backend: str) -> bool:
    """Whether the backend of that name can be used."""
    asked = {Backend.GLOO: is_gloo_available, Backend.MPI: is_mpi_available, Backend.NCCL: is_nccl_available}
    known = asked.get(backend.lower())
    return known() if known is not None else backend.upper() in Backend._plugins


def is_torchelastic_launched() -> bool:
    """Whether this process was started by the launcher (TORCHELASTIC_RUN_ID is set)."""
    import os

    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """LOCAL_RANK, or fallback_rank where that is not set; RuntimeError without either."""
    import os

    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError(
        "LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow "
        "`get_node_local_rank` to work, assuming you are not running in a multi-device "
        "context and want the code to run locally instead."
    )


def get_default_backend_for_device(device: Any) -> str:
    """ "gloo" for the CPU, "nccl" for CUDA; ValueError for others."""
    kind = str(device).partition(":")[0]
    if kind not in Backend.default_device_backend_map:
        raise ValueError(f"Default backend not registered for device : {device}")
    return Backend.default_device_backend_map[kind]
