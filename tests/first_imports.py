"""Ways in which Dynamo is imported for the first time: ``python -m tests.first_imports`` prints what comes of each.

Each is tried in a forked process, in which torch is imported, and Dynamo is not.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import sympy  # type: ignore[import-untyped] # noqa: F401 - Dynamo imports it, and observation has nothing to do with it
import torch
from torch.utils.checkpoint import checkpoint

from tests.gpu_help import order
from torchlint.runtime.observation import Observation
from torchlint.runtime.recorder import Recorder
from torchlint.runtime.sim.simulation import Simulation
from torchlint.runtime.sites import Sites


def trained() -> float:
    weight = torch.ones(1, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.5)
    (weight * 2).sum().backward()
    optimizer.step()
    return float(weight.item())


def compiled() -> float:
    return float(
        torch.compile(lambda x: x.to(torch.float32).sum() + torch.ones(1).sum(), backend="eager")(torch.ones(2))
    )


def mapped() -> float:
    return float(torch.func.vmap(lambda x: x * 2)(torch.ones(2)).sum())


def differentiated() -> float:
    return float(torch.func.grad(lambda x: (x**2).sum())(torch.ones(1)))


def checkpointed() -> float:
    weight = torch.ones(1, requires_grad=True)
    checkpoint(lambda x: (x * 3).sum(), weight, use_reentrant=False).backward()
    assert weight.grad is not None
    return float(weight.grad.item())


def imported() -> float:
    import torch._dynamo

    return float(torch._dynamo.is_compiling())


WAYS: dict[str, Callable[[], float]] = {
    function.__name__: function for function in (trained, compiled, mapped, differentiated, checkpointed, imported)
}
# Each way once, and each place: a process takes seconds.
PLACES = [
    *(("simulation", way) for way in ("trained", "compiled", "imported")),
    *(("cpu", "mapped"), ("gpu", "checkpointed"), ("sim", "differentiated")),
]


@contextlib.contextmanager
def inside(place: str) -> Iterator[None]:
    """Inside a simulation, or an observation."""
    if place == "simulation":
        with Simulation(Recorder(), Sites([])):
            yield
    else:
        with tempfile.TemporaryDirectory() as folder:
            observation = Observation(order(Path(folder)), place)
            observation.start()
            try:
                yield
            finally:
                observation.stop()


def known() -> list[bool]:
    """Whether torch recognizes its own functions, once they are in place again."""
    from torch._dynamo.trace_rules import get_torch_obj_rule_map

    nowrap = torch.overrides.get_default_nowrap_functions()
    tensors = [torch.Tensor.to, torch.Tensor.type_as]
    return [
        torch.Tensor.grad.__get__ in nowrap,
        all(map(torch.overrides.is_tensor_method_or_property, tensors)),
        {torch.allclose, torch.ones} <= {*get_torch_obj_rule_map()},
    ]


def tried(place: str, way: str) -> Any:
    """The result of one way in one place, and what torch knows afterwards."""
    assert "torch._dynamo" not in sys.modules
    try:
        with inside(place):
            result = WAYS[way]()
        return [result, known()]
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def forked(place: str, way: str) -> Any:
    """The same in a forked process."""
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.write(writing, json.dumps(tried(place, way)).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as stream:
        found = stream.read()
    os.wait()
    return json.loads(found or "null")


if __name__ == "__main__":
    sys.stdout.write("\n" + json.dumps([forked(*each) for each in PLACES]) + "\n")
