"""Spectral normalisation by a hook (see also parametrizations.spectral_norm)."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight.nn import functional as F
from rushlight.nn.parameter import Parameter
from rushlight.nn.utils.weight_norm import check_new, undo


class SpectralNorm:
    """Divides the weight by its largest singular value, found by power iteration."""

    _version = 1

    def __init__(
        self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        check_iterations(n_power_iterations)
        self.name, self.n_power_iterations = name, n_power_iterations
        self.dim, self.eps = dim, eps

    def reshape_weight_to_matrix(self, weight: Any) -> Any:
        """(size of `dim`, all the rest)."""
        return as_matrix(weight, self.dim)

    def compute_weight(self, module: Any, do_power_iteration: bool) -> Any:
        """The weight over its largest singular value; `u` and `v` are moved in place."""
        weight = getattr(module, self.name + "_orig")
        u, v = getattr(module, self.name + "_u"), getattr(module, self.name + "_v")
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with torch.no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(F.normalize(torch.mv(matrix.t(), u), dim=0, eps=self.eps))
                    u.copy_(F.normalize(torch.mv(matrix, v), dim=0, eps=self.eps))
            # Copies: backward needs the values of this call, a later one moves the buffers.
            u, v = u.clone(), v.clone()
        return weight / torch.dot(u, torch.mv(matrix, v))

    def remove(self, module: Any) -> None:
        """Make the weight a parameter again."""
        with torch.no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        for suffix in ("", "_u", "_v", "_orig"):
            delattr(module, self.name + suffix)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Any, inputs: Any) -> None:
        """Set the weight before each forward, as a hook: with a step of the power iteration in training."""
        setattr(module, self.name, self.compute_weight(module, do_power_iteration=module.training))

    @staticmethod
    def apply(module: Any, name: str, n_power_iterations: int, dim: int, eps: float) -> SpectralNorm:
        """Replace a parameter by `name`_orig, with buffers `name`_u and `name`_v."""
        check_new(module, SpectralNorm, name)
        fn = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters[name]
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        with torch.no_grad():
            u, v = start_vectors(fn.reshape_weight_to_matrix(weight), eps)
        delattr(module, name)
        module.register_parameter(name + "_orig", weight)
        # A plain attribute: state_dict has the original.
        setattr(module, name, weight.data)
        module.register_buffer(name + "_u", u)
        module.register_buffer(name + "_v", v)
        module.register_forward_pre_hook(fn)
        module._register_state_dict_hook(_VersionMark(fn))
        module._register_load_state_dict_pre_hook(_OlderState(fn))
        return fn


def check_iterations(count: int) -> None:
    """ValueError unless there is an iteration."""
    if count <= 0:
        raise ValueError(f"Expected n_power_iterations to be positive, but got n_power_iterations={count}")


def as_matrix(weight: Any, dim: int) -> Any:
    """(size of `dim`, all the rest)."""
    weight = weight if dim == 0 else weight.movedim(dim, 0)
    return weight.reshape(weight.size(0), -1)


def start_vectors(matrix: Any, eps: float) -> list[Any]:
    """Random unit vectors for rows and columns, where the iteration begins."""
    return [F.normalize(matrix.new_empty(size).normal_(0, 1), dim=0, eps=eps) for size in matrix.size()]


def dim_of_outputs(module: Any) -> int:
    """The dim of a weight along which the outputs are: 1 in transposed convolutions, else 0."""
    transposed = (torch.nn.ConvTranspose1d, torch.nn.ConvTranspose2d, torch.nn.ConvTranspose3d)
    return 1 if isinstance(module, transposed) else 0


class _VersionMark:
    """Writes the version into a state dict's metadata, as PyTorch does."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(self, module: Any, state_dict: Any, prefix: str, local_metadata: Any) -> None:
        marks = local_metadata.setdefault("spectral_norm", {})
        marks[self.fn.name + ".version"] = self.fn._version


class _OlderState:
    """Lets a state dict be loaded that was written before there was a buffer `v`, with the divided weight."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, missing_keys: Any, *others: Any
    ) -> None:
        key = prefix + self.fn.name
        version = local_metadata.get("spectral_norm", {}).get(self.fn.name + ".version")
        current = all(key + end in state_dict for end in ("_orig", "_u", "_v")) and key not in state_dict
        if (version is not None and version >= 1) or (version is None and current):
            return
        missing = [key + end for end in ("_orig", "", "_u") if key + end not in state_dict]
        if missing:
            missing_keys.extend(missing if strict else ())
            return
        with torch.no_grad():
            original, u = state_dict[key + "_orig"], state_dict[key + "_u"]
            sigma = (original / state_dict.pop(key)).mean()
            matrix = self.fn.reshape_weight_to_matrix(original)
            # v solves W v = u times a scale, which u^T W v = sigma says.
            v = matrix.t().mm(matrix).pinverse().mm(matrix.t()).mv(u)
            state_dict[key + "_v"] = v.mul_(sigma / torch.dot(u, torch.mv(matrix, v)))


def spectral_norm(
    module: Any, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Any:
    """Divide a parameter by its largest singular value before each forward.

    `dim`: the dim of outputs; by default 0, and 1 for transposed convolutions.
    """
    dim = dim_of_outputs(module) if dim is None else dim
    SpectralNorm.apply(module, name, n_power_iterations, dim, eps)
    return module


def remove_spectral_norm(module: Any, name: str = "weight") -> Any:
    """Undo spectral_norm; ValueError where there is none."""
    undo(module, SpectralNorm, name)
    for key, hook in module._state_dict_hooks.items():
        if isinstance(hook, _VersionMark) and hook.fn.name == name:
            del module._state_dict_hooks[key]
            break
    for key, hook in module._load_state_dict_pre_hooks.items():
        if isinstance(getattr(hook, "hook", hook), _OlderState):
            del module._load_state_dict_pre_hooks[key]
            break
    return module
