"""What the code of a function says of how it is entered, if nothing is known to call it."""

from __future__ import annotations

import ast
from collections.abc import Collection

from torchlint.engine.assumed import takes_tensor
from torchlint.engine.frames import Function
from torchlint.engine.values import NUMBER, UNKNOWN, Device, Kind, Value, collection, tensor
from torchlint.knowledge import following as known

# Methods that frameworks ask for loaders.
LOADER_HOOKS = frozenset(
    "train_dataloader val_dataloader test_dataloader predict_dataloader get_train_dataloader get_eval_dataloader "
    "get_test_dataloader".split()
)


def repeats(node: ast.AST) -> bool:
    """Whether a function has a loop."""
    return any(isinstance(part, (ast.For, ast.While)) for part in ast.walk(node))


def is_whole_step(node: ast.AST) -> bool:
    """Whether a function goes backward and makes one step of an optimizer, so that what calls it repeats it."""
    return not repeats(node) and {"backward", "step"} <= called_names(node)


def calls_any(function: Function, names: Collection[str]) -> bool:
    """Whether a function calls something by one of these names; no test, and none that a framework asks for loaders."""
    content, tests = function.scope.module.content, function.name.startswith("test_") and not required(function)
    if tests or function.name in LOADER_HOOKS or not any(name.encode() in content for name in names):
        return False
    return not called_names(function.node).isdisjoint(names)


def generates(node: ast.AST) -> bool:
    """Whether a function computes without gradients, and in a loop."""
    without = any(known.NO_GRADIENTS.search(ast.unparse(each)) for each in getattr(node, "decorator_list", ()))
    return without and repeats(node)


def copies_anywhere(node: ast.AST) -> bool:
    """Whether a function copies asynchronously; that can be wrong wherever it stands."""
    return any(isinstance(part, ast.keyword) and part.arg == "non_blocking" for part in ast.walk(node))


def returns_at_once(node: ast.AST) -> bool:
    """Whether a chain of methods may copy to the host and back, by their names."""
    function = node.func if isinstance(node, ast.Call) else None
    if not isinstance(node, ast.Call) or not isinstance(function, ast.Attribute) or function.attr not in _UPLOADING:
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


def assumed_argument(arg: ast.arg, function: Function, stepped: bool) -> Value:
    """What is assumed to be passed: tensors of the device to what runs in a step."""
    annotation = ast.unparse(arg.annotation) if arg.annotation is not None else ""
    if (
        not stepped
        or annotation in ("int", "float", "str", "bool")
        or "Module" in annotation
        or arg.arg in ("ctx", "self", "batch_idx")
    ):
        return UNKNOWN  # or what the annotation says
    if known.NUMBERS_ANNOTATION.match(annotation):
        return collection(NUMBER)
    if annotation.startswith(known.NAMED_TENSORS) and "Tensor" in annotation:
        return Value(Kind.DICT, element=tensor(sure=False))
    return tensor(Device.UNKNOWN, sure=is_tensor(arg, function))


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


def called_names(node: ast.AST) -> set[str]:
    """The names of what a function calls."""
    functions = [part.func for part in ast.walk(node) if isinstance(part, ast.Call)]
    names = {part.attr for part in functions if isinstance(part, ast.Attribute)}
    return names | {part.id for part in functions if isinstance(part, ast.Name)}


_UPLOADING = frozenset("to cuda tensor as_tensor asarray".split())
_DOWNLOADING = frozenset("cpu to type item tolist".split())
