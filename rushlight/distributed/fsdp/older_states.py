"""FSDP's older names of optimizers' states, over states.py."""

from __future__ import annotations

from typing import Any

from rushlight import distributed as dist
from rushlight.distributed.fsdp import states
from rushlight.distributed.fsdp.api import OptimStateKeyType, StateDictType
from rushlight.distributed.fsdp.states import WRAPPED


class _Ordered:
    """Stands for an optimizer of a model's parameters, where only their order is needed."""

    def __init__(self, model: Any, given: Any) -> None:
        listed = list(model.parameters()) if given is None else list(given)
        grouped = bool(listed) and isinstance(listed[0], dict)
        self.param_groups = listed if grouped else [{"params": listed}]


class OlderStates:
    """The static methods that programs called before optim_state_dict and optim_state_dict_to_load."""

    @staticmethod
    def full_optim_state_dict(
        model: Any, optim: Any, optim_input: Any = None, rank0_only: bool = True, group: Any = None
    ) -> dict[str, Any]:
        """The optimizer's whole state by parameters' names; with `rank0_only`, {} on others. Collective."""
        found = _typed(model, StateDictType.FULL_STATE_DICT, optim)
        return {} if rank0_only and dist.get_rank() else found

    @staticmethod
    def sharded_optim_state_dict(model: Any, optim: Any, group: Any = None) -> dict[str, Any]:
        """The optimizer's state by parameters' names, as DTensors. Collective."""
        return _typed(model, StateDictType.SHARDED_STATE_DICT, optim)

    @staticmethod
    def shard_full_optim_state_dict(
        full_optim_state_dict: dict[str, Any], model: Any, optim_input: Any = None, optim: Any = None
    ) -> dict[str, Any]:
        """What this rank's optimizer loads, of a result of full_optim_state_dict()."""
        chosen = _Ordered(model, optim_input) if optim is None else optim
        return states.optim_state_dict_to_load(model, chosen, full_optim_state_dict)

    @staticmethod
    def flatten_sharded_optim_state_dict(
        sharded_optim_state_dict: dict[str, Any], model: Any, optim: Any
    ) -> dict[str, Any]:
        """What this rank's optimizer loads, of a result of sharded_optim_state_dict()."""
        return states.optim_state_dict_to_load(model, optim, sharded_optim_state_dict)

    @staticmethod
    def scatter_full_optim_state_dict(
        full_optim_state_dict: dict[str, Any] | None,
        model: Any,
        optim_input: Any = None,
        optim: Any = None,
        group: Any = None,
    ) -> dict[str, Any]:
        """shard_full_optim_state_dict() of what rank 0 has; other ranks pass None. Collective."""
        held = [full_optim_state_dict]
        dist.broadcast_object_list(held, src=0, group=group)
        whole = held[0]
        if whole is None:
            raise RuntimeError("scatter_full_optim_state_dict: expected a state dict on rank 0, got None")
        return OlderStates.shard_full_optim_state_dict(whole, model, optim_input, optim)

    @staticmethod
    def rekey_optim_state_dict(
        optim_state_dict: dict[str, Any],
        optim_state_key_type: OptimStateKeyType,
        model: Any,
        optim_input: Any = None,
        optim: Any = None,
    ) -> dict[str, Any]:
        """The same states by parameters' names or their numbers; the dict itself where they are so already.

        The order of numbers is that of `optim`, of `optim_input`, or of the model's parameters. ValueError
        where some keys are names and some numbers.
        """
        wanted = str if optim_state_key_type is OptimStateKeyType.PARAM_NAME else int
        kinds = {type(key) for key in optim_state_dict["state"]}
        if len(kinds) > 1:
            raise ValueError(f"Invalid parameter keys: {optim_state_dict['state'].keys()}")
        if kinds <= {wanted}:
            return optim_state_dict
        chosen = _Ordered(model, optim_input) if optim is None else optim
        names = {id(p): name.replace(WRAPPED, "") for name, p in model.named_parameters()}
        ordered = [names[id(p)] for group in chosen.param_groups for p in group["params"]]
        keys: dict[Any, Any] = dict(enumerate(ordered))
        keys = keys if wanted is str else {name: number for number, name in keys.items()}
        state = {keys[key]: value for key, value in optim_state_dict["state"].items() if key in keys}
        groups = [
            {**group, "params": [keys[key] for key in group["params"]]}
            for group in optim_state_dict["param_groups"]
        ]
        return {"state": state, "param_groups": groups}


def _typed(model: Any, kind: StateDictType, optim: Any) -> dict[str, Any]:
    """The optimizer's state in one of the forms of state dicts."""
    # It imports this file.
    from rushlight.distributed.fsdp.fully_sharded_data_parallel import FullyShardedDataParallel

    with FullyShardedDataParallel.state_dict_type(model, kind):
        return states.optim_state_dict(model, optim)
