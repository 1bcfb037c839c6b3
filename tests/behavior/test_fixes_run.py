"""Safe fixes preserve everything that a run shows, bit for bit; unsafe fixes change what their caveat says."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("numpy")

from tests.behavior.inputs import made  # noqa: E402 - these need torch
from tests.behavior.observe import described, differences, outcome  # noqa: E402
from tests.behavior.programs import LEFT, SAFE, UNSAFE, Program, body  # noqa: E402
from torchlint.api import lint_source  # noqa: E402
from torchlint.config.config import Config  # noqa: E402
from torchlint.model import Safety  # noqa: E402
from torchlint.program.world import World  # noqa: E402
from torchlint.run import session  # noqa: E402
from torchlint.run.fixing.fixer import fix_text  # noqa: E402


def combinations(program: Program) -> Iterator[dict[str, Callable[[], Any]]]:
    """Every combination of the inputs, as functions that create new objects."""
    names = list(program.inputs)
    for values in itertools.product(*program.inputs.values()):
        if values == ("complex", "meta"):
            continue  # nothing is copied there, so the conversion does not warn
        yield {name: partial(made, value) for name, value in zip(names, values, strict=True)}


def fixed(program: Program, allowed: Safety) -> tuple[str, str]:
    """The program after the fixes of its rule, and their caveats."""
    config = Config(select=(program.rule,), rules=program.options, world=World(hot=program.hot))
    plan = session.plan(config)
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
        found = differences(outcome(program.text, inputs), outcome(after, inputs))
        assert not found, f"{found} of\n{after}"


def test_a_conversion_of_complex_numbers_that_torch_warns_of_is_kept() -> None:
    program = body(
        "TL104", "return torch.ones(3, dtype=torch.complex64).to(device, torch.float32)", inputs={"device": ()}
    )
    assert fixed(program, Safety.UNSAFE)[0] == program.text


def test_a_dtype_that_is_called_a_device_stays_where_it_is() -> None:
    text = "def make(device):\n    return torch.zeros(3).to(device)\nreturn make(torch.float64), make('cpu')"
    program = body("TL104", text)
    assert fixed(program, Safety.SAFE)[0] == program.text


@pytest.mark.parametrize("given", ["x.to('cuda', torch.float64, False)", "x.cuda(0, False)"])
def test_an_argument_that_is_given_by_position_is_not_given_again_by_keyword(given: str) -> None:
    loop = "for x in torch.utils.data.DataLoader(torch.ones(4, 2), 2, pin_memory=True):"
    program = body("TL202", f"model = torch.nn.Linear(2, 1)\n{loop}\n    model({given}).sum().backward()")
    after, _ = fixed(program, Safety.UNSAFE)
    assert given.replace("False", "True") in after


@pytest.mark.parametrize("expression", LEFT)
def test_content_that_a_factory_would_make_otherwise_is_left_alone(expression: str) -> None:
    program = body("TL103", f"return {expression}.cuda()", hot=("run",))
    assert lint_source(program.text, config=Config(select=("TL103",), world=World(hot=("run",)))).findings
    assert fixed(program, Safety.UNSAFE)[0] == program.text


@pytest.mark.parametrize(
    "program",
    [
        body("TL104", "return torch.zeros(3).to(other=x.to(device))", inputs={"x": ("tensor",), "device": ("cpu",)}),
        body(
            "TL104",
            "y = x.to(device)\nreturn torch.zeros(3).to(other=y)",
            inputs={"x": ("tensor",), "device": ("cpu",)},
        ),
        body(
            "TL701",
            "return torch.nn.Linear(2, 1).cuda(non_blocking=False)",
            options={"hardcoded-cuda": {"portable": True}},
        ),
    ],
    ids=str,
)
def test_a_call_that_raises_an_error_is_not_made_to_work(program: Program) -> None:
    assert fixed(program, Safety.UNSAFE)[0] == program.text
    for inputs in combinations(program):
        assert "exception" in outcome(program.text, inputs)


def test_a_device_that_is_an_object_does_not_become_a_string() -> None:
    head = "import torch\n\ndevice = 'cuda' if torch.cuda.is_available() else 'cpu'\n\n\ndef run():\n    return "
    program = Program("TL701", f"{head}torch.device('cuda')\n", options={"hardcoded-cuda": {"portable": True}})
    after, _ = fixed(program, Safety.UNSAFE)
    assert after != program.text
    assert described(_run(after)) == described(torch.device("cpu"))


def _run(text: str) -> Any:
    namespace: dict[str, Any] = {}
    exec(text, namespace)
    return namespace["run"]()


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
