"""skorch: classifiers and regressors in scikit-learn's searches and pipelines."""

import numpy as np
import torch
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from skorch import NeuralNetClassifier, NeuralNetRegressor
from skorch.callbacks import Checkpoint, EarlyStopping, EpochScoring, LRScheduler
from torch import nn

torch.manual_seed(0)
X, y = make_classification(300, 12, n_informative=6, random_state=0)
X, y = X.astype(np.float32), y.astype(np.int64)


class Net(nn.Module):
    def __init__(self, num_units=10, dropout=0.5, out=2):
        super().__init__()
        self.dense, self.drop, self.out = (
            nn.Linear(12, num_units),
            nn.Dropout(dropout),
            nn.Linear(num_units, out),
        )

    def forward(self, X):
        return self.out(self.drop(torch.relu(self.dense(X))))


net = NeuralNetClassifier(
    Net,
    criterion=nn.CrossEntropyLoss,
    max_epochs=5,
    lr=0.1,
    iterator_train__shuffle=True,
    callbacks=[
        EarlyStopping(patience=3),
        EpochScoring("roc_auc", lower_is_better=False),
        Checkpoint(dirname="kept"),
        LRScheduler("StepLR", step_size=2),
    ],
    verbose=0,
)
net.fit(X, y)
for row in net.history:
    print(
        row["epoch"],
        f"{row['train_loss']:.5f} {row['valid_loss']:.5f} {row['valid_acc']:.4f} {row['roc_auc']:.4f}",
    )
net.load_params(checkpoint=net.callbacks[2])
print(f"{net.predict_proba(X).sum(0)[0]:.4f}")
pipe = Pipeline(
    [
        ("scale", StandardScaler()),
        (
            "net",
            NeuralNetClassifier(
                Net, criterion=nn.CrossEntropyLoss, max_epochs=3, lr=0.1, verbose=0, train_split=None
            ),
        ),
    ]
)
search = GridSearchCV(
    pipe, {"net__lr": [0.05, 0.2], "net__module__num_units": [5, 10]}, cv=2, scoring="accuracy"
)
search.fit(X, y)
print(search.best_params_, f"{search.best_score_:.4f}")
reg = NeuralNetRegressor(Net, module__out=1, max_epochs=3, lr=0.01, optimizer=torch.optim.Adam, verbose=0)
reg.fit(X, X[:, :1])
print([f"{v:.5f}" for v in reg.history[:, "train_loss"]])
print(f"{cross_val_predict(reg, X, X[:, :1], cv=2).sum():.4f}")
