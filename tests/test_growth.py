"""The work on a file grows as the file does, however often something is repeated in it: told by calls."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial

import pytest

from tests.growth import calls, is_even
from torchlint.analysis.scopes import reaching
from torchlint.config.config import Config
from torchlint.model import FileResult, Safety
from torchlint.run import session
from torchlint.run.fixing.fixer import fix_text
from torchlint.solution import solve

Layout = Callable[[str, int], str]
PLAN = session.plan(Config(select=("ALL",), preview=True, time_limit=0))
HEAD = """\
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader
"""
ARGUMENTS = "x, y, device, loss, t, model, opt, loader, ds, a, losses"

# What is repeated: statements that rules look at, {0} is the number of the repetition.
STATEMENTS = {
    "moves": "x = x.to(device)",
    "moves to CUDA": "x = x.cuda()",
    "round trips": "x = x.cpu().to(device)",
    "round trips through variables": "y = x.cpu()\nz = y.clamp(0, 1)\nx = z.to(device)",
    "chains": "x{0}1 = x{0}.cuda()",
    "conditions": "if a:\n    x = x.cuda()",
    "loops": "while a:\n    x = x.cuda()",
    "reads": "loss = loss.cuda()\nt += loss.item()",
    "lists": "loss = loss.cuda()\nlosses.append(loss.item())",
    "arrays": "a = np.zeros(3)\na[0] = 1\nx = torch.tensor(a)",
    "loaders": "l = DataLoader(ds, batch_size=3, num_workers=2)\nfor b in l:\n    b = b.cuda()",
    "steps": "for x, y in loader:\n    x, y = x.to(device), y.to(device)\n    loss = model(x)\n    loss.backward()\n"
    "    opt.step()\n    t += loss.item()",
    "selections": "for x, y in loader:\n    x, y = x.to(device), y.to(device)\n    loss = model(x[y > 0])[[0, 1]]\n"
    "    loss.backward()\n    opt.step()",
    "flags": "if a:\n    torch.backends.cudnn.benchmark = True\nelse:\n    torch.backends.cudnn.deterministic = True",
    "devices": "device = 'cuda' if torch.cuda.is_available() else 'cpu'\nmodel = model.to(device)",
    "comments": "x = x.cuda()  # here",
    "constants": "x = torch.tensor([0.0] * 30)",
    "numbers": "n = len(xs) / (n + 1)\nx = torch.tensor(n, device=device)",
    "names": "x{0} = torch.zeros(3).to(device)",
    "attributes": "model.x{0} = model.y{0}.cuda()",
}


def indented(code: str, columns: int = 4) -> str:
    return "".join(f"{' ' * columns}{line}\n" for line in code.splitlines())


def in_one_function(code: str, count: int) -> str:
    return f"{HEAD}def f({ARGUMENTS}):\n" + "".join(indented(code.format(i)) for i in range(count))


def in_functions(code: str, count: int) -> str:
    return HEAD + "".join(f"def f{i}({ARGUMENTS}):\n{indented(code.format(i))}" for i in range(count))


def in_methods(code: str, count: int) -> str:
    inside = "".join(f"    def f{i}(model, {ARGUMENTS}):\n{indented(code.format(i), 8)}" for i in range(count))
    return f"{HEAD}class A(nn.Module):\n{inside}".replace("model", "self").replace(", self, opt", ", opt")


def in_one_loop(code: str, count: int) -> str:
    inside = "".join(indented(code.format(i), 8) for i in range(count))
    return f"{HEAD}def f({ARGUMENTS}):\n    for x in loader:\n{inside}"


def in_branches(code: str, count: int) -> str:
    inside = "".join(f"    elif t == {i}:\n{indented(code.format(i), 8)}" for i in range(count))
    return f"{HEAD}def f({ARGUMENTS}):\n    if t is None:\n        pass\n{inside}"


def on_one_line(code: str, count: int) -> str:
    return f"{HEAD}def f({ARGUMENTS}):\n    " + "; ".join([code.replace("\n", "; ")] * count) + "\n"


def at_module_level(code: str, count: int) -> str:
    made = "".join(f"{name} = things.{name}()\n" for name in ARGUMENTS.split(", "))
    return f"{HEAD}import things\n{made}" + "".join(f"{code.format(i)}\n" for i in range(count))


def in_one_assignment(code: str, count: int) -> str:
    targets = ", ".join(f"x{i}" for i in range(count))
    return in_step(f"{targets} = {', '.join(code.format(i) for i in range(count))}\nloss = model(x0)")


def in_one_call(code: str, count: int) -> str:
    return in_step(f"loss = model({', '.join(code.format(i) for i in range(count))})")


def in_step(code: str) -> str:
    return f"{HEAD}def f({ARGUMENTS}):\n    for x in loader:\n" + indented(f"{code}\nloss.backward()\nopt.step()", 8)


def repair(text: str) -> None:
    fix_text(text.encode(), "text.py", PLAN, Safety.UNSAFE)


def lint(text: str) -> FileResult:
    compile(text, "text", "exec")
    return PLAN.lint(text.encode(), "text.py")


def assert_grows_evenly(work: Callable[[str], object], layout: Layout, code: str, first: int = 6) -> None:
    """Twice as many repetitions cost hardly more than twice as many calls."""
    work(layout(code, 2))  # imports what it needs
    counts = [calls(partial(work, layout(code, count))) for count in (first, 2 * first, 4 * first)]
    assert counts[1] > counts[0]
    assert is_even(counts), counts


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names with more bindings than very few are told no longer apart, so that few repetitions show what many do."""
    monkeypatch.setattr(reaching, "_MOST", 5)


@pytest.fixture(autouse=True, scope="module")
def _warm() -> None:
    """What the first files need is loaded and compiled."""
    for code in STATEMENTS.values():
        repair(in_one_function(code, 2))


def test_work_that_grows_faster_than_its_input_is_told() -> None:
    def upper(times: int) -> None:
        for _ in range(times):
            str.upper("a")

    assert is_even([calls(partial(upper, length), builtins=True) for length in (10, 20, 40)])
    assert not is_even([calls(partial(upper, length**2), builtins=True) for length in (10, 20, 40)])


LAYOUTS = (in_one_function, in_functions, in_one_loop)
EVERY = list(itertools.product(STATEMENTS, LAYOUTS))
TURNS = [(what, LAYOUTS[number % 3]) for number, what in enumerate(STATEMENTS)]  # each statement in one of the layouts


@pytest.mark.parametrize(
    ("what", "layout"), [pytest.param(*case, marks=() if case in TURNS else pytest.mark.exhaustive) for case in EVERY]
)
def test_linting_repetitions_takes_work_that_grows_with_their_number(what: str, layout: Layout) -> None:
    assert_grows_evenly(lint, layout, STATEMENTS[what])


@pytest.mark.parametrize("layout", [in_methods, in_branches, at_module_level, on_one_line])
@pytest.mark.parametrize("what", ["moves to CUDA", "round trips", "reads", "arrays"])
def test_it_does_wherever_they_stand(what: str, layout: Layout) -> None:
    assert_grows_evenly(lint, layout, STATEMENTS[what])


@pytest.mark.parametrize("layout", [in_one_assignment, in_one_call])
def test_it_does_in_one_statement(layout: Layout) -> None:
    assert_grows_evenly(lint, layout, "x[{0}].to(device)", first=25)


def test_it_does_in_functions_of_one_line() -> None:
    def layout(code: str, count: int) -> str:
        return HEAD + "".join(f"def f{i}(x): return {code}\n" for i in range(count))

    assert_grows_evenly(lint, layout, "x.cuda()", first=50)


@pytest.mark.parametrize("layout", [in_one_function, in_functions, on_one_line])
@pytest.mark.parametrize("code", ["x = x.cuda()", "x = torch.zeros(3).to(device)", "x = torch.tensor([0.0] * 30)"])
def test_repairing_repetitions_takes_work_that_grows_with_their_number(code: str, layout: Layout) -> None:
    assert_grows_evenly(repair, layout, code)


@pytest.mark.parametrize("exhaustive", [False, True], ids=["light", "LibCST"])
def test_as_many_branches_as_python_compiles_are_linted(exhaustive: bool) -> None:
    text = in_branches("pass", 1900) + "    elif t:\n        x = x.cuda()\n" * 100
    compile(text, "text", "exec")
    result = PLAN._replace(exhaustive=exhaustive).lint(text.encode(), "text.py")
    assert {finding.rule for finding in result.findings} == {"TL701"}
    assert len(result.findings) == 100
    assert not result.problems


def test_more_branches_than_python_compiles_are_one_error_that_says_where_and_what_to_do() -> None:
    result = PLAN._replace(exhaustive=True).lint(in_branches("x = x.cuda()", 3000).encode(), "text.py")
    (finding,) = result.findings
    assert (finding.rule, finding.span.line) == ("TL000", 5008)
    for words in ("2500 `elif`", "too deeply", "dictionary", "exclude"):
        assert words in finding.message


PART = f"""{HEAD}
import shared


class Block(nn.Module):
    def __init__(self, width=4, act=None):
        super().__init__()
        self.act = act or nn.ReLU()
        self.linear = nn.Linear(width, width)

    def forward(self, x: torch.Tensor):
        return self.act(self.linear(x))


class Net(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.one, self.two = Block(width), Block(width, nn.GELU())

    def forward(self, x: torch.Tensor):
        return shared.head(self.two(self.one(x)))
"""
PROGRAM = """
model = Net().cuda()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for x in DataLoader(torch.randn(32, 4)):
    loss = model(x.cuda()).mean()
    loss.backward()
    opt.step()
"""
SHARED = "def head(x):\n    return x.sum(dim=0)\n"


def units(**files: str) -> int:
    """The statements and calls that following some files takes, which a module `shared` connects."""
    return solve({f"{name}.py": text.encode() for name, text in {**files, "shared": SHARED}.items()}).work


@pytest.mark.parametrize("program", ["", PROGRAM], ids=["libraries", "programs"])
def test_the_work_of_following_grows_as_the_connected_files_do(program: str) -> None:
    counts = [units(**{f"part_{number}": PART + program for number in range(copies)}) for copies in (1, 2, 4, 8)]
    assert counts[0] > 20
    assert is_even(counts[:3])
    assert is_even(counts[1:])


def test_a_class_of_a_library_that_is_used_in_many_places_is_followed_as_one() -> None:
    def used(times: int) -> int:
        uses = "".join(f"        self.block_{number} = Block({number})\n" for number in range(times))
        return units(net=PART.replace("        self.one,", f"{uses}        self.one,"))

    assert used(22) - used(2) <= 20 * 6  # the assignment, the call and that of `super`, at most twice
