"""What was not checked is said and counted: "All clear" is never said of it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from torchlint.base.limits import MAX_BYTES
from torchlint.cli.main import main
from torchlint.config.config import Config
from torchlint.run import session
from torchlint.run.linting.file import Analysis
from torchlint.run.linting.parsable import is_parsable
from torchlint.run.plan import Plan

TORCHLINT = [sys.executable, "-m", "torchlint"]
CLEAN = "import torch\n\nx = torch.ones(2)\n"


@pytest.fixture(autouse=True)
def _in_scratch_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("clean.py").write_text(CLEAN)


def report(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    status = main([*arguments, "--output-format", "json"])
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return status, document


# -- files that name torch and are no programs -----------------------------------------------------

BROKEN = [
    "import torch\ndef f(:\n",
    "import torch\nprint 'done'\n",
    "x = 1\n  # torch\n  y = 2\n",
    "import torch\nx = '\n",
    "import torch\nif x:\n\tpass\n        y = 1\n",
    "import torch\r\rdef f(:\r",
    "import torch\nx = 1\0\n",
    "# -*- coding: no-such-thing -*-\nimport torch\n",
    "import torch\n<<<<<<< ours\nx = 1\n=======\nx = 2\n>>>>>>> theirs\n",
]


@pytest.mark.parametrize("text", [*(text.encode() for text in BROKEN), b"import torch\nx = '\xff'\n"])
@pytest.mark.parametrize("select", ["TL1", "TL506", "ALL"])
def test_a_file_that_names_torch_and_does_not_parse_is_always_a_finding(text: bytes, select: str) -> None:
    """Also where no rule could fire in it; the same is said without any shortcut."""
    plan = session.plan(Config(select=(select,)))
    found = plan.lint(text, "broken.py").findings
    assert [finding.rule for finding in found] == ["TL000"]
    assert plan._replace(exhaustive=True).lint(text, "broken.py").findings == found


def test_a_file_too_large_to_read_that_names_torch_is_a_finding() -> None:
    data = b"import torch\n" + b"x = 1\n" * (MAX_BYTES // 6)
    (finding,) = session.plan(Config(select=("TL1",))).lint(data, "large.py").findings
    assert "too large" in finding.message


@pytest.mark.parametrize(
    "text",
    [
        "",
        CLEAN,
        "x = 'torch'\nprint('\\d')\n",
        "\ufeffimport torch\n",
        "import torch\r\nx = 1\r\n",
        "import torch\rx = 1\r",
        "# coding: latin-1\n# torch\n",
        "async def f():\n    return [await g(x) async for x in torch]\n",
    ],
)
def test_programs_that_nothing_is_found_in_stay_clean(text: str) -> None:
    assert session.plan(Config(select=("TL1",))).lint(text.encode(), "a.py").findings == ()


def test_what_python_only_refuses_when_it_compiles_is_no_syntax_error() -> None:
    """Both parsers read it; who runs the file is told by Python."""
    plan = session.plan(Config(select=("TL1",)))
    for text in ("import torch\nreturn 1\n", "import torch\ndef f(a):\n    global a\n"):
        assert plan.lint(text.encode(), "a.py").findings == ()


@pytest.mark.parametrize("text", ["type Pair = tuple[int, int]\n", "def f[T](x: T) -> T:\n    return x\n"])
def test_syntax_that_only_newer_versions_of_python_read_is_no_error(text: str) -> None:
    found = session.plan(Config(select=("TL1",))).lint(f"import torch\n{text}".encode(), "a.py").findings
    assert all(finding.is_notice for finding in found)


def test_a_broken_file_that_may_hold_nothing_to_find_is_not_parsed() -> None:
    assert session.plan(Config()).lint(b"import os\ndef f(:\n", "a.py").findings == ()


def test_only_files_that_nothing_else_is_parsed_for_are_asked_whether_they_parse(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[bytes] = []

    def counted(data: bytes) -> bool:
        asked.append(data)
        return is_parsable(data)

    monkeypatch.setattr("torchlint.run.linting.screened.is_parsable", counted)
    plan = session.plan(Config())
    guilty = b"import torch\n\n\ndef f(model):\n    return model.cuda()\n"
    assert plan.lint(guilty, "guilty.py").findings
    plan.lint(b"import os\n", "other.py")
    assert asked == []
    plan.lint(CLEAN.encode(), "clean.py")
    assert asked == [CLEAN.encode()]


def test_broken_files_are_found_by_every_process_and_come_from_the_cache(capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(30):
        Path(f"clean_{number}.py").write_text(f"{CLEAN}# {'x' * 9000}\n")
    Path("broken.py").write_text("import torch\ndef f(:\n")
    reports = [report(capsys, ".", "--jobs", jobs)[1] for jobs in ("1", "2", "1")]
    assert [finding["rule"] for finding in reports[0]["findings"]] == ["TL000"]
    assert reports[1] == reports[2] == reports[0]
    assert reports[0]["summary"]["unchecked"] == 1


def test_a_broken_file_is_analyzed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A project has nothing to say about it."""
    seen: list[str] = []
    analyze = Plan.analyze

    def counted(self: Plan, data: bytes, path: str, *more: Any) -> Analysis:
        seen.append(path)
        return analyze(self, data, path, *more)

    monkeypatch.setattr(Plan, "analyze", counted)
    Path("broken.py").write_text("import torch\ndef f(:\n")
    session.run(["broken.py", "clean.py"], session.plan(Config()), jobs=1)
    assert sorted(seen) == ["broken.py", "clean.py"]


# -- what is named and no Python -------------------------------------------------------------------


@pytest.mark.parametrize(("name", "text"), [("notes.md", "# torch\n"), ("run", "echo torch\n")])
def test_what_is_named_and_no_python_is_said_and_counted(
    capsys: pytest.CaptureFixture[str], name: str, text: str
) -> None:
    Path(name).write_text(text)
    assert main([name]) == 2
    output = capsys.readouterr().out
    assert "All clear" not in output
    assert output.startswith(f"{name}: error: is not checked: ")
    assert output.endswith("\nNo file was checked; 1 problem.\n")
    status, document = report(capsys, "clean.py", name)
    assert status == 2
    assert [error["path"] for error in document["errors"]] == [name]
    assert (document["summary"]["files"], document["summary"]["unchecked"]) == (1, 1)
    assert main(["--fix", name]) == 2
    assert main(["--show-files", name]) == 2


def test_what_hooks_exclude_is_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    Path("torchlint.toml").write_text('exclude = ["docs"]\n')
    Path("docs").mkdir()
    Path("docs/notes.md").write_text("torch")
    assert main(["--force-exclude", "docs/notes.md", "clean.py"]) == 0
    assert capsys.readouterr().out == "All clear: 1 file checked.\n"


def test_every_file_that_could_not_be_checked_is_counted_once(capsys: pytest.CaptureFixture[str]) -> None:
    Path("broken.py").write_text("import torch\ndef f(:\n")
    Path("notes.md").write_text("torch")
    assert main(["broken.py", "notes.md", "gone.py", "clean.py"]) == 2
    closing = capsys.readouterr().out.splitlines()[-1]
    assert closing == "Found 1 error in 2 files; 2 problems; 3 files could not be fully checked."


# -- standard input --------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [[], ["--fix"], ["--diff"], ["--stdin-filename", "a.py"]])
@pytest.mark.skipif(sys.platform == "win32", reason="shells of Windows cannot close it")
def test_standard_input_that_is_closed_is_one_line(options: list[str]) -> None:
    command = " ".join([f"'{sys.executable}'", "-m", "torchlint", *options, "-", "<&-"])
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "torchlint: error: standard input is closed: pipe a file into `torchlint -`, or name its path\n"
    )


@pytest.mark.skipif(sys.platform == "win32", reason="shells of Windows cannot close it")
def test_files_are_linted_where_everything_is_closed() -> None:
    Path("broken.py").write_text("import torch\ndef f(:\n")
    command = f"'{sys.executable}' -m torchlint --output-file report.txt . <&- >&- 2>&-"
    assert subprocess.run(["sh", "-c", command], check=False).returncode == 1
    assert "broken.py:2:7: TL000" in Path("report.txt").read_text()


def test_standard_input_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    with (tmp_path / "written").open("wb") as written:
        done = subprocess.run([*TORCHLINT, "-"], stdin=written, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("torchlint: error: standard input cannot be read: ")
    assert done.stderr.count("\n") == 1
