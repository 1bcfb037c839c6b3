"""Words of source text: whatever a rule could fire in is found, told without parsing."""

from __future__ import annotations

import pytest

from torchlint.other_names import Names
from torchlint.words import Calls, Led, Word, holds

FACTORY = Calls(("zeros", "ones"), ("device",))
USED = Calls(("zeros", "ones"), ("device",), used=True)


def found(text: str, word: Word) -> bool:
    return holds(text, 0, len(text), word)


@pytest.mark.parametrize("text", ["f(x)", "f (x)", "f \\\n(x)", "g = f\ng(x)", "from m import f as g", "g = a.f\n"])
def test_a_call_is_found_however_it_is_written(text: str) -> None:
    assert found(text, "f(")


@pytest.mark.parametrize("text", ["of x", "self.f", "# no f here", "'f'"])
def test_a_name_that_is_neither_called_nor_given_away_is_none(text: str) -> None:
    assert not found(text, "f(")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("torch.zeros(3)", True),
        ("torch.zeros((2, 3), dtype=d)", True),
        ("torch.zeros(3, device=d)", False),
        ("torch.zeros((2, 3), device=d)", False),
        ("torch.zeros(f(device=d))", True),
        ("torch.zeros(n if device == 'cpu' else 4)", True),
        ("torch.zeros(n,  # device= is slower\n  3)", True),
        ("torch. zeros (n)", True),
        ("torch.zeros( device = d)", False),
        ("make = torch.zeros", True),
        ("make = (\n    m.torch.zeros  # why\n)", True),
        ("make = a if b else torch.zeros", True),
        ("(torch.zeros)(3)", True),
        ("(torch.zeros  # why\n)(3)", True),
        ("def f(x: torch.zeros, y) -> torch.zeros: pass", False),
        ("isinstance(x, torch.zeros)", False),
        ("from torch import zeros as z", True),
        ("torch.zeros_like(x)", False),
    ],
)
def test_calls_with_certain_keywords_are_left_out(text: str, expected: bool) -> None:
    assert found(text, FACTORY) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = torch.zeros(3)", True),
        ("torch.zeros(3).to(d)", True),
        ("(torch.zeros(3)\n  # why\n  .to(d))", True),
        ("Variable(torch.zeros(3)).cuda()", True),
        ("f(torch.zeros(3), 1)", False),
        ("return torch.zeros((1, 2))", False),
    ],
)
def test_results_that_are_only_handed_on_are_left_out(text: str, expected: bool) -> None:
    assert found(text, USED) is expected


@pytest.mark.parametrize("text", ["seed = 1", "x; seed = 1", "if x: a.b[0].seed = 1", "x\n\ttorch.seed\n", "\rseed"])
def test_what_begins_a_statement_is_found(text: str) -> None:
    assert found(text, Led("seed"))


@pytest.mark.parametrize("text", ["f(seed)", "# a seed", "x seed"])
def test_what_stands_within_a_statement_does_not_begin_it(text: str) -> None:
    assert not found(text, Led("seed"))


@pytest.mark.parametrize(
    "text",
    [
        "from torch import tensor as wrap\n",
        "import torch\nwrap = torch.tensor\n",
        "import torch\nif x:\n    wrap = torch.tensor\n",
        "import torch\nwrap = torch.tensor if x else None\n",
        "from torch import (\n    zeros,\n    tensor as wrap,\n)\n",
    ],
)
def test_other_names_are_asked_for_as_well(text: str) -> None:
    assert "wrap(" in Names(text).spelled(("tensor(",))


def test_modules_and_classes_give_names_too() -> None:
    assert "np." in Names("import numpy as np\n").spelled(("numpy.",))
    assert "Mine(" in Names("class Mine(data.DataLoader):\n    pass\n").spelled(("DataLoader(",))
    assert "load" in Names("from torch.utils.cpp_extension import load\n").spelled(("cpp_extension",))
    assert "z(" in Names("from torch import zeros as z\n").spelled((FACTORY,))
