"""Trees of CPython are shared by what follows programs and what lints files."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

from torchlint.config.config import Config
from torchlint.program.project import Program
from torchlint.run import session
from torchlint.text.trees import TREES, Trees

MODEL = "import torch\n\n\ndef loss_of(model, batch):\n    return model(batch.to('cuda')).mean()\n"
TRAIN = """
import torch
from torch.utils.data import DataLoader

from model import loss_of

model = torch.nn.Linear(3, 3).cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for batch in DataLoader(torch.utils.data.TensorDataset(torch.rand(9, 3)), batch_size=3):
    loss = loss_of(model, batch[0])
    loss.backward()
    optimizer.step()
    print(loss.item())
"""
FILES = {"model.py": MODEL, "train.py": TRAIN}


def test_a_file_is_parsed_once_in_a_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(f"# of this test alone\n{text}")
    parsed: Counter[str] = Counter()
    parse = ast.parse

    def counted(source: str | bytes, *args: object, **named: object) -> ast.AST:
        parsed[source if isinstance(source, str) else source.decode()] += 1
        return parse(source, *args, **named)  # type: ignore[call-overload, no-any-return]

    monkeypatch.setattr(ast, "parse", counted)
    found = session.run([str(tmp_path / name) for name in FILES], session.plan(Config()), jobs=1)
    assert {finding.rule for finding in found.findings} >= {"TL301"}
    assert [parsed[f"# of this test alone\n{text}"] for text in FILES.values()] == [1, 1]


def test_two_files_with_the_same_content_have_nodes_of_their_own() -> None:
    modules = Program({"a/train.py": TRAIN.encode(), "b/train.py": TRAIN.encode()}).modules
    assert modules["a/train.py"].tree is not modules["b/train.py"].tree


def test_trees_that_take_too_much_memory_are_not_kept() -> None:
    trees = Trees(kept=10)
    first = trees.of(b"a = 1\n")
    assert trees.of(b"a = 1\n") is first
    assert trees.of(b"a = 1\n", copy=1) is not first
    trees.of(b"b = 12\n")
    assert b"a = 1\n" not in trees
    assert b"b = 12\n" in trees


def test_what_does_not_parse_is_not_kept() -> None:
    with pytest.raises(SyntaxError):
        TREES.of(b"def f(:\n")
    assert b"def f(:\n" not in TREES
