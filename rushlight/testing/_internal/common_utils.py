"""torch.testing._internal.common_utils: PyTorch's TestCase, parametrized tests, and flags of the machine.

Other projects' tests are written with these. What PyTorch's own suite has beside is there by name only.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import platform
import random
import socket
import sys
import tempfile
import unittest
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from typing import Any, TypeVar

import numpy as np

import rushlight as torch
from rushlight._engine.names.alternatives import attribute
from rushlight.autograd.gradcheck import gradcheck as gradcheck, gradgradcheck as gradgradcheck
from rushlight.testing._internal.relaxed_comparison import assert_equal
from rushlight.testing.creation import make_tensor as make_tensor

Test = TypeVar("Test", bound=Callable[..., Any])

SEED = 1234
IS_WINDOWS = sys.platform == "win32"
IS_MACOS = sys.platform == "darwin"
IS_LINUX = sys.platform == "linux"
IS_X86 = platform.machine() in ("x86_64", "i386", "AMD64")
IS_ARM64 = platform.machine() in ("arm64", "aarch64")
IS_PPC = platform.machine() == "ppc64le"
IS_CI = bool(os.getenv("CI"))
IS_FBCODE = IS_SANDCASTLE = IS_JETSON = IS_REMOTE_GPU = False
TEST_NUMPY = True
TEST_SCIPY = find_spec("scipy") is not None
TEST_NUMBA = find_spec("numba") is not None
TEST_CUDA = torch.cuda.is_available()
TEST_MULTIGPU = TEST_CUDA and torch.cuda.device_count() > 1
TEST_MKL = TEST_MPS = TEST_XPU = TEST_HPU = TEST_ACL = TEST_PRIVATEUSE1 = False
TEST_WITH_ROCM = TEST_WITH_ASAN = TEST_WITH_TSAN = TEST_WITH_UBSAN = False
TEST_WITH_TORCHDYNAMO = TEST_WITH_TORCHINDUCTOR = TEST_WITH_AOT_EAGER = False
TEST_WITH_SLOW = os.getenv("PYTORCH_TEST_WITH_SLOW", "0") == "1"
TEST_SKIP_FAST = os.getenv("PYTORCH_TEST_SKIP_FAST", "0") == "1"

numpy_to_torch_dtype_dict = {
    np.dtype(name).type: getattr(torch, name)
    for name in "bool uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 float32 float64".split()
} | {np.complex64: torch.complex64, np.complex128: torch.complex128}
torch_to_numpy_dtype_dict = {dtype: scalar for scalar, dtype in numpy_to_torch_dtype_dict.items()}


def __getattr__(name: str) -> Any:
    return attribute(__name__, name)


def set_rng_seed(seed: int | None = None) -> None:
    """Seed torch, Python's random and NumPy's."""
    seed = SEED if seed is None else seed
    torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed)


@contextlib.contextmanager
def freeze_rng_state() -> Iterator[None]:
    """What is drawn inside does not move the generator."""
    with torch.random.fork_rng(enabled=True):
        yield


@contextlib.contextmanager
def set_default_dtype(dtype: torch.dtype) -> Iterator[None]:
    """Another default dtype inside."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


class DeterministicGuard:
    """Deterministic algorithms, or not, inside."""

    def __init__(
        self, deterministic: bool, *, warn_only: bool = False, fill_uninitialized_memory: bool = True
    ) -> None:
        self.deterministic, self.warn_only = deterministic, warn_only

    def __enter__(self) -> None:
        self._before = torch.are_deterministic_algorithms_enabled()
        self._before_warn = torch.is_deterministic_algorithms_warn_only_enabled()
        torch.use_deterministic_algorithms(self.deterministic, warn_only=self.warn_only)

    def __exit__(self, *raised: object) -> None:
        torch.use_deterministic_algorithms(self._before, warn_only=self._before_warn)


@contextlib.contextmanager
def TemporaryFileName(*args: Any, **kwargs: Any) -> Iterator[str]:
    """The name of a file that is gone afterwards; arguments of tempfile.NamedTemporaryFile."""
    with tempfile.NamedTemporaryFile(*args, **(kwargs | {"delete": False})) as file:
        pass
    try:
        yield file.name
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(file.name)


@contextlib.contextmanager
def TemporaryDirectoryName(suffix: str | None = None) -> Iterator[str]:
    """The name of a directory that is gone afterwards."""
    with tempfile.TemporaryDirectory(suffix=suffix) as name:
        yield name


def find_free_port() -> int:
    """A port that nobody listens at."""
    with contextlib.closing(socket.socket()) as taken:
        taken.bind(("localhost", 0))
        return int(taken.getsockname()[1])


class TestCase(unittest.TestCase):
    """unittest's, seeded before each test, whose assertEqual compares tensors within tolerances.

    `precision` and `rel_tol` raise the default tolerances of a class.
    """

    __test__ = False  # this class itself holds no tests; subclasses do
    precision: float = 0.0
    rel_tol: float = 0.0
    maxDiff = None

    def __init__(self, methodName: str = "runTest") -> None:
        # tests use the class itself for its assertions, where no test is run
        super().__init__(methodName if hasattr(self, methodName) else "setUp")

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.__test__ = cls.__dict__.get("__test__", True)

    def setUp(self) -> None:
        set_rng_seed(SEED)

    def assertEqual(
        self,
        x: Any,
        y: Any,
        msg: Any = None,
        *,
        atol: float | None = None,
        rtol: float | None = None,
        equal_nan: bool = True,
        exact_dtype: bool = True,
        exact_device: bool = False,
        exact_layout: bool = False,
        exact_stride: bool = False,
        exact_is_coalesced: bool = False,
    ) -> None:
        """x and y are the same: tensors and numbers within tolerances, containers item by item."""
        assert_equal(
            x,
            y,
            self._with_message(msg),
            floors=(self.rel_tol, self.precision),
            rtol=rtol,
            atol=atol,
            equal_nan=equal_nan,
            check_dtype=exact_dtype,
            check_device=exact_device,
            check_layout=exact_layout,
            check_stride=exact_stride,
        )

    def _with_message(self, msg: Any) -> Callable[[str], str] | None:
        if msg is None or callable(msg):
            given: Callable[[str], str] | None = msg
            return given
        return functools.partial("{1}\n{0}".format, str(msg)) if self.longMessage else lambda _: str(msg)

    def assertNotEqual(  # type: ignore[override]  # PyTorch's names
        self, x: Any, y: Any, msg: Any = None, **options: Any
    ) -> None:
        """x and y are not the same, as assertEqual has it."""
        compare = functools.partial(self.assertEqual, x, y)
        try:
            compare(**options)
        except AssertionError:
            return
        raise AssertionError(msg or f"{x!r} and {y!r} are equal")

    def assertEqualIgnoreType(self, *args: Any, **kwargs: Any) -> None:
        """assertEqual whatever the dtypes."""
        compare = functools.partial(self.assertEqual, exact_dtype=False)
        compare(*args, **kwargs)

    def assertEqualTypeString(self, x: Any, y: Any) -> None:
        """The two are of one device, dtype and type."""
        kinds = [(tensor.device, tensor.dtype, tensor.is_sparse) for tensor in (x, y)]
        if kinds[0] != kinds[1]:
            raise AssertionError(f"{kinds[0]} != {kinds[1]}")

    def assertObjectIn(self, obj: Any, iterable: Iterable[Any]) -> None:
        """The very object is one of them."""
        if not any(obj is item for item in iterable):
            raise AssertionError("object not found in iterable")

    def assertExpectedInline(self, actual: str, expect: str, *args: Any, **kwargs: Any) -> None:
        """The texts are the same."""
        if actual != expect:
            raise AssertionError(f"expected:\n{expect}\nbut got:\n{actual}")


class NoTest:
    """A base for classes of tests that are not to be run."""

    __test__ = False


def run_tests(argv: list[str] | None = None) -> None:
    """Run the tests of the program, as unittest.main does."""
    unittest.main(argv=sys.argv if argv is None else argv)


class subtest:
    """A case of @parametrize with a name or decorators of its own."""

    def __init__(self, arg_values: Any, name: str | None = None, decorators: Any = None) -> None:
        self.arg_values = arg_values
        self.name = name
        self.decorators = decorators or []


class parametrize:
    """Run a test once for each of the values of an argument, or of several: "a,b".

    instantiate_parametrized_tests makes the tests. Decorators of this kind multiply.
    name_fn: from the values to what the test's name ends with.
    """

    def __init__(
        self, arg_str: str, arg_values: Iterable[Any], name_fn: Callable[..., str] | None = None
    ) -> None:
        self.names = [name.strip() for name in arg_str.split(",") if name.strip()]
        self.values, self.name_fn = arg_values, name_fn

    def __call__(self, test: Test) -> Test:
        # What is there by name only, and decorated it further in, is a class.
        test._parametrized = [*test.__dict__.get("_parametrized", ()), self]  # type: ignore[attr-defined]
        return test

    def cases(self) -> Iterator[tuple[str, dict[str, Any], list[Any]]]:
        """The end of the name, the arguments and the decorators of each case."""
        for place, value in enumerate(self.values):
            case = value if isinstance(value, subtest) else None
            values = value.arg_values if isinstance(value, subtest) else value
            values = values if len(self.names) > 1 else (values,)
            if len(values) != len(self.names):
                raise RuntimeError(f"Expected # values == # arg names, but got: {values} for {self.names}")
            if case and case.name:
                ending = case.name
            elif self.name_fn:
                ending = self.name_fn(*values)
            else:
                parts = zip(self.names, values, strict=True)
                ending = "_".join(_shown(place, name, value) for name, value in parts)
            yield ending, dict(zip(self.names, values, strict=True)), list(case.decorators if case else ())


def _shown(place: int, name: str, value: Any) -> str:
    """An argument in a test's name: in words where it is short, else by its place."""
    if isinstance(value, (torch.dtype, torch.device)):
        return str(value).removeprefix("torch.")
    if isinstance(value, (bool, int, float, str)):
        return f"{name}_{value}".replace(".", "_")
    return f"{name}{place}"


def instantiate_parametrized_tests(generic_cls: type) -> type:
    """Replace a class's parametrized tests by one for each case; the class, so that it is a decorator."""
    for name, test in list(vars(generic_cls).items()):
        kinds = getattr(test, "_parametrized", None)
        if kinds is None:
            continue
        delattr(generic_cls, name)
        for cases in itertools.product(*(kind.cases() for kind in reversed(kinds))):
            ending = "_".join(case[0] for case in cases)
            given = {key: value for case in cases for key, value in case[1].items()}
            made = _with_arguments(test, given)
            for decorator in (each for case in cases for each in case[2]):
                made = decorator(made)
            made.__name__ = f"{name}_{ending}"
            if made.__name__ in vars(generic_cls):
                raise RuntimeError(f"Redefinition of test {made.__name__} in {generic_cls.__name__}")
            setattr(generic_cls, made.__name__, made)
    return generic_cls


def _with_arguments(test: Callable[..., Any], given: dict[str, Any]) -> Callable[..., Any]:
    @functools.wraps(test)
    def case(self: Any, *args: Any, **kwargs: Any) -> Any:
        return test(self, *args, **given, **kwargs)

    del case.__wrapped__  # pytest reads its arguments: they are given
    return case


def slowTest(fn: Test) -> Test:
    """Run it only with PYTORCH_TEST_WITH_SLOW=1."""
    return unittest.skipUnless(
        TEST_WITH_SLOW, "test is slow; run with PYTORCH_TEST_WITH_SLOW to enable test"
    )(fn)


def _unchanged(*args: Any, **kwargs: Any) -> Any:
    """A decorator, with or without arguments, of tests that run here as they are."""
    if len(args) == 1 and not kwargs and callable(args[0]):
        return args[0]
    return _unchanged


# What they are skipped for is not here.
skipIfTorchDynamo = skipIfTorchInductor = skipIfRocm = skipIfCrossRef = _unchanged
skipIfXpu = skipIfMPS = skipIfWindows = skipIfHpu = _unchanged
markDynamoStrictTest = unMarkDynamoStrictTest = xfailIfTorchDynamo = _unchanged
skipIfNoSciPy = unittest.skipUnless(TEST_SCIPY, "test require SciPy, but SciPy not found")
skipIfNoLapack = _unchanged
