"""Evidence that was damaged or made up: one line that names the file and says what to do, and status 2."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.companion_help import confirm, write
from torchlint.cli.main import main
from torchlint.config.config import Config
from torchlint.confirm import chrome, compare, evidence, order, prices, text
from torchlint.confirm.documents import RENDERERS
from torchlint.confirm.order import OrderProblem
from torchlint.confirm.result import result
from torchlint.model import RuleInfo
from torchlint.report.json import document as report_document
from torchlint.run import results, session
from torchlint.run.rules import registry

PROGRAM = """
    import numpy as np
    import torch
    from torch.utils.data import DataLoader

    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.deterministic = True
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = torch.nn.Sequential(torch.nn.Conv1d(1, 2, 3), torch.nn.Flatten(), torch.nn.Linear(12, 2)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(torch.randn(12, 1, 8), batch_size=4, pin_memory=True)
    for x in loader:
        scale = torch.zeros(1).to(device)
        scale = scale + torch.tensor(np.ones((1,), dtype=np.float32)).to(device)
        many = torch.tensor([np.zeros(2), np.zeros(2)])
        loss = (model(x.to(device)) * scale).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(loss.item())
"""
WRONG: list[Any] = [
    None,
    True,
    -2,
    0,
    2**31,
    10**400,
    1.5,
    float("inf"),
    float("nan"),
    "",
    "x\0y",
    "\ud800",
    "\x1b[2J",
    [],
    {},
    [[]],
    [1, 2, 3, 4, 5],
    {"how": "exception"},
]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The evidence of a real run."""
    folder = tmp_path_factory.mktemp("recorded")
    write(folder, PROGRAM)
    done = confirm(folder, "--evidence", "kept", "--fail-on", "never", "--select", "ALL", "--", "program.py")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def kept(recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, to be damaged, where its program is."""
    monkeypatch.chdir(recorded)
    return Path(shutil.copytree(recorded / "kept", tmp_path / "kept"))


def files_of(folder: Path) -> list[Path]:
    return [folder / "order.json", *folder.glob("evidence-*.json")]


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Everything in a document; of what is numbered, the first and the last."""
    yield at
    if isinstance(value, dict):
        for key in _ends(sorted(value, key=int)) if all(map(str.isdigit, value)) else value:
            yield from places(value[key], (*at, key))
    elif isinstance(value, list):
        for index in _ends(range(len(value))):
            yield from places(value[index], (*at, index))


def _ends(values: Sequence[Any]) -> Sequence[Any]:
    return values[:: max(len(values) - 1, 1)]


def mutants(document: Any) -> Iterator[tuple[str, Any]]:
    """The document with each of its parts taken away, doubled, or replaced by each of the wrong things."""
    text = json.dumps(document)
    for at in places(document):
        changes: list[Callable[[Any, Any], None]] = [lambda holder, key: holder.pop(key)]
        changes += [lambda holder, key, wrong=wrong: holder.__setitem__(key, wrong) for wrong in WRONG]  # type: ignore[misc]
        changes.append(lambda holder, key: holder.__setitem__(key, [holder[key]]))
        changes.append(lambda holder, key: holder.__setitem__(key, {"a": holder[key]}))
        for number, change in enumerate(changes):
            whole = {"document": json.loads(text)}
            holder: Any = whole
            *path, last = ("document", *at)
            for key in path:
                holder = holder[key]
            change(holder, last)
            if "document" in whole:
                yield f"{'.'.join(map(str, at))} {number}", whole["document"]


@cache
def every_rule() -> tuple[RuleInfo, ...]:
    return results.infos(registry.load())


def judged(folder: Path, formats: Collection[str] = tuple(RENDERERS)) -> list[str]:
    """What `torchlint verdict` does, as text and in these formats."""
    ordered = order.read(str(folder))
    seen = evidence.read(ordered.directory, ordered.run)
    if order.stale(ordered, seen.sources) is not None:
        return []
    found = result(ordered, seen, prices.load(prices.DEFAULT), {})
    named = {finding.rule for finding in found.findings}
    infos = tuple(info for info in every_rule() if info.id in named)
    chrome.document(seen)
    return [text.render(found), *(RENDERERS[name](found, infos) for name in formats)]


def test_whole_evidence_is_judged(kept: Path) -> None:
    texts = judged(kept)
    assert len(texts) == 1 + len(RENDERERS)
    assert all("TL301" in each for each in texts)
    assert main(["verdict", str(kept), "--isolated", "--fail-on", "never"]) == 0


@pytest.mark.parametrize("number", [0, 1], ids=["order", "evidence"])
def test_damaged_evidence_is_refused_or_judged_and_never_a_traceback(kept: Path, number: int) -> None:
    file = files_of(kept)[number]
    whole = json.loads(file.read_bytes())
    tried = refused = 0
    for (name, damaged), shown in zip(mutants(whole), itertools.cycle(RENDERERS)):
        file.write_text(json.dumps(damaged), encoding="utf-8")
        tried += 1
        try:
            for each in judged(kept, [shown]):
                assert "\x1b" not in each, name
        except (OrderProblem, evidence.EvidenceProblem) as problem:
            refused += 1
            assert "\n" not in str(problem) and str(kept) in str(problem), name
        except Exception as error:
            raise AssertionError(f"{name}: {error!r}") from error
    assert tried > 600
    assert refused > tried / 2


@pytest.mark.skipif(sys.platform == "win32", reason="no pipes there")
@pytest.mark.parametrize("number", [0, 1], ids=["order", "evidence"])
@pytest.mark.parametrize(
    "damage", ["empty", "half", "latin", "null", "number", "nested", "folder", "pipe", "endless", "gone", "other"]
)
def test_a_damaged_file_of_evidence_is_one_line(
    kept: Path, number: int, damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = files_of(kept)[number]
    contents = {
        "empty": b"",
        "half": file.read_bytes()[: file.stat().st_size // 2],
        "latin": file.read_bytes().replace(b'"base"', b'"b\xe4se"').replace(b'"kind"', b'"k\xefnd"'),
        "null": b"null",
        "number": b'{"schema": 1e999}',
        "nested": b"[" * 100_000,
        "other": b'{"schema": 2}',
    }
    file.unlink()
    if damage in contents:
        file.write_bytes(contents[damage])
    elif damage == "folder":
        file.mkdir()
    elif damage == "pipe":
        os.mkfifo(file)
    elif damage == "endless":
        file.symlink_to("/dev/zero")
    assert main(["verdict", str(kept), "--isolated"]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith(f"torchlint: error: {kept}") and err.count("\n") == 1


def test_a_folder_with_marks_of_globs_in_its_name_is_read(kept: Path) -> None:
    odd = kept.rename(kept.with_name("run[1]*"))
    assert judged(odd)


def test_evidence_that_is_shown_cannot_steer_a_terminal(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evil = "\x1b]0;owned\x07\u202e"
    for file in files_of(kept):
        written = json.loads(file.read_bytes())
        for key in {"torch", "unit", "notes", "device", "script"} & written.keys():
            written[key] = [evil] if key == "notes" else evil
        for finding in written.get("findings", {}).values():
            finding["name"] = finding["rule"] = evil
        file.write_text(json.dumps(written), encoding="utf-8")
    assert main(["verdict", str(kept), "--isolated", "--fail-on", "never"]) == 0
    out = capsys.readouterr().out
    assert "owned" in out
    assert [c for c in out if c != "\n" and not (c.isprintable() or c == " ")] == []


# -- what comes from other files ------------------------------------------------------------------


def test_a_damaged_report_is_refused_or_compared_and_never_a_traceback(recorded: Path, tmp_path: Path) -> None:
    """`confirm --findings` and `compare --findings`."""
    path = str(recorded / "program.py")
    plan = session.plan(Config(select=("TL2",)))
    made = report_document(session.run([path], plan))
    assert any(finding["fix"] for finding in made["findings"])
    file = tmp_path / "report.json"
    tried = refused = 0
    for name, damaged in mutants(made):
        file.write_text(json.dumps(damaged), encoding="utf-8")
        tried += 1
        try:
            use(order.read_findings(str(file), str(recorded)), recorded)
        except (OrderProblem, compare.ComparisonProblem) as problem:
            refused += 1
            assert "\n" not in str(problem), name
        except Exception as error:
            raise AssertionError(f"{name}: {error!r}") from error
    assert tried > 300
    assert refused > tried / 3


def use(findings: list[Any], folder: Path) -> None:
    """What `compare` does with findings before it runs anything."""
    for finding in findings:
        compare.method_of(finding)
        made = order.Order(str(folder), str(folder), "program.py", None, (), {}, {}, {})
        compare.Forms(finding, made, unsafe=True)


def test_a_damaged_price_list_is_refused(tmp_path: Path) -> None:
    whole = json.loads((Path(prices.__file__).parent / "profiles" / "nominal.json").read_bytes())
    file = tmp_path / "profile.json"
    for name, damaged in mutants(whole):
        file.write_text(json.dumps(damaged), encoding="utf-8")
        try:
            loaded = prices.load(str(file))
        except prices.ProfileProblem as problem:
            assert "\n" not in str(problem), name
        else:
            assert min(loaded.pageable, loaded.pinned, loaded.download) > 0, name
            assert max(loaded.copy, loaded.synchronize, loaded.launch) < float("inf"), name
