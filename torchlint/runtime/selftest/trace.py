"""``python -m torchlint.runtime.selftest.trace``: checks torch's account of synchronizations on this GPU.

Callbacks run when device memory is freed, which may happen while an exception propagates: exceptions must survive them,
and they must end. Prints the failed checks, as JSON on the last line.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import torch

from torchlint.runtime.trace import Trace


def run() -> list[str]:
    """The checks that fail."""
    reported: list[str] = []
    trace = Trace()
    try:
        trace.on(lambda why: lambda *_: reported.append(why))
        failed = _checks(reported)
    except (ImportError, AttributeError) as error:
        return [f"torch {torch.__version__} has no such callbacks: {error}"]
    finally:
        trace.off()
    return failed or _ended(reported)


def _ended(reported: list[str]) -> list[str]:
    before = len(reported)
    torch.ones(1, device="cuda").item()
    return ["reports do not end"] if len(reported) > before else []


def _checks(reported: list[str]) -> list[str]:
    for _ in range(20):
        try:
            _added(torch.ones(3, device="cuda") + 1, _failing())
        except ValueError:
            continue
        except BaseException as error:
            return [f"an exception became a {type(error).__name__}"]
        return ["an exception was lost"]
    torch.ones(1, device="cuda").item()
    return [] if reported else ["a read was not reported"]


def _added(tensor: Any, number: float) -> Any:
    return tensor + number


def _failing() -> float:
    raise ValueError


if __name__ == "__main__":
    sys.stdout.write(json.dumps(run()) + "\n")
