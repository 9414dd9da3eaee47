"""What models of Hugging Face's `transformers` do, of small sizes and from a seed; PyTorch's: bridge_behaviours.json.

The package imports `torch` by that name, so it is asked by a program of its own, under PyTorch to record and under
`python -m rushlight` to compare:

    python bridge_behaviours.py FILE [SEED [NAME ...]]    answers of (all) behaviours, as JSON
    python bridge_behaviours.py --save FOLDER             models in folders, as their own package's files and PyTorch's
    python bridge_behaviours.py --load FOLDER FILE        what those compute, as JSON
"""

from __future__ import annotations

import json
import sys
import tempfile
import warnings
from collections.abc import Callable
from typing import Any

from answers import Table, attempt

BRIDGE = Table("bridge_behaviours.json")
SMALL = dict(
    vocab_size=96,
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=48,
    max_position_embeddings=64,
    initializer_range=0.3,
)
LLAMA = dict(
    SMALL, num_key_value_heads=2, tie_word_embeddings=False, pad_token_id=0, bos_token_id=1, eos_token_id=2
)
GPT2 = dict(
    vocab_size=96,
    n_embd=32,
    n_layer=2,
    n_head=4,
    n_positions=64,
    initializer_range=0.3,
    bos_token_id=1,
    eos_token_id=2,
)
T5 = dict(vocab_size=96, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4, decoder_start_token_id=0)
WHISPER = dict(
    vocab_size=96,
    d_model=32,
    encoder_layers=2,
    decoder_layers=2,
    encoder_attention_heads=4,
    decoder_attention_heads=4,
    encoder_ffn_dim=48,
    decoder_ffn_dim=48,
    num_mel_bins=8,
    max_source_positions=12,
    max_target_positions=32,
    pad_token_id=0,
    bos_token_id=1,
    eos_token_id=2,
    decoder_start_token_id=3,
    init_std=0.3,
    suppress_tokens=None,
    begin_suppress_tokens=None,
)
VIT = dict(
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=48,
    image_size=16,
    patch_size=4,
    num_labels=5,
    initializer_range=0.3,
)
# Name: class, its config, what is given; the config's class is the same name in part.
MODELS: dict[str, tuple[str, str, dict[str, Any], str]] = {
    "gpt2": ("GPT2LMHeadModel", "GPT2Config", GPT2, "text"),
    "llama": ("LlamaForCausalLM", "LlamaConfig", LLAMA, "text"),
    "mistral": ("MistralForCausalLM", "MistralConfig", dict(LLAMA, sliding_window=4), "text"),
    "qwen2": ("Qwen2ForCausalLM", "Qwen2Config", LLAMA, "text"),
    "mixtral": ("MixtralForCausalLM", "MixtralConfig", dict(LLAMA, num_local_experts=4), "text"),
    "bert": ("BertForMaskedLM", "BertConfig", SMALL, "text"),
    "bert_classifier": ("BertForSequenceClassification", "BertConfig", dict(SMALL, num_labels=5), "classes"),
    "distilbert": (
        "DistilBertForSequenceClassification",
        "DistilBertConfig",
        dict(
            vocab_size=96,
            dim=32,
            n_layers=2,
            n_heads=4,
            hidden_dim=48,
            max_position_embeddings=64,
            initializer_range=0.3,
            num_labels=5,
        ),
        "classes",
    ),
    "roberta": ("RobertaForMaskedLM", "RobertaConfig", SMALL, "text"),
    "t5": ("T5ForConditionalGeneration", "T5Config", T5, "text"),
    "vit": ("ViTForImageClassification", "ViTConfig", VIT, "image"),
    "whisper": ("WhisperForConditionalGeneration", "WhisperConfig", WHISPER, "sound"),
}
SEED = 0
IS_RUSHLIGHT = "rushlight" in sys.modules


def build(name: str, **changes: Any) -> Any:
    """A model with fresh weights."""
    import torch
    import transformers

    model, config, options, _ = MODELS[name]
    torch.manual_seed(SEED)
    return getattr(transformers, model)(getattr(transformers, config)(**{**options, **changes}))


def inputs(name: str) -> dict[str, Any]:
    """What a model is called with: two examples, the second one padded."""
    import torch

    kind = MODELS[name][3]
    torch.manual_seed(SEED + 1)
    if kind == "image":
        return dict(pixel_values=torch.randn(2, 3, 16, 16), labels=torch.tensor([1, 4]))
    ids = torch.randint(4, 96, (2, 9))
    if kind == "sound":
        return dict(input_features=torch.randn(2, 8, 24), labels=ids)
    mask = torch.ones_like(ids)
    mask[1, 6:] = 0
    return dict(input_ids=ids, attention_mask=mask, labels=torch.tensor([1, 4]) if kind == "classes" else ids)


def digest(named: Any) -> dict[str, list[float]]:
    """Sums of tensors by name, of their elements' squares and of the elements with weights."""
    import torch

    found = {}
    for name, tensor in named:
        flat = tensor.detach().double().flatten()
        ramp = torch.linspace(1, 2, flat.numel(), dtype=torch.float64)
        found[name] = [round(float(flat.norm()), 8), round(float((flat * ramp).sum() / ramp.norm()), 8)]
    return found


def numbers(tensor: Any, digits: int = 7) -> Any:
    """The first elements of a tensor."""
    return [round(v, digits) for v in tensor.detach().double().flatten()[:200].tolist()]


def behaviour(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Add one; what it raises is its answer."""

    def answer(torch: Any) -> Any:
        return attempt(lambda: function(torch))

    answer.__name__ = function.__name__
    return BRIDGE(answer)


def _model(name: str) -> Callable[[Any], Any]:
    def answer(torch: Any) -> Any:
        model = build(name)
        weights = digest(model.state_dict().items())
        model.eval()
        out = model(**inputs(name))
        out.loss.backward()
        grads = digest((n, p.grad) for n, p in model.named_parameters() if p.grad is not None)
        return [type(model).__name__, weights, numbers(out.logits), float(out.loss), grads]

    answer.__name__ = name
    return answer


# How generate() chooses: a number draws alike in both packages.
CHOICES = {
    "greedy": dict(do_sample=False),
    "sampling": dict(do_sample=True, temperature=0.7, top_p=0.9, repetition_penalty=1.05),
    "top_k": dict(do_sample=True, top_k=5),
    "beams": dict(num_beams=3, do_sample=False),
    "beams_drawn": dict(num_beams=3, do_sample=True),
    "no_cache": dict(do_sample=False, use_cache=False),
    "static_cache": dict(do_sample=False, cache_implementation="static"),
    "beams_many": dict(num_beams=4, num_return_sequences=2, length_penalty=0.5, early_stopping=True),
    "typical": dict(do_sample=True, typical_p=0.8),
    "eta": dict(do_sample=True, eta_cutoff=3e-4),
    "rules": dict(do_sample=False, no_repeat_ngram_size=2, bad_words_ids=[[5], [6, 7]], min_new_tokens=8),
}
_SOME = ("greedy", "sampling", "beams", "static_cache")


def _generated(name: str, choices: Any) -> Callable[[Any], Any]:
    def answer(torch: Any) -> Any:
        model, given = build(name).eval(), inputs(name)
        del given["labels"]
        if MODELS[name][3] == "text":
            given = {key: value.flip(1) for key, value in given.items()}  # padding is to the left
        found = {}
        for choice in choices:
            torch.manual_seed(SEED + 5)
            found[choice] = model.generate(**given, max_new_tokens=12, **CHOICES[choice]).tolist()
        return found

    answer.__name__ = f"{name}_generates"
    return answer


for _name in MODELS:
    BRIDGE(_model(_name))
for _name in ("gpt2", "llama", "mistral", "qwen2", "mixtral", "t5", "whisper"):
    BRIDGE(_generated(_name, CHOICES if _name == "gpt2" else _SOME))


@behaviour
def training(torch: Any) -> Any:
    """Five steps with dropout, clipped; losses."""
    found = {}
    for name in ("gpt2", "bert_classifier", "t5", "vit"):
        model = build(name).train()
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        torch.manual_seed(SEED + 2)
        losses = []
        for _ in range(5):
            loss = model(**inputs(name)).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            losses.append(float(loss))
        found[name] = losses
    return found


@behaviour
def checkpointed(torch: Any) -> Any:
    """Gradients with gradient checkpointing, dropout inside."""
    model = build("llama", attention_dropout=0.1).train()
    model.gradient_checkpointing_enable()
    torch.manual_seed(SEED + 2)
    model(**inputs("llama")).loss.backward()
    return digest((n, p.grad) for n, p in model.named_parameters())


@behaviour
def attention(torch: Any) -> Any:
    """eager and sdpa; weights of attention and hidden states."""
    found = []
    for name in ("gpt2", "llama", "bert", "t5", "vit"):
        for way in ("eager", "sdpa"):
            model = build(name, attn_implementation=way).eval()
            found.append(
                [name, model.config._attn_implementation, numbers(model(**inputs(name)).logits)[:30]]
            )
        out = build(name, attn_implementation="eager").eval()(
            **inputs(name), output_attentions=True, output_hidden_states=True
        )
        weights = out.get("attentions") or out.get("encoder_attentions")
        found.append([list(out.keys()), numbers(weights[0])[:30]])
    return found


@behaviour
def compiled(torch: Any) -> Any:
    """torch.compile(model): the answers of the first calls and of replays."""
    found = []
    for name in ("gpt2", "bert"):
        model = build(name).eval()
        fast = torch.compile(model) if IS_RUSHLIGHT else model  # PyTorch's would start a C++ compiler
        for _ in range(4):
            out = fast(**inputs(name))
        found.append([type(out).__name__, numbers(out.logits)[:30], float(out.loss)])
    return found


@behaviour
def caches(torch: Any) -> Any:
    """Logits of a text in two parts, by the cache of the first."""
    from transformers import DynamicCache, StaticCache

    model, ids, found = build("llama").eval(), inputs("llama")["input_ids"], []
    with torch.inference_mode():
        whole = model(ids).logits
        for cache in (DynamicCache(config=model.config), StaticCache(config=model.config, max_cache_len=16)):
            model(ids[:, :5], past_key_values=cache)
            rest = model(ids[:, 5:], past_key_values=cache).logits
            found.append([torch.allclose(whole[:, 5:], rest, atol=1e-5), int(cache.get_seq_length())])
    return found


@behaviour
def saved(torch: Any) -> Any:
    """save_pretrained and from_pretrained: files, what was missing, the same logits; in parts; in other dtypes."""
    import os

    import transformers

    found = []
    with tempfile.TemporaryDirectory() as folder:
        for name in ("llama", "t5", "vit"):
            model = build(name).eval()
            model.save_pretrained(folder, max_shard_size="20KB")
            again, info = type(model).from_pretrained(folder, output_loading_info=True)
            same = torch.equal(model(**inputs(name)).logits, again.eval()(**inputs(name)).logits)
            found.append([sorted(os.listdir(folder)), {k: len(v) for k, v in info.items()}, same])
            for file in os.listdir(folder):
                os.remove(f"{folder}/{file}")
        build("gpt2").save_pretrained(folder)
        causal = transformers.AutoModelForCausalLM
        model = causal.from_pretrained(folder, dtype=torch.bfloat16)
        found.append(
            [
                type(model).__name__,
                str(model.dtype),
                str(causal.from_pretrained(folder).dtype),
                model.num_parameters(),
                model.get_memory_footprint(),
                model.training,
            ]
        )
        out = model(**inputs("gpt2"))
        away = out.logits.float() - model.float()(**inputs("gpt2")).logits
        # Last bits of bfloat16 depend on the order of sums: both packages are 0.016 away from float32.
        found.append([str(out.logits.dtype), bool(away.pow(2).mean().sqrt() < 0.02)])
        torch.manual_seed(SEED)
        found.append(
            digest(
                transformers.AutoModelForSequenceClassification.from_pretrained(folder, num_labels=3)
                .state_dict()
                .items()
            )
        )
    return found


@behaviour
def resized(torch: Any) -> Any:
    """New tokens: rows drawn about the mean of the others."""
    model = build("gpt2")
    torch.manual_seed(SEED + 1)
    model.resize_token_embeddings(100)
    return [list(model.transformer.wte.weight.shape), numbers(model.transformer.wte.weight[-2]), repr(model)]


def tokenizer(folder: str) -> Any:
    """A small byte-pair tokenizer, trained here and saved to `folder`, as AutoTokenizer loads it."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    bare = Tokenizer(models.BPE())
    bare.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bare.decoder = decoders.ByteLevel()
    bare.train_from_iterator(
        TEXTS * 4,
        trainers.BpeTrainer(
            vocab_size=320,
            special_tokens=["<|endoftext|>"],
            show_progress=False,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        ),
    )
    PreTrainedTokenizerFast(tokenizer_object=bare, eos_token="<|endoftext|>").save_pretrained(folder)
    return AutoTokenizer.from_pretrained(folder)


TEXTS = [
    "The optimizer takes a step against the gradient.",
    "A model maps tokens to logits, one row each.",
    "Write a haiku about Adam vs SGD: momentum rolls on.",
    "Padding is not attended to.",
    "Seeds make runs repeat.",
]


@behaviour
def bridge(torch: Any) -> Any:
    """The reference's section on this package: load, generate, train as a plain module."""
    from transformers import AutoModelForCausalLM, GPT2Config, GPT2LMHeadModel

    with tempfile.TemporaryDirectory() as name:
        tok = tokenizer(name)
        torch.manual_seed(SEED)
        GPT2LMHeadModel(
            GPT2Config(**{**GPT2, "vocab_size": len(tok), "bos_token_id": 0, "eos_token_id": 0})
        ).save_pretrained(name)
        model = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.float32)
    model.eval()
    given = tok("Write a haiku about Adam vs SGD:", return_tensors="pt").to(model.device)
    torch.manual_seed(SEED + 7)
    with torch.inference_mode():
        out = model.generate(
            **given,
            max_new_tokens=24,
            do_sample=True,
            temperature=0.7,
            top_p=0.9,
            repetition_penalty=1.05,
            pad_token_id=tok.eos_token_id,
        )
    text = tok.decode(out[0], skip_special_tokens=True)
    tok.pad_token = tok.eos_token
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5)
    losses = []
    for batch in torch.utils.data.DataLoader(TEXTS, batch_size=2):
        batch = tok(batch, padding=True, return_tensors="pt")
        out = model(
            input_ids=batch["input_ids"], attention_mask=batch["attention_mask"], labels=batch["input_ids"]
        )
        out.loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(out.loss.item())
    return [text, losses]


@behaviour
def exercise_2(torch: Any) -> Any:
    """Lines of JSON, tokenized on the fly, padded and cut to a length."""
    from pathlib import Path

    class TextJsonlDataset(torch.utils.data.Dataset):  # type: ignore[misc, name-defined]
        def __init__(self, path: str, tokenizer: Any, max_len: int = 16) -> None:
            self.path, self.tok, self.max_len, self.offsets = Path(path), tokenizer, max_len, []
            if self.tok.pad_token is None:
                self.tok.pad_token = self.tok.eos_token
            with open(self.path, "rb") as f:
                offset = 0
                for line in f:
                    self.offsets.append(offset)
                    offset += len(line)

        def __len__(self) -> int:
            return len(self.offsets)

        def __getitem__(self, idx: int) -> Any:
            with open(self.path, "rb") as f:
                f.seek(self.offsets[idx])
                obj = json.loads(f.readline())
            enc = self.tok(
                obj["text"],
                max_length=self.max_len,
                truncation=True,
                padding="max_length",
                return_tensors="pt",
            )
            input_ids, attn = enc["input_ids"].squeeze(0), enc["attention_mask"].squeeze(0)
            labels = input_ids.clone()
            labels[attn == 0] = -100
            return {"input_ids": input_ids, "attention_mask": attn, "labels": labels}

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "texts.jsonl"
        path.write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS))
        loader = torch.utils.data.DataLoader(
            TextJsonlDataset(str(path), tokenizer(folder)), batch_size=2, shuffle=True
        )
        torch.manual_seed(SEED)
        return [{key: value.tolist() for key, value in batch.items()} for batch in loader]


@behaviour
def versions(torch: Any) -> Any:
    """What the package asks before it imports torch."""
    from importlib.metadata import distribution, version
    from importlib.util import find_spec

    from transformers.utils import is_torch_available

    return [
        is_torch_available(),
        find_spec("torch") is not None,
        version("torch") == torch.__version__,
        distribution("torch").metadata["Name"],
    ]


def save(folder: str) -> None:
    """Each model in a folder of its own, and its state_dict as a file of torch.save."""
    import torch

    for name in MODELS:
        model = build(name)
        model.save_pretrained(f"{folder}/{name}")
        torch.save(model.state_dict(), f"{folder}/{name}.pt")


def load(folder: str) -> dict[str, Any]:
    """Logits of the models that `save` left, by both ways."""
    import torch
    import transformers

    found = {}
    for name, (kind, *_) in MODELS.items():
        model = getattr(transformers, kind).from_pretrained(f"{folder}/{name}").eval()
        other = type(model)(model.config).eval()
        other.load_state_dict(torch.load(f"{folder}/{name}.pt", weights_only=True))
        found[name] = [numbers(m(**inputs(name)).logits) for m in (model, other)]
    return found


def main() -> None:
    """See above."""
    global SEED
    import torch
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    warnings.simplefilter("ignore")
    if sys.argv[1] == "--save":
        save(sys.argv[2])
        return
    if sys.argv[1] == "--load":
        file, found = sys.argv[3], load(sys.argv[2])
    else:
        file, SEED = sys.argv[1], int((sys.argv[2:] or ["0"])[0])
        found = {name: BRIDGE.answer(name, torch) for name in sys.argv[3:] or BRIDGE}
    with open(file, "w", encoding="utf-8") as out:
        out.write(
            "{"
            + ",\n".join(
                f"{json.dumps(name)}:{json.dumps(answer, separators=(',', ':'))}"
                for name, answer in found.items()
            )
            + "}\n"
        )


if __name__ == "__main__":
    main()
