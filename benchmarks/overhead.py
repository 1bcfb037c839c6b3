"""Measures the overhead of observation, as a table.

``python benchmarks/overhead.py`` takes a few minutes. Each figure is the ratio of the median step of an observed
process to that of an unobserved one, the median over rounds in which the two alternate.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

PROGRAMS = {
    "MLP, a copy and a read a step": ("plain", ("cpu", "sim")),
    "MLP, five watched calls a step": ("mlp", ("cpu", "sim")),
    "small CNN": ("cnn", ("cpu", "sim")),
    "ResNet-18 training": ("resnet", ("cpu", "sim")),
    "PPO, many small calls a step": ("ppo", ("cpu", "sim")),
}
STEPS = {"plain": 3000, "mlp": 3000, "cnn": 200, "resnet": 12, "busy": 200, "ppo": 60}


def trained(name: str, steps: int) -> dict[str, float]:
    """Train; the median time of a step in microseconds, and the sum of the losses."""
    import time

    import numpy as np
    import torch
    from torch import nn

    torch.set_num_threads(1)
    torch.manual_seed(0)
    torch.backends.cudnn.deterministic = True  # so that results are comparable
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if name == "busy":  # another thread wants the interpreter all the time
        _spinning()
    model, shape = _model(name, nn)
    model = model.to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    target = torch.zeros(shape[0], dtype=torch.long).to(device)
    data = np.random.default_rng(0).random(shape, dtype=np.float32)
    spent, total = [], 0.0
    for _ in range(steps):
        start = time.perf_counter_ns()
        x = (
            torch.tensor(data).to(device)
            if name != "plain"
            else torch.from_numpy(data).to(device)  # torchlint: ignore[TL205] every step of a program copies a batch
        )
        loss = nn.functional.cross_entropy(model(x), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        if name == "mlp":
            copies = loss.detach().cpu(), torch.zeros(1).to(device)
            assert len(copies) == 2
        spent.append(time.perf_counter_ns() - start)
    return {"us": statistics.median(spent[len(spent) // 10 :]) / 1000, "total": total}


@functools.cache
def _spinning() -> None:
    import threading

    threading.Thread(target=_spin, daemon=True).start()


def _spin() -> None:
    while True:
        pass


def _model(name: str, nn: Any) -> tuple[Any, tuple[int, ...]]:
    if name in ("plain", "mlp"):
        return nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 10)), (16, 32)
    if name in ("cnn", "busy"):
        layers = [nn.Conv2d(3, 16, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3), nn.ReLU(), nn.Flatten()]
        return nn.Sequential(*layers, nn.LazyLinear(10)), (16, 3, 32, 32)
    return _resnet18(nn), (8, 3, 96, 96)


def _resnet18(nn: Any) -> Any:
    import torch

    class Block(nn.Module):  # type: ignore[misc]
        def __init__(self, before: int, after: int, stride: int) -> None:
            super().__init__()
            self.body = nn.Sequential(
                nn.Conv2d(before, after, 3, stride, 1, bias=False),
                nn.BatchNorm2d(after),
                nn.ReLU(inplace=True),
                nn.Conv2d(after, after, 3, 1, 1, bias=False),
                nn.BatchNorm2d(after),
            )
            same = before == after and stride == 1
            self.short = (
                nn.Identity()
                if same
                else nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))
            )

        def forward(self, x: Any) -> Any:
            return torch.relu(self.body(x) + self.short(x))

    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    for before, after, stride in ((64, 64, 1), (64, 128, 2), (128, 256, 2), (256, 512, 2)):
        layers += [Block(before, after, stride), Block(after, after, 1)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))


def measure(name: str, mode: str | None, folder: str) -> dict[str, float]:
    """Run one program without observation, or in a mode."""
    own = [str(Path(__file__).resolve()), "--program", name]
    observed = ["-m", "torchlint", "confirm", "--isolated", "--fail-on", "never", "--on", mode or "", "--", *own]
    command = [sys.executable, *(observed if mode else own)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr[-600:])
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def table(rounds: int) -> list[str]:
    """The table, a row for each program and mode."""
    rows = ["| program | bare step | mode | ratio (range) | same result |", "| --- | --- | --- | --- | --- |"]
    with tempfile.TemporaryDirectory() as folder:
        for title, (name, modes) in PROGRAMS.items():
            ratios: dict[str, list[float]] = {mode: [] for mode in modes}
            bare, same = [], True
            for _ in range(rounds):
                plain = measure(name, None, folder)
                bare.append(plain["us"])
                for mode in modes:
                    found = measure(name, mode, folder)
                    ratios[mode].append(found["us"] / plain["us"])
                    same = same and found["total"] == plain["total"]
            for mode in modes:
                values = ratios[mode]
                spread = f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"
                rows.append(
                    f"| {title} | {statistics.median(bare):.0f} us | {mode} | {spread} | {'yes' if same else 'NO'} |"
                )
    return rows


def main() -> None:
    """Print the table, or run one of the programs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--program", choices=STEPS)
    arguments = parser.parse_args()
    if arguments.program == "ppo":
        import agent

        spent, total = agent.train(STEPS["ppo"])
        print(json.dumps({"us": statistics.median(spent[6:]) / 1000, "total": total}))
        return
    if arguments.program:
        print(json.dumps(trained(arguments.program, STEPS[arguments.program])))
        return
    import torch

    print("\n".join(table(arguments.rounds)))
    print(f"\nPython {platform.python_version()}, torch {torch.__version__}, {os.cpu_count()} cores, one thread")


if __name__ == "__main__":
    main()
