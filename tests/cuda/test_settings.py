"""What RUSHLIGHT_CUDA says, and what it refuses; without it, nothing of CUDA is loaded."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from rushlight._engine.devices.cuda.configuration import cards, parse


def test_settings() -> None:
    assert len(parse("simulated").cards) == 1 and parse("simulated").cards[0].memory == 16 << 30
    two = parse("simulated:2x24GB")
    assert [c.memory for c in two.cards] == [24 << 30] * 2 and not two.check
    card = parse("simulated:3xa100-40gb,check,kernels")
    assert (
        len(card.cards) == 3
        and card.check
        and card.kernels
        and card.cards[0].name.startswith("Simulated NVIDIA A100")
    )
    assert parse("simulated:512MB").cards[0].memory == 512 << 20 and len(cards()) > 15


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("real", "begins with 'simulated'"),
        ("simulated:", "begins with 'simulated'"),
        ("simulated:a100", "did you mean 'a100-[48]0gb'"),
        ("simulated:0x2GB", "1 to 64 devices"),
        ("simulated:1MB", "at least 32MB"),
        ("simulated,fast", "the options are 'check' and 'kernels'"),
        ("simulated:?", "a card, or a size of memory"),
    ],
)
def test_wrong_settings(text: str, words: str) -> None:
    with pytest.raises(RuntimeError, match=words):
        parse(text)


def _run(code: str, **environment: str) -> str:
    environment = {k: v for k, v in {**os.environ, **environment}.items() if v is not None}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=100
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


LOADED = (
    "import sys, rushlight as torch; torch.randn(2) + 1; torch.cuda.is_available(); torch.manual_seed(0)\n"
)


def test_nothing_is_loaded_without_it() -> None:
    told = _run(LOADED + "print([m for m in sys.modules if 'devices.cuda' in m])", RUSHLIGHT_CUDA="off")
    assert told.strip() == "[]"


def test_visible_devices() -> None:
    code = "import rushlight as torch; print(torch.cuda.device_count(), torch.cuda.is_available())"
    for visible, told in (("", "0 False"), ("1", "1 True"), ("2,0", "2 True"), ("0,9,1", "1 True")):
        assert _run(code, RUSHLIGHT_CUDA="simulated:3x1GB", CUDA_VISIBLE_DEVICES=visible).strip() == told


def test_blocking_launches_raise_at_the_line() -> None:
    code = (
        "import rushlight as torch\nt = torch.zeros(3, 2, device='cuda')\n"
        "try: t[torch.tensor([7], device='cuda')]\nexcept RuntimeError as e: print('here' if 'assert' in str(e) else e)"
    )
    assert _run(code, RUSHLIGHT_CUDA="simulated:1GB", CUDA_LAUNCH_BLOCKING="1").strip() == "here"
