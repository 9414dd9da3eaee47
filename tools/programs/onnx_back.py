"""onnx2torch, hummingbird: models made of ONNX graphs and of scikit-learn's."""

import warnings

import numpy as np
import onnx
import torch
from hummingbird.ml import convert
from onnx import TensorProto, helper
from onnx2torch import convert as from_onnx
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

warnings.filterwarnings("ignore")
rng = np.random.RandomState(0)
w, b = rng.randn(8, 3, 3, 3).astype("float32"), rng.randn(8).astype("float32")
v = rng.randn(8 * 36, 5).astype("float32")
graph = helper.make_graph(
    [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("MaxPool", ["r"], ["m"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Flatten", ["m"], ["f"]),
        helper.make_node("MatMul", ["f", "v"], ["o"]),
        helper.make_node("Softmax", ["o"], ["y"], axis=-1),
    ],
    "g",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3, 12, 12])],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 5])],
    [onnx.numpy_helper.from_array(a, n) for a, n in ((w, "w"), (b, "b"), (v, "v"))],
)
model = from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]))
x = torch.from_numpy(rng.randn(2, 3, 12, 12).astype("float32"))
print(model(x), type(model).__name__, len(list(model.graph.nodes)))
data, labels = rng.randn(80, 6).astype("float32"), rng.randint(0, 3, 80)
for skl in (
    LogisticRegression(max_iter=50),
    RandomForestClassifier(5, max_depth=3, random_state=0),
    StandardScaler(),
):
    skl.fit(data, labels)
    found = convert(skl, "pytorch")
    out = (
        found.transform(data)
        if hasattr(skl, "transform") and not hasattr(skl, "predict_proba")
        else found.predict_proba(data)
    )
    print(type(skl).__name__, f"{np.abs(out).sum():.4f} {np.abs(out[:5]).sum():.5f}")
