"""How much of programs that nobody here wrote compile() takes, and what it gains: third parties' models, and
ordinary ways to write a step.

    PYTHONPATH=. python -m rushlight benchmarks/coverage.py [NAME ...]     (--list: the names)

Each program is a training step. `inside` is the share of the time that a matched step spends computing which
it spends in programs, not in ops that ran by themselves; `ratio` is the time of a step with `torch.compile`
by that without, the smaller of interleaved calls of one process. What is not installed is said to be so.
"""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F


class Step:
    """One step of a program, and the compiled callable inside of it, if there is one."""

    def __init__(self, run: Callable[..., Any], runner: Any) -> None:
        self.run, self.runner = run, runner

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.run(*args, **kwargs)


CALLS, WARM = 44, 30


class MLP(nn.Module):  # type: ignore[misc]  # torch is Rushlight or PyTorch here
    """A small model; `width` makes its products large enough to count."""

    def __init__(self, width: int = 256) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(64, width),
            nn.LayerNorm(width),
            nn.GELU(),
            nn.Dropout(0.1),
            nn.Linear(width, width),
            nn.GELU(),
            nn.Linear(width, 10),
        )

    def forward(self, x: Any) -> Any:
        """Logits."""
        return self.layers(x)


def images(model: nn.Module, size: int, classes: int = 1000) -> tuple[nn.Module, Any, Any]:
    """A model of images with a batch."""
    return model, torch.randn(4, 3, size, size), torch.randint(0, classes, (4,))


def text(model: nn.Module, words: int, length: int = 64) -> tuple[nn.Module, Any, Any]:
    """A model of text with a batch."""
    tokens = torch.randint(0, words, (4, length + 1))
    return model, tokens[:, :-1].contiguous(), tokens[:, 1:].reshape(-1)


# --- models of third parties --------------------------------------------------------------------------------


def _timm(name: str, size: int, **options: Any) -> Callable[[], Any]:
    def make() -> Any:
        import timm

        return images(timm.create_model(name, num_classes=10, **options), size, 10)

    return make


def _x_transformers() -> Any:
    from x_transformers import Decoder, TransformerWrapper

    layers = Decoder(dim=128, depth=3, heads=4)
    return text(TransformerWrapper(num_tokens=256, max_seq_len=64, attn_layers=layers), 256)


def _vit_pytorch() -> Any:
    from vit_pytorch import ViT

    made = ViT(image_size=64, patch_size=16, num_classes=10, dim=128, depth=3, heads=4, mlp_dim=256)
    return images(made, 64, 10)


def _transformers(kind: str) -> Callable[[], Any]:
    def make() -> Any:
        import transformers

        small = {
            "hidden_size": 128,
            "num_hidden_layers": 3,
            "num_attention_heads": 4,
            "intermediate_size": 256,
            "vocab_size": 256,
            "max_position_embeddings": 128,
        }
        if kind == "GPT2":
            config = transformers.GPT2Config(n_embd=128, n_layer=3, n_head=4, vocab_size=256, n_positions=128)
            return text(transformers.GPT2LMHeadModel(config), 256)
        config = getattr(transformers, f"{kind}Config")(**small)
        head = "ForMaskedLM" if kind in ("Bert", "DistilBert", "Roberta") else "ForCausalLM"
        return text(getattr(transformers, f"{kind}{head}")(config), 256)

    return make


MODELS: dict[str, Callable[[], Any]] = {
    "timm resnet18": _timm("resnet18", 64),
    "timm vit_tiny": _timm("vit_tiny_patch16_224", 64, img_size=64),
    "timm mobilenetv3": _timm("mobilenetv3_small_100", 64),
    "timm convnext_atto": _timm("convnext_atto", 64),
    "timm efficientnet_b0": _timm("efficientnet_b0", 64),
    "x-transformers": _x_transformers,
    "vit-pytorch": _vit_pytorch,
    "transformers GPT2": _transformers("GPT2"),
    "transformers Llama": _transformers("Llama"),
    "transformers Bert": _transformers("Bert"),
}


def _logits(out: Any) -> Any:
    out = getattr(out, "logits", out)
    return out.reshape(-1, out.shape[-1])


def model_step(make: Callable[[], Any]) -> Callable[[bool], Step]:
    """model = torch.compile(model), and the step around it."""

    def build(compiled: bool) -> Step:
        torch.manual_seed(0)
        model, x, y = make()
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
        called = torch.compile(model) if compiled else model

        def step() -> Any:
            optimizer.zero_grad()
            loss = F.cross_entropy(_logits(called(x)), y)
            loss.backward()
            optimizer.step()
            return loss

        return Step(step, getattr(called, "_runner", None))

    return build


# --- ways to write a step -----------------------------------------------------------------------------------


@dataclasses.dataclass
class Config:
    """What many programs hand around."""

    clip: float = 1.0
    log_every: int = 5


class Trainer:
    """Holds all; each method is a way to write a step."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.model, self.cfg = MLP(), Config()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)
        self.schedule = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, 100)
        self.steps = 0
        self.metrics: dict[str, Any] = {}
        self.history: list[Any] = []
        self.said: list[str] = []
        self.params = list(self.model.parameters())

    def _loss(self, x: Any, y: Any) -> Any:
        return F.cross_entropy(self.model(x), y)

    def _walk(self, loss: Any) -> Any:
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss

    def method(self, x: Any, y: Any) -> Any:
        return self._walk(self._loss(x, y))

    def counter(self, x: Any, y: Any) -> Any:
        self.steps += 1
        return self._walk(self._loss(x, y))

    def metrics_dict(self, x: Any, y: Any) -> Any:
        loss = self._walk(self._loss(x, y))
        self.metrics["loss"] = loss.detach()
        return loss

    def list_of_losses(self, x: Any, y: Any) -> Any:
        self.history.append(self._walk(self._loss(x, y)).detach())
        return self.history[-1]

    def item_each_step(self, x: Any, y: Any) -> Any:
        loss = self._walk(self._loss(x, y))
        self.said.append(loss.item())
        return loss

    def item_sometimes(self, x: Any, y: Any) -> Any:
        self.steps += 1
        loss = self._walk(self._loss(x, y))
        if self.steps % self.cfg.log_every == 0:
            self.said.append(f"{loss.item():.4f}")
        return loss

    def clipping(self, x: Any, y: Any) -> Any:
        loss = self._loss(x, y)
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.params, self.cfg.clip)
        self.optimizer.step()
        self.schedule.step()
        return loss

    def branch_on_loss(self, x: Any, y: Any) -> Any:
        loss = self._loss(x, y)
        return self._walk(loss if loss < 100 else loss * 0.1)

    def autocast(self, x: Any, y: Any) -> Any:
        with torch.autocast("cpu", torch.bfloat16):
            loss = self._loss(x, y)
        return self._walk(loss)

    def accumulation(self, x: Any, y: Any) -> Any:
        self.optimizer.zero_grad()
        for a, b in zip(x.chunk(2), y.chunk(2)):
            loss = self._loss(a, b) / 2
            loss.backward()
        self.optimizer.step()
        return loss

    def several_sizes(self, x: Any, y: Any) -> Any:
        self.steps += 1
        n = 64 - 8 * (self.steps % 5)
        return self._walk(self._loss(x[:n], y[:n]))

    def accuracy(self, x: Any, y: Any) -> Any:
        out = self.model(x)
        self.metrics["accuracy"] = (out.argmax(1) == y).float().mean()
        return self._walk(F.cross_entropy(out, y))

    def update_by_hand(self, x: Any, y: Any) -> Any:
        grads = torch.autograd.grad(self._loss(x, y), self.params)
        with torch.no_grad():
            for p, g in zip(self.params, grads):
                p -= 1e-3 * g
        return grads[0].sum()

    def assertion(self, x: Any, y: Any) -> Any:
        loss = self._loss(x, y)
        if torch.isnan(loss):
            raise FloatingPointError("the loss is not a number")
        return self._walk(loss)

    def inference(self, x: Any, y: Any) -> Any:
        with torch.no_grad():
            return self.model(x).softmax(-1).max()


WAYS = [name for name, value in vars(Trainer).items() if not name.startswith("_") and callable(value)]


def way_step(name: str) -> Callable[[bool], Step]:
    """A method of Trainer, compiled whole."""

    def build(compiled: bool) -> Step:
        trainer = Trainer()
        x, y = torch.randn(64, 64), torch.randint(0, 10, (64,))
        method = getattr(trainer, name)
        called = torch.compile(method) if compiled else method

        def step() -> Any:
            return called(x, y)

        return Step(step, getattr(called, "_runner", None))

    return build


PROGRAMS = {
    **{name: model_step(make) for name, make in MODELS.items()},
    **{f"step: {name}": way_step(name) for name in WAYS},
}


# --- measuring ----------------------------------------------------------------------------------------------


def ratio(build: Callable[[bool], Step]) -> tuple[float, float, str]:
    """(seconds of an eager step, the compiled one's part of it, what compile() does)."""
    steps = {compiled: build(compiled) for compiled in (False, True)}
    times: dict[bool, list[float]] = {False: [], True: []}
    for number in range(CALLS):
        for compiled, step in steps.items():
            begin = time.perf_counter()
            step()
            if number >= WARM:
                times[compiled].append(time.perf_counter() - begin)
    plans = list(steps[True].runner.plans.values())
    matched = any(p.choice.matches for p in plans)
    how = "replayed" if any(p.ready for p in plans) else "matched" if matched else "eager"
    return min(times[False]), min(times[True]) / min(times[False]), how


def inside(build: Callable[[bool], Step]) -> tuple[float, dict[str, int]]:
    """The share of the computing of a matched step that programs do, and what ended segments."""
    from rushlight._engine.trace import choice, matching, segment

    step, spent, stack = build(True), {True: 0.0, False: 0.0}, [0.0]

    def timed(function: Any, within: bool) -> Any:
        def run(*args: Any, **kwargs: Any) -> Any:
            begin = time.perf_counter()
            stack.append(0.0)
            try:
                return function(*args, **kwargs)
            finally:
                elapsed = time.perf_counter() - begin
                spent[within] += elapsed - stack.pop()
                stack[-1] += elapsed

        return run

    runner = step.runner
    type(runner).__call__ = lambda self, *args, **kwargs: choice.call(self.trace, self.function, args, kwargs)
    for _ in range(30):
        step()
    runner.trace.reasons.clear()
    for owner, name, within in (
        (segment.Program, "run", True),
        (matching.Region, "eagerly", False),
        (matching.Region, "_listen", False),
    ):
        setattr(owner, name, timed(getattr(owner, name), within))
    for _ in range(5):
        step()
    return spent[True] / max(spent[True] + spent[False], 1e-9), runner.trace.reasons


def main(names: list[str]) -> None:
    """One line for each program, each in a process of its own."""
    if names == ["--list"]:
        print("\n".join(PROGRAMS))
    elif names[:1] == ["--one"]:
        build = PROGRAMS[names[1]]
        try:
            seconds, part, how = ratio(build)
            share, reasons = inside(build)
            print(f"| {names[1]} | {how} | {100 * share:.0f} % | {1e3 * seconds:.2f} ms | {part:.2f} |")
            for why, often in reasons.items():
                print(f"{names[1]}: {often} times: {why}", file=sys.stderr)
        except ImportError as error:
            print(f"| {names[1]} | not installed: {error.name} | | | |")
    else:
        print("| program | compile() | inside | eager step | ratio |\n|---|---|---|---|---|", flush=True)
        for name in names or PROGRAMS:
            done = subprocess.run(
                [sys.executable, "-m", "rushlight", __file__, "--one", name],
                check=False,
                capture_output=True,
                text=True,
            )
            print(
                done.stdout.strip() or f"| {name} | failed: {done.stderr.strip().splitlines()[-1]} | | | |",
                flush=True,
            )


if __name__ == "__main__":
    main(sys.argv[1:])
