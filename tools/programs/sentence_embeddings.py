"""sentence-transformers: a small BERT that is made here, three losses, embeddings, a model saved and loaded."""

import tempfile
from pathlib import Path

import numpy as np
import torch
from sentence_transformers import InputExample, SentenceTransformer, losses, models
from transformers import BertConfig, BertModel, BertTokenizerFast

folder = Path(tempfile.mkdtemp())
words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + [f"w{i}" for i in range(60)]
(folder / "vocab.txt").write_text("\n".join(words))
torch.manual_seed(0)
config = BertConfig(
    vocab_size=len(words),
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=64,
    hidden_dropout_prob=0.0,
    attention_probs_dropout_prob=0.0,
)
BertModel(config).save_pretrained(folder)
BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
layers = models.Transformer(str(folder), max_seq_length=16)
pooling = models.Pooling(layers.get_word_embedding_dimension())
model = SentenceTransformer(modules=[layers, pooling], device="cpu")

rng = np.random.default_rng(0)
examples = []
for k in range(32):
    sentence = [f"w{i}" for i in rng.integers(0, 60, 6)]
    other = [*sentence[:4], f"w{rng.integers(0, 60)}"]
    examples.append(InputExample(texts=[" ".join(sentence), " ".join(other)], label=float(k % 2)))
for kind in (losses.CosineSimilarityLoss, losses.MultipleNegativesRankingLoss, losses.ContrastiveLoss):
    criterion = kind(model)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    for step in range(4):
        features, labels = model.smart_batching_collate(examples[step * 8 : step * 8 + 8])
        loss = criterion(features, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"{kind.__name__} {loss.item():.5f}")
embeddings = model.encode(["w1 w2 w3", "w4 w5"], convert_to_tensor=True)
print(tuple(embeddings.shape), f"{embeddings.sum().item():.4f}")
model.save(str(folder / "saved"))
again = SentenceTransformer(str(folder / "saved"), device="cpu")
print(torch.equal(again.encode(["w1 w2 w3", "w4 w5"], convert_to_tensor=True), embeddings))
