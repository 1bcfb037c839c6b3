"""``--add-ignore``: suppression comments that change nothing but what is reported."""

from __future__ import annotations

import ast
import os
import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.harness import ROOT, SHAPES, files
from tests.notebooks import notebook, sources
from tests.test_fix_properties import parses, programs
from torchlint.api import lint_source
from torchlint.cli.main import main
from torchlint.config.config import Config
from torchlint.model import SYNTAX_ERROR, UNUSED_SUPPRESSION, Severity
from torchlint.run import session
from torchlint.run.fixing import ignorer
from torchlint.run.fixing.fix import edited
from torchlint.run.fixing.ignore_comments import NO_LINE, commented
from torchlint.text.line_ends import line_ends

HEAD = "import numpy as np\nimport torch\n"
BENCHMARK = "torch.backends.cudnn.benchmark = True\n"
MOVE = "torch.zeros(3).to(x.device)"  # TL104
COMMENT = "# torchlint: ignore[TL104] existing code"
EVERYTHING = ("--select", "ALL", "--preview", "--fail-on", "info", "--isolated", "--no-cache")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ignored(text: str, *options: str) -> str:
    """What ``--add-ignore`` makes of a module."""
    return ignored_bytes(text.encode(), *options).decode()


def ignored_bytes(data: bytes, *options: str) -> bytes:
    file = Path("module.py")
    file.write_bytes(data)
    assert main(["--add-ignore", *EVERYTHING, *options, "module.py"]) in (0, 1)
    return file.read_bytes()


def in_function(*lines: str) -> str:
    return HEAD + "def f(x, device):\n" + "".join(f"    {line}\n" for line in lines)


# -- where the comment goes ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "lines",
    [
        ["return torch.zeros(3, device=device)"],
        ["return x.to(device)"],
        [f"return {MOVE}  # noqa"],
        [f"return {MOVE}  # noqa: TL104"],
        [f"return {MOVE}  # torchlint: ignore[zeros-then-to]"],
        [f"return {MOVE}  # torchlint: ignore"],
        ["# torchlint: skip-file", f"return {MOVE}"],
        [f"return '''{MOVE}'''"],
    ],
)
def test_where_nothing_fails_no_byte_is_changed(lines: list[str]) -> None:
    lines = [line.replace("zeros-then-to", name_of("TL104")) for line in lines]
    assert ignored(in_function(*lines), "--ignore", "TL001") == in_function(*lines)


def name_of(rule: str) -> str:
    from torchlint.run.rules import registry

    return next(each.name for each in registry.load() if each.id == rule)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (["return {}"], ["return {}  #"]),
        (["return {}  # a note"], ["return {}  # a note  #"]),
        (["return {}  # type: ignore"], ["return {}  # type: ignore  #"]),
        (["return {}  # noqa: E501"], ["return {}  # noqa: E501  #"]),
        (["return {}  # fmt: skip"], ["return {}  # fmt: skip  #"]),
        (["y = {}; return y"], ["y = {}; return y  #"]),
        (["y = {};"], ["y = {};  #"]),
        (["if {} is None: return 1"], ["if {} is None: return 1  #"]),
        # the line of the finding, or else the next one of the statement where a comment can stand
        (["return (", "    {},", "    1,", ")"], ["return (", "    {},  #", "    1,", ")"]),
        (["return {} \\", "    + 1"], ["return {} \\", "    + 1  #"]),
        (["return ({}, '''", "text''')"], ["return ({}, '''", "text''')  #"]),
        (["y = '''", "text''', {}"], ["y = '''", "text''', {}  #"]),
        (["return ({} # note", "    , '''", "''')"], ["return ({} # note  #", "    , '''", "''')"]),
        (["return f'''{", "{}", "}'''"], ["return f'''{", "{}", "}'''  #"]),
        # a line before it
        (["y = (x,", "    {}); \\", "z = 1"], ["y = (x,  #", "    {}); \\", "z = 1"]),
        (["return lambda: (", "    {}", ")"], ["return lambda: (", "    {}  #", ")"]),
        # comments on lines of their own stay alone
        (["y = (", "    # only", "    {}); \\", "z = 1"], ["y = (  #", "    # only", "    {}); \\", "z = 1"]),
        (["try: pass", "except {}: pass", "else: y = {}"], ["try: pass", "except {}: pass  #", "else: y = {}  #"]),
        (["if {} is None: \\", "    return 1"], ["if {} is None: \\", "    return 1  #"]),
    ],
)  # fmt: skip
def test_the_comment_goes_behind_everything_else_on_a_line_of_the_statement(
    before: list[str], after: list[str]
) -> None:
    shown = [line.replace("{}", MOVE) for line in before]
    expected = [f"{line[:-1]}{COMMENT}" if line.endswith("  #") else line for line in after]
    assert ignored(in_function(*shown)) == in_function(*(line.replace("{}", MOVE) for line in expected))


def test_a_decorator_has_the_comment_on_its_own_line() -> None:
    text = in_function(f"@register({MOVE})", "def g():", "    pass")
    assert ignored(text) == text.replace(MOVE + ")", f"{MOVE})  {COMMENT}")


def test_a_rule_is_added_to_a_list_that_is_there_already() -> None:
    line = f"return np.array(x), {MOVE}  # noqa: E501  # torchlint: ignore[TL301 , ] because  # note"
    after = ignored(in_function(line), "--ignore", "TL001")
    assert after == in_function(line.replace("TL301", "TL301, TL104"))
    lines = ["y = (", f"    {MOVE},", ")  # torchlint: ignore[TL301]"]
    after = ignored(in_function(*lines), "--ignore", "TL001")
    assert after == in_function(*lines).replace("TL301", "TL301, TL104")


def test_findings_of_several_rules_on_a_line_share_a_comment_and_one_is_enough_for_a_statement() -> None:
    lines = ["y = (", "    x.cpu().clamp(0, 1).to(device), torch.zeros(3).to(x.device),", f"    {MOVE},", ")"]
    after = ignored(in_function(*lines))
    assert after == in_function(lines[0], f"{lines[1]}  # torchlint: ignore[TL104, TL201] existing code", *lines[2:])


def test_the_reason_can_be_given() -> None:
    after = ignored(in_function(f"return {MOVE}"), "--reason", "measured: does not matter, see #12")
    assert after.endswith("  # torchlint: ignore[TL104] measured: does not matter, see #12\n")


# -- what is kept ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace(b"\n", b"\r\n"),
        lambda text: text.replace(b"\n", b"\r"),
        lambda text: text.rstrip(b"\n"),
        lambda text: b"\xef\xbb\xbf" + text,
        lambda text: b"# coding: latin-1\nname = '\xe9'\n" + text,
        lambda text: text.replace(b"def", b"\x0cdef"),
        lambda text: text.replace(b"    ", b"\t"),
        lambda text: "name = '\u2028\x85'  # é\n".encode() + text,
    ],
)
def test_encoding_newlines_and_the_rest_of_the_file_stay(change: object) -> None:
    assert callable(change)
    before = change(in_function(f"return {MOVE}").encode())
    assert ignored_bytes(before) == before.replace(MOVE.encode(), f"{MOVE}  {COMMENT}".encode())


def test_the_mode_of_the_file_stays() -> None:
    Path("module.py").touch()
    Path("module.py").chmod(0o755)
    ignored(in_function(f"return {MOVE}"))
    assert stat.S_IMODE(Path("module.py").stat().st_mode) == 0o755


def test_a_diff_shows_the_comments_and_changes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    text = in_function(f"return {MOVE}")
    Path("module.py").write_text(text, encoding="utf-8")
    assert main(["--add-ignore", "--diff", *EVERYTHING, "module.py"]) == 1
    shown = capsys.readouterr()
    assert f"+    return {MOVE}  {COMMENT}\n" in shown.out
    assert shown.err == "1 finding in 1 file would be suppressed.\n"
    assert Path("module.py").read_text(encoding="utf-8") == text


def test_a_second_run_has_nothing_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    once = ignored(in_function(f"return {MOVE}"))
    capsys.readouterr()
    assert main(["--add-ignore", *EVERYTHING, "module.py"]) == 0
    assert capsys.readouterr().out == "Nothing to suppress in 1 file.\n"
    assert Path("module.py").read_text(encoding="utf-8") == once


# -- which findings --------------------------------------------------------------------------------


def test_only_findings_that_make_the_run_fail_are_suppressed(capsys: pytest.CaptureFixture[str]) -> None:
    flag = "torch.backends.cudnn.deterministic = True\n"
    text = HEAD + BENCHMARK + flag + "model = torch.nn.Linear(2, 3)\nmodel.cuda()\n"
    Path("module.py").write_text(text, encoding="utf-8")
    severities = {finding.severity for finding in lint_source(text).findings}
    assert severities == {Severity.WARNING, Severity.INFO}
    assert main(["--add-ignore", "module.py"]) == 0
    assert "not make the run fail; --fail-on info suppresses such findings too." in capsys.readouterr().out
    left = lint_source(Path("module.py").read_text(encoding="utf-8")).findings
    assert {finding.severity for finding in left} == {Severity.INFO}
    assert main(["--add-ignore", "--fail-on", "info", "module.py"]) == 0
    assert not lint_source(Path("module.py").read_text(encoding="utf-8")).findings


def test_rules_that_are_not_selected_are_left_alone() -> None:
    text = in_function(f"return {MOVE}")
    assert ignored(text, "--ignore", "TL104") == text


def test_syntax_errors_and_unused_suppressions_are_left_and_said_so(capsys: pytest.CaptureFixture[str]) -> None:
    Path("broken.py").write_text("import torch\nx = (\n", encoding="utf-8")
    text = "import torch\nx = 1  # torchlint: ignore[TL104]\n"
    assert ignored(text, "broken.py") == text
    said = capsys.readouterr().out
    assert "broken.py:2:5: TL000 syntax-error is left: correct the file, or exclude it\n" in said
    assert "module.py:2:28: TL001 unused-suppression is left: correct or delete the comment\n" in said


def test_cells_that_are_not_python_are_left_and_said_so(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.ipynb").write_text(
        notebook(f"import torch\n{BENCHMARK}", "torch.backends.cudnn.deterministic = True", "y = ("), encoding="utf-8"
    )
    assert main(["--add-ignore", "a.ipynb"]) == 1
    said = capsys.readouterr().out
    assert "a.ipynb:cell 3:1:5: TL000 syntax-error is left: correct the file, or exclude it\n" in said
    assert sources(Path("a.ipynb").read_text(encoding="utf-8"))[1].endswith("existing code")


def test_a_statement_without_room_for_a_comment_is_left_and_said_so(capsys: pytest.CaptureFixture[str]) -> None:
    text = in_function(f"y = {MOVE}; \\", "    z = 1")
    assert ignored(text) == text
    where = f"module.py:4:9: TL104 {name_of('TL104')} is left: "
    assert capsys.readouterr().out.startswith(where + NO_LINE)


def test_a_reason_that_itself_changes_the_finding_is_not_written(capsys: pytest.CaptureFixture[str]) -> None:
    text = in_function("y = x.cpu().clamp(0, 1).to(device)", f"return {MOVE}")
    assert [finding.rule for finding in lint_source(text).findings] == ["TL201", "TL104"]
    after = ignored(text, "--reason", "deterministic")
    assert after == text.replace(MOVE, f"{MOVE}  # torchlint: ignore[TL104] deterministic")
    assert "module.py:4:9: TL201 device-round-trip is left: the rule reads comments" in capsys.readouterr().out


def test_a_reason_that_the_encoding_lacks_is_an_error_and_nothing_is_written(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = b"# coding: latin-1\n" + in_function(f"return {MOVE}").encode()
    Path("module.py").write_bytes(text)
    assert main(["--add-ignore", "--reason", "später \N{SNOWMAN}", *EVERYTHING, "module.py"]) == 2
    assert "module.py: error: no suppression was written: the encoding" in capsys.readouterr().out
    assert Path("module.py").read_bytes() == text


def test_a_file_that_cannot_be_written_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    outside = Path("outside.py")
    outside.write_text(in_function(f"return {MOVE}"), encoding="utf-8")
    Path("inside").mkdir()
    Path("inside/module.py").symlink_to(outside.resolve())
    assert main(["--add-ignore", *EVERYTHING, "inside"]) == 2
    assert "inside/module.py: error: is behind a link that leaves the project" in capsys.readouterr().out
    assert "torchlint" not in outside.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--add-ignore", "--fix"], "--add-ignore and --fix cannot be combined"),
        (["--add-ignore", "--statistics"], "--add-ignore and --statistics cannot be combined"),
        (["--add-ignore", "--output-format", "json"], "--add-ignore prints text only"),
        (["--add-ignore", "-"], "--add-ignore changes files, not standard input"),
        (["--reason", "old"], "--reason: give --add-ignore"),
        (["--add-ignore", "--reason", " "], "--reason: is empty"),
        (["--add-ignore", "--reason", "a\nb"], "--reason: must be one line"),
        (["--add-ignore", "--reason", "old  # noqa"], "--reason: contains a `#`"),
    ],
)
def test_what_makes_no_sense_is_one_line(options: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(options) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"torchlint: error: {said}")
    assert error.count("\n") == 1


# -- all kinds of code -----------------------------------------------------------------------------


@pytest.mark.parametrize("step", [24, pytest.param(1, marks=pytest.mark.exhaustive)])
def test_every_finding_in_the_fixtures_can_be_suppressed_without_another_effect(step: int) -> None:
    before = {}
    for source in sorted([*files(), *SHAPES.rglob("*.py")])[::step]:
        copy = source.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        before[os.fspath(copy)] = source.read_bytes()
        copy.write_bytes(before[os.fspath(copy)])
    paths, plan = list(before), session.plan(Config(select=("ALL",), preview=True, fail_on=Severity.INFO))
    done = ignorer.add_ignores(paths, plan, "existing code", write_below=["."])
    assert len(done.suppressed) > 2000 // step // 2
    assert not done.result.problems
    assert {finding.rule for finding in done.left} <= {SYNTAX_ERROR, UNUSED_SUPPRESSION}
    # Another run, which shares nothing with this one, finds the same.
    after = session.run(paths, plan)
    known = {(finding.path, finding.span.line, finding.message) for finding in done.left}
    assert {(finding.path, finding.span.line, finding.message) for finding in after.findings} == known
    for path, old in before.items():
        new = Path(path).read_bytes()
        if new != old:
            assert ast.dump(ast.parse(new)) == ast.dump(ast.parse(old)), path
            assert all(one == other or one.startswith(other.rstrip()) for one, other in zip_lines(new, old)), path


def zip_lines(new: bytes, old: bytes) -> list[tuple[bytes, bytes]]:
    """The lines of both texts, without what lists of rules hold."""
    pairs = list(zip(new.splitlines(), old.splitlines(), strict=True))
    return [(one, other.partition(b"]")[0] if b"ignore[" in other else other) for one, other in pairs]


@settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(programs(), st.booleans())
def test_a_generated_program_means_the_same_and_has_no_finding_left(text: str, cut: bool) -> None:
    text = text.rstrip() if cut else text
    if not parses(text):
        return
    findings = [finding for finding in lint_source(text).findings if finding.rule != UNUSED_SUPPRESSION]
    done = commented(text, findings)
    after = edited(text, done.edits)
    assert ast.dump(ast.parse(after)) == ast.dump(ast.parse(text))
    assert set(done.left.values()) <= {NO_LINE}
    found = lint_source(after).findings
    left = [finding for finding in found if finding.rule != UNUSED_SUPPRESSION]
    assert [(f.rule, f.span) for f in left] == [(f.rule, f.span) for f in done.left]
    assert len(found) - len(left) <= text.count("TL999")
    assert not commented(after, left).edits


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(programs())
def test_a_comment_at_every_possible_line_end_changes_no_program(text: str) -> None:
    if not parses(text):
        return
    lines = text.split("\n")
    for line, column in line_ends(text).items():
        assert not lines[line - 1][column - 1 :].strip()
        lines[line - 1] = f"{lines[line - 1][: column - 1]}  # comment"
    assert ast.dump(ast.parse("\n".join(lines))) == ast.dump(ast.parse(text))
