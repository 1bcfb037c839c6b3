"""A file that is written in Python 2 is a notice at the end of the report; one that is broken is an error."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.git_help import isolate
from tests.notebooks import notebook
from torchlint.cli.main import main
from torchlint.model import Finding
from torchlint.run.linting.failures import not_python

PYTHON2 = "import torch\nprint 'done'\n"
BROKEN = "import torch\ndef f(:\n"
CLEAN = "import torch\n\nx = torch.ones(2)\n"
GUILTY = "import torch\n\n\ndef f(x, device):\n    return x.cpu().clamp(0, 1).to(device)\n"


@pytest.fixture(autouse=True)
def _in_scratch_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    isolate(monkeypatch)
    monkeypatch.chdir(tmp_path)


def lint(capsys: pytest.CaptureFixture[str], *options: str, **files: str) -> tuple[int, str]:
    for name, text in files.items():
        Path(f"{name}.py").write_text(text, encoding="utf-8")
    status = main(["--isolated", "--no-cache", *options])
    return status, capsys.readouterr().out


def refused(code: str) -> Finding:
    """The finding for code that the parser of Python 3 refuses."""
    with pytest.raises(SyntaxError) as error:
        compile(code, "a.py", "exec")
    return not_python("a.py", code, error.value.msg, error.value.lineno or 1, error.value.offset or 1)


# -- what is Python 2 ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "code",
    [
        "x = (1\n",
        "def f(:\n",
        "x = 1 +\n",
        "for x in y\n    pass\n",
        "x = 'text\n",
        "x = 089\n",  # neither is an octal number
        "raise Error('a' b), 'c'\n",
        "```python\nx = 1\n```\n",
        "x = 10km\n",
        "<<<<<<< HEAD\nx = 1\n=======\n",
        "if x:\n    y = 1\n  z = 2\n",
        "try:\n    pass\nexcept ValueError, KeyError:\n    pass\nx = (\n",  # Python 3.14 accepts the handler
    ],
)
def test_a_broken_file_is_an_error(code: str) -> None:
    assert not refused(code).is_notice


@pytest.mark.parametrize(
    "sign",
    [
        "#!/usr/bin/env python3\n",
        "async def g():\n    pass\n",
        "def g(x) -> int:\n    return x\n",
        "x = f'{y}'\n",
        "print(rf'{y}')\n",
        "class A(B):\n    def __init__(self):\n        super().__init__()\n",
        "def g():\n    yield from h()\n",
        "while (x := y()):\n    pass\n",
        "def g():\n    nonlocal x\n",
        "try:\n    x()\nexcept OSError as e:\n    raise ValueError('no') from e\n",
    ],
)
def test_python_3_with_a_forgotten_parenthesis_of_print_is_an_error(sign: str) -> None:
    assert not refused(sign + "print 'done'\n").is_notice


@pytest.mark.parametrize(
    "code",
    [
        "print 'done'\n",
        "print '%.2f' % x, y\n",  # no f-string
        "print 'raised from x'\n",
        "for x in y: print x,\n",
        "exec 'x = 1'\n",
        "exec code in names\n",
        "try:\n    pass\nexcept OSError, error:\n    raise\nx = (\n",
        "try:\n    pass\nexcept (OSError,\n        KeyError), error:\n    raise\nx = (\n",
        "x = `y`\n",
        "print `y`\n",
        "x = y <> z\n",
        "os.chmod(path, 0755)\n",
        "x = ur'text'\n",
        "x = 10L\n",
        "x = y & 0xffL\n",
        "raise ValueError, 'no'\n",
        "raise exc_info[0], exc_info[1], exc_info[2]\n",
        "#!/usr/bin/python2.7\nif x:\n\ty = 1\n        z = 2\n",
    ],
)
def test_what_only_python_2_accepts_is_a_notice(code: str) -> None:
    found = refused(code)
    assert found.is_notice
    assert "Python 2" in found.message


# -- how it is reported ----------------------------------------------------------------------------


def test_the_notice_comes_after_the_findings_and_names_the_files(capsys: pytest.CaptureFixture[str]) -> None:
    status, said = lint(capsys, a=PYTHON2, b=PYTHON2, c=GUILTY)
    assert status == 1
    assert said.startswith("c.py:5:12: TL201")
    assert "Found 1 warning in 1 file.\n2 files are written in Python 2 and were not checked: a.py and b.py.\n" in said
    assert "TL000" not in said


@pytest.mark.parametrize("options", [(), ("--fail-on", "info"), ("--extend-select", "strict"), ("--select", "TL103")])
def test_python_2_does_not_change_the_exit_status(capsys: pytest.CaptureFixture[str], options: tuple[str, ...]) -> None:
    status, said = lint(capsys, *options, a=PYTHON2, c=CLEAN)
    assert status == 0
    assert said == "Found nothing in 1 file.\n1 file is written in Python 2 and was not checked: a.py.\n"


@pytest.mark.parametrize("options", [(), ("--exit-zero",)])
def test_a_broken_file_beside_it_is_an_error(capsys: pytest.CaptureFixture[str], options: tuple[str, ...]) -> None:
    status, said = lint(capsys, *options, a=PYTHON2, b=BROKEN)
    assert status == (0 if options else 1)
    assert said.startswith("b.py:2:7: TL000 syntax-error error")
    assert "Found 1 error in 1 file; 1 file could not be fully checked.\n" in said
    assert "1 file is written in Python 2 and was not checked: a.py.\n" in said


def test_nothing_is_praised_where_no_file_was_checked(capsys: pytest.CaptureFixture[str]) -> None:
    _, said = lint(capsys, a=PYTHON2)
    assert said == "No file was checked.\n1 file is written in Python 2 and was not checked: a.py.\n"


def test_of_many_files_the_report_names_the_first(capsys: pytest.CaptureFixture[str]) -> None:
    _, said = lint(capsys, **dict.fromkeys("abcdefg", PYTHON2))
    assert "7 files are written in Python 2 and were not checked: a.py, b.py, c.py, d.py and 3 more.\n" in said


def test_infos_that_are_shown_and_statistics_leave_it_at_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    end = "1 file is written in Python 2 and was not checked: a.py.\n"
    for option in ("--show-info", "--statistics"):
        _, said = lint(capsys, option, a=PYTHON2)
        assert said == f"No file was checked.\n{end}"


@pytest.mark.parametrize(
    ("name", "words"), [("github", "::notice"), ("sarif", '"level": "note"'), ("gitlab", '"severity": "info"')]
)
def test_no_format_calls_it_an_error(capsys: pytest.CaptureFixture[str], name: str, words: str) -> None:
    _, said = lint(capsys, "--output-format", name, a=PYTHON2)
    results = said if name != "sarif" else json.dumps(json.loads(said)["runs"][0]["results"])
    assert words in results
    assert "error" not in results.replace("syntax-error", "")


def test_json_and_junit_have_no_error_and_count_what_was_not_checked(capsys: pytest.CaptureFixture[str]) -> None:
    document: dict[str, Any] = json.loads(lint(capsys, "--output-format", "json", a=PYTHON2)[1])
    (found,) = document["findings"]
    assert (found["rule"], found["severity"], found["line"]) == ("TL000", "info", 2)
    assert document["errors"] == []
    summary = document["summary"]
    assert (summary["error"], summary["info"], summary["notices"], summary["unchecked"]) == (0, 0, 1, 1)
    assert 'failures="0" errors="0"' in lint(capsys, "--output-format", "junit", a=PYTHON2)[1]


def test_a_severity_cannot_make_it_an_error_and_a_comment_is_not_added(capsys: pytest.CaptureFixture[str]) -> None:
    Path("torchlint.toml").write_text("[severity]\nALL = 'error'\n", encoding="utf-8")
    Path("a.py").write_text(PYTHON2, encoding="utf-8")
    assert main(["--no-cache", "--config", "torchlint.toml"]) == 0
    assert main(["--isolated", "--no-cache", "--add-ignore"]) == 0
    said = capsys.readouterr().out
    assert "TL000" not in said
    assert said.endswith("Nothing to suppress in 1 file.\n1 file is written in Python 2 and was not checked: a.py.\n")
    assert Path("a.py").read_text(encoding="utf-8") == PYTHON2


def test_a_baseline_keeps_what_it_says_of_a_file_that_is_not_checked(capsys: pytest.CaptureFixture[str]) -> None:
    lint(capsys, "--baseline", "known.json", "--write-baseline", a=GUILTY)
    status, said = lint(capsys, "--baseline", "known.json", "--prune-baseline", a=PYTHON2)
    assert status == 0
    assert "no longer" not in said
    assert "TL201" in Path("known.json").read_text(encoding="utf-8")
    lint(capsys, "--baseline", "new.json", "--write-baseline", a=PYTHON2)
    assert "TL000" not in Path("new.json").read_text(encoding="utf-8")


def test_cells_in_python_2_are_a_notice_and_the_others_are_linted(capsys: pytest.CaptureFixture[str]) -> None:
    cells = ("import torch", "print 'done'", GUILTY, "x = (")
    Path("a.ipynb").write_text(notebook(*cells), encoding="utf-8")
    _, said = lint(capsys)
    assert "TL201" in said
    assert "a.ipynb:cell 4:1:5: TL000 syntax-error error" in said
    assert (
        "1 file could not be fully checked.\n1 cell is written in Python 2 and was not checked: a.ipynb:cell 2.\n"
        in said
    )


def test_a_cell_of_python_3_with_a_forgotten_parenthesis_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.ipynb").write_text(notebook("import torch\nx = f'{torch}'", "print 'done'"), encoding="utf-8")
    assert "a.ipynb:cell 2:1:1: TL000 syntax-error error" in lint(capsys)[1]


def test_a_page_names_the_files_too(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("jinja2")
    page = lint(capsys, "--output-format", "html", a=PYTHON2, c=CLEAN)[1]
    assert "1 file is written in Python 2 and was not checked: a.py." in page


# -- newer syntax ----------------------------------------------------------------------------------


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="this Python has type parameters")
def test_syntax_of_a_newer_python_is_a_notice_that_names_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    status, said = lint(capsys, "a.py", "b.py", a="import torch\ndef f[T](x: T) -> T: return x\n", b=CLEAN)
    assert status == 0
    assert "1 file is written in a newer Python and was not checked: a.py.\n" in said
    _, said = lint(capsys, "--output-format", "json", "a.py")
    [finding] = json.loads(said)["findings"]
    version = ".".join(map(str, sys.version_info[:2]))
    assert finding["message"].startswith(f"Python {version}, which runs torchlint, does not parse this (")
    assert finding["line"] == 2
