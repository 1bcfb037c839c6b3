"""The Python API is what docs/api.md says, name by name."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from pathlib import Path

import pytest

import torchlint
from torchlint import Config, ConfigError, fix_source, lint_paths, lint_source, read_config
from torchlint.analysis.module import SourceModule

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
GUILTY = "import torch\nx = torch.zeros(3).cuda()\n"


def block(marker: str) -> str:
    """What the page shows between two markers, without the fences."""
    shown = PAGE.partition(f"<!-- {marker}:begin -->")[2].partition(f"<!-- {marker}:end -->")[0].strip()
    return re.sub(r"^```.*$", "", shown, flags=re.MULTILINE)


def functions(source: str) -> dict[str, str]:
    """The signatures of the functions in a source text."""
    found = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    return {
        node.name: f"({ast.unparse(node.args)}) -> {ast.unparse(node.returns or ast.Constant(None))}" for node in found
    }


def fields(source: str) -> dict[str, list[str]]:
    """The fields of the named tuples in a source text."""
    classes = [node for node in ast.parse(source).body if isinstance(node, ast.ClassDef)]
    return {
        node.name: [ast.unparse(statement) for statement in node.body if isinstance(statement, ast.AnnAssign)]
        for node in classes
        if any(ast.unparse(base) == "NamedTuple" for base in node.bases)
    }


def listed() -> list[tuple[str, list[str]]]:
    """The modules and names in the table for rules."""
    rows = re.findall(r"^\| `([\w.]+)` \| (.*) \|$", block("rules"), re.MULTILINE)
    return [(module, re.findall(r"`(\w+)`", names)) for module, names in rows]


def test_the_documented_functions_have_the_documented_signatures() -> None:
    assert functions(block("functions")) == functions((ROOT / "torchlint" / "api.py").read_text(encoding="utf-8"))


def test_the_documented_records_have_the_documented_fields() -> None:
    real, shown = fields((ROOT / "torchlint" / "model.py").read_text(encoding="utf-8")), fields(block("records"))
    assert shown == {name: real[name] for name in shown}
    assert set(real) - set(shown) == {"Repairs"}


def test_every_public_name_of_the_package_is_documented_and_there() -> None:
    for name in torchlint.__all__:
        assert getattr(torchlint, name)
        assert name == "__version__" or name in PAGE


@pytest.mark.parametrize(("module", "names"), listed(), ids=lambda value: value if isinstance(value, str) else "")
def test_the_names_for_rules_are_there(module: str, names: list[str]) -> None:
    if module.endswith(".SourceModule"):
        owner: object = SourceModule.parse("x = 1\n", "x.py")
    else:
        owner = importlib.import_module(module)
    assert names
    assert [name for name in names if not hasattr(owner, name)] == []


def test_all_decorators_are_documented() -> None:
    from torchlint import on

    names = dict(listed())["torchlint.on"]
    described = set(re.findall(r"^``@on\.(\w+)", inspect.getdoc(on) or "", re.MULTILINE))
    assert set(names) == described


def test_the_harness_exports_what_is_documented() -> None:
    import torchlint.testing

    assert set(dict(listed())["torchlint.testing"]) == set(torchlint.testing.__all__)


def test_the_example_prints_a_finding(capsys: pytest.CaptureFixture[str]) -> None:
    exec(PAGE.partition("```python\n")[2].partition("```")[0], {})
    assert re.match(r"2 TL\d+ ", capsys.readouterr().out)


# -- behavior ---------------------------------------------------------------------------------------


def test_text_and_bytes_give_the_same_findings() -> None:
    assert lint_source(GUILTY) == lint_source(GUILTY.encode())
    assert lint_source(GUILTY).findings


def test_texts_are_read_in_the_encoding_that_they_declare() -> None:
    text = "# coding: latin-1\nimport torch\n'äöü'; torch.zeros(3).cuda()\n"
    (finding,) = lint_source(text, config=Config(select=("TL104",))).findings
    assert (finding.span.line, finding.span.column) == (3, 8)


def test_texts_that_no_file_can_hold_raise_no_error() -> None:
    text = "import torch\nx = '\ud800'\ntorch.zeros(3).cuda()\n"
    assert lint_source(text, config=Config(select=("TL104",))).findings
    assert fix_source(text) == text.encode("utf-8", "surrogatepass")


def test_fixes_return_bytes_and_unsafe_ones_are_asked_for() -> None:
    assert fix_source(GUILTY, config=Config(select=("TL104",))) != GUILTY.encode()
    assert fix_source("x = (", config=Config()) == b"x = ("


def test_one_path_or_several_are_linted(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(GUILTY, encoding="utf-8")
    found = lint_paths([tmp_path]).findings
    assert found
    assert lint_paths(str(tmp_path)).findings == lint_paths(tmp_path).findings == found
    assert lint_paths(tmp_path / "none").problems


def test_the_configuration_of_a_project_is_read_as_the_command_line_reads_it(tmp_path: Path) -> None:
    (tmp_path / "torchlint.toml").write_text('select = ["TL701"]\n', encoding="utf-8")
    (tmp_path / "a.py").write_text(GUILTY, encoding="utf-8")
    config = read_config(tmp_path / "a.py")
    assert config.select == ("TL701",)
    assert {finding.rule for finding in lint_paths(tmp_path, config).findings} == {"TL701"}


@pytest.mark.parametrize("text", ["select = 1\n", "nonsense = 1\n"])
def test_a_wrong_configuration_is_an_exception_of_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "torchlint.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"torchlint\.toml") as caught:
        read_config(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_selector_that_names_nothing_is_an_exception() -> None:
    with pytest.raises(ConfigError, match="TL999"):
        lint_source(GUILTY, config=Config(select=("TL999",)))
