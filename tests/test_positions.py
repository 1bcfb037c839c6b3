"""Positions: spans in characters, whatever the newlines and encodings."""

from __future__ import annotations

import libcst as cst
import pytest

from tests.analysis_help import find
from torchlint.analysis.module import SourceModule, SyntaxProblem
from torchlint.model import Span


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_lines_are_counted_the_same_with_any_newline(newline: str) -> None:
    module = SourceModule.parse(newline.join(["a = 1", "", "if a:", "\tf(a)"]), "x.py")
    assert module.span(find(module, "f(a)")) == Span(4, 2, 4, 6)


def test_columns_count_characters_not_bytes() -> None:
    module = SourceModule.parse("ß = 'über'; f(ß)\n", "x.py")
    assert module.span(find(module, "f(ß)")) == Span(1, 13, 1, 17)


def test_parentheses_and_line_breaks_around_a_call_do_not_move_it() -> None:
    module = SourceModule.parse("x = (\n    f(\n        1\n    )\n)\n", "x.py")
    assert module.span(find(module, "f(\n        1\n    )")) == Span(2, 5, 4, 6)


def test_a_form_feed_does_not_shift_lines() -> None:
    module = SourceModule.parse("a = 1\n\x0c\nf(a)", "x.py")
    assert module.line(find(module, "f(a)")) == 3


def test_the_statement_of_a_compound_header_ends_before_its_body() -> None:
    module = SourceModule.parse("if f(\n    1\n):\n    x = 1\n    y = 2\n", "x.py")
    assert module.statement_lines(find(module, "f(\n    1\n)")) == (1, 3)


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("x = a, b\n", "a, b"),
        ("x = (a), (b)\n", "(a), (b)"),
        ("x = ((a), (b))\n", "(a), (b)"),
        ("x = (  # (\n    a, b,\n)\n", "a, b,"),
        ("x = ()\n", ""),
        ("x[((a), b)]\n", "(a), b"),
        ("x = f'é{ a, b }'\n", "a, b"),
        ("x = f'é{ (a), (b) }'\n", "(a), (b)"),
        ("x = f'é{ ((a), (b)) }'\n", "(a), (b)"),
        ("x = f'''é{\n (a),\n (b),\n}'''\n", "(a),\n (b)"),
        ("x = f'{()}'\n", ""),
    ],
)
def test_the_text_of_a_tuple_is_what_is_inside_its_own_parentheses(text: str, inside: str) -> None:
    module = SourceModule.parse(text, "x.py")
    (found,) = module.nodes_of(cst.Tuple)
    assert module.code(found) == inside


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("x = (1\n", 1),
        ("print 'hello'\n", 1),
        ("a = 1\n<<<<<<< HEAD\n", 2),
        ("x = " + "(" * 5000 + ")" * 5000, 1),
        ("x = 1" + " + 1" * 100_000, 1),
        ("a = 1\nx = " + "-" * 10_000 + "1", 2),
        ("x = a" + ".b" * 50_000, 1),
        ("if a:\n    pass\n" + "elif a:\n    pass\n" * 5_000, 5003),
    ],
)
def test_what_cannot_be_parsed_is_a_problem_with_a_line_and_never_a_crash(text: str, line: int) -> None:
    with pytest.raises(SyntaxProblem) as caught:
        SourceModule.parse(text, "x.py")
    assert caught.value.line == line
    assert "\n" not in caught.value.message


def test_long_but_flat_code_is_not_taken_for_deep() -> None:
    table = "x = {" + ", ".join(f"'k{i}': -{i}.5" for i in range(2_000)) + "}\n"
    SourceModule.parse(table + "y = 1\n" * 2_000, "x.py")
