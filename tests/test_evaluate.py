"""The evaluation script counts what torchlint says at labeled places."""

from __future__ import annotations

import json
from pathlib import Path

import evaluate
import pytest

STEP = "    for x in data: loss = model(x.cuda()).mean(); loss.backward(); optimizer.step(); print(loss.item())\n"
CODE = f"import torch\ndef f(model, data, optimizer):\n{STEP}{STEP}"


def site(line: int, label: str, rule: str = "TL301", *, unseen: bool = False) -> dict[str, object]:
    return {
        "repository": "owner/name",
        "commit": "0",
        "path": "a.py",
        "line": line,
        "rule": rule,
        "unseen": unseen,
        "label": label,
        "reason": "because",
        "by": "reader",
    }


def write(folder: Path, sites: list[dict[str, object]]) -> list[evaluate.Site]:
    (folder / "owner+name").mkdir(exist_ok=True)
    (folder / "owner+name" / "a.py").write_text(CODE, encoding="utf-8")
    path = folder / "sites.jsonl"
    path.write_text("".join(json.dumps(s) + "\n" for s in sites), encoding="utf-8")
    return evaluate.read(path)


def test_found_missed_and_wrong_places_are_counted(tmp_path: Path) -> None:
    sites = write(tmp_path, [site(3, "flag"), site(4, "silent"), site(1, "flag"), site(2, "silent", unseen=True)])
    found = evaluate.scores(sites, tmp_path)
    seen = found["TL301", False]
    assert (seen.sites, seen.flag, seen.found, seen.warned, seen.right) == (3, 2, 1, 2, 1)
    assert [s.line for s in seen.missed] == [1]
    assert [s.line for s in seen.wrong] == [4]
    assert "| TL301 | 3 | 2 | 1 of 2 (50 %) | 1 of 2 (50 %) |" in evaluate.table(found, unseen=False)
    assert "| all | 1 | 0 | 0 of 0 | 0 of 0 |" in evaluate.table(found, unseen=True)


def test_a_missing_checkout_and_a_wrong_label_are_errors(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="owner/name"):
        evaluate.scores(write(tmp_path, [site(3, "flag")]), tmp_path / "nowhere")
    with pytest.raises(ValueError, match="maybe"):
        write(tmp_path, [site(3, "maybe")])
