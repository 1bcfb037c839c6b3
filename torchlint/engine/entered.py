"""What the code of a function says of how it is entered, if nothing is known to call it."""

from __future__ import annotations

import ast
from collections.abc import Collection

from torchlint.engine.assumed import takes_tensor
from torchlint.engine.frames import Content, Function
from torchlint.engine.values import Kind, Value
from torchlint.knowledge import following as known

# Methods that frameworks ask for loaders.
LOADER_HOOKS = frozenset(
    "train_dataloader val_dataloader test_dataloader predict_dataloader get_train_dataloader get_eval_dataloader "
    "get_test_dataloader".split()
)


def content(function: Function) -> Content:
    """What the code of a function has in it."""
    if function.content is None:
        calls, names, repeats, copies = [], set[str](), False, False
        for part in ast.walk(function.node):
            if isinstance(part, ast.Call):
                calls.append(part)
                names.add(getattr(part.func, "attr", getattr(part.func, "id", "")))
            elif isinstance(part, ast.keyword):
                copies = copies or part.arg == "non_blocking"
            else:
                repeats = repeats or isinstance(part, (ast.For, ast.While))
        returns = any(map(_returns_at_once, calls))
        function.content = Content(frozenset(names), repeats=repeats, copies=copies, returns=returns)
    return function.content


def is_whole_step(function: Function) -> bool:
    """Whether a function goes backward and makes one step of an optimizer, so that what calls it repeats it."""
    found = content(function)
    return not found.repeats and {"backward", "step"} <= found.called


def calls_any(function: Function, names: Collection[str]) -> bool:
    """Whether a function calls something by one of these names; no test, and none that a framework asks for loaders."""
    tests = function.name.startswith("test_") and not required(function)
    return not tests and function.name not in LOADER_HOOKS and not content(function).called.isdisjoint(names)


def generates(function: Function) -> bool:
    """Whether a function computes without gradients, and in a loop."""
    decorators = getattr(function.node, "decorator_list", ())
    return any(known.NO_GRADIENTS.search(ast.unparse(each)) for each in decorators) and content(function).repeats


def _returns_at_once(node: ast.Call) -> bool:
    """Whether a chain of methods may copy to the host and back, by their names."""
    function = node.func
    if not isinstance(function, ast.Attribute) or function.attr not in _UPLOADING:
        return False
    inner: ast.AST | None = function.value if function.attr in ("to", "cuda") else next(iter(node.args), None)
    while isinstance(inner, (ast.Call, ast.Attribute, ast.Subscript)):
        if isinstance(inner, ast.Attribute) and inner.attr in _DOWNLOADING:
            return True
        inner = inner.func if isinstance(inner, ast.Call) else inner.value
    return False


def is_test_function(node: ast.AST) -> bool:
    """Whether a function is a test, by its name."""
    return getattr(node, "name", "").startswith("test_")


def required(function: Function) -> list[ast.arg]:
    """The positional parameters without a default."""
    ordered = positional(function)
    return ordered[: len(ordered) - len(function.node.args.defaults)]


def is_no_tensor(arg: ast.arg) -> bool:
    """Whether a parameter is none of the tensors that a function computes with, by its name or its annotation."""
    annotation = ast.unparse(arg.annotation) if arg.annotation is not None else ""
    return arg.arg in ("ctx", "self", "batch_idx") or "Module" in annotation


def positional(function: Function) -> list[ast.arg]:
    """The positional parameters."""
    return [*function.node.args.posonlyargs, *function.node.args.args]


def is_tensor(arg: ast.arg, function: Function) -> bool:
    """Whether a parameter is annotated as a tensor, or used as one."""
    annotation = ast.unparse(arg.annotation) if arg.annotation is not None else ""
    return known.TENSOR_ANNOTATION.fullmatch(annotation) is not None or takes_tensor(function, arg.arg)


def is_definition(value: Value) -> bool:
    """Whether a value is a function with a body of statements."""
    return value.kind is Kind.FUNCTION and isinstance(value.target.node, (ast.FunctionDef, ast.AsyncFunctionDef))


def is_stepped(name: str, libraries: frozenset[str], *, is_module: bool) -> bool:
    """Whether a framework calls a method in every step."""
    if name == "step":
        return any(base.startswith("torch.optim") and "lr_sched" not in base for base in libraries)
    if name == "__call__":
        return any(base.rpartition(".")[2] in known.CALLED_IN_STEPS for base in libraries)
    if name.startswith("forward_"):
        return any(base.startswith("torch.nn") for base in libraries)
    called = is_module or any(base.startswith((*known.MODULE_BASES, "torch.autograd")) for base in libraries)
    return name in known.STEPPED and called


def makes_batches(class_: str) -> bool:
    """Whether the name of a class says that it is a loader."""
    return known.LOADER.search(class_.rpartition(".")[2]) is not None


def is_called_in_models(patched: str) -> bool:
    """Whether what replaces a function or method of a library runs where its models do."""
    return patched.rpartition(".")[2] in known.STEPPED or ".modeling_" in patched


_UPLOADING = frozenset("to cuda tensor as_tensor asarray".split())
_DOWNLOADING = frozenset("cpu to type item tolist".split())
