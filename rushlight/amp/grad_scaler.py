"""GradScaler: losses are scaled up before backward, gradients down before the step.

float16 rounds small gradients to zero; a large factor in between keeps them. Where the factor was too large,
gradients hold inf or nan: that step is left out and the factor shrinks. Per optimizer and iteration the
order is READY, UNSCALED (gradients are down and were checked), STEPPED; update() begins anew.
"""

from __future__ import annotations

import inspect
from collections import defaultdict
from collections.abc import Iterable
from enum import Enum
from typing import Any

import rushlight as torch
from rushlight._engine.core.callers import warn
from rushlight._engine.core.recording import replayed
from rushlight.amp.unscaling import _amp_foreach_non_finite_check_and_unscale_, _amp_update_scale_
from rushlight.optim.optimizer import Optimizer


class OptState(Enum):
    """How far an optimizer is in this iteration."""

    READY, UNSCALED, STEPPED = range(3)


def _fresh_state() -> dict[str, Any]:
    return {"stage": OptState.READY, "found_inf_per_device": {}}


class GradScaler:
    """Scales losses, unscales gradients, steps where these are finite, and adapts the factor.

    device: "cuda" (without CUDA: a UserWarning, and disabled) or "cpu". init_scale: the first factor, 2**16.
    growth_factor (> 1): what update() multiplies the factor by after growth_interval (2000) steps without
    inf or nan. backoff_factor (< 1): what it multiplies it by after a step with them. enabled=False: step
    only steps, the other methods do nothing.

        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)      # only where gradients are clipped or looked at
        scaler.step(optimizer)
        scaler.update()
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device = device
        if enabled and device == "cuda" and not torch.cuda.is_available():
            warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.")
            enabled = False
        self._enabled = enabled
        if not enabled:
            return
        if growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._init_scale, self._growth_factor = init_scale, growth_factor
        self._backoff_factor, self._growth_interval = backoff_factor, growth_interval
        self._init_growth_tracker = 0
        self._scale: Any = None  # made by the first scale(): a program may still load a state
        self._growth_tracker: Any = None
        self._per_optimizer_states: dict[int, dict[str, Any]] = defaultdict(_fresh_state)

    # --- the iteration ----------------------------------------------------------------------------

    def scale(self, outputs: Any) -> Any:
        """outputs times the factor. outputs: a tensor, or an iterable of tensors and such iterables.

        Lists and tuples come back as such, other iterables as iterators. ValueError for anything else.
        """
        if not self._enabled:
            return outputs
        if isinstance(outputs, torch.Tensor):
            return outputs * self._factor(outputs.device).to(outputs.device)
        if isinstance(outputs, Iterable):
            scaled = map(self.scale, outputs)
            return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else scaled
        raise ValueError(
            f"outputs must be a Tensor or an iterable of Tensors, but got {type(outputs).__name__}"
        )

    def __guarded_tensors__(self) -> list[torch.Tensor]:
        """The tensors that a compiled function uses which scales by this object (_engine/trace/guards.py)."""
        return [item for item in vars(self).values() if isinstance(item, torch.Tensor)]

    def _factor(self, where: Any) -> Any:
        """The factor, which lies on the device of what was scaled first: a captured graph reads it there."""
        if self._scale is None:
            self._lazy_init_scale_growth_tracker(where)
        return self._scale

    def _lazy_init_scale_growth_tracker(self, dev: Any) -> None:
        """Make the factor and the count of steps on a device, as the first scale() does."""
        if self._growth_tracker is not None:
            raise AssertionError("_growth_tracker initialized before _scale")
        self._scale = torch.tensor(self._init_scale, dtype=torch.float32, device=dev)
        self._growth_tracker = torch.tensor(self._init_growth_tracker, dtype=torch.int32, device=dev)

    def _check_scale_growth_tracker(self, funcname: str) -> tuple[Any, Any]:
        """(the factor, the count of steps); AssertionError where nothing was scaled yet."""
        for name in ("_scale", "_growth_tracker"):
            if getattr(self, name) is None:
                raise AssertionError(
                    f"Attempted {funcname} but {name} is None.  This may indicate your script did "
                    "not use scaler.scale(loss or outputs) earlier in the iteration."
                )
        return self._scale, self._growth_tracker

    @replayed
    def unscale_(self, optimizer: Optimizer) -> None:
        """Divide the gradients of the optimizer's parameters by the factor, in place; note inf and nan.

        Only needed where gradients are read or clipped before step(). RuntimeError the second time in an
        iteration, or after step(); ValueError for float16 gradients: keep parameters in float32.
        """
        if not self._enabled:
            return
        factor, _ = self._check_scale_growth_tracker("unscale_")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.UNSCALED:
            raise RuntimeError(
                "unscale_() has already been called on this optimizer since the last update()."
            )
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        inverse = factor.double().reciprocal().float()
        fused = any(group.get("fused") for group in optimizer.param_groups)
        found = torch.zeros((), device=factor.device)
        state["found_inf_per_device"] = self._unscale_grads_(optimizer, inverse, found, fused)
        state["stage"] = OptState.UNSCALED

    def _unscale_grads_(
        self, optimizer: Optimizer, inv_scale: Any, found_inf: Any, allow_fp16: bool
    ) -> dict[Any, Any]:
        """Multiply the gradients by inv_scale; {device: 1 if any there was not finite}, found_inf on its own.

        Classes that hold gradients in other places override it.
        """
        holders = [p for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        if not allow_fp16 and any(p.grad.dtype is torch.float16 for p in holders):
            raise ValueError("Attempting to unscale FP16 gradients.")
        alike: dict[tuple[Any, Any], list[Any]] = defaultdict(list)  # by device and dtype
        for p in holders:
            if p.grad.is_sparse and p.grad.dtype is torch.float16:
                p.grad = p.grad.coalesce()  # sums of an element's values may be too large, too
            grad = p.grad
            alike[grad.device, grad.dtype].append(grad._values() if grad.is_sparse else grad)
        found: dict[Any, Any] = {}
        for (where, _), held in alike.items():
            if where not in found:
                found[where] = found_inf.to(where, copy=True)
            _amp_foreach_non_finite_check_and_unscale_(held, found[where], inv_scale.to(where))
        return found

    @replayed
    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        """optimizer.step(*args, **kwargs), unless its gradients hold inf or nan; unscales them first.

        Returns what the step returned, None where it was left out. RuntimeError for closures, and for a
        second step without an update(); AssertionError where no parameter has a gradient.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._check_scale_growth_tracker("step")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        scales = getattr(optimizer, "_step_supports_amp_scaling", False)
        result = (self._step_that_scales if scales else self._step)(optimizer, state, args, kwargs)
        state["stage"] = OptState.STEPPED
        return result

    def _step(self, optimizer: Any, state: dict[str, Any], args: Any, kwargs: dict[str, Any]) -> Any:
        if state["stage"] is OptState.READY:
            self.unscale_(optimizer)
        if not state["found_inf_per_device"]:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        return self._maybe_opt_step(optimizer, state, *args, **kwargs)

    def _maybe_opt_step(
        self, optimizer: Optimizer, optimizer_state: dict[str, Any], *args: Any, **kwargs: Any
    ) -> Any:
        """The optimizer's step, unless its gradients hold inf or nan."""
        finite = not any(found.item() for found in optimizer_state["found_inf_per_device"].values())
        return optimizer.step(*args, **kwargs) if finite else None

    def _step_that_scales(
        self, optimizer: Any, state: dict[str, Any], args: Any, kwargs: dict[str, Any]
    ) -> Any:
        """The step of an optimizer that reads `grad_scale` and `found_inf` off itself: a fused one, or a
        program's own.
        """
        if "grad_scaler" in inspect.signature(optimizer.step).parameters:
            warn(
                "GradScaler is going to stop passing itself as a keyword argument to the passed optimizer. "
                "In the near future GradScaler registers `grad_scale: Tensor` and `found_inf: Tensor` to the "
                "passed optimizer and let the optimizer use them directly.",
                FutureWarning,
            )
            return optimizer.step(*args, **kwargs, grad_scaler=self)
        if state["stage"] is OptState.READY:
            self._check_inf_per_device(optimizer)
            optimizer.grad_scale = self._scale * getattr(optimizer, "grad_scale", 1)
        else:
            optimizer.grad_scale = getattr(optimizer, "grad_scale", None)
        optimizer.found_inf = self._on_one(state["found_inf_per_device"].values(), self._scale.device)
        result = optimizer.step(*args, **kwargs)
        del optimizer.grad_scale, optimizer.found_inf
        return result

    @replayed
    def update(self, new_scale: Any = None) -> None:
        """Adapt the factor to what this iteration found, or set it to new_scale: a float or 1-element tensor.

        AssertionError where nothing was scaled, or no optimizer of this iteration was checked.
        """
        if not self._enabled:
            return
        factor, _ = self._check_scale_growth_tracker("update")
        if new_scale is None:
            self._adapt(factor)
        elif isinstance(new_scale, float):
            factor.fill_(new_scale)
        else:
            if (
                not isinstance(new_scale, torch.Tensor)
                or new_scale.device.type != self._device
                or new_scale.numel() != 1
                or new_scale.requires_grad
            ):
                raise AssertionError(
                    "new_scale should be a float or a 1-element torch.cuda.FloatTensor or "
                    f"torch.FloatTensor with requires_grad=False, but got {new_scale!r}"
                )
            factor.copy_(new_scale.reshape(()))
        self._per_optimizer_states = defaultdict(_fresh_state)

    def _adapt(self, factor: Any) -> None:
        found = [
            f for state in self._per_optimizer_states.values() for f in state["found_inf_per_device"].values()
        ]
        if not found:
            raise AssertionError("No inf checks were recorded prior to update.")
        _amp_update_scale_(
            factor,
            self._growth_tracker,
            self._on_one(found, factor.device),
            self._growth_factor,
            self._backoff_factor,
            self._growth_interval,
        )

    @staticmethod
    def _on_one(found: Iterable[Any], where: Any) -> Any:
        """What was found on all devices, on one of them, which nobody waits for; 0 where nobody looked."""
        return sum([f.to(where, non_blocking=True) for f in found])

    def _check_inf_per_device(self, optimizer: Optimizer) -> dict[Any, Any]:
        scale, _ = self._check_scale_growth_tracker("_check_inf_per_device")
        found = self._unscale_grads_(optimizer, torch.tensor(1.0), torch.zeros((), device=scale.device), True)
        self._per_optimizer_states[id(optimizer)]["found_inf_per_device"] = found
        return found

    def _found_inf_per_device(self, optimizer: Optimizer) -> dict[Any, Any]:
        """{device: 1 if a gradient there was not finite} of an optimizer, since the last update()."""
        found: dict[Any, Any] = self._per_optimizer_states[id(optimizer)]["found_inf_per_device"]
        return found

    # --- what it holds ----------------------------------------------------------------------------

    def is_enabled(self) -> bool:
        """Whether it scales."""
        return self._enabled

    def get_scale(self) -> float:
        """The factor; 1.0 where disabled."""
        if not self._enabled:
            return 1.0
        scale = self._get_scale_async()
        return self._init_scale if scale is None else float(scale.item())

    def _get_scale_async(self) -> Any:
        """The factor as a tensor; None before the first scale()."""
        return self._scale

    def _get_growth_tracker(self) -> int:
        if not self._enabled:
            return 0
        return self._init_growth_tracker if self._growth_tracker is None else int(self._growth_tracker.item())

    def get_growth_factor(self) -> float:
        """What the factor grows by."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set what the factor grows by."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """What the factor shrinks by."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set what the factor shrinks by."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """After how many steps without inf or nan the factor grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set after how many steps without inf or nan the factor grows."""
        self._growth_interval = new_interval

    def state_dict(self) -> dict[str, Any]:
        """scale, growth_factor, backoff_factor, growth_interval and _growth_tracker; {} where disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._get_growth_tracker(),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take back what state_dict() gave. RuntimeError for that of a disabled scaler."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a "
                "disabled instance of GradScaler."
            )
        self._init_scale, self._init_growth_tracker = state_dict["scale"], state_dict["_growth_tracker"]
        self._growth_factor, self._backoff_factor = state_dict["growth_factor"], state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        if self._scale is not None:
            self._scale.fill_(self._init_scale)
            self._growth_tracker.fill_(self._init_growth_tracker)

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        if self._enabled:
            if self._per_optimizer_states:
                raise AssertionError(
                    "A GradScaler instance may only be pickled at the beginning of an "
                    "iteration, or at the end after scaler.update()."
                )
            state.update(
                _init_scale=self.get_scale(),
                _init_growth_tracker=self._get_growth_tracker(),
                _scale=None,
                _growth_tracker=None,
            )
        return state


def older(device: str, module: str) -> type[GradScaler]:
    """The class torch.DEVICE.amp.GradScaler, of that module."""

    def __init__(
        self: GradScaler,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        warn(
            f"`torch.{device}.amp.GradScaler(args...)` is deprecated. Please use "
            f"`torch.amp.GradScaler('{device}', args...)` instead.",
            FutureWarning,
        )
        GradScaler.__init__(self, device, init_scale, growth_factor, backoff_factor, growth_interval, enabled)

    return type(
        "GradScaler",
        (GradScaler,),
        {
            "__module__": module,
            "__init__": __init__,
            "__doc__": f"torch.amp.GradScaler('{device}', ...), with a FutureWarning.",
        },
    )
