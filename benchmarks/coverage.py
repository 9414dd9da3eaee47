"""How much of programs that nobody here wrote compile() takes, and what it gains: third parties' models, and
ordinary ways to write a step.

    PYTHONPATH=. python -m rushlight benchmarks/coverage.py [NAME ...]     (--list: the names)

Each program is a training step, in float32, of a small model with a batch of four. `inside` is the share of
the time that a matched step spends computing which it spends in programs, not in ops that ran by themselves;
`ratio` is the time of a step with `torch.compile` by that without, the smallest of calls of one process: a
few without before the compiler is loaded, the others in turn. With one thread (RUSHLIGHT_NUM_THREADS=1) it is
the processor's time, which others on the machine change little. What is not installed is said to be so.
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


CALLS, WARM = 48, 38


class MLP(nn.Module):
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


def _transformers(kind: str, head: str = "ForCausalLM", **options: Any) -> Callable[[], Any]:
    def make() -> Any:
        import transformers

        small = {
            "hidden_size": 128,
            "num_hidden_layers": 3,
            "num_attention_heads": 4,
            "num_key_value_heads": 4,
            "intermediate_size": 256,
            "vocab_size": 256,
            "max_position_embeddings": 128,
            "pad_token_id": 0,
            "bos_token_id": 1,
            "eos_token_id": 2,
            **options,
        }
        config = getattr(transformers, f"{kind}Config")(**small)
        return text(getattr(transformers, f"{kind}{head}")(config), 256)

    return make


def _lora() -> Any:
    from peft import LoraConfig, get_peft_model

    model, x, y = _transformers("Llama")()
    return get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "v_proj"])), x, y


def _linformer() -> Any:
    from linformer import LinformerLM

    return text(LinformerLM(num_tokens=256, dim=128, seq_len=64, depth=3, heads=4, k=32), 256)


def _mixer() -> Any:
    from mlp_mixer_pytorch import MLPMixer

    made = MLPMixer(image_size=64, channels=3, patch_size=16, dim=128, depth=3, num_classes=10)
    return images(made, 64, 10)


def _perceiver() -> Any:
    from perceiver_pytorch import PerceiverIO

    made = PerceiverIO(
        dim=32, queries_dim=32, logits_dim=10, depth=3, num_latents=32, latent_dim=64, latent_heads=4
    )

    class Classifier(nn.Module):
        """What its page shows: a sequence, and one query."""

        def __init__(self) -> None:
            super().__init__()
            self.model, self.query = made, nn.Parameter(torch.randn(1, 32))

        def forward(self, x: Any) -> Any:
            """Logits."""
            return self.model(x, queries=self.query)[:, 0]

    return Classifier(), torch.randn(4, 64, 32), torch.randint(0, 10, (4,))


def _unet() -> Any:
    from diffusers import UNet2DModel

    made = UNet2DModel(
        sample_size=16,
        in_channels=3,
        out_channels=10,
        layers_per_block=1,
        block_out_channels=(32, 64),
        down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"),
        norm_num_groups=8,
    )

    class Denoiser(nn.Module):
        """A class for each place, at one time."""

        def __init__(self) -> None:
            super().__init__()
            self.model = made

        def forward(self, x: Any) -> Any:
            """Logits."""
            return self.model(x, 10).sample.mean((2, 3))

    return Denoiser(), torch.randn(4, 3, 16, 16), torch.randint(0, 10, (4,))


def _segmentation() -> Any:
    import segmentation_models_pytorch

    made = segmentation_models_pytorch.Unet("resnet18", encoder_weights=None, classes=10)
    return nn.Sequential(made, nn.AdaptiveAvgPool2d(1), nn.Flatten()), *images(made, 64, 10)[1:]


class Pooled(nn.Module):
    """What `inner` gives, its mean along a dim, and logits."""

    def __init__(self, inner: nn.Module, dim: int, width: int) -> None:
        super().__init__()
        self.inner, self.dim, self.out = inner, dim, nn.Linear(width, 10)

    def forward(self, x: Any) -> Any:
        """Logits."""
        return self.out(self.inner(x).mean(self.dim))


def _conformer() -> Any:
    from conformer import ConformerBlock

    made = [ConformerBlock(dim=64, dim_head=16, heads=4, ff_mult=2, conv_kernel_size=15) for _ in range(2)]
    return Pooled(nn.Sequential(*made), 1, 64), torch.randn(4, 64, 64), torch.randint(0, 10, (4,))


def _tcn() -> Any:
    from pytorch_tcn import TCN

    made = TCN(16, [32, 32, 32], kernel_size=4, dropout=0.1)
    return Pooled(made, 2, 32), torch.randn(8, 16, 64), torch.randint(0, 10, (8,))


def _nystrom() -> Any:
    from nystrom_attention import Nystromformer

    made = Nystromformer(dim=64, dim_head=16, heads=4, depth=2, num_landmarks=16)
    return Pooled(made, 1, 64), torch.randn(4, 64, 64), torch.randint(0, 10, (4,))


_LM = ("Llama", "Mistral", "Qwen2", "Phi", "GPTNeoX", "StableLm", "Granite")
_MASKED = ("Bert", "Roberta", "Electra", "Albert", "ConvBert")
MODELS: dict[str, Callable[[], Any]] = {
    "timm resnet18": _timm("resnet18", 64),
    "timm vit_tiny": _timm("vit_tiny_patch16_224", 64, img_size=64),
    "timm mobilenetv3": _timm("mobilenetv3_small_100", 64),
    "timm convnext_atto": _timm("convnext_atto", 64),
    "timm efficientnet_b0": _timm("efficientnet_b0", 64),
    "timm regnetx_002": _timm("regnetx_002", 64),
    "timm resmlp_12": _timm("resmlp_12_224", 64, img_size=64),
    "timm ghostnet_050": _timm("ghostnet_050", 64),
    "timm edgenext_xx_small": _timm("edgenext_xx_small", 64),
    "timm repvgg_a0": _timm("repvgg_a0", 64),
    "x-transformers": _x_transformers,
    "vit-pytorch": _vit_pytorch,
    "linformer": _linformer,
    "mlp-mixer-pytorch": _mixer,
    "perceiver-pytorch": _perceiver,
    "diffusers UNet2DModel": _unet,
    "segmentation-models-pytorch Unet": _segmentation,
    "peft LoRA of a Llama": _lora,
    "conformer": _conformer,
    "pytorch-tcn": _tcn,
    "nystrom-attention": _nystrom,
    "transformers GPT2": _transformers("GPT2", "LMHeadModel", n_embd=128, n_layer=3, n_head=4),
    "transformers OPT": _transformers("OPT", ffn_dim=256, word_embed_proj_dim=128),
    "transformers DistilBert": _transformers(
        "DistilBert", "ForMaskedLM", dim=128, n_layers=3, n_heads=4, hidden_dim=256
    ),
    **{f"transformers {kind}": _transformers(kind) for kind in _LM},
    **{f"transformers {kind}": _transformers(kind, "ForMaskedLM") for kind in _MASKED},
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
    clock = time.process_time if torch.get_num_threads() == 1 else time.perf_counter
    times: dict[bool, list[float]] = {False: [], True: []}
    steps = {False: build(False)}
    for number in range(6 + CALLS - WARM):  # before anything of the compiler is loaded
        begin = clock()
        steps[False]()
        if number >= 6:
            times[False].append(clock() - begin)
    steps[True] = build(True)
    for number in range(CALLS):
        for compiled, step in steps.items():
            begin = clock()
            step()
            if number >= WARM:
                times[compiled].append(clock() - begin)
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
        (segment.Program, "at_once", True),
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
            said = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
            print(
                done.stdout.strip() or f"| {name} | failed: {said[-1]} | | | |",
                flush=True,
            )


if __name__ == "__main__":
    main(sys.argv[1:])
