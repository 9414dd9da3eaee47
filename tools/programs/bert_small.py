"""BERT-pytorch: its vocabulary, data set and trainer on sentences of thirty words."""

import random

import torch
from bert_pytorch.dataset import BERTDataset, WordVocab
from bert_pytorch.model import BERT
from bert_pytorch.trainer import BERTTrainer

words = [f"w{i}" for i in range(30)]
with open("corpus.txt", "w") as file:
    for _ in range(64):
        file.write(" ".join(random.choices(words, k=6)) + "\t" + " ".join(random.choices(words, k=5)) + "\n")
with open("corpus.txt") as file:
    vocabulary = WordVocab(file, max_size=None, min_freq=1)
data = BERTDataset("corpus.txt", vocabulary, seq_len=16, corpus_lines=None, on_memory=True)
batches = torch.utils.data.DataLoader(data, batch_size=16)
bert = BERT(len(vocabulary), hidden=16, n_layers=2, attn_heads=2, dropout=0.1)
options = {"train_dataloader": batches, "test_dataloader": batches, "with_cuda": False, "log_freq": 1}
trainer = BERTTrainer(bert, len(vocabulary), lr=1e-3, warmup_steps=4, **options)
for epoch in range(2):
    trainer.train(epoch)
trainer.test(0)
