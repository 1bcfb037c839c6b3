"""What the fixes of all rules together make of code of many shapes: as the files beside it show, and complete.

``python -m tests.test_golden`` writes these files anew, and those of the fixtures. Read the difference before you
commit it.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.harness import HERE, SHAPED, SHAPES
from torchlint.model import Safety
from torchlint.testing.suites import lost_comments, stale, write_goldens

FILES = [path for path in sorted(SHAPES.glob("*.py")) if not HERE.is_golden(path)]
GOLDEN = [path for path in sorted(SHAPES.glob("*.py")) if HERE.is_golden(path)]
each_file = pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
each_golden = pytest.mark.parametrize("path", GOLDEN, ids=lambda p: p.name)


def source_of(golden: Path) -> Path:
    return golden.with_name(f"{golden.stem.rpartition('.')[0]}.py")


@each_file
def test_fixes_make_of_a_file_what_the_files_beside_it_show(path: Path) -> None:
    reasons = stale(SHAPED, path, SHAPED.results(path, "ALL"))
    assert not reasons, "\n".join(["`python -m tests.test_golden` writes it", *reasons])


@each_golden
def test_fixed_code_parses_and_is_not_fixed_again(path: Path) -> None:
    data = path.read_bytes()
    ast.parse(data)
    assert SHAPED.fixed(data, source_of(path), SHAPED.variants[path.stem.rpartition(".")[2]], "ALL") == data


@pytest.mark.parametrize("name", ["unsafe", "portable"])
@each_file
def test_all_fixes_at_once_end_in_the_same_text_as_the_safe_ones_first(path: Path, name: str) -> None:
    data, wanted = path.read_bytes(), SHAPED.variants[name]
    safe_first = SHAPED.fixed(data, path, wanted._replace(safety=Safety.SAFE), "ALL")
    assert SHAPED.fixed(safe_first, path, wanted, "ALL") == SHAPED.fixed(data, path, wanted, "ALL")


@each_golden
def test_no_comment_is_lost(path: Path) -> None:
    assert not lost_comments(*(p.read_text(encoding="utf-8") for p in (source_of(path), path)))


@pytest.mark.parametrize("path", [path for path in GOLDEN if path.stem.endswith(".unsafe")], ids=lambda p: p.name)
def test_newlines_and_the_end_of_the_file_survive_a_fix(path: Path) -> None:
    source = source_of(path)
    before, after = (p.read_bytes().rstrip(b"\n").replace(b"\n", b"\r\n") for p in (source, path))
    assert SHAPED.fixed(before, source, SHAPED.variants["unsafe"], "ALL") == after


def main() -> None:
    """Write every file that shows what fixes make, and delete those that show nothing any more."""
    for file in HERE.files:
        write_goldens(HERE, file.path, file.goldens)
    for path in FILES:
        write_goldens(SHAPED, path, SHAPED.results(path, "ALL"))


if __name__ == "__main__":
    main()
