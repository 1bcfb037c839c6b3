"""What was measured on GPUs: the files in ``evidence/``, the tables that show them, and profiles from them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from torchlint.confirm import prices

ROOT = Path(__file__).resolve().parent.parent
FILES = sorted((ROOT / "evidence").glob("*.json"))
PAGE = (ROOT / "docs" / "evidence.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"<!-- claims of (\S+):begin -->(.*?)<!-- claims of \1:end -->", PAGE, re.DOTALL)


def read(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(file.read_bytes())
    return found


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_each_file_says_where_it_was_measured_and_the_page_names_it(file: Path) -> None:
    found = read(file)
    assert found["mode"] == "gpu"
    assert file.name.startswith(f"{found['device'].lower().replace(' ', '-')}-{found['date']}")
    assert all(found[fact] for fact in ("torch", "cuda", "python"))
    assert file.name in PAGE


@pytest.mark.parametrize(("name", "table"), SHOWN, ids=[name for name, _ in SHOWN])
def test_the_table_of_claims_is_what_was_measured(name: str, table: str) -> None:
    rows = [
        f"| {rule} | {row['slow_us']:,.0f} us | {row['fast_us']:,.0f} us | "
        f"{row['ratio']:.2f} [{row['low']:.2f}, {row['high']:.2f}] |"
        for rule, row in read(ROOT / "evidence" / f"{name}.json")["parts"]["claims"]["forms"].items()
    ]
    assert [line.strip() for line in table.strip().splitlines()][2:] == rows


@pytest.mark.parametrize("name", prices.names())
def test_an_included_profile_has_the_name_that_selects_it_and_is_assumed_or_from_a_file(name: str) -> None:
    profile = prices.load(name)
    parts = [read(file)["parts"].get("profile", {}) for file in FILES if read(file)["device"] == profile.device]
    assert profile.name == name
    stored = json.loads((Path(prices.__file__).parent / "profiles" / f"{name}.json").read_bytes())
    assert profile.device is None or stored["prices"] in [part.get("prices") for part in parts]
