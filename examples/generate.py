"""Hugging Face's transformers: train a tokenizer and a small GPT-2 on a text, save both, load them, write.

    pip install transformers        (PyTorch is not needed)
    python -m rushlight examples/generate.py [--steps 150] [--out FOLDER]

There is no model hub in it: the configuration says what the model is like, and the text is Python's own
documentation strings. Prints losses and a text; under PyTorch these are the same but for last digits.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    GPT2Config,
    GPT2LMHeadModel,
    PreTrainedTokenizerFast,
)

END = "<|endoftext|>"


def texts() -> list[str]:
    """Documentation strings of what comes with every Python."""
    import argparse
    import json
    import textwrap

    found = [
        text
        for module in (argparse, json, textwrap)
        for text in (module.__doc__, *(getattr(module, name).__doc__ for name in module.__all__))
        if text
    ]
    return [" ".join(text.split()) for text in found]


def make_tokenizer(lines: list[str], folder: str) -> None:
    """Train a byte-pair tokenizer and save it where AutoTokenizer finds it."""
    bare = Tokenizer(models.BPE())
    bare.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bare.decoder = decoders.ByteLevel()
    bare.train_from_iterator(
        lines,
        trainers.BpeTrainer(
            vocab_size=512,
            special_tokens=[END],
            show_progress=False,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        ),
    )
    PreTrainedTokenizerFast(tokenizer_object=bare, eos_token=END, pad_token=END).save_pretrained(folder)


def batches(ids: torch.Tensor, steps: int, size: int = 8, length: int = 64) -> Iterator[torch.Tensor]:
    """Pieces of the text from random places, (size, length)."""
    for _ in range(steps):
        starts = torch.randint(0, len(ids) - length, (size, 1))
        yield ids[starts + torch.arange(length)]


def main() -> None:
    """Train, save, load, generate."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--out", default=tempfile.gettempdir() + "/generate")
    given = parser.parse_args()

    torch.manual_seed(0)
    make_tokenizer(texts(), given.out)
    tokenizer = AutoTokenizer.from_pretrained(given.out)
    ids = tokenizer(END.join(texts()), return_tensors="pt")["input_ids"][0]
    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=len(tokenizer),
            n_embd=96,
            n_layer=3,
            n_head=4,
            n_positions=128,
            bos_token_id=0,
            eos_token_id=0,
        )
    )
    print(f"{len(ids):,} tokens, {model.num_parameters():,} parameters")
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    model.train()
    for step, batch in enumerate(batches(ids, given.steps)):
        loss = model(input_ids=batch, labels=batch).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if step % 25 == 0 or step == given.steps - 1:
            print(f"step {step:4}  loss {loss.item():.4f}")
    model.save_pretrained(given.out)

    model = AutoModelForCausalLM.from_pretrained(given.out)
    prompt = tokenizer("The parser", return_tensors="pt")
    with torch.inference_mode():
        out = model.generate(
            **prompt,
            max_new_tokens=40,
            do_sample=True,
            temperature=0.7,
            top_p=0.9,
            repetition_penalty=1.05,
            pad_token_id=tokenizer.eos_token_id,
        )
    print(tokenizer.decode(out[0], skip_special_tokens=True))


if __name__ == "__main__":
    main()
