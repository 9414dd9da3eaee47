"""mambapy, minGRU-pytorch, pytorch-tcn and nystrom-attention: one step of training of each."""

import torch
from mambapy.mamba import Mamba, MambaConfig
from minGRU_pytorch import minGRU
from nystrom_attention import NystromAttention, Nystromformer
from pytorch_tcn import TCN

x = torch.randn(2, 16, 8)


def trained(name: str, model: torch.nn.Module, *given: torch.Tensor) -> None:
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(3):
        found = model(*given)
        found = found[0] if isinstance(found, tuple) else found
        loss = found.square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(name, found.shape, loss.item())


trained("mamba", Mamba(MambaConfig(d_model=8, n_layers=2, d_state=4)), x)
trained("mamba, in turn", Mamba(MambaConfig(d_model=8, n_layers=1, d_state=4, pscan=False)), x)
trained("minGRU", minGRU(8), x)
trained("nystrom", NystromAttention(dim=8, dim_head=4, heads=2, num_landmarks=4, pinv_iterations=3), x)
trained("nystromformer", Nystromformer(dim=8, depth=2, dim_head=4, heads=2, num_landmarks=4), x)
trained("tcn", TCN(8, [8, 8], kernel_size=3, dropout=0.0), x.transpose(1, 2))
trained("tcn, skips", TCN(8, [8, 4], causal=False, use_skip_connections=True, dropout=0.1), x.transpose(1, 2))
