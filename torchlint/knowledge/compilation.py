"""What ends the graph that ``torch.compile`` records, and which functions it does not look into.

Determined by execution in torch 2.13.0: ``tests/graph_breaks.py`` has a snippet for each entry, and for much that does
not end a graph; a test runs them with the installed torch.
"""

from __future__ import annotations

from typing import NamedTuple

from torchlint.catalogue.views import REDUCING, functions, methods

COMPILE = frozenset({"torch.compile"})
# Decorators with which a function is traced as it stands; others, such as `torch.compiler.disable`, may prevent it.
TRANSPARENT = frozenset(
    "torch.compile torch.no_grad torch.enable_grad torch.inference_mode torch.autocast torch.cuda.amp.autocast "
    "builtins.staticmethod builtins.classmethod builtins.property typing.override typing_extensions.override "
    "abc.abstractmethod".split()
)
# What may be around a module without changing what its call runs; others, such as `torch.jit.script`, may.
CONTAINERS = frozenset(
    "torch.nn.ModuleList torch.nn.ModuleDict torch.nn.Sequential collections.OrderedDict builtins.dict builtins.list "
    "torch.compile".split()
)
# Functions through whose result a program goes, calling the modules that they get.
ITERATING = frozenset({"builtins.enumerate", "builtins.zip", "builtins.reversed"})


class Break(NamedTuple):
    """Why something ends the graph, and what to do about it. With one of the settings in ``unless`` it does not."""

    why: str
    instead: str
    unless: tuple[str, ...] = ()


SCALARS = "capture_scalar_outputs"
SHAPES = "capture_dynamic_output_shape_ops"
LOGGING = ("reorderable_logging_functions", "ignore_logging_functions", "ignore_logger_methods")
READ = Break(
    "Python needs the number",
    f"compute with the tensor, or set `torch._dynamo.config.{SCALARS} = True`",
    (SCALARS,),
)
LIST = Break("Python needs the numbers", "compute with the tensor, or do this outside of the compiled code")
BRANCH = Break("Python needs the value to choose a branch", "use `torch.where`, or branch outside of the compiled code")
SHAPE = Break(
    "the size of the result depends on the content of the tensor",
    f"keep the size, with `torch.where` or a mask, or set `torch._dynamo.config.{SHAPES} = True`",
    (SHAPES,),
)
CLASSES = Break("the number of classes depends on the content of the tensor", "pass `num_classes`")
OUTPUT = Break(
    "the compiler cannot trace output",
    "remove it, or run it only `if not torch.compiler.is_compiling()`",
    LOGGING,
)
HOST = Break("the compiler does not trace it", "call it outside of the compiled code")
DRAW = Break("the compiler does not trace it", "draw with `torch.rand`, or outside of the compiled code")

METHODS = {
    **dict.fromkeys(methods(lambda function: function.counts and function.waits), SHAPE),
    "item": READ,
    "tolist": LIST,
}
FUNCTIONS = {
    **dict.fromkeys(functions(lambda function: function.counts and function.waits), SHAPE),
    **dict.fromkeys(functions(lambda function: function.gives == "flag"), BRANCH),
    **{f"logging.{name}": OUTPUT for name in "debug info warning error critical exception log".split()},
    **{f"time.{name}": HOST for name in "time perf_counter monotonic process_time sleep".split()},
    **{f"random.{name}": DRAW for name in "random gauss choice shuffle sample".split()},
    **{f"numpy.random.{name}": DRAW for name in "rand randn uniform normal randint choice beta permutation".split()},
    "builtins.print": OUTPUT,
    "warnings.warn": OUTPUT,
    "builtins.open": HOST,
    "gc.collect": HOST,
    "torch.save": HOST,
    "torch.manual_seed": HOST,
}
LOGGER = "logging.getLogger"
LOG_METHODS = frozenset("debug info warning error critical exception log".split())
# Builtins that end the graph if their argument is a tensor.
CONVERSIONS = frozenset({"builtins.float", "builtins.int", "builtins.bool"})
# Methods that only tensors and arrays have, both of which are traced as tensors; their result is a tensor.
REDUCTIONS = REDUCING | methods(lambda function: function.gives == "mask" and function.alone)
