"""The number of rounds of a loop is known only where it is written out."""

from __future__ import annotations

import libcst as cst
import pytest

from tests.analysis_help import parse
from torchlint.analysis.rounds import rounds


@pytest.mark.parametrize(
    ("iterable", "count"),
    [
        ("range(3)", 3),
        ("range(1, 4)", 3),
        ("range(10, 0, -2)", 5),
        ("range(0)", 0),
        ("(1, 2, 3)", 3),
        ("[a, b]", 2),
        ("{a}", 1),
        ("range(n)", None),
        ("range(1, n)", None),
        ("range(1, 9, 0)", None),
        ("range(*bounds)", None),
        ("range()", None),
        ("(1, *rest)", None),
        ("loader", None),
    ],
)
def test_rounds_are_known_where_they_are_written_out(iterable: str, count: int | None) -> None:
    module = parse(f"for i in {iterable}:\n    pass\nsquares = [i * i for i in {iterable}]\n")
    assert rounds(module, next(iter(module.nodes_of(cst.For)))) == count
    assert rounds(module, next(iter(module.nodes_of(cst.ListComp)))) == count


def test_another_range_and_an_endless_loop_have_no_known_rounds() -> None:
    module = parse("from bounds import range\nfor i in range(3):\n    pass\nwhile True:\n    pass\n")
    assert rounds(module, next(iter(module.nodes_of(cst.For)))) is None
    assert rounds(module, next(iter(module.nodes_of(cst.While)))) is None
