"""The catalogue of functions: each is written down once, and that is enough for all that read it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from torchlint.catalogue import functions
from torchlint.catalogue.records import CountedKind, Function
from torchlint.catalogue.views import COUNTING
from torchlint.run.linting import repairs

# A linter whose catalogue has two functions more: one that counts what it finds, and one that reads.
LINTER = """
import sys
from torchlint.catalogue import functions
from torchlint.catalogue.records import Counted, Function, Wait

RECORDS = {
    "innocent": {},
    "guilty": {
        "run_lengths": Function(counts=Counted("unique"), waits=Wait("run_lengths", "RunLengths.cu", ("run_lengths",))),
        "read_back": Function("m", gives="other", place="host", waits=Wait("read", "Copy.cu")),
    },
}
for name, record in RECORDS[sys.argv.pop(1)].items():
    functions.FUNCTIONS[name] = functions.METHODS[name] = record
    if "f" in record.where:
        functions.OF_TORCH[name] = record

from torchlint.cli.main import main

sys.exit(main(sys.argv[1:]))
"""
PROGRAM = """
import torch
from torch.utils.data import DataLoader
from lengths import lengths

def train(model, loader: DataLoader, optimizer):
    for x, y in loader:
        x, y = x.cuda(), y.cuda()
        runs = torch.run_lengths(y)
        loss = torch.nn.functional.mse_loss(model(x), y) + lengths(y)
        loss.backward()
        optimizer.step()
        value = loss.read_back()

if __name__ == "__main__":
    model = torch.nn.Linear(3, 3).cuda()
    train(model, DataLoader(list(range(9))), torch.optim.SGD(model.parameters(), 0.1))
"""
HELPER = """
def lengths(y):
    return y.run_lengths().sum()
"""


def _lint(folder: Path, records: str) -> set[tuple[str, str, int]]:
    (folder / "train.py").write_text(PROGRAM, encoding="utf-8")
    (folder / "lengths.py").write_text(HELPER, encoding="utf-8")
    command = [sys.executable, "-c", LINTER, records, "--isolated", "--no-cache", "--output-format", "json", "."]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.stdout, done.stderr
    found = json.loads(done.stdout)["findings"]
    return {(one["rule"], one["path"], one["line"]) for one in found if one["rule"] in ("TL301", "TL304")}


def test_what_is_not_in_the_catalogue_does_not_wait(tmp_path: Path) -> None:
    assert _lint(tmp_path, "innocent") == set()


def test_a_record_alone_makes_the_rules_and_the_engine_know_a_function(tmp_path: Path) -> None:
    found = _lint(tmp_path, "guilty")
    assert {("TL304", "train.py", 9), ("TL301", "train.py", 13)} <= found
    assert ("TL304", "lengths.py", 3) in found  # only following the program gets there


def test_no_function_is_written_down_twice() -> None:
    names = [name for entry in functions._TABLE for name in entry.split()]
    assert sorted(names) == sorted(set(names))


def test_every_function_exists_where_its_record_says() -> None:
    import torch

    owners = {"m": (torch.Tensor,), "f": (torch, torch.linalg), "n": (torch.nn.functional,)}
    for name, function in functions.FUNCTIONS.items():
        places = [owner for letter in function.where for owner in owners[letter]]
        assert any(hasattr(owner, name) for owner in places), name


def test_what_waits_names_the_place_that_shows_it() -> None:
    waits = [function.waits for function in functions.FUNCTIONS.values() if function.waits is not None]
    assert waits
    assert all("/" in wait.source and ":" in wait.source for wait in waits)


def test_every_kind_of_count_has_its_advice() -> None:
    kinds: set[CountedKind] = {counted.kind for counted in COUNTING.values()}
    assert kinds - {"one_hot"} <= repairs._BY_COUNT.keys()  # the form of which has advice of its own


def test_a_result_of_a_new_size_has_no_memory_of_the_tensor() -> None:
    counted: list[Function] = [function for function in functions.FUNCTIONS.values() if function.counts]
    assert counted
    assert not any(function.shares for function in counted)
