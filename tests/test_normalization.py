"""Spellings that formatters remove: spaces around dots, CR alone as newline, identifiers not in NFKC form."""

# ruff: noqa: RUF001 - letters that look like others are the point
from __future__ import annotations

import io
import itertools
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import harness, representatives
from torchlint.model import FileResult, Safety
from torchlint.run.fixing.fixer import fix_text
from torchlint.text.normalization import has_unnormalized_names

EVERYTHING = harness.HERE.plan("ALL", {})
EXHAUSTIVE = EVERYTHING._replace(exhaustive=True)
FILES = sorted(representatives.shortest_files(), key=lambda path: (path.stat().st_size, path))
INSIDE = ("\n        .", ".\n        ", "  # why\n        .", ".  # why\n        ")  # brackets only
ANYWHERE = (" . ", ". ", " .", "\t.", ".\\\n        ", "\\\n        .", " \\\n.", "\f.")
COPIES = "import numpy as np\nimport torch\n\n\ndef f(path):\n    return torch.tensor(np.load(path))\n"


def odd(text: str) -> bool:
    return has_unnormalized_names(text.encode(), lambda: text)


@pytest.mark.parametrize(
    "text",
    [
        "x = torch.ones(2).cuda()",
        "x = (torch.ones(2)\n     .cuda()\n     # torch . ones\n     .cpu())",
        "from . import torch\nfrom .torch import x\nfrom .. import y\nfrom . torch import y",
        "x = 1. if torch else 2. \ny = [0., 1.]\nz = 1_0.\nt = x[1. :]",
        "def f(torch): ...\n\n\ndef g(): ...  # no more",
        '"""Of torch. Args: f(x).\n\nMore. x(y)\n"""\nx = 1  # torch. f(x)\n# torch. f(x)\n',
        "'''Of torch. f(x)\n\nMore .x\n'''\n",
        "x = 'torch. f(x)' + r\"torch .f\" + f'torch. f(x) {x}'",
        "raise ValueError('no torch.\\\n        f(x)')",
        "# ｔｏｒｃｈ\nx = 'ｔｏｒｃｈ'\nprint('，。')  # torch，ﬁle\ny = 'µ²'",
        "größe = torch.ones(2)  # μ is in normal form",
    ],
)
def test_ordinary_text_is_not_odd(text: str) -> None:
    assert not odd(text)


@pytest.mark.parametrize("text", ["x = ｔｏｒｃｈ.ones(2)", "import torch\nﬁle = 1", "x = f'{ｔｏｒｃｈ.ones}'"])
def test_names_in_another_form_are_odd(text: str) -> None:
    assert odd(text)


# -- with and without shortcuts --------------------------------------------------------------------


def points(text: str) -> Iterator[tuple[int, bool]]:
    """The offsets of the points of attributes, and whether they stand in brackets."""
    lines = text.splitlines(keepends=True)
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    depth, imports, before = 0, False, tokenize.NEWLINE
    for token, following in itertools.pairwise(tokens):
        if before in (tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.COMMENT) and not depth:
            imports = token.string in ("import", "from")
        depth += (token.string in ("(", "[", "{")) - (token.string in (")", "]", "}"))
        if token.type == tokenize.OP and token.string == "." and following.type == tokenize.NAME and not imports:
            yield sum(map(len, lines[: token.start[0] - 1])) + token.start[1], depth > 0
        before = token.type


def spaced(text: str, gap: str) -> str:
    """The text with the same blanks around all points that may have them."""
    parts, position = [], 0
    for place, inside in points(text):
        if inside or gap in ANYWHERE:
            parts += [text[position:place], gap]
            position = place + 1
    return "".join([*parts, text[position:]])


def widened(text: str) -> str:
    """The text with the names of libraries in full-width letters."""
    lines = [list(line) for line in text.splitlines(keepends=True)]
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NAME and token.string in ("torch", "np", "numpy", "model", "x"):
            (line, start), (_, end) = token.start, token.end
            lines[line - 1][start:end] = [chr(ord(letter) + 0xFEE0) for letter in token.string]
    return "".join(letter for line in lines for letter in line)


def same(text: str, path: Path) -> FileResult:
    """What is found, with and without shortcuts."""
    compile(text, str(path), "exec")
    found = EVERYTHING.lint(text.encode(), path.name)
    assert found == EXHAUSTIVE.lint(text.encode(), path.name), path
    return found


@pytest.mark.parametrize(
    ("path", "gap"),
    [(path, (*ANYWHERE, *INSIDE)[number % 12]) for number, path in enumerate(FILES[:24])],
    ids=lambda value: str(value.relative_to(harness.FIXTURES)) if isinstance(value, Path) else repr(value),
)
def test_blanks_around_points_hide_nothing(path: Path, gap: str) -> None:
    same(spaced(path.read_text(encoding="utf-8"), gap), path)


@pytest.mark.parametrize("path", FILES[:14], ids=lambda path: str(path.relative_to(harness.FIXTURES)))
def test_names_in_full_width_letters_hide_nothing(path: Path) -> None:
    same(widened(path.read_text(encoding="utf-8")), path)


def test_names_that_are_only_equal_in_normal_form_are_one_name() -> None:
    text = COPIES.replace("torch", "ｔｏｒｃｈ").replace("(path)", "(ﬁle)", 1).replace("path", "file")
    (finding,) = same(text, Path("a.py")).findings
    assert finding.rule == "TL101"
    assert finding.span[:2] == (6, 12)
    assert "`torch.as_tensor(np.load(file))`" in finding.message
    fixed = fix_text(text.encode(), "a.py", EVERYTHING, Safety.UNSAFE)[0].decode()
    assert fixed == text.replace("ｔｏｒｃｈ.tensor", "ｔｏｒｃｈ.as_tensor")


def test_statements_that_are_parsed_as_a_whole_have_the_same_names() -> None:
    cases = "    match kind:\n        case 1:\n            return x\n        case _:\n            return x.cuda()\n"
    text = f"import torch\n\n\ndef f(x: torch.Tensor, kind):\n{cases}"
    (finding,) = same(text.replace("x", "ｘ"), Path("a.py")).findings
    assert (finding.rule, finding.span.line) == ("TL701", 9)
    same(text.replace("x.cuda()", 'f"{ｘ.cuda()}" "x"').replace("x:", "ｘ:"), Path("a.py"))


def test_places_are_right_behind_a_name_that_is_longer_in_normal_form() -> None:
    text = COPIES.replace("    return ", "    ﬃ, ﬁ = 1, ")
    assert [f.span for f in same(text, Path("a.py")).findings] == [
        f.span for f in same(text.replace("ﬃ", "a").replace("ﬁ", "b"), Path("a.py")).findings
    ]


# -- CR alone --------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", FILES[:14], ids=lambda path: str(path.relative_to(harness.FIXTURES)))
def test_lines_that_end_with_cr_alone_are_lines(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    old = text.replace("\n", "\r")
    assert same(old, path) == EVERYTHING.lint(text.encode(), path.name)
    fixed, fixed_old = (fix_text(t.encode(), path.name, EVERYTHING, Safety.UNSAFE)[0] for t in (text, old))
    assert fixed_old == fixed.replace(b"\n", b"\r")


def test_mixed_line_ends_are_counted_as_python_counts_them() -> None:
    text = COPIES.replace("\n", "\r", 1).replace("\n", "\r\n", 2)
    assert [f.span.line for f in same(text, Path("a.py")).findings] == [6]
    assert [f.span.line for f in same(text.replace("\r", "\r\r", 1), Path("a.py")).findings] == [7]


def test_a_comment_after_a_point_hides_no_move() -> None:
    text = (harness.FIXTURES / "load-without-map-location" / "cases_distributed.py").read_text(encoding="utf-8")
    found = same(text.replace("model.to(rank)", "model.  # why\n        to(rank)"), Path("cases.py")).findings
    assert [finding.rule for finding in found] == ["TL702"]
