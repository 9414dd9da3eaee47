"""xlstm: a language model of matrix memories and one of both kinds of cells, trained; step by step the same."""

import torch
from xlstm import (
    FeedForwardConfig,
    mLSTMBlockConfig,
    mLSTMLayerConfig,
    sLSTMBlockConfig,
    sLSTMLayerConfig,
    xLSTMBlockStack,
    xLSTMBlockStackConfig,
    xLSTMLMModel,
    xLSTMLMModelConfig,
)

torch.manual_seed(0)
memories = mLSTMBlockConfig(mlstm=mLSTMLayerConfig(conv1d_kernel_size=4, qkv_proj_blocksize=4, num_heads=4))
cells = sLSTMBlockConfig(
    slstm=sLSTMLayerConfig(
        backend="vanilla", num_heads=4, conv1d_kernel_size=4, bias_init="powerlaw_blockdependent"
    ),
    feedforward=FeedForwardConfig(proj_factor=1.3, act_fn="gelu"),
)

model = xLSTMLMModel(
    xLSTMLMModelConfig(vocab_size=23, mlstm_block=memories, context_length=24, num_blocks=2, embedding_dim=32)
)
model.reset_parameters()
optimizer = torch.optim.AdamW(model.parameters(), 3e-3)
for step in range(6):
    words = torch.randint(0, 23, (4, 25))
    logits = model(words[:, :-1])
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), words[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, f"{loss.item():.5f}")

model.eval()
with torch.no_grad():
    whole, state, steps = model(words[:, :8]), None, []
    for k in range(8):
        one, state = model.step(words[:, k : k + 1], state=state if state is not None else {})
        steps.append(one)
    print(bool(torch.allclose(torch.cat(steps, 1), whole, atol=1e-4)), f"{whole.abs().mean():.5f}")

torch.manual_seed(1)
stack = xLSTMBlockStack(
    xLSTMBlockStackConfig(
        mlstm_block=memories,
        slstm_block=cells,
        context_length=16,
        num_blocks=3,
        embedding_dim=32,
        slstm_at=[1],
    )
)
x = torch.randn(2, 16, 32, requires_grad=True)
y = stack(x)
(y * torch.linspace(-1, 1, 32)).sum().backward()
print(tuple(y.shape), f"{y.abs().mean().item():.5f} {x.grad.abs().sum().item():.3f}")
print(f"{sum(p.grad.abs().sum().item() for p in stack.parameters()):.2f}")
del one, logits, y  # normalized: its sum is rounding
