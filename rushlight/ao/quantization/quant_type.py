"""QuantType: when levels are chosen."""

from enum import IntEnum


class QuantType(IntEnum):
    """Call by call, beforehand, while training, or of weights alone."""

    DYNAMIC = 0
    STATIC = 1
    QAT = 2
    WEIGHT_ONLY = 3


_NAMES = {
    QuantType.DYNAMIC: "dynamic",
    QuantType.STATIC: "static",
    QuantType.QAT: "qat",
    QuantType.WEIGHT_ONLY: "weight_only",
}


def _get_quant_type_to_str(quant_type: QuantType) -> str:
    """The name."""
    return _NAMES[quant_type]


def _quant_type_from_str(name: str) -> QuantType:
    """The kind of a name; ValueError of others."""
    for kind, known in _NAMES.items():
        if known == name:
            return kind
    raise ValueError(f"Unknown QuantType name '{name}'")
