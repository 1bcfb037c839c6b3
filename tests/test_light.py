"""Light trees have the same nodes as LibCST's trees, with the same positions, and are parsed only as far as needed.

`test_shortcuts` compares the trees of whole files.
"""

from __future__ import annotations

import itertools
from contextlib import suppress

import libcst as cst
import pytest

from tests.trees import different_nodes
from tests.written import Written
from torchlint.analysis.module import SourceModule
from torchlint.analysis.syntax.from_ast.strings import Strings
from torchlint.analysis.syntax.walk import descendants

ODD = [
    "x = 'a' \"b\"\n",
    "x = ('a'\n     f'{b}' 'c')\n",
    "x = f'{a!r:>{w}} {b=} {{}}' + rf'\\d{c}' + F\"{d.e[0]}\"\n",
    "x = f'{(a:=10)} {(b := c)} {(lambda: d)()}' f'{(e):>{f}}' f'{g(h)(i)}'\n",
    "x = (f'{a.shape[0]:>5} of {b[1:2]}'  # why\n     'c' \\\n     f\"{d(e)!r}{{}}\" r'g')\n",
    "x = f'{a + 0x1f}' f'{1_000}{(b, c)}' + f'{d[e[0]]}' + f\"{'g'}\" + f'{h:{i}}' + fR'{j}' + f''\n",
    "x = f'{a}\\n{b[\"c:d\"]}'\ny = f\"it's {f('g!h')}\\t{{i}}\"\nz = f'\\x41{k[\"l}\"]}'\n",
    "x = f'{a}\\{e}'\n",
    "x = f'{a}\\N{BULLET}{j}'\n",
    "x = f'{a}\\\n{j}\\\\{k}'\n",
    'x = f\'{a}\\\r\n{j}\'\r\ny = f"""\\\r\n{a}"""\r\n',
    "x = f'''a\n  {b}\n\"{c[1:\n2]}\"\\\nd''' + f\"\"\"'e' {f['g']:>{h}}\"\"\" 'i' f'{j}\\\\{k}'\n",
    'x = f\'{a["b"] == "c"}\' + f\'{d!r:"e"}\' + f\'{"{f}"}\' + f\'{g("h", i="j")}\'\n',
    "x = '''a\n\"b\"''' + b'c' + u'd' + Rb'e'\n",
    "a[1:2, ::3, (4, 5)], b[(6, 7)], c[(8), (9)], d[*e]\n",
    "if a: b; c\nelif d: pass\nelse:\n    if e:\n        pass\n",
    "def f(a, /, b: int = 1, *c, d, e=2, **g) -> None: ...\n",
    "def f(a, *, b): return (yield a), (yield), (yield from b)\n",
    "class A(B, *C, metaclass=D, **E):\n    x: int\n    y: int = 1\n    def f(self): pass\n",
    "@a.b(1)\n@c\nclass D:\n @e\n async def f(self):\n  async with g as h, i: await j\n  async for k in l: pass\n",
    "try:\n    a\nexcept (B, C) as d: pass\nexcept E:\n    raise\nelse: f\nfinally:\n    del g, h\n",
    "from . import a\nfrom ..b import (c as d, e)\nfrom f import *\nimport g.h as i, j.k\n",
    "x = [a for b in c if d if e for f, *g in h]; y = {**i, j: k}; z = {l for m in n}; w = (lambda *o, p=1: q)\n",
    "x = not a and b or c is not d not in e < f\ny = -1 ** ~2 @ 3 // 4\nz = (w := 5)\n",
    "x += 1; y @= 2; z: int; global_ = ...; print(1e5, 0xff, 3j, None, True)\n",
    "match a:\n    case [1, *b] if c: pass\n    case {'d': e, **f} | G(h=1): pass\n    case _: pass\n",
    "def f():\n    global a, b\n    def g():\n        nonlocal c\n    assert d, e\n    raise F from g\n",
    "with (open(a) as b, c): pass\nfor d, in e: break\nelse: continue\nwhile f: pass\n",
    "f(a, *b, c=d, *e, **g)\nf(h for i in j)\n",
    "ß = 'ü'; f(ß, 'ä' 'ö')\r\nif ß:\r\n\tx = 1\r\n",
    "\tif a:\n\t  b\n" if False else "if a:\n\tb\n\tc\n",
    "if a: \\\n  b\n",
    "if a:  # \\\n  b\n",
    "if a == '#': \\\n  b\n",
    "x = 1;\ny = 2; \n",
    "",
    "# only a comment\n",
    "class A:\n @b(1)\n # why\n @c\n def f(self, d=(e),  # first\n   *, g: h = i,\n ) -> j:\n# odd\n  k\n",
    "def f():\n  if (a\n      and b):  # c\n\n    # d\n    @e\n    def g(h=i): pass\n  elif j:\n    k\n",
    "def f():\n\tfor a in (b,\n\tc):\n\t\t'd'\n\t\twhile e(\n f): # g\n\t\t\th\n\telse:\n\t\ti\n",
    "async def f():\r\n  async with (await a) as b, c(d):\r\n    # e\r\n    async for g in h:\r\n      i\r\n",
    "def f():\n    class A(b, *c, metaclass=d):\n        @property\n        def e(self): return g\n    with h: i; j\n",
    "def f(a=1):\n    'b'\n\ndef \\\n  g(c=2): \\\n  d\ndef \\\n  h(e=3):\n    i",
    "if a:\n    def f(b=1):\n        if c: d\n        if e:\n            g\n",
    "def f(\n  a,  # b\n  c: d = 'e',\n  # g\n  h: i = (j), k=l,\n  *,\n  m=[\n  n], o=p,\n  q=r\n) -> s:\n  t\n",
    "class A:\n @b(1)\n async def f(self,\n  c=1,\n  /,\n  d=lambda e,\n  g=2: 3,\n  *h: i,\n  j=k,\n  **l): m\n",
    'def f(a,\r\n\tb=2,\r\n\t# c\r\n\td="""\r\ne=1,\r\n""",\r\n\tg={(): \'\'},\r\n\t*,\r\n\th,\r\n):\r\n\treturn i\r\n',
    "@a([lambda b: c, lambda d, e='f': g])\n@h(lambda i: l)\ndef f(\n m,\n n,\n o,\n) -> (lambda p: s):\n t\n",
    "def f(\n  a=b.c\n  ('d'), e=3,\n  g: h\n  = 'i', j=4,\n  k='l'\n  ':0', m=5,\n  n=6,\n):\n  o\n",
    "def f(\n  a=1 +\n  b, c=2,\n  d=(3\n), e=\n  4,\n  g=5 \\\n  , h=6,\n  i=7):\n  j\n",
    "x = ((1, 2),)\ny = (a,\n   b,  # c\n)\nz = ()\nw = (  # c\n  (a), b)\nf((x for x in y), (z))\n(a), b = (c), (d)\n",
    "x = f((a), (b.c)(d)[(e)], k=(v), *(w), **(z))\nwith (a): pass\nwith (a) as b: pass\nwith (a, (b)) : pass\n",
    "with (a as b, (c)): pass\ndel (a), b\ndel (a)\nclass A((B), m=(C)): pass\nclass D((E)): pass\n",
    "@(a)\ndef f(x=(1), *a: (int), **k) -> (int): return (a)\n",
    "lambda x=(1): (x, y)\nassert (a), (b)\nraise (a) from (b)\n",
    "for (a, b) in (c): pass\nfor a, b in c, d: pass\n[(a) for (b) in (c) if (d)]\nx[(a):(b), (c)]\nnot (a)\n-(a)\n",
    "(a) if (b) else (c)\n(a) and (b) or (c)\n(a) < (b) < (c)\n((a))\n",
    "x = f'{x!r:>{(w)}}' f'{a=}' f'{ b = !r}' 'é' f'{é(ü)}ß{(b)}'\n",
    "def default():\n    x = (  # why\n        # more\n        a.b(c)  # d\n        .e(\n          f\n      )\n    )\n",
    "import a.b.a as b, b as b\nfrom .a.a import a as a\n",
    "match (a):\n    case (1): x\n    case [a, (b)] | (c, d): y\n    case {**e}: z\n    case A.b | -1: (w)\n",
]


@pytest.mark.parametrize("text", ODD)
def test_odd_code_gives_the_nodes_that_libcst_gives(text: str) -> None:
    assert different_nodes(text) == []


@pytest.mark.parametrize("text", ODD)
def test_every_node_stands_where_libcst_says(text: str) -> None:
    light = SourceModule.parse(text, "x.py", layout=False)
    tree = cst.parse_module(text)
    exact = Written(tree)
    for one, other in list(zip(descendants(light.tree), descendants(tree), strict=True))[1:]:
        if isinstance(one, (cst.BaseExpression, cst.BaseSmallStatement, cst.BaseStatement)):
            assert light.positions.extent(one) == exact.extent(other)
        if isinstance(one, cst.BaseExpression):
            assert light.positions.outer(one) == exact.outer(other)


@pytest.mark.parametrize("text", ODD)
def test_libcsts_own_tree_has_the_same_positions(text: str) -> None:
    light, exact = SourceModule.parse(text, "x.py", layout=False), SourceModule.parse(text, "x.py")
    for one, other in list(zip(descendants(light.tree), descendants(exact.tree), strict=True))[1:]:
        assert light.span(one) == exact.span(other)
        assert light.statement_lines(one) == exact.statement_lines(other)


FUNCTIONS = """
import torch as t

def first(x):
    '''Docstring with item in it.'''
    return x.cpu()

class Model:
    size = 1

    def second(self):
        return self.third().item()

    def third(self):
        return t.ones(1)
"""


def open_units(module: SourceModule) -> list[bool]:
    return [unit.is_parsed for unit in module._index.bodies]


def test_a_function_body_is_parsed_on_first_use() -> None:
    module = SourceModule.parse(FUNCTIONS, "x.py", layout=False)
    assert open_units(module) == [False, False, False]
    [call] = [c for c in module.nodes_of(cst.Call, {"item"}) if isinstance(c.func, cst.Attribute)][:1]
    assert open_units(module) == [False, True, False]
    assert module.function_of(call) is not None
    assert len(module.nodes_of(cst.Return)) == 3
    assert open_units(module) == [True, True, True]


def test_the_identifiers_of_a_function_open_it_and_parts_of_them_do_not() -> None:
    module = SourceModule.parse(FUNCTIONS, "x.py", layout=False)
    assert module.nodes_of(cst.Attribute, {"thir"}) == []
    assert open_units(module) == [False, False, False]
    found = module.nodes_of(cst.Attribute, {"third"})
    assert [node.attr.value for node in found] == ["item", "third"]
    assert open_units(module) == [False, True, False]


@pytest.mark.parametrize(
    "renaming",
    [
        "from torch import zeros as made",
        "import torch\nmade = torch.zeros",
        "import torch\nmade = torch.zeros if fast else torch.ones",
        "import torch\nother = torch.zeros\nmade = other",
        "import torch\n(made, rest) = torch.zeros, torch.ones",
        "import torch\nfrom functools import partial\nmade = partial(torch.zeros, 3)",
        "import torch\nclass made(torch.zeros): pass",
        "import torch\ndef set_up():\n    global made\n    made = torch.zeros",
    ],
)
def test_functions_that_use_another_name_of_a_thing_are_found(renaming: str) -> None:
    module = SourceModule.parse(f"{renaming}\n\ndef f():\n    return made(3)\n", "x.py", layout=False)
    assert "made" in module.aliases({"zeros"})
    assert [module.code(call.func) for call in module.nodes_of(cst.Call, module.aliases({"zeros"}))][-1] == "made"


def test_nodes_come_in_the_order_of_the_text_whatever_was_opened_first() -> None:
    module = SourceModule.parse(FUNCTIONS, "x.py", layout=False)
    module.nodes_of(cst.Call, {"ones"})
    lines = [module.line(node) for node in module.nodes_of(cst.Return)]
    assert lines == sorted(lines)
    names = [node.value for node in module.nodes_of(cst.Name) if node.value in ("first", "second", "third")]
    assert names == ["first", "second", "third", "third"]


def test_a_name_that_a_function_declares_global_is_known_without_opening_it() -> None:
    text = "def f():\n    global y\n    import numpy as y\n\ndef g():\n    return y.zeros(1)\n"
    module = SourceModule.parse(text, "x.py", layout=False)
    [call] = module.nodes_of(cst.Call, {"zeros"})
    assert module.qualified(call.func) == "numpy.zeros"


def test_text_that_is_no_string_is_refused_and_never_read_for_ever() -> None:
    for rest in itertools.product("f'\"{}!:=a\\", repeat=4):
        text = f"f'{''.join(rest)}"
        with suppress(ValueError):
            Strings(text, lambda *_: None, lambda *_: None).whole()
