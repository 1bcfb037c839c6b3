"""Random notebooks: writing back an unchanged module changes no byte, and a changed cell changes nothing else."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchlint.notebook import rewrite
from torchlint.notebook.book import Book
from torchlint.notebook.document import NotebookProblem
from torchlint.notebook.positions import line_numbers
from torchlint.text.cells import Cells

LINES = st.sampled_from(
    [
        "import torch",
        "x = 1",
        "    y = 'é\\t\\u2028 😀'",
        "%matplotlib inline",
        "!ls \\",
        "if x:",
        "    %pip install y",
        "%time x = f('é')",
        "%%bash",
        "s = '''",
        "obj?",
        "# %% cell 3",
        "_m1 = '\"\\\\'",
        "",
        "\x0c",
        "z = _m[0]  # \u2028 \x85",
        'The cells of a notebook: "# %% cell 1" begins one',
    ]
)
NEWLINES = st.sampled_from(["\n", "\n", "\n", "\r\n", "\r"])
SOURCES = st.lists(st.tuples(LINES | st.text(max_size=12), NEWLINES), max_size=6).map(
    lambda lines: "".join(line + newline for line, newline in lines)
)


@st.composite
def cells(draw: st.DrawFn) -> dict[str, Any]:
    """A cell whose source has one of the forms that there are."""
    source = draw(SOURCES)
    form = draw(st.sampled_from(["lines", "whole", "parts"]))
    value: object = source
    if form == "lines":
        value = source.splitlines(keepends=True)
    elif form == "parts":
        cut = draw(st.integers(0, len(source)))
        value = [source[:cut], source[cut:]]
    outputs = draw(st.sampled_from([[], [{"output_type": "stream", "text": '[]{"source": ["torch'}]]))
    items = [
        ("cell_type", draw(st.sampled_from(["code", "code", "markdown"]))),
        ("source", value),
        ("outputs", outputs),
    ]
    return dict(draw(st.permutations([*items, ("metadata", {"source": ["no"]})])))


@st.composite
def notebooks(draw: st.DrawFn) -> bytes:
    """The bytes of a notebook in one of many layouts."""
    document = {"cells": draw(st.lists(cells(), max_size=4)), "x": "torch", "nbformat": 4, "metadata": {"cells": [3]}}
    layout: dict[str, Any] = draw(
        st.sampled_from([{"indent": 1}, {"indent": "\t"}, {}, {"separators": (",", ":")}, {"indent": 0}])
    )
    text = json.dumps(document, ensure_ascii=draw(st.booleans()), **layout)
    text = draw(st.sampled_from(["", "\ufeff", " \n"])) + text + draw(st.sampled_from(["", "\n", "\r\n\n"]))
    return text.replace("\ufeff ", "\ufeff").encode("utf-8", "surrogatepass")


def read(data: bytes) -> Book | None:
    try:
        return Book.read(data)
    except NotebookProblem:
        assert b"\xed" in data  # half of a surrogate pair
        return None


@settings(max_examples=300, deadline=None)
@given(notebooks())
def test_an_unchanged_module_changes_no_byte(data: bytes) -> None:
    book = read(data)
    if book is not None:
        assert book.rewritten(data, book.module) == data
        assert book.changed(book.module) == {}


@settings(max_examples=300, deadline=None)
@given(notebooks(), st.data())
def test_a_changed_cell_changes_nothing_else(data: bytes, draw: st.DataObject) -> None:
    book = read(data)
    text = book.module.decode() if book is not None else ""
    found = Cells.of(text)
    if book is None or found is None or not found.sources():
        return
    number = draw.draw(st.sampled_from(sorted(found.sources())))
    added = draw.draw(st.sampled_from(["q = 1\n", "'é\"\\\\/'  # \t😀\n", "a\nb\n"]))
    above = found.marks.above(number)
    module = text.replace(f"\n{above}", f"\n{above}{added}", 1).encode()
    after = book.rewritten(data, module)
    old, new = (json.loads(each.decode("utf-8-sig")) for each in (data, after))
    source = "".join(old["cells"][number - 1]["source"])
    assert re.sub(r"\r\n?", "\n", "".join(new["cells"][number - 1]["source"])) == re.sub(r"\r\n?", "\n", added + source)
    assert isinstance(new["cells"][number - 1]["source"], type(old["cells"][number - 1]["source"]))
    new["cells"][number - 1]["source"] = old["cells"][number - 1]["source"]
    assert new == old
    assert [*new] == [*old]
    same = next(i for i in range(len(data)) if data[i] != after[i])
    assert data[:same].count(b'"cell_type"') <= number
    assert data.endswith(after[-1 - len(after) + after.rindex(b"]") :])


def test_lines_around_the_changes_of_a_large_cell_keep_their_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rewrite, "_MOST_PAIRS", 3)
    data = rb'{"cells": [{"cell_type": "code", "source": "t = \u0022torch\u0022\nx\ny\nz = \u0022\u0022"}]}'
    book = Book.read(data)
    module = book.module.replace(b"\nx\ny\n", b"\nb\nx\nc\ny\n")
    assert book.rewritten(data, module) == data.replace(rb"\nx\ny\n", rb"\nb\nx\nc\ny\n")


@settings(max_examples=200, deadline=None)
@given(notebooks())
def test_the_lines_of_the_file_hold_the_lines_of_the_cells(data: bytes) -> None:
    book = read(data)
    if book is None:
        return
    text = data.decode("utf-8-sig")
    lines = text.split("\n")
    for (cell, line), number in line_numbers(text).items():
        shown = book.lines(cell)
        if shown is not None and line <= len(shown) and shown[line - 1].isascii() and shown[line - 1].isalnum():
            assert shown[line - 1][0] in lines[number - 1]  # the rest may be in the next string
