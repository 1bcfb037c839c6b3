"""``python -m torchlint.runtime.selftest.trace``: checks that exceptions survive torch's callbacks on this GPU.

Callbacks run when device memory is freed, which may happen while an exception propagates. Prints the failed checks, as
JSON on the last line.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import torch

from torchlint.runtime.instrument import Watch
from torchlint.runtime.instruments.transfers import Transfers
from torchlint.runtime.patches import Patches
from torchlint.runtime.recorder import Recorder
from torchlint.runtime.sites import Sites
from torchlint.runtime.steps import Steps


def run() -> list[str]:
    """The checks that fail."""
    recorder, patches = Recorder(), Patches()
    try:
        Transfers(Watch({}, "gpu", recorder, Sites([]), Steps(None), [])).trace(patches)
        return _checks(recorder)
    except (ImportError, AttributeError) as error:
        return [f"torch {torch.__version__} has no such callbacks: {error}"]
    finally:
        patches.restore()


def _checks(recorder: Recorder) -> list[str]:
    for _ in range(20):
        try:
            _added(torch.ones(3, device="cuda") + 1, _failing())
        except ValueError:
            continue
        except BaseException as error:
            return [f"an exception became a {type(error).__name__}"]
        return ["an exception was lost"]
    torch.ones(1, device="cuda").item()
    return [] if recorder.of("sync") else ["a read was not reported"]


def _added(tensor: Any, number: float) -> Any:
    return tensor + number


def _failing() -> float:
    raise ValueError


if __name__ == "__main__":
    sys.stdout.write(json.dumps(run()) + "\n")
