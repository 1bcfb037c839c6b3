"""CI fails if what decides findings has more lines than before."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scripts.lines import main


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name in ("torchlint/rules/copies/a.py", "torchlint/runtime/b.py", "torchlint/on.py", "scripts/lines.json"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("a = 1\n" * 10)
    limits = {"what decides findings": 20, "the package without confirm and runtime": 20}
    (tmp_path / "scripts/lines.json").write_text(json.dumps(limits))
    return tmp_path


def test_as_many_lines_as_before_are_no_error(checkout: Path) -> None:
    (checkout / "torchlint/runtime/b.py").write_text("a = 1\n" * 99)
    assert main([], checkout) == 0


def test_more_lines_are_an_error_that_names_the_part_and_are_not_taken_over(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (checkout / "torchlint/on.py").write_text("a = 1\n" * 13)
    assert main([], checkout) == 1
    assert "what decides findings has 23 lines, 3 more than before" in capsys.readouterr().err
    assert main(["--write"], checkout) == 1
    assert json.loads((checkout / "scripts/lines.json").read_text())["what decides findings"] == 20


def test_fewer_lines_become_the_new_limit(checkout: Path) -> None:
    (checkout / "torchlint/rules/copies/a.py").write_text("a = 1\n" * 4)
    assert main(["--write"], checkout) == 0
    assert json.loads((checkout / "scripts/lines.json").read_text())["what decides findings"] == 14
