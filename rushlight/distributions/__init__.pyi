# Written by `python tools/stubs.py`.
"""torch.distributions: parametric distributions that programs draw from, weigh values by and compare.

A class is loaded when it is first named; homes.tsv says which file declares it. What all share is in
distribution.py, where values may lie in constraints.py, maps between such sets in transforms.py.
"""
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from rushlight.distributions.transforms import AbsTransform as AbsTransform
from rushlight.distributions.transforms import AffineTransform as AffineTransform
from rushlight.distributions.families.coins import Bernoulli as Bernoulli
from rushlight.distributions.families.shares import Beta as Beta
from rushlight.distributions.families.counts import Binomial as Binomial
from rushlight.distributions.transforms import CatTransform as CatTransform
from rushlight.distributions.families.classes import Categorical as Categorical
from rushlight.distributions.families.real_line import Cauchy as Cauchy
from rushlight.distributions.families.gamma import Chi2 as Chi2
from rushlight.distributions.transforms import ComposeTransform as ComposeTransform
from rushlight.distributions.families.coins import ContinuousBernoulli as ContinuousBernoulli
from rushlight.distributions.transforms import CorrCholeskyTransform as CorrCholeskyTransform
from rushlight.distributions.transforms import CumulativeDistributionTransform as CumulativeDistributionTransform
from rushlight.distributions.families.shares import Dirichlet as Dirichlet
from rushlight.distributions.distribution import Distribution as Distribution
from rushlight.distributions.transforms import ExpTransform as ExpTransform
from rushlight.distributions.families.gamma import Exponential as Exponential
from rushlight.distributions.exp_family import ExponentialFamily as ExponentialFamily
from rushlight.distributions.families.gamma import FisherSnedecor as FisherSnedecor
from rushlight.distributions.families.gamma import Gamma as Gamma
from rushlight.distributions.families.extremes import GeneralizedPareto as GeneralizedPareto
from rushlight.distributions.families.coins import Geometric as Geometric
from rushlight.distributions.families.extremes import Gumbel as Gumbel
from rushlight.distributions.families.derived import HalfCauchy as HalfCauchy
from rushlight.distributions.families.derived import HalfNormal as HalfNormal
from rushlight.distributions.independent import Independent as Independent
from rushlight.distributions.transforms import IndependentTransform as IndependentTransform
from rushlight.distributions.families.gamma import InverseGamma as InverseGamma
from rushlight.distributions.families.extremes import Kumaraswamy as Kumaraswamy
from rushlight.distributions.families.matrices import LKJCholesky as LKJCholesky
from rushlight.distributions.families.real_line import Laplace as Laplace
from rushlight.distributions.families.derived import LogNormal as LogNormal
from rushlight.distributions.families.derived import LogisticNormal as LogisticNormal
from rushlight.distributions.families.vectors import LowRankMultivariateNormal as LowRankMultivariateNormal
from rushlight.distributions.transforms import LowerCholeskyTransform as LowerCholeskyTransform
from rushlight.distributions.mixture_same_family import MixtureSameFamily as MixtureSameFamily
from rushlight.distributions.families.classes import Multinomial as Multinomial
from rushlight.distributions.families.vectors import MultivariateNormal as MultivariateNormal
from rushlight.distributions.families.counts import NegativeBinomial as NegativeBinomial
from rushlight.distributions.families.real_line import Normal as Normal
from rushlight.distributions.families.classes import OneHotCategorical as OneHotCategorical
from rushlight.distributions.families.classes import OneHotCategoricalStraightThrough as OneHotCategoricalStraightThrough
from rushlight.distributions.families.extremes import Pareto as Pareto
from rushlight.distributions.families.counts import Poisson as Poisson
from rushlight.distributions.transforms import PositiveDefiniteTransform as PositiveDefiniteTransform
from rushlight.distributions.transforms import PowerTransform as PowerTransform
from rushlight.distributions.families.relaxed import RelaxedBernoulli as RelaxedBernoulli
from rushlight.distributions.families.relaxed import RelaxedOneHotCategorical as RelaxedOneHotCategorical
from rushlight.distributions.transforms import ReshapeTransform as ReshapeTransform
from rushlight.distributions.transforms import SigmoidTransform as SigmoidTransform
from rushlight.distributions.transforms import SoftmaxTransform as SoftmaxTransform
from rushlight.distributions.transforms import SoftplusTransform as SoftplusTransform
from rushlight.distributions.transforms import StackTransform as StackTransform
from rushlight.distributions.transforms import StickBreakingTransform as StickBreakingTransform
from rushlight.distributions.families.gamma import StudentT as StudentT
from rushlight.distributions.transforms import TanhTransform as TanhTransform
from rushlight.distributions.transforms import Transform as Transform
from rushlight.distributions.transformed_distribution import TransformedDistribution as TransformedDistribution
from rushlight.distributions.families.real_line import Uniform as Uniform
from rushlight.distributions.von_mises import VonMises as VonMises
from rushlight.distributions.families.extremes import Weibull as Weibull
from rushlight.distributions.families.matrices import Wishart as Wishart
from rushlight.distributions import bernoulli as bernoulli
from rushlight.distributions import beta as beta
from rushlight.distributions.constraint_registry import biject_to as biject_to
from rushlight.distributions import binomial as binomial
from rushlight.distributions import categorical as categorical
from rushlight.distributions import cauchy as cauchy
from rushlight.distributions import chi2 as chi2
from rushlight.distributions import constraint_registry as constraint_registry
from rushlight.distributions import constraints as constraints
from rushlight.distributions import continuous_bernoulli as continuous_bernoulli
from rushlight.distributions import dirichlet as dirichlet
from rushlight.distributions import distribution as distribution
from rushlight.distributions import exp_family as exp_family
from rushlight.distributions import exponential as exponential
from rushlight.distributions import fishersnedecor as fishersnedecor
from rushlight.distributions import gamma as gamma
from rushlight.distributions import generalized_pareto as generalized_pareto
from rushlight.distributions import geometric as geometric
from rushlight.distributions import gumbel as gumbel
from rushlight.distributions import half_cauchy as half_cauchy
from rushlight.distributions import half_normal as half_normal
from rushlight.distributions.transforms import identity_transform as identity_transform
from rushlight.distributions import independent as independent
from rushlight.distributions import inverse_gamma as inverse_gamma
from rushlight.distributions import kl as kl
from rushlight.distributions.kl import kl_divergence as kl_divergence
from rushlight.distributions import kumaraswamy as kumaraswamy
from rushlight.distributions import laplace as laplace
from rushlight.distributions import lkj_cholesky as lkj_cholesky
from rushlight.distributions import log_normal as log_normal
from rushlight.distributions import logistic_normal as logistic_normal
from rushlight.distributions import lowrank_multivariate_normal as lowrank_multivariate_normal
from rushlight.distributions import mixture_same_family as mixture_same_family
from rushlight.distributions import multinomial as multinomial
from rushlight.distributions import multivariate_normal as multivariate_normal
from rushlight.distributions import negative_binomial as negative_binomial
from rushlight.distributions import normal as normal
from rushlight.distributions import one_hot_categorical as one_hot_categorical
from rushlight.distributions import pareto as pareto
from rushlight.distributions import poisson as poisson
from rushlight.distributions.kl import register_kl as register_kl
from rushlight.distributions import relaxed_bernoulli as relaxed_bernoulli
from rushlight.distributions import relaxed_categorical as relaxed_categorical
from rushlight.distributions import studentT as studentT
from rushlight.distributions.constraint_registry import transform_to as transform_to
from rushlight.distributions import transformed_distribution as transformed_distribution
from rushlight.distributions import transforms as transforms
from rushlight.distributions import uniform as uniform
from rushlight.distributions import utils as utils
from rushlight.distributions import von_mises as von_mises
from rushlight.distributions import weibull as weibull
from rushlight.distributions import wishart as wishart
class _Member(ModuleType):
    """PyTorch's module of one distribution, which shares a file with its family here: that file's names."""

    def __init__(self, name: str, family: Any) -> None: ...
    def __getattr__(self, name: str) -> Any: ...
def __dir__() -> list[str]: ...
__all__ = ['AbsTransform', 'AffineTransform', 'Bernoulli', 'Beta', 'Binomial', 'CatTransform', 'Categorical',
    'Cauchy', 'Chi2', 'ComposeTransform', 'ContinuousBernoulli', 'CorrCholeskyTransform',
    'CumulativeDistributionTransform', 'Dirichlet', 'Distribution', 'ExpTransform', 'Exponential',
    'ExponentialFamily', 'FisherSnedecor', 'Gamma', 'GeneralizedPareto', 'Geometric', 'Gumbel', 'HalfCauchy',
    'HalfNormal', 'Independent', 'IndependentTransform', 'InverseGamma', 'Kumaraswamy', 'LKJCholesky',
    'Laplace', 'LogNormal', 'LogisticNormal', 'LowRankMultivariateNormal', 'LowerCholeskyTransform',
    'MixtureSameFamily', 'Multinomial', 'MultivariateNormal', 'NegativeBinomial', 'Normal',
    'OneHotCategorical', 'OneHotCategoricalStraightThrough', 'Pareto', 'Poisson', 'PositiveDefiniteTransform',
    'PowerTransform', 'RelaxedBernoulli', 'RelaxedOneHotCategorical', 'ReshapeTransform', 'SigmoidTransform',
    'SoftmaxTransform', 'SoftplusTransform', 'StackTransform', 'StickBreakingTransform', 'StudentT',
    'TanhTransform', 'Transform', 'TransformedDistribution', 'Uniform', 'VonMises', 'Weibull', 'Wishart',
    'biject_to', 'identity_transform', 'kl_divergence', 'register_kl', 'transform_to']
