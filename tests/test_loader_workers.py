"""Workers of loaders under observation: the program ends as without it, with the same output and exceptions."""

from __future__ import annotations

import json
import re
import sys
from functools import cache
from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.companion_help import warm_run, write
from torchlint import __version__

BEGINNING = """
import os, signal, sys
import torch
from torch.utils.data import DataLoader, Dataset

class Numbers(Dataset):
    def __init__(self, raises=False):
        self.raises = raises

    def __len__(self):
        return 16

    def __getitem__(self, index):
        if index == 5 and self.raises:
            raise LookupError("five")
        return torch.full((2,), float(index))

def total(loader):
    return float(sum(batch.sum() for batch in loader))
"""
PROGRAMS = {
    "two loaders": """
        model = torch.nn.Linear(2, 1)
        torch.nn.init.ones_(model.weight), torch.nn.init.zeros_(model.bias)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
        for x in DataLoader(Numbers(), batch_size=1, num_workers=1, pin_memory=True):
            optimizer.zero_grad()
            model(x).pow(2).mean().backward()
            optimizer.step()
        print(model.weight.tolist())
        with torch.no_grad():
            print(sum(float(model(x).sum()) for x in DataLoader(Numbers(), batch_size=2, num_workers=1)))
    """,
    "workers that live on": """
        loader = DataLoader(Numbers(), batch_size=2, num_workers=2, persistent_workers=True)
        print([total(loader) for _ in range(2)])
        begun = iter(DataLoader(Numbers(), batch_size=2, num_workers=1))
        print(next(begun).tolist())
        print(total(DataLoader(Numbers(), batch_size=2, num_workers=1)))
    """,
    "workers that raise": """
        try:
            total(DataLoader(Numbers(raises=True), batch_size=2, num_workers=1))
        except LookupError as error:
            print(str(error).splitlines()[0], str(error).splitlines()[-1])
        total(DataLoader(Numbers(raises=True), batch_size=2, num_workers=1))
    """,
    "a worker that is killed last": """
        print(total(DataLoader(Numbers(), batch_size=2, num_workers=1)), flush=True)
        total(DataLoader(Numbers(), num_workers=1, worker_init_fn=lambda _: os.kill(os.getpid(), signal.SIGKILL)))
    """,
    "signals to workers": """
        import subprocess

        for end in (lambda worker: worker.terminate(), lambda worker: subprocess.run(["kill", str(worker.pid)])):
            begun = iter(DataLoader(Numbers(), batch_size=2, num_workers=1))
            worker = (next(begun), begun._workers[0])[1]
            try:
                end(worker)
                worker.join()
            except RuntimeError:
                worker.join()
            print(worker.exitcode)
    """,
    "a handler of its own": """
        signal.signal(signal.SIGTERM, lambda *_: (print("asked to end", flush=True), sys.exit(4)))
        begun = iter(DataLoader(Numbers(), batch_size=2, num_workers=2))
        print(next(begun).tolist(), flush=True)
        os.kill(os.getpid(), signal.SIGTERM)
        print("not reached")
    """,
    "no handler": """
        begun = iter(DataLoader(Numbers(), batch_size=2, num_workers=2))
        print(next(begun).tolist(), flush=True)
        os.kill(os.getpid(), signal.SIGTERM)
    """,
    "spawned workers": """
        loader = DataLoader(Numbers(), batch_size=4, num_workers=1, multiprocessing_context="spawn")
        print(total(loader))
        print(total(DataLoader(Numbers(), batch_size=2, num_workers=1)))
    """,
}


@cache
def ended(folder: Path, name: str, mode: str) -> tuple[int, str, str]:
    """Status, output, and the last exception: what torch says of a worker that is gone depends on the moment."""
    body = "\n".join(f"    {line[8:]}" for line in PROGRAMS[name].splitlines())
    program = write(folder, f'{BEGINNING}\nif __name__ == "__main__":\n{body}\n')
    if mode == "plain":
        done = warm_run(folder, "-m", "program")
    else:
        facts = {"torchlint": __version__, "run": "test", "directory": str(folder), "roots": [str(folder)]}
        order = {**facts, "mode": mode, "selftest": [], "script": str(program)}
        (folder / "order.json").write_text(json.dumps(order), encoding="utf-8")
        done = warm_run(folder, "-m", "tests.gpu_runs" if mode == "gpu" else "torchlint.runtime", "order.json")
    # What torch's iterators say when a process that was forked from theirs collects them, at whatever moment.
    lines = [line for line in done.stderr.splitlines() if "can only test a child process" not in line]
    errors = [line.partition(":")[0] for line in lines if re.match(r"\w+Error\b", line)]
    return done.returncode, done.stdout, "".join(errors[-1:])


@pytest.mark.skipif(sys.platform == "win32", reason="processes are forked and get signals")
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_with_workers_ends_as_without_observation(
    tmp_path_factory: pytest.TempPathFactory, name: str
) -> None:
    wanted = ended(tmp_path_factory.mktemp("plain"), name, "plain")
    assert wanted[1]
    found = {mode: ended(tmp_path_factory.mktemp(mode), name, mode) for mode in ("cpu", "sim", "gpu")}
    assert found == dict.fromkeys(found, wanted)
