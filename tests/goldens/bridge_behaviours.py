"""What models of Hugging Face's `transformers` do, of small sizes and from a seed; PyTorch's: bridge_behaviours.json.

The package imports `torch` by that name, so it is asked by a program of its own, under PyTorch to record and under
`python -m rushlight` to compare:

    python bridge_behaviours.py FILE [FIRST_SEED]     answers of all behaviours, as JSON
"""
from __future__ import annotations

import json
import sys
import tempfile
import warnings
from collections.abc import Callable
from typing import Any

from answers import Table, plain

BRIDGE = Table("bridge_behaviours.json")
SMALL = dict(vocab_size=96, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48,
             max_position_embeddings=64, initializer_range=0.3)
LLAMA = dict(SMALL, num_key_value_heads=2, tie_word_embeddings=False, pad_token_id=0, bos_token_id=1, eos_token_id=2)
GPT2 = dict(vocab_size=96, n_embd=32, n_layer=2, n_head=4, n_positions=64, initializer_range=0.3, bos_token_id=1,
            eos_token_id=2)
T5 = dict(vocab_size=96, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4, decoder_start_token_id=0)
WHISPER = dict(vocab_size=96, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
               decoder_attention_heads=4, encoder_ffn_dim=48, decoder_ffn_dim=48, num_mel_bins=8,
               max_source_positions=12, max_target_positions=32, pad_token_id=0, bos_token_id=1, eos_token_id=2,
               decoder_start_token_id=3, init_std=0.3, suppress_tokens=None, begin_suppress_tokens=None)
VIT = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, image_size=16,
           patch_size=4, num_labels=5, initializer_range=0.3)
# Name: class, its config, what is given; the config's class is the same name in part.
MODELS: dict[str, tuple[str, str, dict[str, Any], str]] = {
    "gpt2": ("GPT2LMHeadModel", "GPT2Config", GPT2, "text"),
    "llama": ("LlamaForCausalLM", "LlamaConfig", LLAMA, "text"),
    "mistral": ("MistralForCausalLM", "MistralConfig", dict(LLAMA, sliding_window=4), "text"),
    "qwen2": ("Qwen2ForCausalLM", "Qwen2Config", LLAMA, "text"),
    "mixtral": ("MixtralForCausalLM", "MixtralConfig", dict(LLAMA, num_local_experts=4), "text"),
    "bert": ("BertForMaskedLM", "BertConfig", SMALL, "text"),
    "bert_classifier": ("BertForSequenceClassification", "BertConfig", dict(SMALL, num_labels=5), "classes"),
    "distilbert": ("DistilBertForSequenceClassification", "DistilBertConfig",
                   dict(vocab_size=96, dim=32, n_layers=2, n_heads=4, hidden_dim=48, max_position_embeddings=64,
                        initializer_range=0.3, num_labels=5), "classes"),
    "roberta": ("RobertaForMaskedLM", "RobertaConfig", SMALL, "text"),
    "t5": ("T5ForConditionalGeneration", "T5Config", T5, "text"),
    "vit": ("ViTForImageClassification", "ViTConfig", VIT, "image"),
    "whisper": ("WhisperForConditionalGeneration", "WhisperConfig", WHISPER, "sound"),
}
SEED = 0


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
    """Sums of tensors by name, of their elements and of these with signs and weights."""
    import torch

    found = {}
    for name, tensor in named:
        flat = tensor.detach().double().flatten()
        ramp = torch.linspace(1, 2, flat.numel(), dtype=torch.float64)
        found[name] = [float(flat.norm()), float((flat * ramp).sum() / ramp.norm())]
    return found


def numbers(tensor: Any) -> Any:
    """A tensor's elements to seven digits or so."""
    return [round(v, 7) for v in tensor.detach().double().flatten().tolist()]


def _answers(name: str) -> Callable[[Any], Any]:
    def answer(torch: Any) -> Any:
        model = build(name)
        weights = digest(model.state_dict().items())
        model.eval()
        out = model(**inputs(name))
        out.loss.backward()
        grads = digest((n, p.grad) for n, p in model.named_parameters() if p.grad is not None)
        return [type(model).__name__, weights, numbers(out.logits[0]), float(out.loss), grads]
    answer.__name__ = name
    return answer


for _name in MODELS:
    BRIDGE(_answers(_name))


def main() -> None:
    """Write the answers."""
    global SEED
    import torch
    from transformers.utils import logging

    logging.set_verbosity_error()
    warnings.simplefilter("ignore")
    file, SEED = sys.argv[1], int((sys.argv[2:] or ["0"])[0])
    only = sys.argv[3:] or BRIDGE
    with open(file, "w", encoding="utf-8") as out:
        json.dump({name: plain(BRIDGE.answer(name, torch)) for name in only}, out)


if __name__ == "__main__":
    main()
