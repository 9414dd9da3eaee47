"""rtdl's nets for tables, EfficientNet, torch-optimi's optimizers and torchlens' log of a forward pass."""

import optimi
import torch
from efficientnet_pytorch import EfficientNet
from rtdl_revisiting_models import MLP, FTTransformer, ResNet

x_num, x_cat = torch.randn(32, 5), torch.randint(0, 3, (32, 2))
y = torch.randn(32, 1)


def trained(name, model, make, *given):
    optimizer = make(model.parameters())
    for _ in range(3):
        loss = (model(*given) - y).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(name, loss.item())


def mlp():
    return MLP(d_in=5, d_out=1, n_blocks=2, d_block=16, dropout=0.1)


for name in ("Adam", "AdamW", "Adan", "Lion", "RAdam", "Ranger", "SGD", "StableAdamW", "DecoupledAdamW"):
    if hasattr(optimi, name):
        trained(name, mlp(), lambda p, name=name: getattr(optimi, name)(p, lr=1e-2), x_num)
bfloat = mlp().to(torch.bfloat16)
optimizer = optimi.AdamW(bfloat.parameters(), lr=1e-2, kahan_sum=True)
for _ in range(3):
    loss = (bfloat(x_num.bfloat16()) - y.bfloat16()).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print("kahan", loss.item())


def adam(p):
    return torch.optim.Adam(p, lr=1e-2)


resnet = ResNet(
    d_in=5,
    d_out=1,
    n_blocks=2,
    d_block=16,
    d_hidden=None,
    d_hidden_multiplier=2.0,
    dropout1=0.1,
    dropout2=0.0,
)
trained("resnet", resnet, adam, x_num)
ft = FTTransformer(
    n_cont_features=5,
    cat_cardinalities=[3, 3],
    d_out=1,
    n_blocks=2,
    d_block=16,
    attention_n_heads=4,
    attention_dropout=0.1,
    ffn_d_hidden=None,
    ffn_d_hidden_multiplier=4 / 3,
    ffn_dropout=0.1,
    residual_dropout=0.0,
)
trained("transformer", ft, lambda p: ft.make_default_optimizer(), x_num, x_cat)
net = EfficientNet.from_name("efficientnet-b0", num_classes=5).eval()
images = torch.randn(2, 3, 64, 64)
print(
    net(images).sum(),
    net.extract_features(images).shape,
    {k: v.sum() for k, v in net.extract_endpoints(images).items()},
)
net.train()
net(images).square().mean().backward()
print(net._conv_stem.weight.grad.abs().sum())
