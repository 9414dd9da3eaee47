"""Record small files that PyTorch writes, and what is in them. Run where torch is installed."""

from __future__ import annotations

import json
from collections import Counter, OrderedDict
from pathlib import Path
from typing import Any

import midway
import torch

HERE = Path(__file__).parent / "serialize"
DTYPES = (
    "float32 float64 float16 bfloat16 float8_e4m3fn float8_e5m2 float8_e4m3fnuz "
    "float8_e5m2fnuz complex64 complex128 uint8 int8 int16 int32 int64 uint16 uint32 uint64 bool"
).split()


def mixed() -> dict[str, Any]:
    """Every dtype, views that share, odd strides, parameters, and plain data."""
    torch.manual_seed(0)
    base = torch.randn(4, 6)
    found: dict[str, Any] = {
        f"dtype_{name}": torch.tensor([0, 1, 1, 0]).to(getattr(torch, name)) for name in DTYPES
    }
    found |= {
        "base": base,
        "row": base[2],
        "turned": base.t()[1:, ::2],
        "scalar": torch.tensor(7),
        "empty": torch.empty(0, 3),
        "expanded": torch.ones(1).expand(5),
        "conj": torch.tensor([1 + 2j]).conj(),
        "parameter": torch.nn.Parameter(torch.arange(3.0)),
        "frozen": torch.nn.Parameter(torch.arange(2.0), requires_grad=False),
        "tracked": torch.ones(2, requires_grad=True),
        "meta": torch.empty(2, 3, device="meta"),
        "channels_last": torch.arange(24.0).reshape(1, 2, 3, 4).to(memory_format=torch.channels_last),
    }
    return found


def plain() -> dict[str, Any]:
    """What surrounds tensors in checkpoints."""
    return {
        "numbers": [0, -1, 255, 256, 65536, -(2**31), 2**40, -(2**80), 1.5, float("inf"), True, None, 1 + 2j],
        "text": ["", "abc", "\u00e9\u4e2d\U0001f600", b"\x00\xff", bytearray(b"12")],
        "containers": [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), {1, 2}, {}, {"a": {"b": []}}],
        "ordered": OrderedDict(b=1, a=2),
        "counter": Counter("aab"),
        "size": torch.Size([2, 3]),
        "dtype": torch.bfloat16,
        "device": torch.device("cpu"),
        "layout": torch.strided,
    }


def described(value: Any) -> dict[str, Any]:
    """A tensor as data: everything that a loaded copy must agree on."""
    flat = value.detach().resolve_conj()
    data = None
    if not value.is_meta:
        raw = flat.contiguous().view(-1).view(torch.uint8) if flat.numel() else flat
        data = bytes(raw.flatten().tolist()).hex()
    return {
        "dtype": str(value.dtype),
        "shape": list(value.shape),
        "stride": list(value.stride()),
        "offset": value.storage_offset(),
        "requires_grad": value.requires_grad,
        "kind": type(value).__name__,
        "device": str(value.device),
        "bytes": data,
    }


def main() -> None:
    """Write the files."""
    HERE.mkdir(exist_ok=True)
    tensors = mixed()
    torch.save(tensors, HERE / "mixed.pt")
    torch.save(
        {
            k: v
            for k, v in tensors.items()
            if not k.startswith("dtype_uint") and not k.startswith("dtype_float8")
        },
        HERE / "mixed_legacy.pt",
        _use_new_zipfile_serialization=False,
    )
    torch.save(plain(), HERE / "plain.pt")
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    model(torch.randn(5, 3)).square().sum().backward()
    optimizer.step()
    torch.save(
        {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3}, HERE / "training.pt"
    )
    torch.save(torch.nn.Linear(3, 2), HERE / "module.pt")
    losses = midway.begin(torch, HERE / "midway.pt", "adamw")
    (HERE / "midway.json").write_text(json.dumps(losses))
    facts = {k: described(v) for k, v in tensors.items()}
    (HERE / "mixed.json").write_text(json.dumps(facts, indent=1))


if __name__ == "__main__":
    main()
