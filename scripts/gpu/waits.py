"""Whether waits on a real GPU are reported as the companion expects them of torch.

Each check is a few operations of which it is known how often the host waits, and for what.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import torch

from scripts.gpu.common import Row, Settings, differs
from torchlint.runtime.patches import Patches
from torchlint.runtime.waits import Waits


def _failing() -> float:
    raise ValueError


def _exception(x: Any) -> None:
    """Memory is freed while an exception propagates."""
    for _ in range(20):
        try:
            _ = (x + 1) * _failing()
        except ValueError:
            continue
        raise AssertionError("an exception was lost")


def _event(_: Any) -> None:
    event = torch.cuda.Event()
    event.record()
    event.synchronize()


def _backward(x: Any) -> None:
    """The copy of an index of the host is made again in the backward pass."""
    leaf = x.clone().requires_grad_()
    leaf[torch.tensor([0, 1])].sum().backward()


def _write(x: Any) -> None:
    x[torch.tensor([0, 1])] = 1.0


def _write_element(x: Any) -> None:
    x[1] = 1.0


def _fill(x: Any) -> None:
    x[1:3] = 1.0


CHECKS: dict[str, tuple[Callable[[Any], Any], dict[str, int]]] = {
    "nothing": (lambda x: (x + 1).sum(), {}),
    "an exception": (_exception, {}),
    "item": (lambda x: x[0].item(), {"stream": 1}),
    "float": (lambda x: float(x[0]), {"stream": 1}),
    "bool": (lambda x: bool(x[0] > 0), {"stream": 1}),
    "tolist": (lambda x: x.tolist(), {"stream": 1}),
    "cpu": (lambda x: x.cpu(), {"stream": 1}),
    "an upload": (lambda _: torch.ones(8).to("cuda"), {"stream": 1}),
    "an asynchronous upload": (lambda _: torch.ones(8).pin_memory().to("cuda", non_blocking=True), {}),
    "nonzero": (lambda x: x.nonzero(), {"stream": 1}),
    "a mask": (lambda x: x[x > 0], {"index": 1}),
    "an index of the host": (lambda x: x[torch.tensor([0, 1])], {"index": 1}),
    "an index of the device": (lambda x: x[torch.tensor([0, 1], device="cuda")], {"stream": 1}),
    "writing a number by an index of the host": (_write, {"index": 2}),
    "writing an element": (_write_element, {"index": 1}),
    "filling a slice": (_fill, {}),
    "backward": (_backward, {"index": 1, "stream": 1}),
    "an operator": (torch.ops.aten.nonzero, {"stream": 1}),
    "an overload of an operator": (torch.ops.aten.nonzero.default, {"stream": 1}),
    "the device": (lambda _: torch.cuda.synchronize(), {"synchronize": 1}),
    "the accelerator": (lambda _: torch.accelerator.synchronize(), {"synchronize": 1}),
    "a stream": (lambda _: torch.cuda.current_stream().synchronize(), {"stream": 1}),
    "an event": (_event, {"event": 1}),
}


def waits(_: Settings, __: Iterator[str]) -> Iterator[Row]:
    """Run all checks."""
    heard: list[str] = []
    patches = Patches()
    reports = Waits(heard.append)
    x = torch.arange(8.0, device="cuda")
    for act, _waits in CHECKS.values():  # loads libraries, and fills the cache of memory
        act(x.clone())
    reports.on(patches)
    yield from (differs(name, "fault", problem) for name, problem in _problems(x, heard))
    reports.off()
    patches.restore()
    heard.clear()
    x[0].item()
    if heard:
        yield differs("the end", "fault", "reports do not end")
    if torch.cuda.get_sync_debug_mode() != 0:
        yield differs("the end", "fault", "the mode stays")


def _problems(x: Any, heard: list[str]) -> Iterator[tuple[str, str]]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name, (act, wanted) in CHECKS.items():
            given = x.clone()
            heard.clear()
            try:
                act(given)
            except Exception as error:  # of which nothing is expected
                yield name, f"{type(error).__name__}: {str(error)[:120]}"
            found = Counter(heard)
            if found != Counter(wanted):
                yield name, f"{dict(found)} instead of {wanted}"
