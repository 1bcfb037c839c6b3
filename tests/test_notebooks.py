"""Notebooks: what is found is in cells, commands of IPython are no errors, and fixes change only the code."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import torchlint
from tests.notebooks import code, markdown, notebook, sources
from torchlint.cli.main import main
from torchlint.model import Edit, Finding, Fix, Safety, Span
from torchlint.notebook.book import Book
from torchlint.text.lines import split_lines

pytestmark = pytest.mark.usefixtures("folder")
CODE = "import torch\n\n\ndef load(y):\n    return torch.zeros(3).to(y.device)\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def report(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    def run(*arguments: str) -> tuple[int, str]:
        status = main(["--no-cache", *arguments])
        return status, capsys.readouterr().out

    return run


ROOT = Path(__file__).resolve().parent.parent
Report = Callable[..., tuple[int, str]]


def places(report: Report, *arguments: str) -> list[str]:
    """The place and rule of every finding."""
    _, output = report("--output-format", "concise", "--show-info", "-q", *arguments)
    return [" ".join(line.split(": ")[:2]).rpartition(" ")[0].rpartition(" ")[0] for line in output.splitlines()]


def write(name: str, text: str) -> None:
    Path(name).write_text(text, encoding="utf-8", newline="")


# -- places ----------------------------------------------------------------------------------------


def test_a_notebook_without_anything_to_find_is_clear(report: Report) -> None:
    write("a.ipynb", notebook(markdown("# torch"), "import torch\nx = torch.zeros(3)\n", "!pip install x\nawait x"))
    assert report(".") == (0, "All clear: 1 file checked.\n")


def test_findings_are_in_cells_which_are_counted_with_those_that_hold_no_code(report: Report) -> None:
    write("a.ipynb", notebook(markdown("# One\n"), "import torch", markdown("Two"), "x = 1\ny = torch.zeros(3).cuda()"))
    assert places(report, "a.ipynb") == ["a.ipynb:cell 4:2:5 TL104", "a.ipynb:cell 4:2:5 TL701"]


def test_names_of_earlier_cells_are_known(report: Report) -> None:
    write("a.ipynb", notebook("import numpy as np\nimport torch as th", "a = np.load('a.npy')", "x = th.tensor(a)"))
    _, output = report("--show-info", "a.ipynb")
    assert "a.ipynb:cell 3:1:5: TL101" in output
    assert "`a` is an ndarray from `numpy.load` at line 1 of cell 2" in " ".join(output.split())
    assert "= cell 2:\n1 | a = np.load" in output


def test_modules_that_a_notebook_calls_are_followed(report: Report) -> None:
    write(
        "data.py",
        "from torch.utils.data import DataLoader\n\n\ndef loaders(d):\n    return DataLoader(d, num_workers=2)\n",
    )
    loop = "for x in loaders(d):\n    x = x.to('cuda:0')\n    model(x).sum().backward()\n"
    write("a.ipynb", notebook("import torch\nfrom data import loaders", markdown("x"), loop))
    _, output = report("--show-info", "--select", "TL202,TL401", ".")
    assert "a.ipynb:cell 3:2:9: TL202" in output
    assert "in a.ipynb, line 2 of cell 3" in " ".join(output.split())


def test_the_path_of_a_notebook_may_be_the_end_of_the_path_of_another_one(report: Report) -> None:
    write(
        "data.py",
        "from torch.utils.data import DataLoader\n\n\ndef loaders(d):\n    return DataLoader(d, num_workers=2)\n",
    )
    loop = "for x in loaders(d):\n    x = x.to('cuda:0')\n    model(x).sum().backward()\n"
    Path("late").mkdir()
    write("late/a.ipynb", notebook("import torch\nfrom data import loaders", markdown("x"), loop))
    write("a.ipynb", notebook("import torch"))
    _, output = report("--show-info", "--select", "TL401", ".")
    assert "in late/a.ipynb, line 2 of cell 3" in " ".join(output.split())


def test_a_notebook_is_a_program_that_other_files_say_nothing_about(report: Report) -> None:
    step = "for x in loader:\n    loss = model(x{move}).sum()\n    loss.backward()\n    print(loss.item())\n"
    write("gpu.ipynb", notebook("import torch", step.format(move=".cuda()")))
    fit = "class Fit:\n    def fit(self, model, loader):\n        " + step.format(move="").replace("\n", "\n        ")
    write("cpu.ipynb", notebook("import torch", fit))
    assert places(report, "--select", "TL301", ".") == ["gpu.ipynb:cell 2:4:11 TL301"]


def test_the_source_of_a_cell_is_shown_as_it_is_written(report: Report) -> None:
    write("a.ipynb", notebook("import torch", "%%time\n%timeit -n 3 torch.zeros(3).cuda()"))
    _, output = report("--select", "TL104", "--show-info", "a.ipynb")
    assert "2 | %timeit -n 3 torch.zeros(3).cuda()\n  |              ^^^^^^^" in output


# -- commands ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "source",
    [
        "%matplotlib inline",
        "%load_ext autoreload\n%autoreload 2",
        "!pip install -q torch \\\n  torchvision 'it''s",
        '!echo "unclosed',
        "files = !ls *.py",
        "best = %timeit -o f()",
        "a, b = !cmd",
        "torch.zeros?",
        "?torch.zeros",
        "torch.zeros??  # source",
        "np.*load*?",
        "if colab:\n    !pip install x\nelse:\n    %pip install y",
        "def f():\n    !nvidia-smi\n    return 1",
        "%%time\nx = 1",
        "%%time\n\nx = await f()",
        "#@title Set-up\n%%capture\n!pip install x",
        "%time x = 1",
        "%timeit -n 10 -r 3 f(x)",
        "%time for x in y: f(x)",
        "%time f(x) \\\n    + 1",
        "%time",
        "%prun -l 10 f()",
        "%prun -s cumulative f()",
        "x = f();",
        "async for a in b:\n    print(a)",
        "async with a as b:\n    pass",
        "pip install torch",
        "cd /content",
        "%%bash\nif [ 1 ]; then\n  ls\nfi",
        "%%writefile a.py\ndef f(:",
        "%%html\n<b>",
        "%%javascript\nalert(1);",
        "%%cython\ncdef int x = 1",
        "%%R -o x\nx <- 3",
        "%%sql\nselect * from x",
        "%%some_extension\nany text at all",
        "%sql\nSELECT *\nFROM x",
        "%md\n# A title with `code`",
        "%scala\nval x = 1",
        "%sh\nls -l | wc",
        "%fs ls /mnt",
        "%r\nx <- 3",
        "%python\nx = 1",
        "%run ./setup",
        "%pip install x",
        "dbutils.widgets.get('x')\ndisplay(df)",
        "    indented = 1\n    as_pasted = 2",
        ">>> x = 1\n1",
        "s = '''\n%no command\n!neither\n'''",
        "x = (7\n%timeit)",
        "x = [\n    1,\n]\n%matplotlib inline\ny = {\n'a': 1}",
        "from __future__ import annotations\nx = 1",
        "# -*- coding: latin-1 -*-\nx = 'é'",
        "",
        "# only a comment",
    ],
)
def test_what_ipython_understands_is_no_syntax_error(report: Report, source: str) -> None:
    write("a.ipynb", notebook("import torch", source, "x = torch.zeros(3).cuda()"))
    assert places(report, "--select", "TL104", "a.ipynb") == ["a.ipynb:cell 3:1:5 TL104"]


def test_a_value_that_a_command_gives_is_unknown(report: Report) -> None:
    write("a.ipynb", notebook("import numpy as np\nimport torch\nx = np.zeros(3)\nx = !ls\ny = torch.tensor(x)"))
    assert report("a.ipynb")[0] == 0


@pytest.mark.parametrize("first", ["%%time", "%%timeit", "%%capture out", "%%prun", "%%memit", "%python"])
def test_the_python_below_a_command_is_linted(report: Report, first: str) -> None:
    write("a.ipynb", notebook("import torch", f"{first}\nx = torch.zeros(3).cuda()"))
    assert places(report, "--select", "TL104", "a.ipynb") == ["a.ipynb:cell 2:2:5 TL104"]


def test_a_cell_that_is_no_python_is_a_finding_with_its_line_and_others_are_linted(report: Report) -> None:
    write("a.ipynb", notebook("import torch", "x = 1\ndef f(:\n", "x = torch.zeros(3).cuda()", "print 'Python 2'"))
    assert places(report, "--select", "TL104", "a.ipynb") == [
        "a.ipynb:cell 2:2:7 TL000",
        "a.ipynb:cell 3:1:5 TL104",
    ]
    assert "Python 2" in report("a.ipynb")[1]


def test_a_notebook_without_torch_need_not_be_python(report: Report) -> None:
    write("a.ipynb", notebook(markdown("not torch"), "def f(:"))
    assert report("a.ipynb") == (0, "All clear: 1 file checked.\n")


def test_a_string_that_one_cell_opens_and_another_closes_is_an_error_in_both(report: Report) -> None:
    write("a.ipynb", notebook("import torch", 'x = """', 'y = """'))
    assert [place.rpartition(":")[0] for place in places(report, "a.ipynb")] == ["a.ipynb:cell 2:1", "a.ipynb:cell 3:1"]


def test_what_stands_for_commands_and_cells_occurs_nowhere_in_the_notebook(report: Report) -> None:
    names = "_m0 = _c0 = _q0 = _x0 = _command_0_0 = 1\n# %% cell 3\n# %%% cell 2"
    before = notebook("import torch", names, "!ls\nx = torch.zeros(3).to(y.device)")
    assert fixed(report, before) == before.replace("zeros(3).to(y.device)", "zeros(3, device=y.device)")


# -- suppressions ------------------------------------------------------------------------------------


def test_comments_in_cells_suppress(report: Report) -> None:
    write("a.ipynb", notebook("import torch\nx = torch.zeros(3).cuda()  # torchlint: ignore[TL104, TL701] small"))
    assert report("a.ipynb") == (
        0,
        "Nothing found, but no training or inference loop was recognized in 1 file (2 suppressed).\n",
    )


def test_a_comment_in_any_cell_skips_the_notebook(report: Report) -> None:
    write("a.ipynb", notebook("import torch\nx = torch.zeros(3).cuda()", "def f(:", "# torchlint: skip-file"))
    assert report("a.ipynb") == (0, "Nothing found, but no training or inference loop was recognized in 1 file.\n")


def test_an_unused_suppression_is_found_in_its_cell_and_deleted(report: Report) -> None:
    write("a.ipynb", notebook("import torch", "x = 1  # torchlint: ignore[TL104]"))
    assert places(report, "a.ipynb") == ["a.ipynb:cell 2:1:28 TL001"]
    report("--fix", "a.ipynb")
    assert sources(Path("a.ipynb").read_text())[1] == "x = 1"
    write("a.ipynb", notebook("import torch", "x = 1  # type: ignore  # torchlint: ignore[TL104]  why"))
    report("--fix", "a.ipynb")
    assert sources(Path("a.ipynb").read_text())[1] == "x = 1  # type: ignore  # why"


def test_findings_are_suppressed_in_their_cells(report: Report) -> None:
    flag = "torch.backends.cudnn.deterministic = True"
    write("a.ipynb", notebook("import torch\ntorch.backends.cudnn.benchmark = True", f"%%time\n{flag}"))
    report("--add-ignore", "--reason", "tiny", "a.ipynb")
    assert sources(Path("a.ipynb").read_text())[1] == f"%%time\n{flag}  # torchlint: ignore[TL501] tiny"
    assert report("a.ipynb")[0] == 0


# -- what cannot be read -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "cannot be read: is empty; delete or exclude it"),
        ("version https://git-lfs.github.com/spec/v1\n", "cannot be read: is a pointer of Git LFS to the notebook"),
        ("import torch\n", "1: error: cannot be read: is not valid JSON: Expecting value"),
        ('{"cells": [\n"torch"', "2: error: cannot be read: is not valid JSON"),
        ('{\n<<<<<<< HEAD\n"torch"', "2: error: cannot be read: a merge conflict is not resolved here"),
        ('["torch"]', "cannot be read: is not a notebook: it has no `cells`"),
        ('{"x": "torch"}', "cannot be read: is not a notebook: it has no `cells`"),
        ('{"cells": "torch"}', "is not a notebook: its `cells` are no list"),
        ('{"cells": ["torch"]}', "is not a notebook: cell 1 is no object"),
        (
            '{"cells": [{"cell_type": "raw"}, {"cell_type": ["code"], "source": "import torch"}]}',
            "a.ipynb: error: cannot be read: the `cell_type` of cell 2 is not a text; correct or exclude it",
        ),
        ('{"cells": [{"source": "import torch"}]}', "cannot be read: the `cell_type` of cell 1 is missing"),
        ('{"cells": [{"cell_type": null, "source": "import torch"}]}', "the `cell_type` of cell 1 is not a text"),
        ('{"cells": [{"cell_type": "code", "source": 3, "x": "torch"}]}', "the `source` of cell 1 is neither a text"),
        ('{"cells": [{"cell_type": "code", "source": ["torch", 3]}]}', "the `source` of cell 1 is neither a text"),
        (
            '{"worksheets": [{"cells": [{"input": ["torch"]}]}], "nbformat": 3}',
            "before version 4 (version 3); convert it with `jupyter nbconvert --to notebook --nbformat 4 --inplace`",
        ),
        (notebook("torch\n" * 700_000), "has more than 4 MB of code, which is too large to lint: exclude it"),
        ('{"torch": ' + "[" * 200_000, "is nested too deeply to be read"),
    ],
)
def test_what_is_no_notebook_is_said_in_one_line(report: Report, text: str, said: str) -> None:
    write("a.ipynb", text)
    write("b.py", CODE)
    for options in ((), ("--fix",), ("--diff",)):
        assert report(*options, "a.ipynb")[0] == 2
    status, output = report("--output-format", "concise", "--show-info", ".")
    assert status == 2
    (line,) = (line for line in output.splitlines() if line.startswith("a.ipynb:"))
    assert said in line
    assert "b.py:5:12: TL104" in output
    assert Path("a.ipynb").read_text() == text


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "latin-1"])
def test_a_notebook_in_another_encoding_is_said(report: Report, encoding: str) -> None:
    Path("a.ipynb").write_bytes(notebook("import torch  # é").encode(encoding))
    status, output = report("a.ipynb")
    assert status == 2
    assert "UTF-8, the only encoding of notebooks; save it as UTF-8" in output


@pytest.mark.parametrize(
    "text",
    [
        '{"cells": [], "torch": 1}',
        '{"nbformat": 4, "cells": [], "torch": NaN}',
        '{"cells": [{"cell_type": "code", "source": "import torch"}], "n": ' + "9" * 10_000 + "}",
        '{"cells": [{"cell_type": "code"}, {"cell_type": "raw", "source": ["torch"]}]}',
        '{"cells": [{"cell_type": "code", "metadata": null, "source": ["import ", "torch"]}], "metadata": []}',
        '{"cells": 3, "cells": [{"source": "(", "cell_type": "code", "source": "import torch"}]}',
        "just anything without the word",
    ],
)
def test_odd_documents_are_read_as_far_as_they_are_notebooks(report: Report, text: str) -> None:
    write("a.ipynb", text)
    assert report("a.ipynb") == (0, "All clear: 1 file checked.\n")


@pytest.mark.parametrize("source", ["x = '\\ud800'  # torch", "x = '\\u0000'  # torch"])
def test_characters_that_are_none_are_an_error_in_their_cell(report: Report, source: str) -> None:
    text = notebook("import torch\nx = torch.zeros(3).cuda()", "torch#").replace("torch#", source)
    write("a.ipynb", text)
    found = places(report, "--fix", "--select", "TL104", "a.ipynb")
    assert [place.rpartition(" ")[2] for place in found] == ["TL000"]
    assert Path("a.ipynb").read_text() == text.replace("zeros(3).cuda()", 'zeros(3, device=\\"cuda\\")')


OTHER_LANGUAGES = [
    {"kernelspec": {"language": "R", "name": "ir"}},
    {"language_info": {"name": "julia"}},
]


@pytest.mark.parametrize("metadata", OTHER_LANGUAGES)
def test_notebooks_in_other_languages_have_no_python(report: Report, metadata: dict[str, Any]) -> None:
    write("a.ipynb", notebook("library(torch)\nx <- torch_zeros(3)", metadata=metadata))
    assert report(".") == (0, "All clear: 1 file checked.\n")
    status, output = report("a.ipynb")
    assert status == 2
    assert "a.ipynb: error: is not checked: the language of this notebook is" in output
    assert report("--force-exclude", "a.ipynb")[0] == 0


def test_a_single_cell_may_have_another_language(report: Report) -> None:
    other = code("SELECT torch FROM x", metadata={"vscode": {"languageId": "sql"}})
    write("a.ipynb", notebook("import torch", other, "x = torch.zeros(3).cuda()"))
    assert places(report, "--select", "TL104", "a.ipynb") == ["a.ipynb:cell 3:1:5 TL104"]


# -- fixes -------------------------------------------------------------------------------------------


def fixed(report: Report, text: str, *options: str) -> str:
    write("a.ipynb", text)
    report("--fix", "--select", "TL104", *options, "a.ipynb")
    return Path("a.ipynb").read_bytes().decode()


STYLES: list[Callable[[str], str]] = [
    lambda text: text,
    lambda text: text.removesuffix("\n"),
    lambda text: text.replace("\n", "\r\n"),
    lambda text: json.dumps(json.loads(text)),
    lambda text: json.dumps(json.loads(text), indent=4, sort_keys=True) + "\n\n",
    lambda text: json.dumps(json.loads(text), separators=(",", ":"), ensure_ascii=False),
    lambda text: "\ufeff" + text,
    lambda text: text.replace("é", "\\u00E9").replace("/", "\\/"),
    lambda text: text.replace('"import torch', '"\\u0069mport torch'),
]


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("whole", [False, True])
def test_a_fix_changes_only_the_code_that_it_fixes(report: Report, style: Callable[[str], str], whole: bool) -> None:
    cell = code("!ls 'é/\n# é\nx = torch.zeros(3).to(y.device)  # é/ü\n%matplotlib inline\n")
    if whole:
        cell["source"] = "".join(cell["source"])
    output = {"output_type": "stream", "name": "stdout", "text": ["torch.zeros(3).to(y.device)\n", "é\n"]}
    before = style(
        notebook(
            "import torch\ndevice = d()", markdown("torch.zeros(3).to(y.device) é"), cell, code("é", outputs=[output])
        )
    )
    place = before.rindex("x = torch.zeros(3).to(y.device)")
    after = before[:place] + before[place:].replace("zeros(3).to(y.device)", "zeros(3, device=y.device)", 1)
    assert fixed(report, before) == after
    assert fixed(report, after) == after


def test_a_line_that_is_added_is_one_more_in_the_list_of_lines() -> None:
    data = notebook("import torch\nx = 1").encode()
    book = Book.read(data)
    new = book.rewritten(data, book.module.replace(b"x = 1", b"x = 1\ny = '\xc3\xa9'"))
    assert new.decode() == notebook("import torch\nx = 1\ny = 'é'")


def test_code_of_a_cell_with_windows_newlines_keeps_them(report: Report) -> None:
    before = notebook(code("import torch\r\ndevice = d()\r\nx = torch.zeros(3).to(y.device)\r\n"))
    assert fixed(report, before) == before.replace("zeros(3).to(y.device)", "zeros(3, device=y.device)")


def test_the_diff_shows_cells(report: Report) -> None:
    write("a.ipynb", notebook("import torch", "%time x = torch.zeros(3).to(y.device)\n!ls"))
    status, output = report("--diff", "--select", "TL104", "a.ipynb")
    assert status == 1
    assert output == (
        "--- a.ipynb:cell 2\n+++ a.ipynb:cell 2\n@@ -1,2 +1,2 @@\n"
        "-%time x = torch.zeros(3).to(y.device)\n+%time x = torch.zeros(3, device=y.device)\n !ls\n"
    )
    assert "zeros(3).to" in Path("a.ipynb").read_text()


def test_a_notebook_that_was_changed_meanwhile_is_left_alone(report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    write("a.ipynb", notebook(CODE))
    changed = notebook(CODE + "# saved by an editor\n")
    rewritten = Book.rewritten

    def saved(book: Book, data: bytes, module: bytes) -> bytes:
        write("a.ipynb", changed)
        return rewritten(book, data, module)

    monkeypatch.setattr(Book, "rewritten", saved)
    status, output = report("--fix", "--select", "TL104", "a.ipynb")
    assert status == 2
    assert "was changed by another program in the meantime" in output
    assert Path("a.ipynb").read_text() == changed


# -- standard input and the API ----------------------------------------------------------------------


@pytest.mark.parametrize("name", [(), ("--stdin-filename", "x/a.ipynb")])
def test_a_notebook_is_read_from_standard_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: tuple[str, ...]
) -> None:
    def piped(*options: str) -> str:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        main(["-", "--select", "TL104", *name, *options])
        return capsys.readouterr().out

    text = notebook("import torch", "x = torch.zeros(3).to(y.device)")
    shown = name[1] if name else "<stdin>"
    assert piped("--output-format", "concise", "--show-info").startswith(f"{shown}:cell 2:1:5: TL104")
    assert "1 | x = torch.zeros(3).to(y.device)" in piped("--show-info")
    assert piped("--fix") == text.replace("zeros(3).to(y.device)", "zeros(3, device=y.device)")
    assert piped("--diff").startswith(f"--- {shown}:cell 2\n")
    text = "\ufeff" + text
    assert piped("--output-format", "concise", "--show-info").startswith(f"{shown}:cell 2:1:5: TL104")


def test_the_api_takes_notebooks() -> None:
    text = notebook("import torch", "x = torch.zeros(3).cuda()")
    found = torchlint.lint_source(text, "a.ipynb").findings
    assert [(finding.cell, finding.span.line, finding.rule) for finding in found] == [(2, 1, "TL104"), (2, 1, "TL701")]
    new = torchlint.fix_source(text, "a.ipynb").decode()
    assert new == text.replace("zeros(3).cuda()", 'zeros(3, device=\\"cuda\\")')
    assert torchlint.lint_source('{"torch"', "a.ipynb").problems
    assert torchlint.fix_source('{"torch"', "a.ipynb") == b'{"torch"'


# -- the cache, large notebooks, start-up --------------------------------------------------------------


def test_results_come_from_the_cache_when_only_outputs_have_changed(capsys: pytest.CaptureFixture[str]) -> None:
    cells = [code("import torch\nx = torch.zeros(3).cuda()"), code("def f(:")]
    seen = []
    for text in ("1", "2"):
        output = {"output_type": "stream", "name": "stdout", "text": [text]}
        write("a.ipynb", notebook(*cells, code("x", outputs=[output])))
        main(["-v", "a.ipynb"])
        seen.append(capsys.readouterr().out)
    assert "0 files taken from the cache" in seen[0]
    assert "1 file taken from the cache" in seen[1]
    assert seen[0].splitlines()[:10] == seen[1].splitlines()[:10]


def test_a_moved_cell_keeps_the_fingerprints_of_its_findings(report: Report) -> None:
    def prints(*cells: Any) -> list[str]:
        write("a.ipynb", notebook("import torch", *cells))
        return [f["fingerprint"] for f in json.loads(report("--output-format", "json", "a.ipynb")[1])["findings"]]

    first = prints("x = torch.zeros(3).cuda()", "def f(:")
    assert first == prints(markdown("New"), "y = 1", "x = torch.zeros(3).cuda()", "def f(:")
    assert len(set(first)) == 3


def test_large_outputs_do_not_count_as_code(report: Report) -> None:
    image = {"output_type": "display_data", "data": {"image/png": "torch" * 2_000_000, "x": [1.5] * 50_000}}
    before = notebook("import torch", code("x = torch.zeros(3).to(y.device)", outputs=[image]))
    assert fixed(report, before) == before.replace("zeros(3).to(y.device)", "zeros(3, device=y.device)")


def test_a_notebook_above_the_limit_is_said(report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torchlint.notebook.document.MAX_BYTES", 1000)
    write("a.ipynb", notebook("import torch", markdown("x" * 2000)))
    assert "is too large: notebooks are read up to 0 MB; clear its outputs" in report("a.ipynb")[1]


def test_runs_without_notebooks_import_nothing_for_them() -> None:
    write("a.py", CODE)
    run = "import sys; from torchlint.cli.main import main; main(['--no-cache', '.'])"
    code_ = f"{run}; print([name for name in sys.modules if 'notebook' in name])"
    done = subprocess.run([sys.executable, "-c", code_], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("\n[]\n")


def test_several_processes_find_the_same(report: Report) -> None:
    for number in range(8):
        write(f"{number}.ipynb", notebook("import torch", "# " + "x" * 40_000, "x = torch.zeros(3).cuda()"))
    found = places(report, "--select", "TL104", "-j", "2", ".")
    assert found == [f"{number}.ipynb:cell 3:1:5 TL104" for number in range(8)]
    assert found == places(report, "--select", "TL104", "-j", "1", ".")


def test_per_file_ignores_and_skips_apply(report: Report) -> None:
    write("a.ipynb", notebook("import torch\nx = torch.zeros(3).cuda()"))
    assert report("--per-file-ignores", "*.ipynb:TL1,TL7", ".")[0] == 0
    assert report("--exclude", "*.ipynb", ".")[1] == "No files to check.\n"


def test_confirming_a_notebook_is_refused_with_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    write("a.ipynb", notebook("import torch"))
    assert main(["confirm", "--", "a.ipynb"]) == 2
    error = capsys.readouterr().err
    assert "a.ipynb: is a notebook, not a program" in error
    assert "jupyter nbconvert --to script" in error


def test_findings_in_notebooks_cannot_be_confirmed(capsys: pytest.CaptureFixture[str], report: Report) -> None:
    write("a.ipynb", notebook("import torch\nx = torch.zeros(3).cuda()"))
    write("a.py", "x = 1\n")
    report("--output-format", "json", "--output-file", "found.json", "a.ipynb")
    assert main(["confirm", "--findings", "found.json", "--", "a.py"]) == 2
    assert "found.json: all findings are in notebooks, which are not programs" in capsys.readouterr().err


# -- documentation -------------------------------------------------------------------------------------


def test_the_documentation_shows_what_is_printed(report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    page = (ROOT / "docs" / "notebooks.md").read_text(encoding="utf-8")
    cells = re.findall(r"```python\n(.*?)\n```", section(page, "cells"), re.DOTALL)
    assert len(cells) == 3
    write("train.ipynb", notebook(markdown("# Train"), *cells))
    printed = report("--select", "TL3,TL401", "--show-info", "train.ipynb")[1]
    assert section(page, "output") == f"```\n{printed}```"
    diff = report("--select", "TL202,TL401", "--diff", "--unsafe-fixes", "train.ipynb")[1]
    assert section(page, "diff") == f"```\n{diff}```"


def section(page: str, name: str) -> str:
    """What is between two markers."""
    return page.partition(f"<!-- {name}:begin -->\n")[2].partition(f"\n<!-- {name}:end -->")[0]


# -- formats -----------------------------------------------------------------------------------------

FAR = notebook(markdown("# One\n"), "import torch\nimport numpy as np\na = np.load('a')", "\nx = torch.tensor(a)")
LINE = FAR[: FAR.index("x = torch")].count("\n") + 1
MADE = FAR[: FAR.index("a = np")].count("\n") + 1


@pytest.fixture
def document(report: Report) -> Callable[[str], Any]:
    def made(name: str) -> Any:
        write("a.ipynb", FAR)
        output = report("--output-format", name, "--select", "TL101", "a.ipynb")[1]
        return json.loads(output) if name in ("json", "sarif", "gitlab") else output

    return made


def test_json_has_cells_for_findings_evidence_and_edits(document: Callable[[str], Any]) -> None:
    (finding,) = document("json")["findings"]
    assert (finding["cell"], finding["line"], finding["column"], finding["end_line"]) == (3, 2, 5, 2)
    assert [(e["cell"], e["line"]) for e in finding["evidence"]] == [(2, 3)]
    assert {(e["cell"], e["line"]) for e in finding["fix"]["edits"]} == {(3, 2)}


def test_sarif_has_lines_of_the_file_and_the_cell_as_a_logical_location(document: Callable[[str], Any]) -> None:
    (result,) = document("sarif")["runs"][0]["results"]
    (place,) = result["locations"]
    assert place["physicalLocation"]["region"] == {"startLine": LINE, "endLine": LINE}
    assert place["logicalLocations"] == [{"name": "cell 3", "kind": "cell"}]
    (related,) = result["relatedLocations"]
    assert related["physicalLocation"]["region"] == {"startLine": MADE}
    assert related["message"]["text"].startswith("cell 2, line 3: ")
    assert result["message"]["text"].startswith("cell 3, line 2: ")
    assert result["properties"]["cell"] == 3
    assert "fixes" not in result


def test_formats_that_know_only_files_give_the_line_of_the_file(document: Callable[[str], Any]) -> None:
    github = document("github")
    assert f"file=a.ipynb,line={LINE},endLine={LINE}::cell 3, line 2: " in github
    assert "%0Acell 2, line 3: " in github
    (issue,) = document("gitlab")
    assert issue["location"] == {"path": "a.ipynb", "lines": {"begin": LINE, "end": LINE}}
    assert issue["description"].startswith("cell 3, line 2: ")
    junit = document("junit")
    assert f'line="{LINE}"' in junit
    assert "(cell 3:2:5)" in junit


def test_html_has_a_section_for_each_cell(report: Report) -> None:
    write("a.ipynb", notebook("import torch\nx = torch.zeros(3).cuda()", "y = torch.ones(3).cuda()"))
    report("--output-format", "html", "--output-file", "a.html", "--select", "TL104", "a.ipynb")
    page = Path("a.html").read_text()
    assert "a.ipynb:cell 1" in page
    assert "a.ipynb:cell 2" in page
    assert "torch.ones" in page
    assert "+++ a.ipynb:cell 2" in page


# -- editors -----------------------------------------------------------------------------------------


def test_an_edit_below_the_last_line_of_a_cell_is_one_at_its_end() -> None:
    book = Book.of_cells([(1, "code", "import torch\nx = 1"), (2, "markdown", "Text"), (3, "code", "y = 2")])
    below = split_lines(book.module.decode()).index("# %% cell 3") + 1
    finding = lint("x = 1  # torchlint: ignore[TL104]\n")[0]
    for span, text, wanted in [
        (Span(below, 1, below, 1), "z = 3\n", Edit(Span(2, 6, 2, 6), "\nz = 3", 1)),
        (Span(below - 1, 1, below, 1), "", Edit(Span(2, 1, 2, 6), "", 1)),
        (Span(below + 1, 1, below + 1, 2), "w", Edit(Span(1, 1, 1, 2), "w", 3)),
    ]:
        fix = Fix("title", Safety.SAFE, (Edit(span, text),))
        placed = book.placed(finding._replace(span=Span(below - 1, 1, below - 1, 2), fix=fix))
        assert (placed.cell, placed.span.line) == (1, 2)
        assert placed.fix is not None
        assert placed.fix.edits == (wanted,)


def lint(text: str) -> tuple[Finding, ...]:
    return torchlint.lint_source(text).findings


def test_a_piped_notebook_is_not_taken_for_a_later_file(report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = (notebook("import torch", f"x = torch.zeros({n}).cuda()") for n in (1, 2))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(first.encode())))
    report("--stdin-filename", "a.ipynb", "-")
    write("a.ipynb", second)
    assert "torch.zeros(2)" in report("--select", "TL104", "--show-info", "a.ipynb")[1]
