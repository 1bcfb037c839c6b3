"""Every safe fix keeps what a run can show, bit for bit; every unsafe one changes what its caveat says."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest

torch = pytest.importorskip("torch")
np = pytest.importorskip("numpy")

from tests.behaviour.observe import differences, outcome  # noqa: E402 - both need torch
from tests.behaviour.programs import LEFT, SAFE, UNSAFE, Program, body  # noqa: E402
from torchlint.api import lint_source  # noqa: E402
from torchlint.config.config import Config  # noqa: E402
from torchlint.model import Safety  # noqa: E402
from torchlint.run import session  # noqa: E402
from torchlint.run.fixer import fix_text  # noqa: E402


def _numbers(dtype: str) -> Any:
    return (np.arange(12).reshape(3, 4) % 7 - 2).astype(dtype)


MAKERS: dict[str, Callable[[], Any]] = {
    "f16": partial(_numbers, "f2"),
    "f32": lambda: _numbers("f4") / 3,
    "f64": lambda: _numbers("f8") / 3,
    "i8": partial(_numbers, "i1"),
    "i32": partial(_numbers, "i4"),
    "i64": lambda: _numbers("i8") * 2**40,
    "u8": lambda: np.arange(6, dtype=np.uint8),
    "bool": lambda: _numbers("f4") > 0,
    "complex": partial(_numbers, "c8"),
    "fortran": lambda: np.asfortranarray(_numbers("f8")),
    "transposed": lambda: _numbers("f4").reshape(2, 3, 2).transpose(2, 0, 1),
    "scalar": lambda: np.array(2.5),
    "empty": lambda: np.zeros((0, 3), dtype=np.float32),
    "nan": lambda: np.array([np.nan, np.inf, -np.inf, -0.0, 1e300, 1e-320]),
    "tensor": lambda: torch.arange(4.0) / 3,
    "half": partial(torch.linspace, 0.0, 1.0, 4, dtype=torch.float16),
    "integers": partial(torch.arange, 5),
    "none": lambda: torch.zeros(0, 3),
    "one": lambda: torch.tensor([1 / 3]),
    "one-half": lambda: torch.tensor([1 / 3]).half(),
    "zero-d": lambda: torch.tensor(1 / 3),
    "1x1": lambda: torch.tensor([[2.5]]),
    "gradient": lambda: torch.tensor([1 / 3], requires_grad=True),
    "matrix": lambda: torch.ones(2, 3),
    "shape array": lambda: np.array([2, 3]),
}


def combinations(program: Program) -> Iterator[dict[str, Callable[[], Any]]]:
    """Every combination of the inputs, as makers of new objects."""
    names = list(program.inputs)
    for values in itertools.product(*program.inputs.values()):
        if values == ("complex", "meta"):
            continue  # nothing is copied there, so that no warning of the conversion comes at that point
        yield {name: partial(_made, value) for name, value in zip(names, values, strict=True)}


def _made(value: Any) -> Any:
    return MAKERS[value]() if isinstance(value, str) and value in MAKERS else value


def fixed(program: Program, allowed: Safety) -> tuple[str, str]:
    """The program after the fixes of its rule, and the caveats of these."""
    plan = session.plan(Config(select=(program.rule,), rules=program.options))
    data, run = fix_text(program.text.encode(), "program.py", plan, allowed)
    assert not run.problems
    assert run.repairs is not None
    caveats = " ".join(f.fix.caveat or "" for f in run.repairs.fixed if f.fix)
    return data.decode(), caveats


@pytest.fixture(autouse=True)
def flags_are_put_back() -> Iterator[None]:
    cudnn = torch.backends.cudnn
    before = cudnn.enabled, cudnn.benchmark, cudnn.deterministic
    yield
    cudnn.enabled, cudnn.benchmark, cudnn.deterministic = before
    torch.use_deterministic_algorithms(False)


@contextmanager
def cuda_on_the_cpu() -> Iterator[None]:
    """``.cuda()`` and ``.to("cuda")`` with their keywords: a copy, as they give on a GPU."""
    real = torch.Tensor.to

    def cuda(tensor: Any, *, non_blocking: bool = False) -> Any:
        assert isinstance(non_blocking, bool)
        return tensor.clone()

    def to(tensor: Any, *args: Any, non_blocking: bool = False, **kwargs: Any) -> Any:
        given = ["cpu" if arg == "cuda" else arg for arg in args]
        return real(tensor, *given, non_blocking=non_blocking, copy="cuda" in args, **kwargs)

    torch.Tensor.cuda, before = cuda, torch.Tensor.cuda
    torch.Tensor.to = to
    try:
        yield
    finally:
        torch.Tensor.cuda, torch.Tensor.to = before, real


def reset() -> None:
    torch.backends.cudnn.enabled, torch.backends.cudnn.benchmark, torch.backends.cudnn.deterministic = (
        True,
        False,
        False,
    )
    torch.use_deterministic_algorithms(False)


@pytest.mark.parametrize("program", SAFE, ids=str)
def test_a_safe_fix_changes_nothing_that_a_run_shows(program: Program) -> None:
    after, caveats = fixed(program, Safety.SAFE)
    assert after != program.text
    assert caveats.strip() == ""
    for inputs in combinations(program):
        patches = cuda_on_the_cpu if program.cuda else None
        found = differences(outcome(program.text, inputs, patches), outcome(after, inputs, patches))
        assert not found, f"{found} of\n{after}"


def test_a_conversion_of_complex_numbers_that_torch_warns_of_is_kept() -> None:
    program = body(
        "TL104", "return torch.ones(3, dtype=torch.complex64).to(device, torch.float32)", inputs={"device": ()}
    )
    assert fixed(program, Safety.UNSAFE)[0] == program.text


def test_a_dtype_that_is_called_a_device_stays_where_it_is() -> None:
    text = "def make(device):\n    return torch.zeros(3).to(device)\nreturn make(torch.float64), make('cpu')"
    program = body("TL104", text)
    assert fixed(program, Safety.UNSAFE)[0] == program.text


@pytest.mark.parametrize("expression", LEFT)
def test_content_that_a_factory_would_make_otherwise_is_left_alone(expression: str) -> None:
    program = body("TL103", f"return {expression}")
    assert lint_source(program.text, config=Config(select=("TL103",))).findings
    assert fixed(program, Safety.UNSAFE)[0] == program.text


@pytest.mark.parametrize("program", UNSAFE, ids=str)
def test_an_unsafe_fix_is_not_made_unasked_and_changes_what_it_says(program: Program) -> None:
    assert fixed(program, Safety.SAFE)[0] == program.text
    after, caveats = fixed(program, Safety.UNSAFE)
    assert after != program.text
    assert program.caveat in caveats
    found: set[str] = set()
    for inputs in combinations(program):
        before = outcome(program.text, inputs)
        reset()
        found |= set(differences(before, outcome(after, inputs)))
        reset()
    assert program.differs in found or not program.differs, f"{found} of\n{after}"
