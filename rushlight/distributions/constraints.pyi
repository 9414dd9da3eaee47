# Written by `python tools/stubs.py`.
"""torch.distributions.constraints: where values and parameters may lie."""
from rushlight import Tensor
from typing import Any

class Constraint:
    """A set of values, of numbers apart if it `is_discrete`; the last `event_dim` dims are one value."""

    def __repr__(self) -> Any: ...
    def check(self, value: Any) -> Any:
        """Whether each value is in the set: bool, without the last event_dim dims."""
    event_dim: int
    is_discrete: bool
class MixtureSameFamilyConstraint(_Wrapped):
    """Values that all components of a mixture allow."""

    def __repr__(self) -> Any: ...
    def check(self, value: Any) -> Any:
        """Whether each value is allowed."""
class _Boolean(Constraint):
    """0 and 1."""

    def check(c, x: Tensor) -> Any: ...
    event_dim: int
    is_discrete: bool
class _Bounded(Constraint):
    """Numbers beyond bounds; the text tells them."""

    def __repr__(self) -> Any: ...
class _Cat(_Parts):
    """Constraints of parts of some lengths (1 each by default), as torch.cat joins them."""

    lengths: Any
    def __init__(self, cseq: Any, dim: float = 0, lengths: Any = None) -> None: ...
    def check(self, value: Any) -> Any:
        """Whether each part is allowed."""
class _CorrCholesky(Constraint):
    """Lower Cholesky factors whose rows have length 1."""

    def check(_, value: Any) -> Any: ...
    event_dim: int
    is_discrete: bool
class _Dependent(Constraint):
    """A set that only an object's parameters tell; what is known of it beforehand may be given."""

    def __init__(self, *, is_discrete: Any = ..., event_dim: Any = ...) -> None: ...
    def __call__(self, *, is_discrete: Any = ..., event_dim: Any = ...) -> Any:
        """The same with more known."""
    def check(self, value: Any) -> Any:
        """ValueError: there is nothing to check by."""
    @property
    def event_dim(self) -> int: ...
    @property
    def is_discrete(self) -> bool: ...
class _DependentProperty(property, _Dependent):
    """A property of objects that is a dependent constraint when asked of the class."""

    def __init__(self, fn: Any = None, *, is_discrete: Any = ..., event_dim: Any = ...) -> None: ...
    def __call__(self, fn: Any) -> Any:
        """The decorator's second half, after its keywords."""
class _From(_Bounded):
    lower_bound: Any
    def __init__(self, lower_bound: Any) -> None: ...
class _FromTo(_Bounded):
    lower_bound: Any
    upper_bound: Any
    def __init__(self, lower_bound: Any, upper_bound: Any) -> None: ...
class _GreaterThan(_From):
    """Above the bound."""

    def check(c, x: Tensor) -> Any: ...
    event_dim: int
    is_discrete: bool
class _GreaterThanEq(_From):
    """The bound and above."""

    def check(c, x: Tensor) -> Any: ...
    event_dim: int
    is_discrete: bool
class _HalfOpenInterval(_FromTo):
    """From the one bound to below the other."""

    def check(c, x: Tensor) -> Any: ...
    event_dim: int
    is_discrete: bool
class _IndependentConstraint(_Wrapped):
    """A value is what `reinterpreted_batch_ndims` more dims of values are, if each of them is allowed."""

    reinterpreted_batch_ndims: Any
    def __init__(self, base_constraint: Any, reinterpreted_batch_ndims: Any) -> None: ...
    def __repr__(self) -> Any: ...
    def check(self, value: Any) -> Any:
        """Whether all parts of each value are allowed."""
    @property
    def event_dim(self) -> int: ...
class _IntegerGreaterThan(_From):
    """Whole numbers from the bound."""

    def check(c, x: Tensor) -> Any: ...
    event_dim: int
    is_discrete: bool
class _IntegerInterval(_FromTo):
    """Whole numbers from the one bound to the other."""

    def check(c, x: Tensor) -> Any: ...
    event_dim: int
    is_discrete: bool
class _IntegerLessThan(_To):
    """Whole numbers up to the bound."""

    def check(c, x: Tensor) -> Any: ...
    event_dim: int
    is_discrete: bool
class _Interval(_FromTo):
    """From the one bound to the other."""

    def check(c, x: Tensor) -> Any: ...
    event_dim: int
    is_discrete: bool
class _LessThan(_To):
    """Below the bound."""

    def check(c, x: Tensor) -> Any: ...
    event_dim: int
    is_discrete: bool
class _LowerCholesky(Constraint):
    """Lower triangular with a positive diagonal."""

    def check(c, x: Tensor) -> Any: ...
    event_dim: int
    is_discrete: bool
class _LowerTriangular(Constraint):
    """Zero above the diagonal."""

    def check(c, x: Tensor) -> Any: ...
    event_dim: int
    is_discrete: bool
class _Multinomial(_To):
    """Counts that sum to at most the bound; that they sum to it is not asked, as in PyTorch."""

    def __repr__(self) -> Any: ...
    def check(self, value: Any) -> Any:
        """Whether each vector is allowed."""
    event_dim: int
    is_discrete: bool
class _OneHot(Constraint):
    """Vectors of zeros and a one."""

    def check(c, x: Tensor) -> Any: ...
    event_dim: int
    is_discrete: bool
class _Parts(Constraint):
    """Constraints of the parts of a tensor along a dim."""

    cseq: Any
    dim: float
    def __init__(self, cseq: Any, dim: float = 0) -> None: ...
    @property
    def event_dim(self) -> int: ...
    @property
    def is_discrete(self) -> bool: ...
class _PositiveDefinite(_Symmetric):
    """Symmetric matrices with positive eigenvalues."""

    def check(_, value: Any) -> Any: ...
    event_dim: int
    is_discrete: bool
class _PositiveSemidefinite(_Symmetric):
    """Symmetric matrices without negative eigenvalues."""

    def check(_, value: Any) -> Any: ...
    event_dim: int
    is_discrete: bool
class _Real(Constraint):
    """All numbers but nan."""

    def check(c, x: Tensor) -> Any: ...
    event_dim: int
    is_discrete: bool
class _Simplex(Constraint):
    """Vectors of probabilities."""

    def check(c, x: Tensor) -> Any: ...
    event_dim: int
    is_discrete: bool
class _Square(Constraint):
    """Square matrices."""

    def check(_, value: Any) -> Any: ...
    event_dim: int
    is_discrete: bool
class _Stack(_Parts):
    """Constraints of parts as torch.stack joins them."""

    def check(self, value: Any) -> Any:
        """Whether each part is allowed."""
    @property
    def event_dim(self) -> int: ...
class _Symmetric(_Square):
    """Symmetric matrices."""

    def check(_, value: Any) -> Any: ...
    event_dim: int
    is_discrete: bool
class _To(_Bounded):
    upper_bound: Any
    def __init__(self, upper_bound: Any) -> None: ...
class _Wrapped(Constraint):
    """What a constraint of one more kind shares with the one that it is made of."""

    base_constraint: Any
    def __init__(self, base_constraint: Any) -> None: ...
    @property
    def event_dim(self) -> int: ...
    @property
    def is_discrete(self) -> bool: ...
def _all_rightmost(checks: Any, kept: Any) -> Any: ...
def _corr_cholesky(_: Any, value: Any) -> Any: ...
def _lower_cholesky(value: Any) -> Any: ...
def _lower_triangular(value: Any) -> Any: ...
def _positive_definite(_: Any, value: Any) -> Any: ...
def _positive_semidefinite(_: Any, value: Any) -> Any: ...
def _set(name: Any, check: Any, doc: Any, event_dim: float = 0, discrete: bool = False, base: Any = ...) -> Any:
    """A class of constraints by what its members answer: check(the constraint, a value)."""
def _square(_: Any, value: Any) -> Any: ...
def _symmetric(_: Any, value: Any) -> Any: ...
def _whole(value: Any) -> Any: ...
boolean: Any
class cat(_Parts):
    """Constraints of parts of some lengths (1 each by default), as torch.cat joins them."""

    lengths: Any
    def __init__(self, cseq: Any, dim: float = 0, lengths: Any = None) -> None: ...
    def check(self, value: Any) -> Any:
        """Whether each part is allowed."""
corr_cholesky: Any
dependent: Any
class dependent_property(property, _Dependent):
    """A property of objects that is a dependent constraint when asked of the class."""

    def __init__(self, fn: Any = None, *, is_discrete: Any = ..., event_dim: Any = ...) -> None: ...
    def __call__(self, fn: Any) -> Any:
        """The decorator's second half, after its keywords."""
class greater_than(_From):
    """Above the bound."""

    def check(c, x: Tensor) -> Any: ...
    event_dim: int
    is_discrete: bool
class greater_than_eq(_From):
    """The bound and above."""

    def check(c, x: Tensor) -> Any: ...
    event_dim: int
    is_discrete: bool
class half_open_interval(_FromTo):
    """From the one bound to below the other."""

    def check(c, x: Tensor) -> Any: ...
    event_dim: int
    is_discrete: bool
class independent(_Wrapped):
    """A value is what `reinterpreted_batch_ndims` more dims of values are, if each of them is allowed."""

    reinterpreted_batch_ndims: Any
    def __init__(self, base_constraint: Any, reinterpreted_batch_ndims: Any) -> None: ...
    def __repr__(self) -> Any: ...
    def check(self, value: Any) -> Any:
        """Whether all parts of each value are allowed."""
    @property
    def event_dim(self) -> int: ...
class integer_interval(_FromTo):
    """Whole numbers from the one bound to the other."""

    def check(c, x: Tensor) -> Any: ...
    event_dim: int
    is_discrete: bool
class interval(_FromTo):
    """From the one bound to the other."""

    def check(c, x: Tensor) -> Any: ...
    event_dim: int
    is_discrete: bool
def is_dependent(constraint: Any) -> Any:
    """Whether a constraint cannot be checked without an object."""
class less_than(_To):
    """Below the bound."""

    def check(c, x: Tensor) -> Any: ...
    event_dim: int
    is_discrete: bool
lower_cholesky: Any
lower_triangular: Any
class multinomial(_To):
    """Counts that sum to at most the bound; that they sum to it is not asked, as in PyTorch."""

    def __repr__(self) -> Any: ...
    def check(self, value: Any) -> Any:
        """Whether each vector is allowed."""
    event_dim: int
    is_discrete: bool
nonnegative: Any
nonnegative_integer: Any
one_hot: Any
positive: Any
positive_definite: Any
positive_integer: Any
positive_semidefinite: Any
positive_vector: Any
real: Any
real_vector: Any
simplex: Any
square: Any
class stack(_Parts):
    """Constraints of parts as torch.stack joins them."""

    def check(self, value: Any) -> Any:
        """Whether each part is allowed."""
    @property
    def event_dim(self) -> int: ...
symmetric: Any
unit_interval: Any
__all__ = ['Constraint', 'is_dependent', 'MixtureSameFamilyConstraint', 'dependent', 'dependent_property',
    'independent', 'boolean', 'one_hot', 'real', 'simplex', 'integer_interval', 'interval',
    'half_open_interval', 'nonnegative_integer', 'positive_integer', 'greater_than', 'greater_than_eq',
    'less_than', 'positive', 'nonnegative', 'unit_interval', 'real_vector', 'positive_vector', 'multinomial',
    'cat', 'stack', 'lower_triangular', 'lower_cholesky', 'corr_cholesky', 'square', 'symmetric',
    'positive_semidefinite', 'positive_definite']
