"""Flow: which bindings reach a read."""

from __future__ import annotations

import libcst as cst
import pytest

from tests.analysis_help import find, parse


def reaching(code: str) -> set[str]:
    """The source of what may reach the ``x`` in ``use(x)``."""
    module = parse(code)
    call = find(module, "use(x)")
    assert isinstance(call, cst.Call)
    name = call.args[0].value
    assert isinstance(name, cst.Name)
    return {module.code(b.value) if b.value else b.kind for b in module.definitions(name)}


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("x = 1\nx = 2\nuse(x)", {"2"}),
        ("x = 1\nif c:\n    x = 2\nuse(x)", {"1", "2"}),
        ("if c:\n    x = 1\nelse:\n    x = 2\nuse(x)", {"1", "2"}),
        ("x = 1\nif c:\n    x = 2\n    raise E\nuse(x)", {"1"}),
        ("import sys\nx = 1\nif c:\n    x = 2\n    sys.exit()\nuse(x)", {"1"}),
        ("x = 1\nfor i in y:\n    use(x)\n    x = 2", {"1", "2"}),
        ("x = 1\nwhile c:\n    x = 2\n    break\n    x = 3\nuse(x)", {"1", "2"}),
        ("x = 1\nwhile True:\n    x = 2\n    if c:\n        break\nuse(x)", {"2"}),
        ("x = 1\ntry:\n    x = f()\n    x = 3\nexcept E:\n    use(x)", {"1", "f()", "3"}),
        ("try:\n    x = 1\nexcept E:\n    x = 2\nelse:\n    x = 3\nuse(x)", {"2", "3"}),
        ("try:\n    x = 1\nfinally:\n    x = 2\nuse(x)", {"2"}),
        ("x = 1\nwith a as x:\n    use(x)", {"a"}),
        ("x = 1\nmatch c:\n    case 1:\n        x = 2\n    case _:\n        x = 3\nuse(x)", {"2", "3"}),
        ("if (x := f()):\n    use(x)", {"f()"}),
        ("x = 1\ndel x\nx = 2\nuse(x)", {"2"}),
        ("def f(x):\n    if c:\n        x = 2\n    use(x)", {"parameter", "2"}),
        ("x = 1\ndef f():\n    use(x)\nx = 2", {"1", "2"}),
        ("x = 1\nif False:\n    x = 2\nuse(x)", {"1"}),
        ("if not 0:\n    x = 1\nelse:\n    x = 2\nuse(x)", {"1"}),
        ("x = 1\nwith suppress(E):\n    x = 2\n    raise E\nuse(x)", {"1", "2"}),
    ],
)
def test_only_bindings_on_a_way_to_the_read_reach_it(code: str, expected: set[str]) -> None:
    assert reaching(code) == expected


def test_the_uses_of_a_binding_are_the_reads_it_reaches() -> None:
    module = parse(
        """
        def f(a):
            b = a
            use(b)
            b = 2
            other(b)
        """
    )
    binding = module.binding_of(find(module, "b"))  # type: ignore[arg-type]
    assert binding is not None
    assert [module.line(n) for n in module.uses(binding)] == [4]


def test_branches_of_one_if_exclude_each_other_and_sequences_do_not() -> None:
    module = parse("if c:\n    a()\nelse:\n    b()\nd()\n")
    a, b, d = (find(module, code) for code in ("a()", "b()", "d()"))
    assert module.exclusive(a, b)
    assert not module.exclusive(a, d)
    assert not module.exclusive(find(module, "c"), a)


@pytest.mark.parametrize(
    "code",
    [
        "target()",
        "if c:\n    raise E\ntarget()",
        "def f():\n    return 1\ntarget()",
        "def f(x=target()):\n    raise E",
        "@target()\ndef f():\n    raise E",
        "def f():\n    return lambda: [target() for x in y]",
        "class A(target()):\n    pass",
        "try:\n    raise E\nexcept E:\n    target()",
        "try:\n    raise E\nexcept E:\n    pass\ntarget()",
        "def f():\n    try:\n        return 1\n    finally:\n        target()",
        "with suppress(E):\n    raise E\ntarget()",
        "with pytest.raises(SystemExit):\n    sys.exit()\ntarget()",
        "while True:\n    if c:\n        break\ntarget()",
        "while True:\n    with lock:\n        break\ntarget()",
        "for x in y:\n    continue\ntarget()",
        "for x in y:\n    break\nelse:\n    target()",
        "if 1:\n    target()",
        "if not TYPE_CHECKING:\n    target()",
        "if c or True:\n    target()",
        "match c:\n    case 1:\n        raise E\ntarget()",
        "exit = print\nexit()\ntarget()",
    ],
)
def test_code_to_which_some_way_leads_may_run(code: str) -> None:
    module = parse(f"import sys, pytest\nfrom typing import TYPE_CHECKING\n{code}")
    assert not module.never_runs(find(module, "target()"))


@pytest.mark.parametrize(
    "code",
    [
        "raise E\ntarget()",
        "sys.exit()\ntarget()",
        "exit()\ntarget()",
        "os._exit(1); target()",
        "assert False\ntarget()",
        "def f():\n    return 1\n    target()",
        "def f():\n    return 1\n    def g():\n        return lambda: target()",
        "raise E\nclass A:\n    def f(self):\n        target()",
        "if c:\n    raise E\nelse:\n    sys.exit()\ntarget()",
        "try:\n    raise E\nfinally:\n    pass\ntarget()",
        "try:\n    raise E\nexcept F:\n    pass\nelse:\n    target()",
        "with open(p) as f:\n    raise E\ntarget()",
        "while True:\n    pass\ntarget()",
        "while 1:\n    for x in y:\n        break\ntarget()",
        "for x in y:\n    break\n    target()",
        "for x in y:\n    if c:\n        continue\n    else:\n        break\n    target()",
        "if False:\n    target()",
        "if 0:\n    pass\nelif None:\n    target()",
        "if True:\n    pass\nelse:\n    target()",
        "if c and False:\n    target()",
        "while False:\n    target()",
        "x = 1 if True else target()",
        "x = False and target()",
        "if TYPE_CHECKING:\n    target()",
        "if not TYPE_CHECKING:\n    pass\nelse:\n    target()",
        "match c:\n    case 1:\n        raise E\n    case _:\n        sys.exit()\ntarget()",
    ],
)
def test_code_to_which_no_way_leads_never_runs(code: str) -> None:
    module = parse(f"import os, sys\nfrom typing import TYPE_CHECKING\n{code}")
    assert module.never_runs(find(module, "target()"))
