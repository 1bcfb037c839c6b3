"""Words of source text: whatever a rule could fire in is found, told without parsing."""

from __future__ import annotations

import pytest

from torchlint.other_names import Names
from torchlint.patterns import Led
from torchlint.words import Calls, Word, holds, stored, whole_name

FACTORY = Calls(("zeros", "ones"), without=("device",))
PLACED = Calls(("tensor", "as_tensor"), having=("device",), idle=r"device=[\"']cpu[\"']")
MOVED = Calls(("zeros", "ones"), without=("device",), then=("to", "cuda"), idle=r"to\([\w.]*dtype\)")


def found(text: str, word: Word) -> bool:
    return holds(text, 0, len(text), word)


@pytest.mark.parametrize("text", ["f(x)", "f (x)", "f \\\n(x)", "g = f\ng(x)", "from m import f as g", "g = a.f\n"])
def test_a_call_is_found_however_it_is_written(text: str) -> None:
    assert found(text, "f(")


@pytest.mark.parametrize(
    "text",
    [
        "self.x = 1",
        "self.x: int = 1",
        "self.x+=1",
        "self.x //= 2",
        "self.x **= 2",
        "self.x <<= 2",
        "self.x @= y",
        "self.y = self.x = 1",
        "self.x, b = 1, 2",
        "a, (b, self.x) = 1, (2, 3)",
        "[a, self.x ] = 1, 2",
        "*self.x, b = c",
        "(self.x  # why\n , b) = 1, 2",
        "self.x \\\n  = 1",
        "if self.x == 1: self.x = 2",
    ],
)
def test_an_assignment_is_found_however_it_is_written(text: str) -> None:
    assert found(text, stored("self.x"))


@pytest.mark.parametrize(
    "text",
    ["self.x == 1", "self.x.y = 1", "self.x[0] = 1", "f(self.x)\n", "self.x1 = 1", "self.x()\ny = 2", "-self.x + 1"],
)
def test_what_only_reads_is_no_assignment(text: str) -> None:
    assert not found(text, stored("self.x"))


def test_a_name_ends_where_the_text_says() -> None:
    assert found("a.fit\na.f", whole_name(".f"))
    assert not found("a.fit", whole_name(".f"))


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
        ("make = (\n    m.torch\n    .zeros\n)", True),
        ("make = m . torch \\\n  . zeros\n", True),
        ("(torch.  # why\n  # and how\n  zeros)(3)", True),
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
        ("torch.tensor(1.0, device=d)", True),
        ("torch.tensor([f(1), 2], device = d)", True),
        ("torch.tensor(device=d, data=1)", True),
        ("torch.as_tensor(f(g(1)), 2)", True),
        ("torch.tensor(1.0,  # device=\n)", True),
        ("torch.tensor(1.0), f(device=d)", False),
        ("torch.tensor(x.device)", False),
        ("torch.tensor(x.item()), f(device=d)", False),
        ("torch.tensor(f(x), device='cpu', dtype=d)", False),
        ("torch.tensor(1.0, device='cpu' if x else d)", True),
        ("from torch import tensor", True),
        ("wrap = torch.tensor\n", True),
    ],
)
def test_calls_without_certain_keywords_are_left_out(text: str, expected: bool) -> None:
    assert found(text, PLACED) is expected


@pytest.mark.parametrize(
    "text",
    [
        "torch.zeros(3).to(d)",
        "torch.zeros(3).view(1, (2)).float().cuda()",
        "(torch.zeros(3)\n  # why\n  .to(d))",
        "(\n    torch.zeros(3)\n    .to(d)\n)",
        "torch.zeros(len('()')).to(d)",
        "torch.zeros(3,  # three)\n).to(d)",
        "torch.zeros(3). to(d)",
        "torch.zeros(3) \\\n    .to(d)",
        "Variable(torch.zeros(3)).cuda()",
        "f(Variable(torch.zeros(3), requires_grad=True).cuda())",
        "x = torch.zeros(3)\nx = x.to(d)",
        "x = torch.zeros(3)\ny = f((x).view(3).to(d))",
        "x = Variable(torch.zeros(3), volatile=True)\nx.cuda()",
        "x = \\\n    torch.zeros(3)\nx.cuda()",
        "x = (  # new\n    torch.zeros(3)\n)\nx.cuda()",
        "def f():\n    größe = torch.zeros(3)\n    return größe.cuda()",
        "torch.zeros(" + "1 + " * 2000 + "1).to(d)",
        "".join(f"a{i} = torch.zeros(3)\n" for i in range(3000)),
        "from torch import zeros",
        "from torch import (  # these (all)\n    ones as o,\n)",
        "from torch import *",
        "from torch import \\\n    zeros",
        "from torch import (" + "    a,\n" * 1000 + "zeros)",
        "make = torch.zeros\n",
        "torch.zeros(3).to(x.dtype).to(d)",
        "torch.zeros(3).to(dtype, d)",
        "torch.zeros(3).cuda(dtype)",
        "x = torch.zeros(3)\nVariable(requires_grad=True, data=x).cuda()",
        "\ndef f():\n    x = torch.zeros(3)\n    s = 'a\\\r\ndef g():'\n    return x.to(d)",
        "x = torch.zeros(3)\ndef f():\n    return x.to(d)",
        "def f():\n    x = torch.zeros(3)\n    def g():\n        return x.to(d)",
        "class A:\n    x = torch.zeros(3)\n    y = x.to(d)",
        "\ndef f(): pass\nif y:\n    x = torch.zeros(3)\ndef g():\n    return x.to(d)",
        "\ndef f():\n    x = torch.zeros(3)\n    s = '''\ndef g():\n'''\n    return x.to(d)",
        "\ndef f():\n    x = torch.zeros(3)\n    s = \"'''\" + '''\ndef g():\n'''\n    return x.to(d)",
        "\ndef f():\n    x = torch.zeros(3)\n    # '''\n    s = '''\ndef g():\n'''\n    return x.to(d)",
        "if y:\n    s = '''\ndef f():\n  '''\n    x = torch.zeros(3)\ndef g():\n    return x.to(d)",
        "if y:\n    s = 'a\\\ndef f():'\n    x = torch.zeros(3)\ndef g():\n    return x.to(d)",
        "\ndef f():\n    global x\n    x = torch.zeros(3)\ndef g():\n    return x.to(d)",
        "\ndef f():\n    global y, \\\n        x\n    x = torch.zeros(3)\ndef g():\n    return x.to(d)",
        "x = torch.zeros(3)\ny = (\n    x\n).to(d)",
    ],
)
def test_calls_whose_result_may_be_moved_are_found(text: str) -> None:
    assert found(text, MOVED)


@pytest.mark.parametrize(
    "text",
    [
        "f(torch.zeros(3), 1)",
        "return torch.zeros((1, 2))",
        "x = torch.zeros(3)\nself.x = x\nbox.to(d)",
        "x = torch.zeros(3)\ny = x.view(3).sum()\ny.to(d)",
        "self.x = torch.zeros(3)\nself.x.to(d)\nx.to(d)",
        "state['x'] = torch.zeros(3)\nx.to(d)",
        "torch.zeros(3).T.to(d)",
        "torch.zeros(3, device=d).to(e)",
        "from torch import nn, Tensor\nimport zeroes, math as ones_of\n",
        "import (\n    a,\n)\nzeros = 1",
        "torch.zeros(3).to(x.dtype)",
        "x = torch.zeros(3)\nx = x.to(dtype)\n",
        "x = torch.zeros(3)\ny = f(1, x).to(d)",
        "\ndef f():\n    global y  # and x\n    x = torch.zeros(3)\n\ndef g(x):\n    return x.to(d)",
    ],
)
def test_calls_whose_result_is_not_moved_are_left_out(text: str) -> None:
    assert not found(text, MOVED)


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
