"""What a configuration takes from the one that it extends, and what it says itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from torchlint.cli.main import main
from torchlint.config.config import Config, ConfigError
from torchlint.config.configurations import Configurations, configurations, load
from torchlint.config.files import read_budget
from torchlint.config.select import chosen
from torchlint.config.severities import with_severities
from torchlint.model import Finding, Severity, Span
from torchlint.run.discovery.discover import is_excluded
from torchlint.run.rules import registry
from torchlint.run.worlds import world_of

COPIES = "import numpy as np\nimport torch\n\n\ndef collate_fn(path):\n    return torch.tensor(np.load(path))\n"


@pytest.fixture(autouse=True)
def _in_scratch_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(name: str, text: str) -> None:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text(text, encoding="utf-8")


def project(base: str, own: str) -> Config:
    """The configuration of a package that extends that of the project."""
    write("pyproject.toml", f"[tool.torchlint]\n{base}\n")
    write("pkg/pyproject.toml", f'[tool.torchlint]\nextend = "../pyproject.toml"\n{own}\n')
    return load(Path("pkg"))


def rules_on(base: str, own: str) -> frozenset[str]:
    return chosen(registry.core(), project(base, own))


def places(*arguments: str, capsys: pytest.CaptureFixture[str]) -> set[str]:
    """The files with findings."""
    main(["check", "--no-cache", "--no-context", "--output-format", "json", *arguments])
    return {f["path"] for f in json.loads(capsys.readouterr().out)["findings"]}


def test_without_the_key_nothing_is_inherited() -> None:
    write("pyproject.toml", '[tool.torchlint]\nfail-on = "error"\n')
    write("pkg/torchlint.toml", "")
    assert load(Path("pkg")).fail_on is Severity.WARNING


def test_a_value_of_the_extending_file_wins_also_where_it_is_the_default() -> None:
    base = 'fail-on = "error"\npreview = true\ntime-limit = 5'
    found = project(base, 'fail-on = "warning"\npreview = false')
    assert (found.fail_on, found.preview, found.time_limit) == (Severity.WARNING, False, 5.0)


def test_the_configuration_stays_that_of_the_folder_it_is_in(tmp_path: Path) -> None:
    found = project("", "")
    assert (found.root, Path(found.source or "").as_posix()) == (str(tmp_path / "pkg"), "pkg/pyproject.toml")


def test_tables_are_merged_entry_by_entry() -> None:
    base = """
[tool.torchlint.severity]
TL1 = "error"
loading = "error"
[tool.torchlint.rules.hardcoded-cuda]
portable = false
[tool.torchlint.rules.benchmark-with-deterministic]
prefer = "determinism"
[tool.torchlint.budget]
uploads = 1
downloads = 1
[tool.torchlint.world]
options = { wandb = true, "batch-size" = 8 }
accelerators = 4
"""
    own = """
[tool.torchlint.severity]
TL1 = "info"
[tool.torchlint.rules.hardcoded-cuda]
portable = true
[tool.torchlint.budget]
downloads = 2
[tool.torchlint.world]
options = { batch_size = 16 }
"""
    found = project(base, own)
    assert dict(found.severity) == {"TL1": Severity.INFO, "loading": Severity.ERROR}
    assert found.rules == {
        "hardcoded-cuda": {"portable": True},
        "benchmark-with-deterministic": {"prefer": "determinism"},
    }
    assert found.budget == {"uploads": 1.0, "downloads": 2.0}
    assert dict(found.world.options) == {"wandb": True, "batch_size": 16}
    assert found.world.accelerators == 4


def test_of_equally_specific_severities_that_of_the_extending_file_counts() -> None:
    base = '[tool.torchlint.severity]\nTL1 = "info"\ncopies = "error"'
    found = project(base, '[tool.torchlint.severity]\nTL1 = "warning"')
    finding = Finding("TL101", "tensor-copies-ndarray", "copies", Severity.INFO, "a.py", Span(1, 1, 1, 2), "why")
    assert with_severities([finding], found, registry.core())[0].severity is Severity.WARNING


@pytest.mark.parametrize(
    ("base", "own", "on", "off"),
    [
        ('select = ["TL1"]', 'extend-select = ["TL402"]', {"TL101", "TL402"}, {"TL301"}),
        ('ignore = ["TL101"]', 'ignore = ["TL102"]', {"TL104"}, {"TL101", "TL102"}),
        ('ignore = ["TL101"]', 'extend-select = ["TL1"]', {"TL101"}, set()),
        ('extend-select = ["TL402"]', 'ignore = ["TL4"]', {"TL301"}, {"TL401", "TL402"}),
        ('select = ["ALL"]\nignore = ["TL101"]', 'select = ["TL1"]', {"TL101", "TL102"}, {"TL301"}),
        ('extend-select = ["TL402"]', 'select = ["TL1"]', {"TL101"}, {"TL402"}),
    ],
)
def test_selectors_apply_on_top_of_those_of_the_extended_file(base: str, own: str, on: set[str], off: set[str]) -> None:
    found = rules_on(base, own)
    assert on <= found
    assert not off & found


def test_strict_of_the_extended_file_counts_until_something_else_is_selected() -> None:
    info = Finding("TL101", "tensor-copies-ndarray", "copies", Severity.INFO, "a.py", Span(1, 1, 1, 2), "why")
    for own, severity in (("", Severity.WARNING), ('select = ["TL1"]', Severity.INFO)):
        found = project('select = ["strict"]', own)
        assert with_severities([info], found, registry.core())[0].severity is severity


def test_globs_are_relative_to_the_file_they_are_written_in(capsys: pytest.CaptureFixture[str]) -> None:
    project(
        'exclude = ["pkg/vendor/"]\n[tool.torchlint.per-file-ignores]\n'
        '"pkg/scripts/*" = ["TL101"]\n"*_old.py" = ["TL101"]',
        'exclude = ["generated/"]\n[tool.torchlint.per-file-ignores]\n"tests/*" = ["TL101"]\n"*_old.py" = []',
    )
    for folder in ("vendor", "scripts", "generated", "tests", "src"):
        write(f"pkg/{folder}/a.py", COPIES)
    write("pkg/a_old.py", COPIES)
    assert places("pkg", capsys=capsys) == {"pkg/src/a.py", "pkg/a_old.py"}


def test_a_scan_applies_the_globs_of_all_files_to_the_paths_in_repositories() -> None:
    found = project('exclude = ["/vendor/"]', 'exclude = ["/generated/"]').rooted("/repositories/one")
    given = Configurations("/repositories/one", only=found)
    for folder, left_out in (("vendor", True), ("generated", True), ("src", False)):
        path = f"/repositories/one/{folder}/a.py"
        assert is_excluded(path, given, "/repositories/one") == left_out


def test_a_baseline_and_programs_are_those_beside_the_extended_file(tmp_path: Path) -> None:
    found = project('baseline = "accepted.json"\n[tool.torchlint.world]\nprograms = ["pkg/train.py"]', "")
    assert found.baseline == str(tmp_path / "accepted.json")
    assert found.programs_root == str(tmp_path)
    own = project('baseline = "a.json"', 'baseline = "b.json"\n[tool.torchlint.world]\nprograms = ["train.py"]')
    assert (own.baseline, own.programs_root) == ("b.json", None)


def test_programs_of_an_extended_file_are_found_from_its_folder() -> None:
    project('[tool.torchlint.world]\nprograms = ["pkg/train.py"]', "")
    paths = dict.fromkeys(["pkg/train.py", "pkg/pkg/train.py"], b"")
    assert world_of(paths, configurations("pkg")).programs == ("pkg/train.py",)
    project("", '[tool.torchlint.world]\nprograms = ["pkg/train.py"]')
    assert world_of(paths, configurations("pkg")).programs == ("pkg/pkg/train.py",)


def test_chains_and_files_with_other_names_work() -> None:
    write("shared/base.toml", 'target-torch = "2.1"\nignore = ["TL101"]\nfail-on = "error"\n')
    write("pyproject.toml", '[tool.torchlint]\nextend = "shared/base.toml"\nfail-on = "info"\n')
    write("pkg/torchlint.toml", 'extend = "../pyproject.toml"\nignore = ["TL102"]\n')
    found = load(Path("pkg"))
    assert (found.target_torch, found.fail_on) == ("2.1", Severity.INFO)
    assert not {"TL101", "TL102"} & chosen(registry.core(), found)
    assert [Path(each.source or "").as_posix() for each in found.chain()] == [
        "pkg/torchlint.toml",
        "pyproject.toml",
        "shared/base.toml",
    ]


def test_the_home_folder_can_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "home"))
    write("home/mine.toml", 'fail-on = "never"\n')
    write("torchlint.toml", 'extend = "~/mine.toml"\n')
    assert load(Path()).fail_on is None


def test_options_and_a_named_configuration_apply_on_top(capsys: pytest.CaptureFixture[str]) -> None:
    project('ignore = ["TL101"]', "")
    write("pkg/a.py", COPIES)
    assert places("pkg", capsys=capsys) == set()
    assert places("pkg", "--select", "TL101", capsys=capsys) == {"pkg/a.py"}
    assert places("pkg", "--extend-select", "TL103", capsys=capsys) == set()
    write("other.toml", 'extend = "pkg/pyproject.toml"\nextend-select = ["TL101"]\n')
    assert places("pkg", "--config", "other.toml", capsys=capsys) == {"pkg/a.py"}


def test_the_cache_notices_a_change_of_the_extended_file(capsys: pytest.CaptureFixture[str]) -> None:
    write("pkg/a.py", COPIES)

    def findings() -> list[str]:
        main(["check", "--output-format", "json", "pkg"])
        return [f["rule"] + f["severity"] for f in json.loads(capsys.readouterr().out)["findings"]]

    project("", "")
    assert findings() == ["TL101warning"]
    project('[tool.torchlint.severity]\nTL101 = "error"', "")
    assert findings() == ["TL101error"]
    project('[tool.torchlint.per-file-ignores]\n"pkg/*" = ["TL101"]', "")
    assert findings() == []


def test_the_settings_that_are_shown_are_the_merged_ones(capsys: pytest.CaptureFixture[str]) -> None:
    project('exclude = ["a"]\nignore = ["TL101"]', 'exclude = ["b"]')
    assert main(["check", "--show-settings", "pkg"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert "TL101" not in shown["rules"]
    assert (shown["source"], shown["extends"]) == ("pkg/pyproject.toml", ["pyproject.toml"])
    assert shown["exclude"] == ["a", "b"]


def test_a_budget_can_be_that_of_an_extended_file() -> None:
    write("base.toml", "[budget]\nuploads = 1\n")
    write("budget.toml", 'extend = "base.toml"\n')
    assert read_budget("budget.toml") == {"uploads": 1.0}
    write("kept.toml", '[tool.torchlint]\nextend = "base.toml"\nbudget = { downloads = 2 }\n')
    assert read_budget("kept.toml") == {"uploads": 1.0, "downloads": 2.0}


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"torchlint.toml": 'extend = "gone.toml"'}, "torchlint.toml: extend: gone.toml: "),
        (
            {"torchlint.toml": 'extend = "gone.toml"'},
            "gone.toml: cannot be read (No such file or directory); fix that or name another file with extend",
        ),
        ({"torchlint.toml": 'extend = "sub"', "sub/x": ""}, "torchlint.toml: extend: sub: cannot be read ("),
        (
            {"torchlint.toml": 'extend = "sub/pyproject.toml"', "sub/pyproject.toml": "[project]"},
            "torchlint.toml: extend: sub/pyproject.toml: has no [tool.torchlint] table; add one or name another file",
        ),
        (
            {"pyproject.toml": '[tool.torchlint]\nextend = "b.toml"', "b.toml": "select = ["},
            "pyproject.toml: tool.torchlint.extend: b.toml",
        ),
        (
            {"torchlint.toml": 'extend = "b.toml"', "b.toml": 'selct = ["TL1"]'},
            "b.toml: unknown key 'selct'; did you mean 'select'?",
        ),
        (
            {"torchlint.toml": 'extend = "b.toml"', "b.toml": 'ignore = ["TL1999"]'},
            "b.toml: ignore: no rule has the id 'TL1999'",
        ),
        (
            {"torchlint.toml": 'extend = "b.toml"', "b.toml": "[rules.hardcoded-cuda]\nportabel = true"},
            "b.toml: rules.hardcoded-cuda has no option 'portabel'",
        ),
        (
            {"torchlint.toml": 'extend = "torchlint.toml"'},
            "torchlint.toml: extend is circular: torchlint.toml extends torchlint.toml; remove one of these keys",
        ),
        (
            {"torchlint.toml": 'extend = "b.toml"', "b.toml": 'extend = "c.toml"', "c.toml": 'extend = "./b.toml"'},
            "c.toml: extend is circular: b.toml extends c.toml extends b.toml; remove one of these keys",
        ),
    ],
)
def test_mistakes_are_one_line_with_the_files(
    files: dict[str, str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, text in files.items():
        write(name, text + "\n")
    write("a.py", COPIES)
    assert main(["check", "--no-cache", "a.py"]) == 2
    said = capsys.readouterr().err.strip()
    assert message in said
    assert "\n" not in said


def test_a_chain_that_never_seems_to_end_is_refused() -> None:
    for number in range(40):
        write(f"{number}.toml", f'extend = "{number + 1}.toml"\n')
    with pytest.raises(ConfigError, match=r"^31\.toml: extend makes a chain of more than 32 files; extend fewer$"):
        load(Path(), explicit="0.toml")
