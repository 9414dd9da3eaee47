"""Augmentations, geometry, features and filters of kornia, each once."""

import kornia as K
import kornia.augmentation as A
import kornia.feature as F
import kornia.geometry as G
import torch


def show(name, x):
    if isinstance(x, (tuple, list)):
        for n, y in enumerate(x):
            show(f"{name}[{n}]", y)
        return
    if not isinstance(x, torch.Tensor):
        print(name, type(x).__name__)
        return
    x = x.detach().double()
    print(name, tuple(x.shape), f"{x.sum():.4e} {x.abs().sum():.4e}")


def attempt(name, f):
    torch.manual_seed(3)
    show(name, f())


image = K.filters.gaussian_blur2d(torch.rand(2, 3, 32, 32), (5, 5), (1.5, 1.5))
gray = image.mean(1, keepdim=True)
points = torch.rand(2, 12, 2)
H = torch.eye(3)[None] + 0.05 * torch.randn(2, 3, 3)
moved = G.transform_points(H, points)
R = G.axis_angle_to_rotation_matrix(torch.randn(2, 3))
Kmat = torch.tensor([[20.0, 0, 16], [0, 20, 16], [0, 0, 1]])[None].repeat(2, 1, 1)
world = torch.rand(2, 12, 3) + torch.tensor([0, 0, 3.0])
for name in ("RandomAffine", "RandomPerspective", "RandomElasticTransform", "RandomThinPlateSpline"):
    options = {"RandomAffine": {"degrees": 20, "translate": (0.1, 0.1), "shear": 5}}.get(name, {})
    attempt(name, lambda: getattr(A, name)(p=1.0, **options)(image))
for name, args in {
    "ColorJitter": (0.2, 0.2, 0.2, 0.1),
    "RandomGrayscale": (),
    "RandomSolarize": (),
    "RandomPosterize": (),
    "RandomEqualize": (),
    "RandomSharpness": (),
    "RandomErasing": (),
    "RandomHorizontalFlip": (),
    "RandomVerticalFlip": (),
    "RandomRotation": (30.0,),
    "RandomResizedCrop": ((16, 16),),
    "CenterCrop": (16,),
    "RandomCrop": ((16, 16),),
    "RandomGaussianNoise": (),
    "RandomGaussianBlur": ((3, 3), (0.1, 2.0)),
    "RandomMotionBlur": (3, 35.0, 0.5),
    "RandomBoxBlur": (),
    "RandomChannelShuffle": (),
    "RandomFisheye": (torch.tensor([-0.3, 0.3]), torch.tensor([-0.3, 0.3]), torch.tensor([0.9, 1.0])),
    "RandomInvert": (),
    "RandomPlasmaShadow": (),
    "RandomPlasmaBrightness": (),
    "RandomPlasmaContrast": (),
    "RandomPlanckianJitter": (),
    "RandomSaltAndPepperNoise": (),
    "RandomSnow": (),
    "RandomRain": (),
    "RandomMedianBlur": (),
    "RandomHue": ((-0.2, 0.2),),
    "RandomGamma": (),
    "RandomBrightness": ((0.7, 1.3),),
    "RandomContrast": ((0.7, 1.3),),
    "RandomSaturation": (),
    "RandomClahe": (),
    "RandomAutoContrast": (),
    "RandomRGBShift": (),
    "RandomLinearIllumination": (),
    "RandomGaussianIllumination": (),
    "RandomShear": (10.0,),
    "RandomTranslate": ((0.1, 0.2),),
    "RandomJPEG": (),
    "Normalize": (torch.tensor([0.5]), torch.tensor([0.2])),
    "Denormalize": (torch.tensor([0.5]), torch.tensor([0.2])),
}.items():
    attempt(
        name,
        lambda: getattr(A, name)(
            *args, **({} if name in ("CenterCrop", "Normalize", "Denormalize") else {"p": 1.0})
        )(image),
    )
attempt(
    "RandomMixUp", lambda: A.RandomMixUpV2(p=1.0, data_keys=["input", "class"])(image, torch.tensor([0, 1]))
)
attempt(
    "RandomCutMix", lambda: A.RandomCutMixV2(p=1.0, data_keys=["input", "class"])(image, torch.tensor([0, 1]))
)
attempt("RandomMosaic", lambda: A.RandomMosaic(p=1.0)(image))
attempt(
    "sequential",
    lambda: A.AugmentationSequential(
        A.RandomAffine(15.0, p=1.0),
        A.ColorJiggle(0.1, 0.1, 0.1, 0.1, p=1.0),
        data_keys=["input", "mask", "keypoints"],
    )(image, gray, points * 32),
)
attempt("RandAugment", lambda: A.auto.RandAugment(2, 9)(image))
attempt("TrivialAugment", lambda: A.auto.TrivialAugment()(image))
attempt("AutoAugment", lambda: A.auto.AutoAugment()(image))
volume = torch.rand(1, 1, 8, 10, 12)
for name, args in {
    "RandomAffine3D": (10.0,),
    "RandomRotation3D": (10.0,),
    "RandomMotionBlur3D": (3, 10.0, 0.5),
    "RandomEqualize3D": (),
    "RandomPerspective3D": (),
    "RandomHorizontalFlip3D": (),
    "RandomDepthicalFlip3D": (),
    "RandomCrop3D": ((4, 4, 4),),
}.items():
    attempt(name, lambda: getattr(A, name)(*args, p=1.0)(volume))
for name, f in {
    "homography": lambda: G.find_homography_dlt(points, moved),
    "homography_iterated": lambda: G.find_homography_dlt_iterated(points, moved, torch.ones(2, 12)),
    "essential": lambda: G.essential_from_fundamental(torch.rand(2, 3, 3), Kmat, Kmat),
    "warp": lambda: G.warp_perspective(image, H, (32, 32)),
    "affine": lambda: G.warp_affine(image, H[:, :2], (32, 32), mode="bicubic"),
    "rotate": lambda: G.rotate(image, torch.tensor([10.0, 20.0])),
    "project": lambda: G.project_points(world, Kmat[:, None]),
    "unproject": lambda: G.unproject_points(points, torch.rand(2, 12, 1), Kmat[:, None]),
    "quaternion": lambda: G.rotation_matrix_to_quaternion(R),
    "log": lambda: G.quaternion_exp_to_log(torch.nn.functional.normalize(torch.rand(2, 4), dim=-1)),
    "undistort": lambda: G.undistort_points(points * 32, Kmat, torch.rand(2, 5) * 0.01),
    "pnp": lambda: G.solve_pnp_dlt(world, G.project_points(world, Kmat[:, None]), Kmat),
    "triangulate": lambda: G.triangulate_points(torch.rand(2, 3, 4), torch.rand(2, 3, 4), points, moved),
    "depth": lambda: G.depth_to_3d(gray, Kmat),
    "normals": lambda: G.depth_to_normals(gray + 1, Kmat),
    "pyramid": lambda: G.build_pyramid(image, 3),
    "hflip": lambda: G.hflip(image),
    "elastic": lambda: G.elastic_transform2d(image, torch.rand(2, 2, 32, 32) * 2 - 1, (5, 5), (2.0, 2.0)),
    "soft_argmax": lambda: G.spatial_soft_argmax2d(gray),
    "subpixel": lambda: G.conv_soft_argmax2d(gray, (3, 3)),
    "nms": lambda: G.subpix.nms2d(gray, (3, 3)),
    "conv_quad": lambda: G.conv_quad_interp3d(torch.rand(1, 1, 4, 8, 8)),
    "tps": lambda: G.get_tps_transform(points, moved),
    "so3": lambda: G.liegroup.So3.exp(torch.randn(2, 3)).matrix(),
    "se3": lambda: G.liegroup.Se3.exp(torch.randn(2, 6)).log(),
    "se2": lambda: G.liegroup.Se2.exp(torch.randn(2, 3)).log(),
    "harris": lambda: F.harris_response(gray),
    "gftt": lambda: F.gftt_response(gray),
    "hessian": lambda: F.hessian_response(gray),
    "sift": lambda: F.SIFTDescriptor(16)(torch.rand(3, 1, 16, 16)),
    "hardnet": lambda: F.HardNet(False).eval()(torch.rand(3, 1, 32, 32)),
    "tfeat": lambda: F.TFeat(False).eval()(torch.rand(3, 1, 32, 32)),
    "match": lambda: F.match_smnn(torch.rand(9, 8), torch.rand(7, 8), 0.95),
    "orinet": lambda: F.OriNet(False).eval()(torch.rand(3, 1, 32, 32)),
    "affnet": lambda: F.LAFAffNetShapeEstimator(False).eval()(
        torch.rand(1, 3, 2, 3), torch.rand(1, 1, 32, 32)
    ),
    "laf": lambda: F.extract_patches_from_pyramid(gray, torch.rand(2, 4, 2, 3) * 8, 16),
    "scale_space": lambda: F.ScaleSpaceDetector(10, resp_module=F.BlobHessian())(
        torch.nn.functional.interpolate(gray, (64, 64), mode="bilinear")
    ),
    "components": lambda: K.contrib.connected_components((gray > 0.5).float(), 10),
    "canny": lambda: K.filters.canny(image),
    "sobel": lambda: K.filters.sobel(image),
    "median": lambda: K.filters.median_blur(image, 3),
    "bilateral": lambda: K.filters.bilateral_blur(image, (3, 3), 0.1, (1.5, 1.5)),
    "guided": lambda: K.filters.guided_blur(image, image, (3, 3), 0.1),
    "unsharp": lambda: K.filters.unsharp_mask(image, (3, 3), (1.5, 1.5)),
    "laplacian": lambda: K.filters.laplacian(image, 3),
    "dissolve": lambda: K.filters.spatial_gradient3d(volume),
    "in_range": lambda: K.filters.in_range(image, (0.2, 0.2, 0.2), (0.6, 0.6, 0.6)),
    "otsu": lambda: K.filters.otsu_threshold(gray)[0],
    "clahe": lambda: K.enhance.equalize_clahe(image),
    "histogram": lambda: K.enhance.histogram(gray.reshape(2, -1), torch.linspace(0, 1, 8), torch.tensor(0.1)),
    "zca": lambda: K.enhance.zca_whiten(torch.rand(20, 5)).abs(),
    "jpeg": lambda: K.enhance.jpeg_codec_differentiable(image, torch.tensor([50.0, 80.0])),
    "adalam": lambda: F.match_adalam(
        torch.rand(20, 8), torch.rand(20, 8), torch.rand(1, 20, 2, 3) * 9, torch.rand(1, 20, 2, 3) * 9
    ),
    "extract": lambda: K.contrib.extract_tensor_patches(image, 8, 8),
    "combine": lambda: K.contrib.combine_tensor_patches(
        K.contrib.extract_tensor_patches(image, 8, 8), (32, 32), 8, 8
    ),
    "distance": lambda: K.contrib.distance_transform((gray > 0.5).float(), 3),
}.items():
    attempt(name, f)
