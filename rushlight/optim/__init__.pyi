# Written by `python tools/stubs.py`.
"""torch.optim: optimizers and learning-rate schedulers."""

from rushlight.optim.asgd import ASGD as ASGD
from rushlight.optim.adadelta import Adadelta as Adadelta
from rushlight.optim._adafactor import Adafactor as Adafactor
from rushlight.optim.adagrad import Adagrad as Adagrad
from rushlight.optim.adam import Adam as Adam
from rushlight.optim.adam import AdamW as AdamW
from rushlight.optim.adamax import Adamax as Adamax
from rushlight.optim.lbfgs import LBFGS as LBFGS
from rushlight.optim._muon import Muon as Muon
from rushlight.optim.nadam import NAdam as NAdam
from rushlight.optim.optimizer import Optimizer as Optimizer
from rushlight.optim.radam import RAdam as RAdam
from rushlight.optim.rmsprop import RMSprop as RMSprop
from rushlight.optim.rprop import Rprop as Rprop
from rushlight.optim.sgd import SGD as SGD
from rushlight.optim.sparse_adam import SparseAdam as SparseAdam
from rushlight.optim import _adafactor as _adafactor
from rushlight.optim import _muon as _muon
from rushlight.optim import _stateless as _stateless
from rushlight.optim import adadelta as adadelta
from rushlight.optim import adagrad as adagrad
from rushlight.optim import adam as adam
from rushlight.optim import adamax as adamax
from rushlight.optim import asgd as asgd
from rushlight.optim import functional as functional
from rushlight.optim import lbfgs as lbfgs
from rushlight.optim import lr_scheduler as lr_scheduler
from rushlight.optim import nadam as nadam
from rushlight.optim import optimizer as optimizer
from rushlight.optim import radam as radam
from rushlight.optim import rmsprop as rmsprop
from rushlight.optim import rprop as rprop
from rushlight.optim import sgd as sgd
from rushlight.optim import sparse_adam as sparse_adam
from rushlight.optim import swa_utils as swa_utils
from rushlight.optim._stateless import swap_in_optimizer_params_and_state as swap_in_optimizer_params_and_state
def __dir__() -> list[str]: ...
__all__ = ['ASGD', 'Adadelta', 'Adafactor', 'Adagrad', 'Adam', 'AdamW', 'Adamax', 'LBFGS', 'Muon', 'NAdam',
    'Optimizer', 'RAdam', 'RMSprop', 'Rprop', 'SGD', 'SparseAdam', 'swap_in_optimizer_params_and_state',
    'functional', 'lr_scheduler', 'swa_utils']
