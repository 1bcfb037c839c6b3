"""The script for the sealed labels counts what torchlint says at the places and their alternatives."""

from __future__ import annotations

import json
from pathlib import Path

import fresh
import pytest

STEP = "    for x in data: loss = model(x.cuda()).mean(); loss.backward(); optimizer.step(); print(loss.item())\n"
CODE = f"import torch\ndef f(model, data, optimizer):\n{STEP}{STEP}"


def place(line: int, label: str, scope: str = "file", **more: object) -> dict[str, object]:
    known = {"repository": "owner/name", "commit": "0", "path": "a.py", "line": line, "rule": "TL301", "label": label}
    return {**known, "scope": scope, "reason": "because", **more}


def found(folder: Path, *places: dict[str, object]) -> list[fresh.Result]:
    (folder / "owner+name").mkdir()
    (folder / "owner+name" / "a.py").write_text(CODE, encoding="utf-8")
    path = folder / "places.jsonl"
    path.write_text("".join(json.dumps(entry) + "\n" for entry in places), encoding="utf-8")
    return fresh.results(fresh.read(path), folder)


def test_places_are_counted_by_scope_and_label(tmp_path: Path) -> None:
    rows = fresh.table(found(tmp_path, place(3, "flag"), place(1, "flag"), place(4, "silent", "project")))
    assert "| in one file | 2 | 1 of 2 (50 %) | 1 of 2 (50 %) | 1 | 0 | 0 |" in rows
    assert "| across files | 0 | 0 of 0 | 0 of 0 | 0 | 0 | 1 |" in rows
    assert "| synchronizations | 2 |" in rows


def test_an_alternative_counts_as_the_place(tmp_path: Path) -> None:
    other = [{"line": 2, "rule": "TL301"}, {"line": 3, "rule": "TL301"}]
    results = found(tmp_path, place(1, "flag", alternatives=other), place(1, "flag", alternatives=other[:1]))
    assert [result.warned for result in results] == [True, False]
    assert "| TL301 | 2 | 1 of 2 (50 %) | 1 | 0 | 0 |" in fresh.by_rule(results)


def test_an_unknown_label_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="maybe"):
        found(tmp_path, place(3, "maybe"))


def test_every_sealed_place_is_read() -> None:
    places = fresh.read()
    assert sum(entry.label == "flag" for entry in places) >= 60
    assert {entry.scope for entry in places} == {"file", "project"}
