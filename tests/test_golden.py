"""What fixes make of every fixture: as the golden files beside it show, stable, and still with all comments.

``python -m tests.test_golden`` writes the golden files anew. Read the difference before you commit it.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests import harness
from torchlint.model import Safety
from torchlint.text.comments import comments

EVERY = sorted([*harness.FIXTURES.rglob("*.py"), *harness.SHAPES.rglob("*.py")])
GOLDEN = [path for path in EVERY if harness.is_golden(path)]
FILES = [*harness.files(), *(path for path in EVERY if path.parent == harness.SHAPES and not harness.is_golden(path))]
each_file = pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(harness.ROOT)))
each_golden = pytest.mark.parametrize("path", GOLDEN, ids=lambda p: str(p.relative_to(harness.ROOT)))


SUPPRESSION = re.compile(r"torchlint: ignore|noqa: ")


def source_of(golden: Path) -> Path:
    return golden.with_name(f"{golden.stem.rpartition('.')[0]}.py")


@each_file
def test_fixes_make_of_a_fixture_what_its_golden_files_show(path: Path) -> None:
    wanted = harness.goldens(path)
    if wanted and path.is_relative_to(harness.FIXTURES):
        assert harness.rule_of(path).fix != "never", "the rule makes fixes, and says that it never does"
    shown = {golden for golden in GOLDEN if source_of(golden) == path}
    stale = "run `python -m tests.test_golden` and read the difference"
    assert shown == set(wanted), stale
    for golden, data in wanted.items():
        assert golden.read_bytes() == data, f"{golden}: {stale}"


@each_golden
def test_fixed_code_parses_and_is_not_fixed_again(path: Path) -> None:
    data, source = path.read_bytes(), source_of(path)
    ast.parse(data)
    safety, options = harness.variants()[path.stem.rpartition(".")[2]]
    assert harness.fixed(data, source, safety, options) == data


@each_golden
def test_no_comment_is_lost(path: Path) -> None:
    before, after = (p.read_text(encoding="utf-8") for p in (source_of(path), path))
    lost = {comment for comment in set(listed(before)) - set(listed(after)) if not SUPPRESSION.search(comment)}
    assert not lost


def listed(text: str) -> list[str]:
    return [text[start:end] for start, end in comments(text)]


@pytest.mark.parametrize(
    "path", [path for path in GOLDEN if path.stem.endswith(".unsafe")], ids=lambda p: p.parent.name
)
def test_newlines_and_the_end_of_the_file_survive_a_fix(path: Path) -> None:
    source, wanted = source_of(path), path.read_text(encoding="utf-8")
    text = source.read_text(encoding="utf-8")
    fixed = harness.fixed(text.rstrip("\n").replace("\n", "\r\n").encode(), source, Safety.UNSAFE, {})
    assert fixed.decode() == wanted.rstrip("\n").replace("\n", "\r\n")


def main() -> None:
    """Write every golden file, and delete those that show nothing any more."""
    written = {golden for path in FILES for golden in _write(path)}
    for golden in set(GOLDEN) - written:
        golden.unlink()


def _write(path: Path) -> set[Path]:
    wanted = harness.goldens(path)
    for golden, data in wanted.items():
        golden.write_bytes(data)
    return set(wanted)


if __name__ == "__main__":
    main()
