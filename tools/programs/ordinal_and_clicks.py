"""coral-pytorch: ordinal losses; deepctr-torch: models of clicks on features that are sparse, dense and sequences."""

import numpy as np
import torch
from coral_pytorch.dataset import corn_label_from_logits, levels_from_labelbatch, proba_to_label
from coral_pytorch.layers import CoralLayer
from coral_pytorch.losses import coral_loss, corn_loss
from deepctr_torch.inputs import DenseFeat, SparseFeat, VarLenSparseFeat, get_feature_names
from deepctr_torch.models import DCN, DIFM, NFM, AutoInt, DeepFM, xDeepFM

torch.manual_seed(0)
x, labels = torch.randn(24, 5), torch.randint(0, 4, (24,))
for kind in ("coral", "corn"):
    body = torch.nn.Linear(5, 8)
    head = CoralLayer(8, 4) if kind == "coral" else torch.nn.Linear(8, 3)
    optimizer = torch.optim.Adam([*body.parameters(), *head.parameters()], lr=0.05)
    for step in range(4):
        logits = head(body(x).relu())
        if kind == "coral":
            loss = coral_loss(logits, levels_from_labelbatch(labels, 4).type_as(logits))
        else:
            loss = corn_loss(logits, labels, 4)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(kind, step, f"{loss.item():.5f}")
    guess = proba_to_label(torch.sigmoid(logits)) if kind == "coral" else corn_label_from_logits(logits)
    print(kind, guess.tolist())

rng = np.random.default_rng(0)
count = 64
data = {
    "user": rng.integers(0, 6, count),
    "item": rng.integers(0, 8, count),
    "age": rng.random(count).astype("float32"),
    "past": rng.integers(0, 5, (count, 3)),
}
target = rng.integers(0, 2, count).astype("float32")
columns = [
    SparseFeat("user", 6, embedding_dim=4),
    SparseFeat("item", 8, embedding_dim=4),
    DenseFeat("age", 1),
    VarLenSparseFeat(SparseFeat("past", 5, embedding_dim=4), maxlen=3, combiner="mean"),
]
given = {name: data[name] for name in get_feature_names(columns)}
for model_class in (DeepFM, DCN, AutoInt, NFM, xDeepFM, DIFM):
    model = model_class(columns, columns, task="binary", device="cpu", seed=7)
    model.compile("adam", "binary_crossentropy", metrics=["binary_crossentropy", "auc"])
    history = model.fit(given, target, batch_size=16, epochs=2, verbose=0, shuffle=False)
    found = model.predict(given, batch_size=32)
    print(model_class.__name__, *(f"{v:.5f}" for v in history.history["loss"]), f"{found.mean():.5f}")
