"""Snippets that end a graph of ``torch.compile``, or do not: what the table in ``knowledge.compilation`` claims."""

from __future__ import annotations

import contextlib
import copy
import gc
import io
import logging
import os
import random
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch._dynamo as dynamo
from torch._dynamo.utils import graph_break_reasons

# One expression for each function of the table; `x` is a matrix of floats, `n` one of integers.
FUNCTIONS = {
    "torch.nonzero": "torch.nonzero(x)",
    "torch.argwhere": "torch.argwhere(x)",
    "torch.unique": "torch.unique(x)",
    "torch.unique_consecutive": "torch.unique_consecutive(x)",
    "torch.masked_select": "torch.masked_select(x, x > 0)",
    "torch.bincount": "torch.bincount(n.flatten())",
    "torch.is_nonzero": "torch.is_nonzero(x.sum())",
    "logging.debug": "logging.debug('a')",
    "logging.info": "logging.info('a')",
    "logging.warning": "logging.warning('a')",
    "logging.error": "logging.error('a')",
    "logging.critical": "logging.critical('a')",
    "logging.exception": "logging.exception('a')",
    "logging.log": "logging.log(10, 'a')",
    "time.time": "time.time()",
    "time.perf_counter": "time.perf_counter()",
    "time.monotonic": "time.monotonic()",
    "time.process_time": "time.process_time()",
    "time.sleep": "time.sleep(0)",
    "random.random": "random.random()",
    "random.gauss": "random.gauss(0, 1)",
    "random.choice": "random.choice([1, 2])",
    "random.shuffle": "random.shuffle([1, 2])",
    "random.sample": "random.sample([1, 2], 1)",
    "numpy.random.rand": "np.random.rand()",
    "numpy.random.randn": "np.random.randn()",
    "numpy.random.uniform": "np.random.uniform()",
    "numpy.random.normal": "np.random.normal()",
    "numpy.random.randint": "np.random.randint(1, 5)",
    "numpy.random.choice": "np.random.choice([1, 2])",
    "numpy.random.beta": "np.random.beta(0.5, 0.5)",
    "numpy.random.permutation": "np.random.permutation(4)",
    "builtins.print": "print('a')",
    "warnings.warn": "warnings.warn('a')",
    "builtins.open": "open(os.devnull)",
    "gc.collect": "gc.collect()",
    "torch.save": "torch.save(x, os.devnull)",
    "torch.manual_seed": "torch.manual_seed(0)",
    "torch.allclose": "torch.allclose(x, x)",
    "torch.equal": "torch.equal(x, x)",
}
METHODS = {
    "item": "x.sum().item()",
    "tolist": "x.tolist()",
    "nonzero": "x.nonzero()",
    "unique": "x.unique()",
    "masked_select": "x.masked_select(x > 0)",
    "argwhere": "x.argwhere()",
    "unique_consecutive": "x.unique_consecutive()",
    "bincount": "n.flatten().bincount()",
}
CONVERSIONS = {
    "builtins.float": "float(x.sum())",
    "builtins.int": "int(x.sum())",
    "builtins.bool": "bool(x.sum())",
}
# Constructs that the rule recognizes by their form, with the setting under which they are recorded.
FORMS = {
    "x[x > 0]": "capture_dynamic_output_shape_ops",
    "x[:, x[0] > 0]": "capture_dynamic_output_shape_ops",
    "torch.where(x > 0)": "capture_dynamic_output_shape_ops",
    "torch.nn.functional.one_hot(n)": "",
    "log.info('a')": "",
    "log.exception('a')": "",
    "1 if x.sum() > 0 else 2": "",
    "1 if x.isnan().any() else 2": "",
    "1 if not x.any() else 2": "",
    "1 if x.shape[0] == 4 and x.any() else 2": "",
}
INNOCENT = (
    "x.cpu()",
    "x.detach().numpy()",
    "np.sin(x.detach().numpy())",
    "torch.tensor([1.0, 2.0])",
    "torch.where(x > 0, x, 0)",
    "torch.nn.functional.one_hot(n, 4)",
    "f'{x.sum()}'",
    "max(x.sum(), x.min())",
    "random.randint(1, 2)",
    "random.uniform(1, 2)",
    "np.random.seed(0)",
    "copy.deepcopy([1])",
    "os.environ.get('HOME')",
    "int(x.shape[0] / 2)",
    "float(x.numel())",
    "1 if x.dim() == 3 and x.any() else 2",
    "torch.cuda.empty_cache()",
    "isinstance(x, torch.Tensor)",
)
STATEMENTS = ("x = x.clone(); x[x > 0] = 0", "assert (x == x).all()")
_NAMES: dict[str, Any] = {
    "torch": torch,
    "np": np,
    "random": random,
    "time": time,
    "os": os,
    "gc": gc,
    "copy": copy,
    "logging": logging,
    "warnings": warnings,
    "log": logging.getLogger("torchlint.snippets"),
}


def breaks(code: str, **settings: object) -> int:
    """How often the graph of a function with this code ends, with settings of Dynamo."""
    names = dict(_NAMES)
    exec(f"def snippet(x, n):\n    y = x * 2\n    {code}\n    return y + 1", names)
    return _counted(names["snippet"], settings)


def called(code: str) -> object:
    """The function that an expression calls: `print` of `print('a')`."""
    return eval(code.partition("(")[0], dict(_NAMES))


def _counted(function: Callable[..., Any], settings: dict[str, object]) -> int:
    dynamo.reset()
    graph_break_reasons.clear()
    compiled = torch.compile(function, backend="eager")
    x = torch.arange(16.0).reshape(4, 4) - 5
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings(), dynamo.config.patch(settings):
        warnings.simplefilter("ignore")
        compiled(x, x.abs().long() % 4)
    return len(graph_break_reasons)
