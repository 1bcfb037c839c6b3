"""``python -m torchlint.runtime.calibrate TARGET NAME``: measures a price profile of this machine's GPU."""

from __future__ import annotations

import datetime
import json
import os
import statistics
import sys
import warnings
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

import torch

from torchlint.runtime.selftest.operations import PROBES

_SCHEMA = 1
_LARGE = 64 << 20
_SMALL = 4
_ROUNDS = 30


def main() -> int:
    """Measure, and write the profile; returns 2 without a GPU."""
    target, name = sys.argv[1], sys.argv[2]
    if not torch.cuda.is_available():
        built = "torch was built without CUDA" if torch.version.cuda is None else "no GPU answers"
        sys.stderr.write(f"torchlint: error: calibrate needs a GPU: {built}\n")
        return 2
    document = profile(name or torch.cuda.get_device_name())
    with open(f"{target}.partial", "w", encoding="utf-8") as stream:
        json.dump(document, stream, indent=2)
        stream.write("\n")
    os.replace(f"{target}.partial", target)
    return 0


def profile(name: str) -> dict[str, Any]:
    """Measure a complete profile on the current CUDA device. Takes some seconds."""
    return {
        "schema": _SCHEMA,
        "name": name,
        "device": torch.cuda.get_device_name(),
        "source": "measured by torchlint calibrate",
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "driver": _driver(),
        "prices": prices(),
        "synchronising": synchronising(),
    }


def prices() -> dict[str, float]:
    """Bandwidths in bytes per microsecond, everything else in microseconds; medians of thirty measurements.

    The price of a synchronization is that of ``.item()``; the wait of a blocking copy costs one as well.
    """
    large, small = torch.empty(_LARGE, dtype=torch.uint8), torch.empty(_SMALL, dtype=torch.uint8)
    pinned = large.pin_memory()
    floor = _median(lambda: small.to("cuda"))
    idle = _median(torch.cuda.synchronize, queued=False)
    there = large.to("cuda")
    value = torch.zeros(1, device="cuda")
    wait = _median(value.item, queued=False)
    return {
        "pageable_bytes_per_us": _LARGE / max(_median(lambda: large.to("cuda")) - floor, 1e-3),
        "pinned_bytes_per_us": _LARGE / max(_median(lambda: pinned.to("cuda")) - floor, 1e-3),
        "download_bytes_per_us": _LARGE / max(_median(there.cpu) - floor, 1e-3),
        "copy_us": max(floor - idle - wait, 0.0),
        "synchronise_us": wait,
        "launch_us": _launch(),
    }


def _median(work: Callable[[], Any], *, queued: bool = True) -> float:
    """Microseconds until the device is done, the median after three warm-up rounds."""
    spent = []
    for number in range(_ROUNDS + 3):
        torch.cuda.synchronize()
        start = perf_counter_ns()
        work()
        if queued:
            torch.cuda.synchronize()
        if number >= 3:
            spent.append((perf_counter_ns() - start) / 1000)
    return statistics.median(spent)


def _launch() -> float:
    """Microseconds on the host per kernel launch, for a thousand in a row."""
    there = torch.zeros(8, device="cuda")
    there.add_(1)  # loads the kernel
    torch.cuda.synchronize()
    start = perf_counter_ns()
    for _ in range(1000):
        there.add_(1)
    spent = (perf_counter_ns() - start) / 1000
    torch.cuda.synchronize()
    return spent / 1000


def synchronising() -> dict[str, int]:
    """How often each operation of the self-test synchronizes, as reported by torch; -1 if it fails.

    Every probe moves its operand to the device and reads its result; these are subtracted.
    """
    least = _waits(PROBES["identity"])
    counts = {name: _waits(probe) for name, probe in PROBES.items()}
    return {name: max(count - least, 0) if count >= 0 else -1 for name, count in counts.items()}


def _waits(probe: Callable[[str], Any]) -> int:
    """The synchronizations that torch warns of; -1 if the probe fails."""
    try:
        probe("cuda")  # loads libraries
    except Exception:  # as below
        return -1
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        torch.cuda.set_sync_debug_mode("warn")
        try:
            probe("cuda")
        except Exception:  # a probe may raise anything on this device
            return -1
        finally:
            torch.cuda.set_sync_debug_mode("default")
    return sum("called a synchronizing" in str(warning.message) for warning in said)


def _driver() -> str | None:
    try:
        return str(torch._C._cuda_getDriverVersion())
    except (AttributeError, RuntimeError):
        return None


if __name__ == "__main__":
    sys.exit(main())
