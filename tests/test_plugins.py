"""Rules of other packages: found, selected, suppressed and reported like torchlint's own, under their own name."""

from __future__ import annotations

import importlib
import json
import multiprocessing
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.plugin_help import HEADINGS, install, rule
from torchlint.cli.main import main
from torchlint.config.config import Config
from torchlint.rule import info
from torchlint.run import session
from torchlint.run.cache import for_settings
from torchlint.run.rules import registry
from torchlint.run.rules.registry import RegistryError

GUILTY = "import torch\n\nweights = torch.load('w.pt')\n"
OPTIONS = "from typing import NamedTuple\nclass Options(NamedTuple):\n"
TRACKER = "Project-URL: Homepage, https://acme.example\nProject-URL: Bug Tracker, https://acme.example/bugs\n"


@pytest.fixture(autouse=True)
def _fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "site").mkdir()
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "a.py").write_text(GUILTY, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.chdir(tmp_path / "code")
    monkeypatch.delenv("TORCHLINT_DISABLE_PLUGINS", raising=False)
    registry.forget()
    yield
    registry.forget()
    for name in [name for name in sys.modules if name.partition(".")[0] in ("my_rules", "other_rules")]:
        del sys.modules[name]


def printed(capsys: pytest.CaptureFixture[str], status: int, *arguments: str) -> str:
    """What a run prints, on both streams."""
    assert main(["--no-cache", *arguments] if arguments[0] not in ("rule", "rules") else list(arguments)) == status
    done = capsys.readouterr()
    return done.out + done.err


# -- where rules come from -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "entry"),
    [
        ({"my_rules.py": rule()}, "my_rules"),
        ({"my_rules.py": rule()}, "my_rules:AcmeLoad"),
        ({"my_rules/__init__.py": "", "my_rules/loading/load.py": rule(), "my_rules/_base.py": "1 / 0"}, "my_rules"),
    ],
)
def test_an_entry_point_names_a_module_a_class_or_a_package(tmp_path: Path, files: dict[str, str], entry: str) -> None:
    install(tmp_path / "site", files, entry)
    assert [one.id for one in registry.load()][-1] == "ACME001"
    assert str(registry.package_of(registry.load()[-1])) == "my-rules 1.0"


def test_a_class_that_two_entry_points_name_is_one_rule(tmp_path: Path) -> None:
    install(tmp_path / "site", {"my_rules.py": rule()})
    points = tmp_path / "site" / "my_rules-1.0.dist-info" / "entry_points.txt"
    points.write_text("[torchlint.rules]\na = my_rules\nb = my_rules:AcmeLoad\n", encoding="utf-8")
    assert [one.id for one in registry.load()].count("ACME001") == 1


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import no_such_module", "no_such_module"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("x = 1", "my_rules defines no rule"),
        (rule("TL201"), "'TL201' begins with TL"),
        (rule("TL990"), "'TL990' begins with TL"),
        (rule("acme1"), "'acme1' is not 2 to 12 capital letters"),
        (rule("ALL001"), "'ALL001' is not"),
        (rule(name="load_it"), "'load_it' is not kebab-case"),
        (rule(facts="group = 'speed'"), "group 'speed' is none of dead, waste, advice, portability, preview"),
        (rule(facts="group = 'dead'"), "group 'dead' is for the severity error, not warning"),
        (rule(facts="group = 'preview'\ndefault = False"), "says what the group preview says already; remove it"),
        (rule(name="waste"), "has the name waste, which is a group; rename it"),
        (rule(facts="topic = 'waste'"), "has the topic waste, which is a group; rename it"),
        (rule(name="loading"), "loading, which is a topic"),
        (rule().replace("    id =", "    ident ="), "has no id"),
        (rule(facts="severity = 'warning'"), "severity 'warning' is not a member"),
        (rule(facts="needs = concepts.TORCH"), "needs is not a tuple of needs"),
        (rule(facts="url = 'javascript:alert(1)'"), "does not begin with https"),
        (rule(facts="recipe = 'evaluations'"), "recipe is not"),
        (rule(facts="class Options:\n    a: int"), "Options is no dataclass"),
        (rule(facts=OPTIONS + "    sizes: dict[str, int] = {}"), "the option sizes is none of bool"),
        (rule(facts=OPTIONS + "    sizes: tuple[int, ...] = ()"), "the option sizes is none of bool"),
        (rule(facts=OPTIONS + "    size: 'Size' = 1"), "in Options cannot be evaluated: name 'Size'"),
        (rule().replace('@on.call("torch.load")', ""), "has no visitor"),
        (rule().replace('@on.call("torch.load")', "@on.call"), "@on.call lacks names"),
    ],
)
def test_a_rule_that_cannot_be_used_stops_the_run_in_one_line_that_names_its_package(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], code: str, words: str
) -> None:
    install(tmp_path / "site", {"my_rules.py": code})
    with pytest.raises(RegistryError, match=words):
        registry.load()
    said = printed(capsys, 2, "a.py")
    assert said.startswith("torchlint: error: ")
    assert said.count("\n") == 1
    assert "my-rules 1.0" in said
    assert "github.com/torchlint" not in said


def test_a_run_can_do_without_rules_of_other_packages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install(tmp_path / "site", {"my_rules.py": "1 / 0"})
    assert "TORCHLINT_DISABLE_PLUGINS=1" in printed(capsys, 2, "a.py")
    monkeypatch.setenv("TORCHLINT_DISABLE_PLUGINS", "1")
    registry.forget()
    assert "All clear" in printed(capsys, 0, "a.py")


@pytest.mark.parametrize("points", ["[torchlint.rules]\nno equals sign\n", "[torchlint.rules]\na = \udcff\n"])
def test_damaged_metadata_are_an_error_that_says_where(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], points: str
) -> None:
    install(tmp_path / "site", {"my_rules.py": rule()})
    info = tmp_path / "site" / "my_rules-1.0.dist-info"
    (info / "entry_points.txt").write_bytes(points.encode("utf-8", "surrogateescape"))
    said = printed(capsys, 2, "a.py")
    assert said.startswith(f"torchlint: error: the metadata in {info} cannot be read")
    assert said.count("\n") == 1


def test_metadata_without_a_name_are_named_by_their_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    install(tmp_path / "site", {"my_rules.py": rule()})
    (tmp_path / "site" / "my_rules-1.0.dist-info" / "METADATA").unlink()
    assert "(my_rules-1.0.dist-info)" in printed(capsys, 0, "rules")


@pytest.mark.parametrize("other", [rule("ACME001", "another"), rule("OTHER001", "acme-load")])
def test_two_packages_with_the_same_rule_are_both_named(tmp_path: Path, other: str) -> None:
    install(tmp_path / "site", {"my_rules.py": rule()})
    install(tmp_path / "site", {"other_rules.py": other}, "other_rules", dist="other-rules")
    with pytest.raises(RegistryError, match=r"my-rules 1\.0.*other-rules 1\.0|other-rules 1\.0.*my-rules 1\.0"):
        registry.load()


# -- where pages come from -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "page"),
    [
        ("my_rules.py", "acme_load.md"),
        ("my_rules/load.py", "my_rules/acme_load.md"),
        ("my_rules/loading/load.py", "my_rules/loading/acme_load.md"),
    ],
)
def test_a_page_is_a_file_beside_the_module_or_else_the_docstring(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], code: str, page: str
) -> None:
    install(tmp_path / "site", {"my_rules/__init__.py": "", code: rule()} if "/" in code else {code: rule()})
    assert f"\n\n{HEADINGS}\n" in printed(capsys, 0, "rule", "acme-load")
    (tmp_path / "site" / page).write_bytes("## What it finds\r\nDéjà lu.\r\n".encode())
    assert printed(capsys, 0, "rule", "acme-load").endswith("\n\n## What it finds\nDéjà lu.\n")


def test_a_page_is_read_from_an_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(tmp_path / "rules.zip", "w") as archive:
        archive.writestr("my_rules/__init__.py", "")
        archive.writestr("my_rules/load.py", rule())
        archive.writestr("my_rules/acme_load.md", "## What it finds\nA page.\n")
    monkeypatch.syspath_prepend(str(tmp_path / "rules.zip"))
    load = importlib.import_module("my_rules.load")
    assert info(load.AcmeLoad).documentation == "## What it finds\nA page."


def test_a_run_reads_no_page(tmp_path: Path) -> None:
    pages = {"my_rules/acme_load.md": "## What it finds\n"}
    install(tmp_path / "site", {"my_rules/__init__.py": "", "my_rules/load.py": rule(), **pages})
    code = (
        "import sys\n"
        "from torchlint.cli.main import main\n"
        "opened = []\n"
        "sys.addaudithook(lambda event, about: opened.append(str(about[0])) if event == 'open' else None)\n"
        "def pages(*arguments): main(arguments); return [path for path in opened if path.endswith('.md')]\n"
        "assert not pages('--no-cache', '--jobs', '1', '--select', 'ALL', 'a.py')\n"
        "assert len(pages('rule', 'TL101')) == 1\n"
        "assert len(pages('rule', 'ACME001')) == 2\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path / "site"), *filter(None, sys.path)])}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "ACME001 acme-load" in done.stdout


# -- selection and suppression -----------------------------------------------------------------------


@pytest.mark.parametrize("selector", ["ACME001", "acme-load", "ACME", "ACME0", "acme", "ALL"])
def test_rules_are_selected_by_id_name_prefix_and_topic(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], selector: str
) -> None:
    install(tmp_path / "site", {"my_rules.py": rule()})
    assert "ACME001 acme-load" in printed(capsys, 1, "a.py")
    assert "ACME001 acme-load" in printed(capsys, 1, "--select", selector, "a.py")
    if selector != "ALL":
        assert "All clear" in printed(capsys, 0, "--ignore", selector, "a.py")
        assert "All clear" in printed(capsys, 0, "--per-file-ignores", f"*.py:{selector}", "a.py")


def test_a_prefix_has_all_letters_of_an_id(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    install(tmp_path / "site", {"my_rules.py": rule()})
    install(tmp_path / "site", {"other_rules.py": rule("AC001", "ac-load")}, "other_rules", dist="other-rules")
    assert "ACME001" not in printed(capsys, 1, "--select", "AC", "a.py")


def test_a_rule_may_belong_to_a_topic_of_torchlint(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    install(tmp_path / "site", {"my_rules.py": rule(facts="topic = 'loading'")})
    assert '"topic": "loading"' in printed(capsys, 1, "--select", "loading", "--output-format", "json", "a.py")


@pytest.mark.parametrize(("severity", "group"), [("ERROR", "dead"), ("WARNING", "waste"), ("INFO", "advice")])
def test_a_rule_without_a_group_gets_it_from_its_severity(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], severity: str, group: str
) -> None:
    install(tmp_path / "site", {"my_rules.py": rule(facts=f"severity = Severity.{severity}")})
    said = printed(capsys, int(group != "advice"), "--select", group, "--output-format", "json", "a.py")
    assert f'"group": "{group}"' in said


def test_a_rule_without_a_group_may_report_findings_above_its_severity(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loud = 'self.report(node, "a call of torch.load", severity=Severity.ERROR)'
    install(tmp_path / "site", {"my_rules.py": rule(facts="severity = Severity.INFO", body=loud)})
    assert '"severity": "error"' in printed(capsys, 1, "--select", "ACME001", "--output-format", "json", "a.py")


@pytest.mark.parametrize(("group", "severity"), [("advice", "info"), ("portability", "warning"), ("preview", "error")])
def test_a_rule_that_names_its_group_reports_nothing_above_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], group: str, severity: str
) -> None:
    loud = 'self.report(node, "a call of torch.load", severity=Severity.ERROR)'
    facts = f"severity = Severity.INFO\ngroup = '{group}'"
    install(tmp_path / "site", {"my_rules.py": rule(facts=facts, body=loud)})
    said = printed(capsys, int(group != "advice"), "--select", "ACME001", "--output-format", "json", "a.py")
    assert f'"severity": "{severity}"' in said


def test_a_rule_of_the_group_preview_runs_only_if_previews_do_or_if_it_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install(tmp_path / "site", {"my_rules.py": rule(facts="group = 'preview'")})
    for options in ([], ["--select", "ACME"], ["--select", "ALL"], ["--preview", "--ignore", "ACME"]):
        assert "ACME001 acme-load" not in printed(capsys, 0, *options, "a.py")
    for options in (["--preview"], ["--preview", "--select", "ACME"], ["--extend-select", "acme-load"]):
        assert "ACME001 acme-load" in printed(capsys, 1, *options, "a.py")


def test_a_rule_of_a_package_that_is_not_installed_is_an_error_that_says_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert "is the package that has it installed?" in printed(capsys, 2, "--select", "ACME001", "a.py")


@pytest.mark.parametrize("comment", ["torchlint: ignore[ACME001]", "torchlint: ignore[acme-load]", "noqa: ACME001"])
def test_comments_suppress_and_those_that_do_not_are_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], comment: str
) -> None:
    install(tmp_path / "site", {"my_rules.py": rule()})
    Path("a.py").write_text(f"{GUILTY.rstrip()}  # {comment}\nx = 1  # {comment}\n", encoding="utf-8")
    said = printed(capsys, 0, "--show-info", "a.py")
    assert "1 suppressed" in said
    assert "unused suppression: ACME001 acme-load is not found here" in said


def test_comments_for_rules_that_are_not_installed_say_so_unless_they_may_be_for_another_tool(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("a.py").write_text("x = 1  # torchlint: ignore[ACME001]\ny = 2  # noqa: ACME001\n", encoding="utf-8")
    said = printed(capsys, 0, "--output-format", "concise", "--show-info", "a.py")
    assert "unknown rule 'ACME001' in a suppression; install the package that has it, or remove it" in said
    assert said.count("TL001") == 1


def test_options_come_from_the_configuration(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = "class Options(__import__('typing').NamedTuple):\n    word: str = 'plain'"
    install(tmp_path / "site", {"my_rules.py": rule(facts=options, body="self.report(node, self.options.word)")})
    for name in ("acme-load", "ACME001"):
        Path("torchlint.toml").write_text(f"[rules.{name}]\nword = 'changed'\n", encoding="utf-8")
        assert "changed" in printed(capsys, 1, "a.py")
    Path("torchlint.toml").write_text("[rules.acme-load]\nwird = 'x'\n", encoding="utf-8")
    assert "did you mean" in printed(capsys, 2, "a.py")


# -- reports -------------------------------------------------------------------------------------------


def test_rules_are_listed_with_their_package(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    install(tmp_path / "site", {"my_rules.py": rule()})
    *_, last = printed(capsys, 0, "rules").splitlines()
    assert last.startswith("ACME001  acme-load")
    assert last.endswith("(my-rules 1.0)")
    assert json.loads(printed(capsys, 0, "rules", "--output-format", "json"))[-1]["package"] == "my-rules 1.0"
    assert "A rule of the package my-rules 1.0." in printed(capsys, 0, "rule", "ACME001")


@pytest.mark.parametrize(("url", "link"), [("", None), ("url = 'https://a.example/{id}/{name}'", "ACME001/acme-load")])
def test_links_are_those_of_the_package_or_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], url: str, link: str | None
) -> None:
    install(tmp_path / "site", {"my_rules.py": rule(facts=url)})
    formats = {name: printed(capsys, 1, "--output-format", name, "a.py") for name in ("json", "sarif", "html")}
    formats["text"] = printed(capsys, 1, "-v", "a.py")
    assert json.loads(formats["json"])["findings"][0]["url"] == (link and f"https://a.example/{link}")
    listed = json.loads(formats["sarif"])["runs"][0]["tool"]["driver"]["rules"][-1]
    assert listed["id"] == "ACME001"
    assert listed["properties"]["package"] == "my-rules 1.0"
    assert listed.get("helpUri") == (link and f"https://a.example/{link}")
    for text in formats.values():
        assert "rules/acme-load.md" not in text
        assert 'href="None"' not in text
        assert "see None" not in text
        assert link is None or link in text


@pytest.mark.parametrize(
    ("metadata", "where"),
    [(TRACKER, "to my-rules 1.0 at https://acme.example/bugs"), ("", "to the authors of my-rules 1.0")],
)
@pytest.mark.parametrize("body", ["1 / 0", "raise SystemExit", "self.found(node)"])
def test_a_rule_that_fails_is_reported_to_its_own_authors(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], metadata: str, where: str, body: str
) -> None:
    install(tmp_path / "site", {"my_rules.py": rule(body=body)}, more=metadata)
    Path("a.py").write_text(f"{GUILTY}torch.backends.cudnn.enabled = False\n", encoding="utf-8")
    said = printed(capsys, 2, "a.py")
    assert "TL503" in said, "torchlint's own rules go on"
    assert f"report this with the file {where}" in said
    assert "github.com/torchlint" not in said


def test_a_visitor_of_an_unknown_node_is_an_error_of_the_rule(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = rule().replace('@on.call("torch.load")', "").replace("def found", "def visit_Clal")
    install(tmp_path / "site", {"my_rules.py": code})
    assert "visit_Clal names no LibCST node" in printed(capsys, 2, "a.py")


def test_a_rule_that_takes_too_long_is_reported_to_its_own_authors(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install(tmp_path / "site", {"my_rules.py": rule(body="while True: pass")}, more=TRACKER)
    Path("torchlint.toml").write_text("time-limit = 1\n", encoding="utf-8")
    said = printed(capsys, 1, "--output-format", "concise", "a.py")
    assert "in ACME001 acme-load: exclude the file, and please report it to my-rules 1.0 at" in said


def test_a_fix_that_would_break_the_file_is_reported_to_its_own_authors(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = 'self.report(node, "x", fix=Fix("break it", Safety.SAFE, (Edit(self.module.span(node), "(("),)))'
    install(tmp_path / "site", {"my_rules.py": rule(facts="fix = 'always'", body=body)}, more=TRACKER)
    assert "please report it to my-rules 1.0 at https://acme.example/bugs" in printed(capsys, 2, "--fix", "a.py")
    assert Path("a.py").read_text(encoding="utf-8") == GUILTY


# -- caches and processes --------------------------------------------------------------------------------


def cache_name(folder: Path) -> str:
    """What the cache of a run would be called."""
    registry.forget()
    plan = session.plan(Config())
    return for_settings(plan.rules, plan.scopes, str(folder))._file.name


def test_a_package_that_is_upgraded_or_edited_has_its_files_linted_anew(tmp_path: Path) -> None:
    site = tmp_path / "site"
    files = {"my_rules/__init__.py": "", "my_rules/rules/load.py": rule(), "my_rules/_tables.py": "# not imported"}
    install(site, files, "my_rules.rules.load")
    first = cache_name(tmp_path)
    assert cache_name(tmp_path) == first
    metadata = site / "my_rules-1.0.dist-info" / "METADATA"
    metadata.write_text(metadata.read_text(encoding="utf-8").replace("1.0", "1.1"), encoding="utf-8")
    names = [first, cache_name(tmp_path)]
    for number, edited in enumerate(("rules/load.py", "_tables.py"), 1):
        os.utime(site / "my_rules" / edited, (number, number))  # as in a checkout, where versions stay
        names.append(cache_name(tmp_path))
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("method", [m for m in multiprocessing.get_all_start_methods() if m != "fork"])
def test_processes_that_are_not_forked_load_the_rules_as_well(tmp_path: Path, method: str) -> None:
    install(tmp_path / "site", {"my_rules.py": rule()})
    for name in "bcdefg":
        Path(f"{name}.py").write_text(GUILTY + f"{name} = torch.zeros(3)  # {'x' * 50_000}\n", encoding="utf-8")
    (tmp_path / "run.py").write_text(
        "import multiprocessing, sys\n"
        "from torchlint.cli.main import main\n"
        "if __name__ == '__main__':\n"
        f"    multiprocessing.set_start_method({method!r})\n"
        "    sys.exit(main(['--no-cache', '--jobs', '2', '--output-format', 'concise', '--show-info', '.']))\n",
        encoding="utf-8",
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path / "site"), *filter(None, sys.path)])}
    command = [sys.executable, str(tmp_path / "run.py")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.count("ACME001 acme-load") == 7, done.stdout + done.stderr


def test_nothing_is_imported_for_packages_where_there_are_none() -> None:
    code = (
        "import sys, torchlint.run.rules.registry as registry; registry.load()\n"
        "assert not {'importlib.metadata', 'torchlint.run.rules.wellformed'} & set(sys.modules)"
    )
    path = os.pathsep.join(filter(None, sys.path))
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
