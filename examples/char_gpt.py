"""Train a character-level GPT on Python's own standard library.

A plain PyTorch program. Run it with Rushlight, or with PyTorch itself:

    python -m rushlight examples/char_gpt.py
    python examples/char_gpt.py

It shows its progress, saves a checkpoint (continue with --resume), and draws char_gpt.png: the losses on
what it learns from and on what is held out, the learning rate, and what it wrote at each stage. At the end it
prints a sample of the Python that it has learned to write.
"""

import argparse
import math
import sysconfig
from pathlib import Path

import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    """One transformer layer: causal self-attention, then an MLP, each on a normalised input."""

    def __init__(self, width, heads, dropout):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = self.qkv(self.norm1(x)).split(C, dim=2)
        q, k, v = (t.view(B, T, self.heads, C // self.heads).transpose(1, 2) for t in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)  # (B, heads, T, C / heads)
        y = y.transpose(1, 2).contiguous().view(B, T, C)
        x = x + self.dropout(self.out(y))
        return x + self.dropout(self.mlp(self.norm2(x)))


class GPT(nn.Module):
    """Token and position embeddings, blocks, and a head that shares the token embedding."""

    def __init__(self, vocabulary, context, width=128, layers=4, heads=4, dropout=0.0):
        super().__init__()
        self.context = context
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(context, width)
        self.blocks = nn.ModuleList([Block(width, heads, dropout) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.apply(self._init)
        self.head.weight = self.tokens.weight

    @staticmethod
    def _init(module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, mean=0.0, std=0.02)
            if getattr(module, "bias", None) is not None:
                nn.init.zeros_(module.bias)

    def forward(self, ids, targets=None):
        x = self.tokens(ids) + self.positions(torch.arange(ids.shape[1], device=ids.device))
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))  # (B, T, vocabulary)
        if targets is None:
            return logits, None
        return logits, F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1))

    @torch.no_grad()
    def generate(self, ids, count, temperature=0.8, generator=None):
        self.eval()
        for _ in range(count):
            logits, _ = self(ids[:, -self.context :])
            probabilities = F.softmax(logits[:, -1] / temperature, dim=-1)
            ids = torch.cat([ids, torch.multinomial(probabilities, 1, generator=generator)], dim=1)
        self.train()
        return ids


def read_text(path, limit=1_500_000):
    """The text of a file, or of the standard library's modules in the order of their names."""
    if path:
        return Path(path).read_text(encoding="utf-8")
    pieces, size = [], 0
    for file in sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py")):
        try:
            text = file.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        text = "".join(c for c in text if c == "\n" or 32 <= ord(c) < 127)
        pieces.append(text)
        size += len(text)
        if size > limit:
            break
    return "".join(pieces)


def get_batch(data, batch, context):
    """Windows of the text and the characters behind them; the text is on the CPU, and so are the batches."""
    starts = torch.randint(len(data) - context - 1, (batch,))
    x = torch.stack([data[i : i + context] for i in starts])
    y = torch.stack([data[i + 1 : i + 1 + context] for i in starts])
    return x, y


def learning_rate(step, steps, peak=2e-3, warmup=50):
    """Linear warm-up, then half a cosine down to a tenth."""
    if step < warmup:
        return peak * (step + 1) / warmup
    progress = (step - warmup) / max(steps - warmup, 1)
    return peak * (0.1 + 0.45 * (1 + math.cos(math.pi * min(progress, 1.0))))


@torch.no_grad()
def held_out_loss(model, data, context, windows=32):
    """The mean loss on windows spread evenly over text that the model does not learn from."""
    starts = torch.linspace(0, len(data) - context - 1, windows).long()
    x = torch.stack([data[i : i + context] for i in starts])
    y = torch.stack([data[i + 1 : i + 1 + context] for i in starts])
    device = model.tokens.weight.device
    model.eval()
    _, loss = model(x.to(device), y.to(device))
    model.train()
    return loss.item()


def draw(history, path):
    """The losses and the learning rate over the steps, and beside them what was written at each stage."""
    import matplotlib.pyplot as plt

    losses, mean = history["losses"], []
    for loss in losses:
        mean.append(loss if not mean else 0.95 * mean[-1] + 0.05 * loss)
    figure, axes = plt.subplot_mosaic(
        [["loss", "text"], ["rate", "text"]],
        figsize=(12, 6.5),
        height_ratios=[3, 1],
        width_ratios=[5, 4],
        layout="constrained",
    )
    figure.suptitle("A character-level GPT learns to write Python")
    axes["loss"].plot(losses, color="tab:blue", alpha=0.25, label="train, each batch")
    axes["loss"].plot(mean, color="tab:blue", label="train, running mean")
    axes["loss"].plot(*zip(*history["held_out"]), "o-", color="tab:orange", label="held out")
    axes["loss"].set(ylabel="loss (nats per character)")
    axes["loss"].grid(alpha=0.3)
    axes["loss"].legend()
    axes["rate"].plot(history["rates"], color="tab:green")
    axes["rate"].set(xlabel="step", ylabel="learning rate")
    axes["rate"].grid(alpha=0.3)
    stages = [
        f"step {step}\n" + "\n".join(line[:58] for line in text.split("\n")[:6])
        for step, text in history["stages"]
    ]
    axes["text"].set(title="what it writes at each stage")
    axes["text"].axis("off")
    axes["text"].text(0, 1, "\n\n".join(stages), va="top", family="monospace", fontsize=7, parse_math=False)
    figure.savefig(path, dpi=100)
    plt.close(figure)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=1200)
    parser.add_argument("--batch", type=int, default=12)
    parser.add_argument("--context", type=int, default=64)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=1337)
    parser.add_argument("--device", default="cpu", help="where to train, as in cuda")
    parser.add_argument("--print-every", type=int, default=50)
    parser.add_argument("--text", help="a text file to learn from (default: the standard library)")
    parser.add_argument("--out", default=".", help="folder for char_gpt.pt and char_gpt.png")
    parser.add_argument("--resume", action="store_true", help="continue from char_gpt.pt")
    parser.add_argument("--stop-after", type=int, help="stop early, at this step, and save")
    parser.add_argument("--sample", type=int, default=400, help="characters to write at the end")
    options = parser.parse_args()

    from tqdm import tqdm

    torch.manual_seed(options.seed)
    text = read_text(options.text)
    characters = sorted(set(text))
    number = {c: i for i, c in enumerate(characters)}
    data = torch.tensor([number[c] for c in text], dtype=torch.long)
    train, held_out = data[: int(0.95 * len(data))], data[int(0.95 * len(data)) :]
    model = GPT(
        len(characters), options.context, options.width, options.layers, options.heads, options.dropout
    ).to(options.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, betas=(0.9, 0.95), weight_decay=0.1)
    checkpoint = Path(options.out) / "char_gpt.pt"
    history = {"losses": [], "rates": [], "held_out": [], "stages": []}
    if options.resume:
        saved = torch.load(checkpoint, map_location="cpu")
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        torch.set_rng_state(saved["rng"])
        history = saved["history"]

    def write(count, generator=None):
        prompt = torch.tensor([[number.get("\n", 0)]], device=options.device)
        return "".join(characters[i] for i in model.generate(prompt, count, generator=generator)[0].tolist())

    count = sum(p.numel() for p in model.parameters())
    print(f"{len(text):,} characters, {len(characters)} of them different; {count:,} parameters")
    stop = min(options.steps, options.stop_after or options.steps)
    stage = max(options.steps // 4, 1)
    bar = tqdm(
        range(len(history["losses"]), stop), initial=len(history["losses"]), total=options.steps, unit="step"
    )
    for step in bar:
        if step % stage == 0:
            # Numbers of its own, so that looking changes nothing in the training.
            text = write(240, torch.Generator(options.device).manual_seed(options.seed))
            history["stages"].append((step, text.strip("\n")))
        rate = learning_rate(step, options.steps)
        for group in optimizer.param_groups:
            group["lr"] = rate
        x, y = get_batch(train, options.batch, options.context)
        _, loss = model(x.to(options.device), y.to(options.device))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        history["losses"].append(loss.item())
        history["rates"].append(rate)
        if step % options.print_every == 0 or step == stop - 1:
            history["held_out"].append((step, held_out_loss(model, held_out, options.context)))
            bar.write(
                f"step {step:5d}  loss {history['losses'][-1]:.4f}  held out {history['held_out'][-1][1]:.4f}"
            )

    torch.save(
        {
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "rng": torch.get_rng_state(),
            "history": history,
        },
        checkpoint,
    )
    sample = write(options.sample)
    if stop == options.steps:
        history["stages"].append((stop, sample[:240].strip("\n")))
    picture = Path(options.out) / "char_gpt.png"
    draw(history, picture)
    print(f"saved {checkpoint} and {picture}")
    if options.sample:
        print("-" * 72 + sample + "\n" + "-" * 72)


if __name__ == "__main__":
    main()
