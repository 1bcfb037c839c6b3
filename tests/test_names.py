"""Names: imports, scopes and shadowing."""

from __future__ import annotations

import pytest

from tests.analysis_help import find, parse


@pytest.mark.parametrize(
    ("code", "name", "qualified"),
    [
        ("import torch\nx = torch.tensor", "torch.tensor", "torch.tensor"),
        ("import torch as th\nx = th.tensor", "th.tensor", "torch.tensor"),
        ("from torch import tensor as T\nx = T(1)", "T", "torch.tensor"),
        (
            "import torch.backends.cudnn as cudnn\nx = cudnn.benchmark",
            "cudnn.benchmark",
            "torch.backends.cudnn.benchmark",
        ),
        (
            "from torch.utils import data\nx = data.DataLoader",
            "data.DataLoader",
            "torch.utils.data.DataLoader",
        ),
        ("import torch, torch.nn\nx = torch.nn.Linear", "torch.nn.Linear", "torch.nn.Linear"),
        (
            "try:\n    import torch\nexcept ImportError:\n    torch = None\nx = torch.tensor",
            "torch.tensor",
            "torch.tensor",
        ),
        ("import torch\nT = torch.tensor\nx = T(1)", "T(1)", None),
        ("def f():\n    import numpy as np\n    return np.array", "np.array", "numpy.array"),
        ("x = len([])", "len", "builtins.len"),
    ],
)
def test_an_import_gives_a_name_its_library_meaning(code: str, name: str, qualified: str | None) -> None:
    module = parse(code)
    assert module.qualified(find(module, name)) == qualified


def test_an_alias_of_a_function_keeps_its_meaning() -> None:
    module = parse("import torch\nT = torch.tensor\nx = T")
    assert module.qualified(find(module, "T", 1)) == "torch.tensor"


@pytest.mark.parametrize(
    "code",
    [
        "def f(torch):\n    return torch.tensor",
        "import torch\nimport mytorch as torch\nx = torch.tensor",
        "from mylib import *\nx = tensor",
        "class torch:\n    tensor = 1\nx = torch.tensor",
        "for torch in []:\n    torch.tensor",
        "import torch\ndef f():\n    torch = make()\n    return torch.tensor",
    ],
)
def test_a_shadowed_or_unknown_name_has_no_library_meaning(code: str) -> None:
    module = parse(code)
    name = "tensor" if "import *" in code else "torch.tensor"
    assert module.qualified(find(module, name)) is None


def test_names_of_a_class_body_are_not_seen_by_its_methods() -> None:
    module = parse(
        """
        import torch as q
        class A:
            q = 3
            def m(self):
                return q.tensor
        """
    )
    assert module.qualified(find(module, "q.tensor")) == "torch.tensor"


def test_a_global_statement_binds_the_name_of_the_module() -> None:
    module = parse(
        """
        flag = 1
        def f():
            global flag
            flag = 2
        use = flag
        """
    )
    lines = {module.line(b.node) for b in module.names.module.bindings["flag"]}
    assert lines == {2, 5}


def test_a_default_and_a_decorator_are_read_outside_the_function() -> None:
    module = parse("import torch as a\ndef f(a=a.tensor):\n    return a.zeros\n")
    assert module.qualified(find(module, "a.tensor")) == "torch.tensor"
    assert module.qualified(find(module, "a.zeros")) is None


def test_a_comprehension_variable_stays_inside_but_its_walrus_does_not() -> None:
    module = parse("r = [(last := x) for x in y]\na = x\nb = last\n")
    assert module.definitions(find(module, "x", 2)) == ()  # type: ignore[arg-type]
    assert len(module.definitions(find(module, "last", 1))) == 1  # type: ignore[arg-type]
