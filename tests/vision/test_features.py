"""Features from inside of models, the methods of models that programs override, and policies of samples."""

from __future__ import annotations

import pickle
from copy import deepcopy
from typing import Any

import pytest

import rushlight as torch
from rushlight import fx
from rushlight_vision import models, ops, tv_tensors
from rushlight_vision.models import vision_transformer
from rushlight_vision.models.feature_extraction import create_feature_extractor, get_graph_node_names
from rushlight_vision.transforms import autoaugment, transforms as v1, v2


def test_names_are_torchvisions() -> None:
    """A number at the end of a module's own name goes, too; layers of torchvision.ops are single nodes."""
    vit = models.VisionTransformer(32, 16, 1, 2, 8, 16)
    names, _ = get_graph_node_names(vit)
    assert names[:5] == ["x", "getattr", "getitem", "getitem_1", "getitem_2"]
    assert "getitem_5" in names and "encoder.layers.encoder_layer_0.ln" in names
    assert "encoder.layers.encoder_layer_0.ln_1" in names

    class Dropping(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.drop = ops.StochasticDepth(0.5, "row")

        def forward(self, x: Any) -> Any:
            return self.drop(ops.stochastic_depth(x, 0.5, "row", self.training)) + 1

    assert get_graph_node_names(Dropping())[0] == ["x", "stochastic_depth", "drop", "add"]
    traced = fx.symbolic_trace(ops.StochasticDepth(0.5, "row"))
    assert [n.name for n in traced.graph.nodes] == ["input_1", "stochastic_depth", "output"]


def test_return_nodes_are_said_once() -> None:
    """As torchvision: for both modes, or for each of the two."""
    model = models.alexnet(num_classes=2)
    forms: tuple[dict[str, Any], ...] = (
        {},
        {"return_nodes": ["features"], "train_return_nodes": ["features"]},
        {"train_return_nodes": ["features"]},
        {"return_nodes": ["feat"]},
    )
    for wanted in forms:
        with pytest.raises(ValueError):
            create_feature_extractor(model, **wanted)
    assert model.training


def test_copies_have_both_graphs() -> None:
    """The copy of an extractor follows the mode, and its parameters are its own."""
    model = models.mobilenet_v2(num_classes=2)
    whole = create_feature_extractor(model, {"features.1": "low", "classifier": "out"})
    copied = deepcopy(whole)
    x = torch.randn(2, 3, 64, 64)
    for mode in (True, False):
        whole.train(mode)
        copied.train(mode)
        torch.manual_seed(0)
        wanted = whole(x)
        torch.manual_seed(0)
        found = copied(x)
        assert list(found) == ["low", "out"] and torch.equal(found["out"], wanted["out"])
    names = [name for name, _ in whole.named_parameters()]
    assert names == [name for name, _ in model.named_parameters()]
    assert next(copied.parameters()) is not next(whole.parameters())


def test_methods_that_programs_override() -> None:
    """What subclasses of torchvision's models call or replace."""
    for build in (models.resnet18, models.mobilenet_v2, models.mobilenet_v3_small, models.shufflenet_v2_x0_5):
        model = build(num_classes=2).eval()
        x = torch.randn(1, 3, 32, 32)
        assert torch.equal(model._forward_impl(x), model(x))
    vit = models.VisionTransformer(32, 16, 1, 2, 8, 16)
    assert vit._process_input(torch.randn(2, 3, 32, 32)).shape == (2, 4, 8)
    se = ops.SqueezeExcitation(4, 2)
    assert se._scale(torch.randn(1, 4, 3, 3)).shape == (1, 4, 1, 1)
    assert models.ResNet18_Weights.DEFAULT.transforms().describe().startswith("Accepts ``PIL.Image``")


@pytest.mark.parametrize("name", ["AutoAugment", "RandAugment", "TrivialAugmentWide", "AugMix"])
def test_policies_change_the_image_of_a_sample(name: str) -> None:
    """The one image, with its type; the rest stays. Two images, or boxes, are refused."""
    image = tv_tensors.Image(torch.randint(0, 256, (3, 16, 12), dtype=torch.uint8))
    policy = getattr(v2, name)()
    found = policy({"image": image, "label": 3})
    assert type(found["image"]) is tv_tensors.Image and found["image"].shape == image.shape
    assert found["label"] == 3
    with pytest.raises(TypeError, match="single image or video"):
        policy(image, image)
    with pytest.raises(TypeError, match="Inputs of type Mask are not supported"):
        policy(image, tv_tensors.Mask(torch.zeros(16, 12)))


def test_a_policys_space_can_be_replaced() -> None:
    """Subclasses say which operations there are, and how strong they are."""

    class OnlyInverts(autoaugment.RandAugment):
        def _augmentation_space(self, num_bins: int, image_size: tuple[int, int]) -> dict[str, Any]:
            return {"Invert": (torch.tensor(0.0), False)}

    image = torch.randint(0, 256, (3, 8, 8), dtype=torch.uint8)
    assert torch.equal(OnlyInverts(num_ops=1)(image), 255 - image)
    space = autoaugment.RandAugment()._augmentation_space(31, (8, 10))
    assert space["ShearX"][1] and space["TranslateX"][0][-1] == pytest.approx(150.0 / 331.0 * 10)
    shown = autoaugment._apply_op(image, "Posterize", 1.0, v2.InterpolationMode.NEAREST, None)
    assert sorted(shown.unique().tolist()) == [0, 128]


def test_transforms_of_samples_draw_as_those_of_images() -> None:
    """`get_params` is the same function, and what scripts compile has the same options."""
    assert getattr(v2.RandomCrop, "get_params") is getattr(v1.RandomCrop, "get_params")
    options = v2.RandomErasing(value="random")._extract_params_for_v1_transform()
    assert options["value"] == "random"
    with pytest.raises(RuntimeError, match="cannot be JIT scripted"):
        v2.RandomZoomOut().__prepare_scriptable__()


@pytest.mark.filterwarnings("ignore:(Arguments other than|Using .weights.)")
def test_models_are_built_as_before_weights_had_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """`pretrained=True` means the first weights that a model had, not the best; options come by their place."""
    asked = []

    def fetched(self: Any, **options: Any) -> Any:
        asked.append(f"{type(self).__name__}.{self.name}")
        raise RuntimeError("no network")

    monkeypatch.setattr(models.WeightsEnum, "get_state_dict", fetched)
    with pytest.warns(UserWarning, match="'pretrained' is deprecated since 0.13"):
        models.mobilenet_v2(pretrained=False, num_classes=2)
    with pytest.warns(UserWarning, match="equivalent to passing `weights=None`"):
        assert models.mobilenet_v2(False).training
    for build in (models.resnet50, models.inception_v3, models.segmentation.fcn_resnet50):
        with pytest.raises(RuntimeError, match="no network"), pytest.warns(UserWarning):
            build(pretrained=True)
    with pytest.raises(RuntimeError, match="no network"), pytest.warns(UserWarning):
        models.detection.fasterrcnn_resnet50_fpn(pretrained=False, pretrained_backbone=True, num_classes=2)
    assert asked == [
        "ResNet50_Weights.IMAGENET1K_V1",
        "Inception_V3_Weights.IMAGENET1K_V1",
        "FCN_ResNet50_Weights.COCO_WITH_VOC_LABELS_V1",
        "ResNet50_Weights.IMAGENET1K_V1",
    ]
    with (
        pytest.raises(ValueError, match="No weights available for model vit_h_14"),
        pytest.warns(UserWarning),
    ):
        models.vit_h_14(pretrained=True)


def test_entries_of_weights_survive_pickles() -> None:
    """They are found in the modules of their models."""
    for entry in (
        models.ResNet18_Weights.DEFAULT,
        models.detection.RetinaNet_ResNet50_FPN_V2_Weights.DEFAULT,
    ):
        assert pickle.loads(pickle.dumps(entry)) is entry


def test_stems_of_convolutions_and_other_sizes_of_images() -> None:
    """ViT's options beyond one convolution, and its embeddings of places at another size."""
    stem = [vision_transformer.ConvStemConfig(4, 3, 2), vision_transformer.ConvStemConfig(8, 3, 2)]
    model = models.VisionTransformer(16, 4, 1, 2, 8, 16, num_classes=3, conv_stem_configs=stem)
    assert model(torch.randn(2, 3, 16, 16)).shape == (2, 3)
    assert [name for name, _ in model.conv_proj.named_children()] == [
        "conv_bn_relu_0",
        "conv_bn_relu_1",
        "conv_last",
    ]
    state = models.VisionTransformer(16, 4, 1, 2, 8, 16).state_dict()
    larger = vision_transformer.interpolate_embeddings(24, 4, state, reset_heads=True)
    assert larger["encoder.pos_embedding"].shape == (1, 37, 8) and "heads.head.weight" not in larger
    with pytest.raises(ValueError, match="not a perfect square"):
        vision_transformer.interpolate_embeddings(24, 4, {"encoder.pos_embedding": torch.zeros(1, 12, 8)})


def test_detectors_give_gradients_of_images() -> None:
    """The batch is made of images that a gradient is wanted of."""
    detector = models.detection.fasterrcnn_mobilenet_v3_large_320_fpn(
        num_classes=3, weights=None, weights_backbone=None
    ).eval()
    image = torch.rand(3, 64, 64, requires_grad=True)
    detector([image])[0]["scores"].sum().backward()
    assert image.grad is not None


@pytest.mark.parametrize("name", ["swin_t", "densenet121", "googlenet", "lraspp_mobilenet_v3_large"])
def test_models_are_compiled_by_torchscript(name: str) -> None:
    """In evaluation a script gives what the model gives; GoogLeNet's gives all its outputs."""
    config: dict[str, Any] = {"init_weights": False} if name == "googlenet" else {}
    if "lraspp" in name:
        config = {"weights_backbone": None}
    model = models.get_model(name, num_classes=3, **config).eval()
    x = torch.randn(1, 3, 64, 64)
    found, wanted = torch.jit.script(model)(x), model(x)
    if isinstance(wanted, dict):
        found, wanted = found["out"], wanted["out"]
    found = found.logits if name == "googlenet" else found
    assert torch.allclose(found, wanted, atol=1e-5)
