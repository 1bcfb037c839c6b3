"""LibCST as torchlint imports it behaves like LibCST imported normally."""

from __future__ import annotations

import subprocess
import sys

import pytest

QUICKLY = "import torchlint.analysis"
ORDINARILY = "import libcst"
# What constructors take and make, for every kind of node; and what all nodes refuse.
DESCRIBED = """
import dataclasses, inspect, sys, typing
import libcst as cst

def kinds(kind):
    return [kind, *(k for below in kind.__subclasses__() for k in kinds(below))]

def is_node(kind):
    made = dataclasses.is_dataclass(kind) and not inspect.isabstract(kind)
    return made and getattr(sys.modules[kind.__module__], kind.__name__, None) is kind

def shown(value):
    if isinstance(value, cst.CSTNode):
        parts = [f"{f.name}={shown(getattr(value, f.name))}" for f in dataclasses.fields(value)]
        return f"{type(value).__name__}({', '.join(parts)})"
    return f"[{', '.join(map(shown, value))}]" if isinstance(value, (list, tuple)) else repr(value)

for kind in sorted({k for k in kinds(cst.CSTNode) if is_node(k)}, key=lambda k: k.__qualname__):
    params = kind.__dataclass_params__
    print(kind.__qualname__, kind.__slots__, kind.__match_args__, params.init, params.repr, params.eq, params.frozen)
    print([(p.name, p.kind, p.annotation, p.default is p.empty) for p in inspect.signature(kind).parameters.values()])
    print(kind.__init__.__qualname__, kind.__init__.__module__)
    try:
        made = shown(kind())
    except Exception as error:
        made = f"{type(error).__name__}: {error}"
    print(made)

print(typing.get_type_hints(cst.SimpleString.__init__))
init = cst.Lambda.__init__
cst.Lambda(cst.Parameters(), cst.Name("x"))
other = object.__new__(cst.Lambda)
init(other, cst.Parameters(), cst.Name("y"))
wrapped = cst.Global.__init__
cst.Global.__init__ = lambda self, *args, **kwargs: (wrapped(self, *args, **kwargs), print("made"))[0]
print(other.body.value, cst.parse_module("def f():\\n    global x\\n").body[0].body.body[0].body[0].names[0].name.value)

class Plain(cst.BaseExpression):
    def __init__(self, mine): self.mine = mine
    def _codegen_impl(self, state): pass
    def _visit_and_replace_children(self, visitor): return self

print(Plain(1).mine)
tree = cst.parse_module("def f(a, *, b: int = 2) -> str:\\n    return f'{a!r}' if a else [b, *a]  # c\\n")
print(shown(tree), tree.code, repr(tree))
for change in (lambda: setattr(tree, "body", ()), lambda: delattr(tree, "body"), lambda: cst.Name("a b").visit(None)):
    try:
        change()
    except Exception as error:
        print(type(error).__name__, error)
print(tree.body[0].with_changes(name=cst.Name("g")).name.value, tree.deep_clone().deep_equals(tree))
print(cst.Name("x") == cst.Name("x"), hash(tree) == hash(tree))

from libcst.metadata import CodePosition, CodeRange, ImportAssignment, PositionProvider, MetadataWrapper, ScopeProvider
one, other = CodePosition(1, 2), CodePosition(1, 2)
print(one == other, one != CodePosition(1, 3), one == (1, 2), hash(one) == hash(other), CodeRange(one, other), {one: 1})
wrapper = MetadataWrapper(tree)
print([(type(n).__name__, p) for n, p in wrapper.resolve(PositionProvider).items()])
print(sorted({type(a).__name__ for s in wrapper.resolve(ScopeProvider).values() if s for a in s.assignments}))
config = cst.PartialParserConfig(encoding="utf-8")
print(config, config == cst.PartialParserConfig(encoding="utf-8"), config.parsed_python_version)
try:
    hash(cst._nodes.internal.CodegenState("", ""))
except TypeError as error:
    print(error)

@dataclasses.dataclass(frozen=True)
class Own(cst.Name):
    more: int = 0

print(Own("x", more=2).more, Own("x").value)
"""


def described(first: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", f"{first}\n{DESCRIBED}"], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.stderr == ""
    return done.stdout


def test_nodes_are_constructed_shown_and_guarded_alike() -> None:
    assert described(QUICKLY) == described(ORDINARILY)


def test_constructors_are_generated_on_first_use() -> None:
    program = (
        f"{QUICKLY}\nimport libcst as cst\nkinds = [type(vars(cst.Name)['__init__']).__name__]\ncst.Name('x')\n"
        "print(*kinds, *(type(vars(kind)['__init__']).__name__ for kind in (cst.Name, cst.Lambda)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["_Constructor", "function", "_Constructor"]


def test_threads_may_construct_at_once() -> None:
    program = f"""{QUICKLY}
import sys, threading
import libcst as cst
sys.setswitchinterval(1e-6)
start, failed = threading.Barrier(8), []
def construct():
    start.wait()
    for kind in (cst.Name, cst.Attribute, cst.Integer, cst.Call, cst.Arg, cst.Pass, cst.Add, cst.Index, cst.Return):
        try:
            kind(*[cst.Integer("1")] * (kind is cst.Index), **{{"value": "x"}} if kind is cst.Name else {{}})
        except TypeError:
            pass  # arguments are missing
        except BaseException as error:
            failed.append(repr(error))
threads = [threading.Thread(target=construct) for _ in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(failed)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "obstacle",
    [
        "raise RuntimeError('no such decorator')",
        "return real(*args, **{**options, 'frozen': False})",
        "return unfinished(*args, **options) if args[0].__name__ != 'Name' else no_such_thing",
    ],
)
def test_a_libcst_that_makes_its_nodes_otherwise_is_imported_as_ever(obstacle: str) -> None:
    program = (
        "import dataclasses\nreal = dataclasses.dataclass\n"
        "import torchlint\nfrom importlib import import_module\n"
        "import sys, types\n"
        "loading = types.ModuleType('torchlint.analysis'); loading.__path__ = [torchlint.__path__[0] + '/analysis']\n"
        "sys.modules['torchlint.analysis'] = loading\n"
        "own = import_module('torchlint.analysis.syntax.libcst_import')\n"
        f"unfinished = own._unfinished\ndef broken(*args, **options):\n    {obstacle}\n"
        "own._unfinished = broken\n"
        "own.load()\n"
        "import libcst as cst\n"
        "kinds = [kind for kind in vars(cst).values() if dataclasses.is_dataclass(kind)]\n"
        "ordinary = not any(type(vars(kind).get('__init__')) is own._Constructor for kind in kinds)\n"
        "print(cst.parse_module('x = 1\\n').code, dataclasses.dataclass is real, ordinary, len(kinds) > 150)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["x", "=", "1", "True", "True", "True"]
