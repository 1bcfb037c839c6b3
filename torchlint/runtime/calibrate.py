"""``python -m torchlint.runtime.calibrate TARGET NAME``: measures a price profile of this machine's GPU."""

from __future__ import annotations

import datetime
import json
import os
import random
import statistics
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter_ns
from typing import Any

import torch

from torchlint.runtime.selftest.operations import PROBES

_SCHEMA = 1
_LARGE = 64 << 20
_HALF = _LARGE // 2
_KINDS = ("pageable", "pinned", "download")
_SERIES = 20  # a single small copy is too short
_ROUNDS, _WARM = 30, 20  # clocks rise while a device works


class Noise(Exception):
    """Something cannot be measured, because the machine has other work."""


def main() -> int:
    """Measure, and write the profile; returns 2 if that is not possible."""
    target, name = sys.argv[1], sys.argv[2]
    if not torch.cuda.is_available():
        built = "torch was built without CUDA" if torch.version.cuda is None else "no GPU answers"
        sys.stderr.write(f"torchlint: error: calibrate needs a GPU: {built}\n")
        return 2
    try:
        document = profile(name or torch.cuda.get_device_name())
    except Noise as noise:
        sys.stderr.write(f"torchlint: error: {noise}; calibrate when the machine has no other work\n")
        return 2
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
        "synchronizing": synchronizing(),
    }


def prices() -> dict[str, float]:
    """Bandwidths in bytes per microsecond, everything else in microseconds. Raises :class:`Noise`.

    A bandwidth comes from the difference between copies of two sizes, which take turns, between buffers that have been
    written before: memory that never was needs no reading, and page faults are no copies. The price of a
    synchronization is that of ``.item()``; the wait of a blocking copy costs one as well.
    """
    host = torch.ones(_LARGE, dtype=torch.uint8)
    pinned, there = host.pin_memory(), host.to("cuda")
    small, value = torch.ones(1), torch.ones(1, device="cuda")
    spent = taking_turns(
        {
            "pageable": lambda: there.copy_(host),
            "pageable half": lambda: there[_HALF:].copy_(host[_HALF:]),
            "pinned": lambda: there.copy_(pinned),
            "pinned half": lambda: there[_HALF:].copy_(pinned[_HALF:]),
            "download": lambda: host.copy_(there),
            "download half": lambda: host[_HALF:].copy_(there[_HALF:]),
            "copies": lambda: [value.copy_(small) for _ in range(_SERIES)],
            "reads": lambda: [value.item() for _ in range(_SERIES)],
        }
    )
    return {
        **{f"{kind}_bytes_per_us": _HALF / _more(spent, kind, f"{kind} half") for kind in _KINDS},
        "copy_us": max(difference(spent["copies"], spent["reads"]), 0.0) / _SERIES,
        "synchronize_us": statistics.median(spent["reads"]) / _SERIES,
        "launch_us": _launch(),
    }


def taking_turns(
    works: Mapping[str, Callable[[], Any]], rounds: int = _ROUNDS, warm: int = _WARM
) -> dict[str, list[float]]:
    """Microseconds until the device is done with each work, in rounds of random order after some for warming up."""
    order = random.Random(0)
    spent: dict[str, list[float]] = {name: [] for name in works}
    for number in range(warm + rounds):
        for name in order.sample(list(works), len(works)):
            torch.cuda.synchronize()
            start = perf_counter_ns()
            works[name]()
            torch.cuda.synchronize()
            if number >= warm:
                spent[name].append((perf_counter_ns() - start) / 1000)
    return spent


def difference(one: Sequence[float], other: Sequence[float]) -> float:
    """The median of the differences in each round: what makes a round slow concerns both."""
    return statistics.median(mine - its for mine, its in zip(one, other, strict=True))


def _more(spent: Mapping[str, Sequence[float]], more: str, less: str) -> float:
    found = difference(spent[more], spent[less])
    if found <= 0:
        raise Noise(f"the bandwidth of {more} copies cannot be measured, since larger ones did not take longer")
    return found


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


def synchronizing() -> dict[str, int]:
    """How often each operation of the self-test synchronizes, as reported by torch; -1 if it fails.

    Every probe moves its operand to the device and reads its result; these are subtracted.
    """
    least = waits(PROBES["identity"])
    counts = {name: waits(probe) for name, probe in PROBES.items()}
    return {name: max(count - least, 0) if count >= 0 else -1 for name, count in counts.items()}


def waits(probe: Callable[[str], Any]) -> int:
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
