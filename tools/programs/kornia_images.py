"""kornia: filters, colours, geometry, features, augmentations and losses."""

import kornia as K
import torch

torch.manual_seed(0)
x = torch.rand(2, 3, 32, 32)


def say(name, value):
    print(name, tuple(value.shape), f"{value.double().sum().item():.4f}")


say("blur", K.filters.gaussian_blur2d(x, (5, 5), (1.5, 1.5)))
say("sobel", K.filters.sobel(x))
say("canny", K.filters.canny(x)[0])
say("median", K.filters.median_blur(x, (3, 3)))
say("bilateral", K.filters.bilateral_blur(x, (3, 3), 0.1, (1.5, 1.5)))
say("laplacian", K.filters.laplacian(x, 3))
for name in (
    "rgb_to_hsv",
    "rgb_to_lab",
    "rgb_to_ycbcr",
    "rgb_to_grayscale",
    "rgb_to_luv",
    "rgb_to_hls",
    "rgb_to_xyz",
):
    say(name, getattr(K.color, name)(x))
say("rotate", K.geometry.rotate(x, torch.tensor([30.0, 60.0])))
say(
    "warp",
    K.geometry.warp_perspective(x, torch.eye(3).repeat(2, 1, 1) + 0.01 * torch.rand(2, 3, 3), (32, 32)),
)
say("resize", K.geometry.resize(x, (17, 23)))
say("homography", K.geometry.find_homography_dlt(torch.rand(1, 8, 2), torch.rand(1, 8, 2)))
say("axis", K.geometry.axis_angle_to_rotation_matrix(torch.rand(3, 3)))
say("equalize", K.enhance.equalize_clahe(x))
say("jpeg", K.enhance.jpeg_codec_differentiable(x, torch.tensor([50.0, 80.0])))
say("harris", K.feature.harris_response(x[:, :1]))
say("sift", K.feature.SIFTDescriptor(32)(torch.rand(4, 1, 32, 32)))
say("morph", K.morphology.dilation(x, torch.ones(3, 3)))
say("ssim", K.metrics.ssim(x, x.flip(-1), 5))
print("dice", f"{K.losses.dice_loss(torch.randn(2, 4, 8, 8), torch.randint(4, (2, 8, 8))).item():.5f}")
aug = K.augmentation.AugmentationSequential(
    K.augmentation.RandomHorizontalFlip(p=0.5),
    K.augmentation.ColorJitter(0.1, 0.1, 0.1, 0.1, p=1.0),
    K.augmentation.RandomAffine(20.0, (0.1, 0.1), (0.8, 1.2), p=1.0),
    K.augmentation.RandomErasing(p=0.5),
    data_keys=["input", "mask"],
)
a, m = aug(x, (x[:, :1] > 0.5).float())
say("augmented", a)
say("mask", m)
say("inverse", aug.inverse(a, m)[0])
say("mixup", K.augmentation.RandomMixUpV2(p=1.0)(x, torch.tensor([0, 1]))[0])
p = x.clone().requires_grad_()
K.losses.total_variation(K.filters.unsharp_mask(p, (3, 3), (1.0, 1.0))).sum().backward()
say("grad", p.grad)
