"""A GPT-2 of transformers learns a sequence under Trainer, is saved, loaded, and writes it."""

import tempfile

import torch
import transformers
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

transformers.set_seed(0)
config = GPT2Config(
    vocab_size=16,
    n_positions=16,
    n_embd=32,
    n_layer=2,
    n_head=2,
    bos_token_id=0,
    eos_token_id=15,
    resid_pdrop=0.0,
    embd_pdrop=0.0,
    attn_pdrop=0.0,
)
model = GPT2LMHeadModel(config)
line = torch.arange(12)
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(
        folder,
        max_steps=30,
        per_device_train_batch_size=4,
        learning_rate=1e-2,
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
        save_strategy="no",
    )
    data = [{"input_ids": line, "labels": line}] * 32
    result = Trainer(model, arguments, train_dataset=data).train()
    model.save_pretrained(folder)
    model = GPT2LMHeadModel.from_pretrained(folder).eval()
written = model.generate(torch.tensor([[0, 1, 2]]), max_new_tokens=6, do_sample=False, pad_token_id=15)
assert written.tolist() == [list(range(9))], written
print("loss", result.training_loss, written.tolist())
