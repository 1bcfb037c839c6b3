"""The engine: one file in, findings out, whatever the file is like."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchlint.api import lint_source
from torchlint.config.config import Config
from torchlint.model import FileResult, Severity
from torchlint.run.linting import file as engine
from torchlint.run.rules import registry

GUILTY = "import torch\ndef f(x, device):\n    return x.cpu().clamp(0, 1).to(device)\n"
STEPS = "import torch\nfor x in batches:\n    loss = model(x.cuda())\n    loss.backward()\n    print(loss.item())\n"


def found(text: str | bytes, config: Config | None = None) -> list[tuple[str, int]]:
    return [(f.rule, f.span.line) for f in lint_source(text, "code.py", config).findings]


def test_clean_code_gives_nothing() -> None:
    assert lint_source("import torch\nprint(torch.zeros(3))\n") == FileResult("<string>")


def test_a_finding_has_a_place_evidence_and_a_fingerprint() -> None:
    (finding,) = lint_source(STEPS, "code.py", Config(select=("TL301",))).findings
    assert (finding.rule, finding.span.line, finding.span.column) == ("TL301", 5, 11)
    assert [e.line for e in finding.evidence] == [2]
    assert len(finding.fingerprint) == 32


def test_a_fingerprint_survives_moved_lines_and_tells_equal_lines_apart() -> None:
    first = lint_source(GUILTY, "code.py").findings[0].fingerprint
    moved = lint_source("# comment\n\n" + GUILTY, "code.py").findings[0].fingerprint
    twice = lint_source(GUILTY + GUILTY.partition("\n")[2].replace("f(", "g("), "code.py").findings
    assert moved == first
    assert len({f.fingerprint for f in twice}) == 2


@pytest.mark.parametrize("comment", ["# noqa", "# noqa: TL201", "# torchlint: ignore[device-round-trip] on purpose"])
def test_a_suppression_on_any_line_of_the_statement_silences_it(comment: str) -> None:
    spread = GUILTY.replace(".clamp(0, 1)", f".clamp(\n        0, {comment}\n        1,\n    )")
    result = lint_source(spread, "code.py")
    assert (result.findings, result.suppressed) == ((), 1)


def test_a_suppression_in_the_body_does_not_silence_the_header() -> None:
    text = "import torch\ndef f(x, device):\n    if x.cpu().abs().to(device).any():\n        pass  # noqa: TL201\n"
    assert ("TL201", 3) in found(text)


def test_a_suppression_that_matches_nothing_is_found_in_files_without_torch_too() -> None:
    assert found("x = 1  # torchlint: ignore[TL201]\n") == [("TL001", 1)]
    assert found("x = 1  # NOQA:TL201\n") == found("x = 1  # noqa: E501, Device-Round-Trip\n") == [("TL001", 1)]
    assert found("x = 1  # noqa: TL999\n") == [("TL001", 1)]  # written like one of ours


def test_skip_file_silences_everything() -> None:
    assert found("# torchlint: skip-file\n" + GUILTY) == []


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (GUILTY + "x = (1\n", 4, "never closed"),
        (GUILTY + "<<<<<<< HEAD\nx = 1\n=======\n", 4, "merge conflict"),
        (GUILTY + "\tx\n", 4, ""),
        (GUILTY + "x = " + "(" * 20_000, 4, "brackets nested"),
        (GUILTY.encode() + b"x = '\xff'\n", 4, "utf-8"),
        (GUILTY.encode("utf-16"), 1, ""),
        (GUILTY.encode() + b"#" * 9_000_000, 1, "too large"),
        (GUILTY.encode() + b"\0", 4, ""),
    ],
)
def test_a_file_that_cannot_be_read_as_python_is_one_finding_with_a_line(
    text: str | bytes, line: int, words: str
) -> None:
    result = lint_source(text, "code.py")
    (finding,) = result.findings
    assert (finding.rule, finding.span.line, finding.severity) == ("TL000", line, Severity.ERROR)
    assert words in finding.message
    assert "\n" not in finding.message
    assert not result.problems


@pytest.mark.parametrize(
    "data",
    [
        GUILTY.replace("\n", "\r\n").encode(),
        GUILTY.replace("    ", "\t").encode(),
        GUILTY.rstrip().encode(),
        b"\xef\xbb\xbf" + GUILTY.encode(),
        b"# -*- coding: latin-1 -*-\n# \xe9\n" + GUILTY.encode(),
        ("\x0c" + GUILTY).encode(),
    ],
)
def test_encodings_and_newlines_do_not_hide_a_finding(data: bytes) -> None:
    assert [rule for rule, _ in found(data)] == ["TL201"]


@pytest.mark.parametrize(
    "code",
    [
        "def g(x):\n    return(yield)if x else'a'\n",
        "x = '\\N{no such name}' + torch.device('\\x')\n",
        "x = torch.device('\\d')\n",
        "def g(): return\\\n1\n",
        "x = torch.zeros(" + "9" * 5_000 + ")\n",
        "x = torch.device(t'{b}' 'a')\n",
        "x = torch.device('a' t'{b}')\n",
    ],
)
@pytest.mark.filterwarnings("error")
def test_odd_strings_and_spacing_neither_fail_nor_warn(code: str) -> None:
    assert not lint_source(GUILTY + code, "code.py").problems


def test_rules_can_be_chosen_and_ignored_by_file() -> None:
    assert found(GUILTY, Config(ignore=("transfers",))) == []
    assert found(GUILTY, Config(select=("TL4",))) == []
    assert found(GUILTY, Config(per_file_ignores=(("code.py", ("TL2",)),))) == []
    assert found(GUILTY, Config(per_file_ignores=(("other.py", ("TL2",)),))) == [("TL201", 3)]


def test_a_rule_that_fails_is_a_problem_that_names_it_and_the_others_go_on() -> None:
    first, *_ = registry.load()

    class Failing(first):  # type: ignore[misc, valid-type]
        id = "TL999"
        name = "failing"
        needs = ()

        def visit_Module(self, _: object) -> None:  # noqa: N802 - LibCST's name
            raise RuntimeError("two\nlines")

    rules = (*registry.load(), Failing)
    data = b"import torch\ntorch.backends.cudnn.enabled = False\n"
    result = engine.lint(data, "code.py", rules, frozenset({"TL503", "TL999"}), Config())
    assert [f.rule for f in result.findings] == ["TL503"]
    (problem,) = result.problems
    for words in ("TL000 internal-error", "TL999 failing", "two lines", "report"):
        assert words in problem.message
    assert "\n" not in problem.message


def test_linting_neither_imports_nor_runs_the_code(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    lint_source(f"import torch\nopen({str(mark)!r}, 'w')\n" + GUILTY)
    assert not mark.exists()
