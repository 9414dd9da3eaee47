"""QConfigMapping: which configuration modules have, by name or type."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight import nn
from rushlight.ao.quantization import observer as seen
from rushlight.ao.quantization.qconfig import (
    QConfig,
    default_reuse_input_qconfig,
    get_default_qat_qconfig,
    get_default_qconfig,
)

_STYLES = (
    "global_qconfig",
    "object_type_qconfigs",
    "module_name_regex_qconfigs",
    "module_name_qconfigs",
    "module_name_object_type_order_qconfigs",
)


class QConfigMapping:
    """Configurations in order of precedence: of all, of types, of patterns of names, of names, of a place."""

    def __init__(self) -> None:
        self.global_qconfig: Any = None
        self.object_type_qconfigs: dict[Any, Any] = {}
        self.module_name_regex_qconfigs: dict[str, Any] = {}
        self.module_name_qconfigs: dict[str, Any] = {}
        self.module_name_object_type_order_qconfigs: dict[tuple[str, Any, int], Any] = {}

    def set_global(self, global_qconfig: Any) -> QConfigMapping:
        """Of all that nothing else is said of."""
        self.global_qconfig = global_qconfig
        return self

    def set_object_type(self, object_type: Any, qconfig: Any) -> QConfigMapping:
        """Of a class of modules, or a function."""
        self.object_type_qconfigs[object_type] = qconfig
        return self

    def set_module_name_regex(self, module_name_regex: str, qconfig: Any) -> QConfigMapping:
        """Of modules whose name a pattern fits."""
        self.module_name_regex_qconfigs[module_name_regex] = qconfig
        return self

    def set_module_name(self, module_name: str, qconfig: Any) -> QConfigMapping:
        """Of a module."""
        self.module_name_qconfigs[module_name] = qconfig
        return self

    def set_module_name_object_type_order(
        self, module_name: str, object_type: Any, index: int, qconfig: Any
    ) -> QConfigMapping:
        """Of the call number `index` of a type in a module."""
        self.module_name_object_type_order_qconfigs[module_name, object_type, index] = qconfig
        return self

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for style in _STYLES:
            held = getattr(self, style)
            lines.append(f" {style}")
            if isinstance(held, dict):
                lines += [f"  {key}: {value}" for key, value in held.items()]
            else:
                lines.append(f"  {held}")
        return "\n".join(lines) + "\n)"

    def to_dict(self) -> dict[str, Any]:
        """The older form, by the names of the ways that a configuration is said."""
        placed = self.module_name_object_type_order_qconfigs.items()
        return {
            "": self.global_qconfig,
            "object_type": list(self.object_type_qconfigs.items()),
            "module_name_regex": list(self.module_name_regex_qconfigs.items()),
            "module_name": list(self.module_name_qconfigs.items()),
            "module_name_object_type_order": [(*key, value) for key, value in placed],
        }

    @classmethod
    def from_dict(cls, qconfig_dict: dict[str, Any]) -> QConfigMapping:
        """A mapping of its older form."""
        made = cls()
        if "" in qconfig_dict:
            made.set_global(qconfig_dict[""])
        for key, value in qconfig_dict.get("object_type", []):
            made.set_object_type(key, value)
        for key, value in qconfig_dict.get("module_name_regex", []):
            made.set_module_name_regex(key, value)
        for key, value in qconfig_dict.get("module_name", []):
            made.set_module_name(key, value)
        for name, kind, index, value in qconfig_dict.get("module_name_object_type_order", []):
            made.set_module_name_object_type_order(name, kind, index, value)
        return made


_FROM_ZERO = (nn.Hardsigmoid, nn.functional.hardsigmoid, nn.Sigmoid, torch.sigmoid, nn.Softmax)
_AROUND_ZERO = (nn.Tanh, torch.tanh)


def _default_mapping(qconfig: QConfig) -> QConfigMapping:
    made = QConfigMapping().set_global(qconfig).set_object_type("reshape", default_reuse_input_qconfig)
    for kinds, observer in (
        (
            (*_FROM_ZERO, "hardsigmoid", "hardsigmoid_", "sigmoid", "sigmoid_"),
            seen.default_fixed_qparams_range_0to1_observer,
        ),
        ((*_AROUND_ZERO, "tanh", "tanh_"), seen.default_fixed_qparams_range_neg1to1_observer),
    ):
        for kind in kinds:
            made.set_object_type(kind, QConfig(observer, qconfig.weight))
    return made


def get_default_qconfig_mapping(backend: str = "x86", version: int = 0) -> QConfigMapping:
    """get_default_qconfig for all, and what has a range of its own: sigmoid, tanh, softmax."""
    return _default_mapping(get_default_qconfig(backend, version))


def get_default_qat_qconfig_mapping(backend: str = "x86", version: int = 1) -> QConfigMapping:
    """The same with get_default_qat_qconfig."""
    return _default_mapping(get_default_qat_qconfig(backend, version))
