"""Train a character-level GPT on Python's own standard library.

A plain PyTorch program. Run it with Rushlight, or with PyTorch itself:

    python -m rushlight examples/char_gpt.py
    python examples/char_gpt.py

It prints its progress, saves a checkpoint (continue with --resume), draws the loss curve to a PNG
and prints a sample of the Python that it has learned to write.
"""
import argparse
import math
import struct
import sysconfig
import time
import zlib
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
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)      # (B, heads, T, C / heads)
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
        x = self.tokens(ids) + self.positions(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))                                 # (B, T, vocabulary)
        if targets is None:
            return logits, None
        return logits, F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1))

    @torch.no_grad()
    def generate(self, ids, count, temperature=0.8):
        for _ in range(count):
            logits, _ = self(ids[:, -self.context:])
            probabilities = F.softmax(logits[:, -1] / temperature, dim=-1)
            ids = torch.cat([ids, torch.multinomial(probabilities, 1)], dim=1)
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
    starts = torch.randint(len(data) - context - 1, (batch,))
    x = torch.stack([data[i:i + context] for i in starts])
    y = torch.stack([data[i + 1:i + 1 + context] for i in starts])
    return x, y


def learning_rate(step, steps, peak=2e-3, warmup=50):
    """Linear warm-up, then half a cosine down to a tenth."""
    if step < warmup:
        return peak * (step + 1) / warmup
    progress = (step - warmup) / max(steps - warmup, 1)
    return peak * (0.1 + 0.45 * (1 + math.cos(math.pi * min(progress, 1.0))))


# --- the loss curve as a PNG, with nothing but the standard library ---------------------------------

DIGITS = {
    "0": ["111", "101", "101", "101", "111"], "1": ["010", "110", "010", "010", "111"],
    "2": ["111", "001", "111", "100", "111"], "3": ["111", "001", "111", "001", "111"],
    "4": ["101", "101", "111", "001", "001"], "5": ["111", "100", "111", "001", "111"],
    "6": ["111", "100", "111", "101", "111"], "7": ["111", "001", "010", "010", "010"],
    "8": ["111", "101", "111", "101", "111"], "9": ["111", "101", "111", "001", "111"],
    ".": ["000", "000", "000", "000", "010"],
}


class Picture:
    """A white picture to draw lines and digits on, written as a PNG."""

    def __init__(self, width, height):
        self.width, self.height = width, height
        self.pixels = bytearray(b"\xff" * (3 * width * height))

    def dot(self, x, y, colour):
        if 0 <= x < self.width and 0 <= y < self.height:
            self.pixels[3 * (y * self.width + x):3 * (y * self.width + x) + 3] = bytes(colour)

    def line(self, x0, y0, x1, y1, colour, thick=1):
        n = max(abs(x1 - x0), abs(y1 - y0), 1)
        for i in range(n + 1):
            x, y = round(x0 + (x1 - x0) * i / n), round(y0 + (y1 - y0) * i / n)
            for k in range(thick * thick):
                self.dot(x + k % thick, y + k // thick, colour)

    def write(self, text, x, y, scale=3):
        for place, c in enumerate(text):
            bits = "".join(DIGITS[c])
            for k in range(len(bits) * scale * scale):
                bit, part = divmod(k, scale * scale)
                if bits[bit] == "1":
                    self.dot(x + (4 * place + bit % 3) * scale + part % scale,
                             y + bit // 3 * scale + part // scale, (70, 70, 70))

    def save(self, path):
        def chunk(kind, data):
            return (struct.pack(">I", len(data)) + kind + data
                    + struct.pack(">I", zlib.crc32(kind + data)))
        row = 3 * self.width
        rows = b"".join(b"\0" + bytes(self.pixels[row * y:row * (y + 1)]) for y in range(self.height))
        header = struct.pack(">IIBBBBB", self.width, self.height, 8, 2, 0, 0, 0)
        Path(path).write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header)
                               + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b""))


def draw_curve(losses, path, width=900, height=480):
    """Losses (grey) and their running mean (blue) over the steps, with labelled axes."""
    left, right, top, bottom = 70, 20, 20, 50
    picture = Picture(width, height)
    high = math.ceil(max(losses) * 2) / 2

    def to_x(step):
        return left + round((width - left - right) * step / max(len(losses) - 1, 1))

    def to_y(loss):
        return top + round((height - top - bottom) * (1 - loss / high))

    for i in range(6):
        value, step = high * i / 5, round((len(losses) - 1) * i / 5)
        picture.line(left, to_y(value), width - right, to_y(value), (228, 228, 228))
        picture.write(f"{value:.1f}", 18, to_y(value) - 7)
        picture.write(str(step), to_x(step) - 6 * len(str(step)), height - bottom + 14)
    for step in range(1, len(losses)):
        picture.line(to_x(step - 1), to_y(losses[step - 1]), to_x(step), to_y(losses[step]),
                     (205, 213, 226))
    mean, previous = losses[0], (to_x(0), to_y(losses[0]))
    for step, loss in enumerate(losses):
        mean = 0.95 * mean + 0.05 * loss
        point = (to_x(step), to_y(mean))
        picture.line(*previous, *point, (31, 95, 191), thick=2)
        previous = point
    picture.line(left, top, left, height - bottom, (70, 70, 70))
    picture.line(left, height - bottom, width - right, height - bottom, (70, 70, 70))
    picture.save(path)


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
    parser.add_argument("--print-every", type=int, default=50)
    parser.add_argument("--text", help="a text file to learn from (default: the standard library)")
    parser.add_argument("--out", default=".", help="folder for char_gpt.pt and char_gpt.png")
    parser.add_argument("--resume", action="store_true", help="continue from char_gpt.pt")
    parser.add_argument("--stop-after", type=int, help="stop early, at this step, and save")
    parser.add_argument("--sample", type=int, default=400, help="characters to write at the end")
    options = parser.parse_args()

    torch.manual_seed(options.seed)
    text = read_text(options.text)
    characters = sorted(set(text))
    number = {c: i for i, c in enumerate(characters)}
    data = torch.tensor([number[c] for c in text], dtype=torch.long)
    model = GPT(len(characters), options.context, options.width, options.layers, options.heads,
                options.dropout)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, betas=(0.9, 0.95), weight_decay=0.1)
    checkpoint = Path(options.out) / "char_gpt.pt"
    losses = []
    if options.resume:
        saved = torch.load(checkpoint)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        torch.set_rng_state(saved["rng"])
        losses = saved["losses"]

    count = sum(p.numel() for p in model.parameters())
    print(f"{len(text):,} characters, {len(characters)} of them different; {count:,} parameters")
    start, first = time.perf_counter(), len(losses)
    stop = min(options.steps, options.stop_after or options.steps)
    for step in range(first, stop):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, options.steps)
        x, y = get_batch(data, options.batch, options.context)
        _, loss = model(x, y)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
        if step % options.print_every == 0 or step == stop - 1:
            done = step - first + 1
            seconds = time.perf_counter() - start
            speed = done * options.batch * options.context / seconds
            left = seconds / done * (stop - 1 - step)
            print(f"step {step:5d}  loss {losses[-1]:.4f}  {speed:7,.0f} characters/s  "
                  f"{left:4.0f} s to go", flush=True)

    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(),
                "rng": torch.get_rng_state(), "losses": losses}, checkpoint)
    picture = Path(options.out) / "char_gpt.png"
    draw_curve(losses, picture)
    print(f"saved {checkpoint} and {picture}")
    if options.sample:
        model.eval()
        prompt = torch.tensor([[number.get("\n", 0)]])
        written = model.generate(prompt, options.sample)[0].tolist()
        print("-" * 72 + "".join(characters[i] for i in written) + "\n" + "-" * 72)


if __name__ == "__main__":
    main()
