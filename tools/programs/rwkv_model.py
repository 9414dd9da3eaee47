"""rwkv: an RWKV-4 and RWKV-5 language model, scripted by the package, with weights made up in its file format."""

import os
import tempfile

os.environ["RWKV_JIT_ON"] = "1"
os.environ["RWKV_CUDA_ON"] = "0"
import rwkv
import torch
from rwkv.model import RWKV
from rwkv.rwkv_tokenizer import TRIE_TOKENIZER

tokenizer = TRIE_TOKENIZER(os.path.join(os.path.dirname(rwkv.__file__), "rwkv_vocab_v20230424.txt"))
tokens = tokenizer.encode("The quick brown fox jumps. Grüße, 世界!")
print(tokens, tokenizer.decode(tokens))


def weights(version: float, vocab: int, size: int, layers: int) -> dict[str, torch.Tensor]:
    """The names and shapes of the parameters of a checkpoint."""
    g = torch.Generator().manual_seed(0)

    def draw(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=g) * 0.2

    w = {"emb.weight": draw(vocab, size), "ln_out.weight": draw(size) + 1, "ln_out.bias": draw(size)}
    w["head.weight"] = draw(vocab, size)
    for i in range(layers):
        b = f"blocks.{i}."
        for ln in ("ln1", "ln2", *(("ln0",) if i == 0 else ())):
            w |= {f"{b}{ln}.weight": draw(size) + 1, f"{b}{ln}.bias": draw(size)}
        for mix in "kvr":
            w[f"{b}att.time_mix_{mix}"] = draw(1, 1, size).sigmoid()
        w |= {f"{b}att.{n}.weight": draw(size, size) for n in ("key", "value", "receptance", "output")}
        if version == 4:
            w |= {f"{b}att.time_decay": draw(size), f"{b}att.time_first": draw(size)}
        else:
            w |= {f"{b}att.time_decay": draw(4, size // 4), f"{b}att.time_faaaa": draw(4, size // 4)}
            w |= {f"{b}att.time_mix_g": draw(1, 1, size).sigmoid(), f"{b}att.gate.weight": draw(size, size)}
            w |= {f"{b}att.ln_x.weight": draw(size) + 1, f"{b}att.ln_x.bias": draw(size)}
        w |= {f"{b}ffn.time_mix_{m}": draw(1, 1, size).sigmoid() for m in "kr"}
        w |= {f"{b}ffn.key.weight": draw(4 * size, size), f"{b}ffn.value.weight": draw(size, 4 * size)}
        w[f"{b}ffn.receptance.weight"] = draw(size, size)
    return w


with tempfile.TemporaryDirectory() as folder:
    for version in (4, 5.2):
        name = os.path.join(folder, f"v{version}")
        torch.save(weights(version, 50, 16, 2), name + ".pth")
        model = RWKV(model=name, strategy="cpu fp32", verbose=False)
        out, state = model.forward([3, 7, 11, 2, 5], None)
        print(version, out[:8], out.square().sum(), len(state))
        for token in (9, 4, 1):
            out, state = model.forward([token], state)
            print(out.argmax().item(), out.sum(), sum(x.abs().sum() for x in state))
