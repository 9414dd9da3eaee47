"""Metrics of torchmetrics, in parts and at once, by functions and as a collection."""

import torch
from torchmetrics import MeanMetric, MetricCollection
from torchmetrics.classification import (
    MulticlassAccuracy,
    MulticlassAUROC,
    MulticlassConfusionMatrix,
    MulticlassF1Score,
)
from torchmetrics.functional import mean_squared_error, pearson_corrcoef
from torchmetrics.regression import R2Score

torch.manual_seed(0)
scores, target = torch.randn(200, 4).softmax(-1), torch.randint(4, (200,))
metrics = MetricCollection([MulticlassAccuracy(4, average="micro"), MulticlassF1Score(4), MulticlassAUROC(4)])
for part in range(0, 200, 50):
    metrics.update(scores[part : part + 50], target[part : part + 50])
found = {name: float(value) for name, value in metrics.compute().items()}
right = (scores.argmax(-1) == target).float().mean().item()
assert abs(found["MulticlassAccuracy"] - right) < 1e-6, (found, right)
table = MulticlassConfusionMatrix(4)(scores, target)
assert int(table.sum()) == 200 and int(table.diag().sum()) == round(200 * right)
x = torch.randn(100)
y = 2 * x + 1
assert abs(float(pearson_corrcoef(x, y)) - 1) < 1e-5
assert abs(float(mean_squared_error(x, y)) - float(((x - y) ** 2).mean())) < 1e-5
assert abs(float(R2Score()(y, y)) - 1) < 1e-6
mean = MeanMetric()
mean.update(torch.tensor([1.0, 2.0]))
mean.update(torch.tensor([6.0]))
assert float(mean.compute()) == 3.0
print(found)
