"""Hugging Face's `transformers` on Rushlight does what PyTorch was recorded to do with it.

The package imports `torch`, so a program of its own runs all of it once, under the launcher.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import rushlight

pytest.importorskip("transformers")
GOLDENS = Path(__file__).parents[1] / "goldens"
sys.path.insert(0, str(GOLDENS))
from answers import difference, same  # noqa: E402
from bridge_behaviours import BRIDGE  # noqa: E402

# Logits and sums of gradients, of models of two layers.
PRECISION = 2e-5
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(rushlight.__file__).parents[1]), "HF_HUB_OFFLINE": "1"}


def launch(*arguments: str, expect: int = 0) -> subprocess.CompletedProcess[str]:
    found = subprocess.run(
        [sys.executable, "-m", "rushlight", *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        env=ENVIRONMENT,
    )
    assert found.returncode == expect, found.stderr
    return found


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Any:
    file = tmp_path_factory.mktemp("bridge") / "answers.json"
    launch(str(GOLDENS / "bridge_behaviours.py"), str(file))
    return json.loads(file.read_text())


@pytest.mark.parametrize("name", BRIDGE)
def test_behaviour(name: str, answers: Any) -> None:
    wanted = BRIDGE.recorded()[name]
    assert same(answers[name], wanted, PRECISION), difference(answers[name], wanted)


def test_devices_that_are_not_there(tmp_path: Path) -> None:
    code = """
from transformers import AutoModelForCausalLM, GPT2Config, GPT2LMHeadModel
GPT2LMHeadModel(GPT2Config(n_layer=1, n_head=1, n_embd=4, vocab_size=9)).save_pretrained(FOLDER)
AutoModelForCausalLM.from_pretrained(FOLDER, device_map="cuda")
""".replace("FOLDER", repr(str(tmp_path)))
    found = launch("-c", code, expect=1)
    # Without the package `accelerate` a device map is refused, with it there is no such device.
    assert "requires `accelerate`" in found.stderr or "Torch not compiled with CUDA" in found.stderr


TRAINER = """
import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

torch.manual_seed(0)
ids = torch.randint(4, 96, (64, 12))
data = [dict(input_ids=row, labels=row) for row in ids]
model = GPT2LMHeadModel(GPT2Config(vocab_size=96, n_embd=32, n_layer=2, n_head=4, n_positions=64,
                                   initializer_range=0.3, bos_token_id=1, eos_token_id=2))
trainer = Trainer(model, TrainingArguments(
    FOLDER, num_train_epochs=2, per_device_train_batch_size=8, logging_steps=4, report_to=[], learning_rate=1e-3,
    save_strategy="epoch", eval_strategy="epoch", seed=1, disable_tqdm=True, gradient_accumulation_steps=2,
    use_cpu=True), train_dataset=data, eval_dataset=data)
trainer.train()
print([round(h[key], 3) for h in trainer.state.log_history for key in ("loss", "grad_norm", "eval_loss") if key in h])
"""


def test_trainer(tmp_path: Path) -> None:
    """Losses and norms as recorded from PyTorch, with the package that Trainer is built on."""
    pytest.importorskip("accelerate")
    pytest.importorskip("rushlight.distributed.tensor.dtensor")
    found = launch("-c", TRAINER.replace("FOLDER", repr(str(tmp_path))))
    assert json.loads(found.stdout.splitlines()[-1]) == pytest.approx(TRAINED, abs=2e-3)
    assert (tmp_path / "checkpoint-8" / "model.safetensors").exists()


TRAINED = [5.553, 2.376, 5.4, 5.39, 2.222, 5.316]


def test_example(tmp_path: Path) -> None:
    """The loss falls, and a text comes; the numbers are those of this Python's documentation strings."""
    program = Path(rushlight.__file__).parents[1] / "examples" / "generate.py"
    found = launch(str(program), "--steps", "26", "--out", str(tmp_path)).stdout.splitlines()
    first, last = (float(line.split()[-1]) for line in found[1:3])
    assert last < first - 0.5 and found[3].startswith("The parser")
