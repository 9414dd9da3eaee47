"""lightly's losses and heads, segment-anything from first values, torchmetrics of sound, fairscale's AdaScale."""

from functools import partial

import torch
from fairscale.nn import checkpoint_wrapper
from fairscale.optim import AdaScale
from lightly.loss import (
    BarlowTwinsLoss,
    DCLLoss,
    DINOLoss,
    NegativeCosineSimilarity,
    NTXentLoss,
    TiCoLoss,
    VICRegLoss,
)
from lightly.models.modules import DINOProjectionHead, SimCLRProjectionHead
from segment_anything.modeling import ImageEncoderViT, MaskDecoder, PromptEncoder, Sam, TwoWayTransformer
from torchmetrics.audio import PermutationInvariantTraining, ScaleInvariantSignalDistortionRatio
from torchmetrics.functional.audio import scale_invariant_signal_noise_ratio

torch.manual_seed(0)
a, b = torch.randn(8, 16, requires_grad=True), torch.randn(8, 16, requires_grad=True)
for criterion in (
    NTXentLoss(),
    BarlowTwinsLoss(),
    VICRegLoss(),
    NegativeCosineSimilarity(),
    DCLLoss(),
    TiCoLoss(),
    NTXentLoss(memory_bank_size=(32, 16)),
):
    a.grad = None
    torch.manual_seed(1)
    loss = criterion(a, b)
    loss.backward()
    print(f"{type(criterion).__name__} {loss.item():.5f} {a.grad.abs().sum().item():.5f}")
teacher = [torch.randn(4, 32) for _ in range(2)]
student = [torch.randn(4, 32, requires_grad=True) for _ in range(4)]
loss = DINOLoss(output_dim=32)(teacher, student, epoch=0)
loss.backward()
print(f"{loss.item():.5f} {student[0].grad.abs().sum().item():.5f}")
torch.manual_seed(3)
print(f"{SimCLRProjectionHead(16, 32, 8)(a).sum().item():.4f}")
print(f"{DINOProjectionHead(16, 32, 8, 24)(a).abs().sum().item():.4f}")

torch.manual_seed(4)
encoder = ImageEncoderViT(
    depth=2,
    embed_dim=32,
    img_size=64,
    mlp_ratio=2,
    norm_layer=partial(torch.nn.LayerNorm, eps=1e-6),
    num_heads=2,
    patch_size=16,
    qkv_bias=True,
    use_rel_pos=True,
    global_attn_indexes=[1],
    window_size=2,
    out_chans=16,
)
prompts = PromptEncoder(embed_dim=16, image_embedding_size=(4, 4), input_image_size=(64, 64), mask_in_chans=4)
decoder = MaskDecoder(
    num_multimask_outputs=3,
    transformer=TwoWayTransformer(depth=2, embedding_dim=16, mlp_dim=32, num_heads=2),
    transformer_dim=16,
    iou_head_depth=2,
    iou_head_hidden_dim=16,
)
masks = Sam(image_encoder=encoder, prompt_encoder=prompts, mask_decoder=decoder).eval()
asked = {
    "image": torch.rand(3, 48, 64) * 255,
    "original_size": (48, 64),
    "point_coords": torch.tensor([[[10.0, 20.0]]]),
    "point_labels": torch.tensor([[1]]),
}
found = masks([asked], multimask_output=True)[0]
print(tuple(found["masks"].shape), found["masks"].sum().item())
print([round(v, 4) for v in found["iou_predictions"][0].tolist()])
print(f"{found['low_res_logits'].abs().mean().item():.4f}")

torch.manual_seed(5)
x, y = torch.randn(2, 2, 300), torch.randn(2, 2, 300)
best = PermutationInvariantTraining(scale_invariant_signal_noise_ratio, eval_func="max")
print(f"{ScaleInvariantSignalDistortionRatio()(x, y).item():.4f} {best(x, y).item():.4f}")

torch.manual_seed(6)
layers = checkpoint_wrapper(
    torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
)
optimizer = AdaScale(torch.optim.SGD(layers.parameters(), 0.1), num_gradients_to_accumulate=2)
for k in range(4):
    loss = layers(torch.randn(5, 4)).pow(2).mean()
    loss.backward()
    if k % 2:
        optimizer.step()
        optimizer.zero_grad()
        print(f"{loss.item():.5f} {optimizer.gain():.4f}")
