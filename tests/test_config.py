"""The configuration: where it is found, what it may say, and what is said of mistakes."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any, Literal

import pytest

from torchlint import schema
from torchlint.cli.main import main
from torchlint.config import other_tools
from torchlint.config.config import KEYS, Config, ConfigError, read_value
from torchlint.config.configurations import load
from torchlint.config.options import check_rule_tables, options_for
from torchlint.model import Severity
from torchlint.rule import Rule


@dataclasses.dataclass(frozen=True)
class Options:
    """An option of every type."""

    strict: bool = False
    min_size: int = 3
    share: float = 0.5
    mode: Literal["fast", "exact"] = "fast"
    producers: tuple[str, ...] = ()
    limit: int | None = None

    def __post_init__(self) -> None:
        if self.min_size < 0:
            raise ValueError("min-size must not be negative; give 0 or more")


class Sized(Rule):
    """A rule with options."""

    id = "TL101"
    name = "tensor-copies-ndarray"
    summary = "A rule with options"
    Options = Options


class Plain(Rule):
    """A rule without."""

    id = "TL201"
    name = "device-round-trip"
    summary = "A rule without"


RULES: list[type[Rule]] = [Sized, Plain]

EVERYTHING = """
select = ["ALL"]
extend-select = ["TL402"]
ignore = ["copies"]
exclude = ["vendor", "*_pb2.py"]
force-exclude = true
target-torch = "2.4"
fail-on = "error"
[per-file-ignores]
"tests/*" = ["TL101", "hardcoded-cuda"]
[severity]
TL101 = "info"
loading = "error"
[rules.tensor-copies-ndarray]
min-size = 8
"""


@pytest.fixture(autouse=True)
def _in_scratch_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def read(text: str, name: str = "torchlint.toml") -> Config:
    Path(name).write_text(text, encoding="utf-8")
    return load(Path())


def error(text: str, name: str = "torchlint.toml") -> str:
    with pytest.raises(ConfigError) as caught:
        read(text, name)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_every_key_is_read(tmp_path: Path) -> None:
    assert read(EVERYTHING) == Config(
        select=("ALL",),
        extend_select=("TL402",),
        ignore=("copies",),
        per_file_ignores=(("tests/*", ("TL101", "hardcoded-cuda")),),
        exclude=("vendor", "*_pb2.py"),
        force_exclude=True,
        target_torch="2.4",
        severity=(("TL101", Severity.INFO), ("loading", Severity.ERROR)),
        fail_on=Severity.ERROR,
        rules={"tensor-copies-ndarray": {"min-size": 8}},
        root=str(tmp_path),
        source="torchlint.toml",
    )


def test_a_byte_order_mark_and_old_newlines_are_read() -> None:
    assert read('\ufeffselect = ["TL1"]\r\n').select == ("TL1",)


def test_never_failing_is_none() -> None:
    assert read('fail-on = "never"').fail_on is None


def test_without_a_file_the_defaults_hold(tmp_path: Path) -> None:
    assert load(tmp_path, isolated=True) == Config(root=str(tmp_path))


def test_the_nearest_file_counts() -> None:
    read('select = ["TL1"]')
    Path("a/b/c").mkdir(parents=True)
    Path("a/b/pyproject.toml").write_text('[tool.torchlint]\nselect = ["TL2"]\n')
    Path("a/b/c/pyproject.toml").write_text("[tool.ruff]\nline-length = 100\n[project]\nname = 'torchlint-x'\n")
    assert load(Path("a")).select == ("TL1",)
    found = load(Path("a/b/c/x.py"))
    assert (found.select, found.source) == (("TL2",), str(Path("a", "b", "pyproject.toml")))
    assert Path(found.root) == Path("a/b").absolute()


def test_a_file_outside_the_working_folder_is_named_in_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read("")
    Path("a").mkdir()
    monkeypatch.chdir("a")
    assert load(Path("../x.py")).source == str(tmp_path / "torchlint.toml")


def test_broken_project_files_of_others_are_passed_over() -> None:
    Path("pyproject.toml").write_bytes(b"\xff[[[")
    assert load(Path()).source is None


def test_an_explicit_file_is_taken_and_isolation_takes_none() -> None:
    read('select = ["TL1"]')
    Path("other.toml").write_text('select = ["TL2"]')
    assert load(Path(), explicit=Path("other.toml")).select == ("TL2",)
    assert load(Path(), isolated=True).select is None
    with pytest.raises(ConfigError, match="contradict"):
        load(Path(), explicit=Path("other.toml"), isolated=True)


def test_an_explicit_file_must_be_there_and_speak_of_torchlint() -> None:
    with pytest.raises(ConfigError, match=r"^nowhere\.toml: cannot be read \(No such file"):
        load(Path(), explicit=Path("nowhere.toml"))
    Path("pyproject.toml").write_text("")
    with pytest.raises(ConfigError, match=r"^pyproject\.toml: has no \[tool\.torchlint\] table"):
        load(Path(), explicit=Path("pyproject.toml"))


def test_two_files_in_one_folder_are_an_error() -> None:
    Path("torchlint.toml").write_text("")
    assert "keep one of the two" in error("[tool.torchlint]", "pyproject.toml")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('selct = ["TL1"]', "torchlint.toml: unknown key 'selct'; did you mean 'select'?"),
        ("per_file_ignores = {}", "did you mean 'per-file-ignores'?"),
        ("extends = 'a.toml'", "torchlint.toml: unknown key 'extends'; use 'extend'"),
        ("extend = ['a.toml']", "torchlint.toml: extend must be the name of a file, not an array"),
        ("extend_exclude = ['a']", "unknown key 'extend_exclude'; use 'exclude'"),
        ("exclude-dirs = ['a']", "unknown key 'exclude-dirs'; use 'exclude'"),
        ("extend-ignore = ['a']", "unknown key 'extend-ignore'; use 'ignore'"),
        ("line-length = 88", "unknown key 'line-length'; torchlint does not look at the layout of code; remove it"),
        ("target-version = 'py310'", "or use 'target-torch' for that of PyTorch"),
        ("output-format = 'json'", "unknown key 'output-format'; give --output-format on the command line"),
        ("zzz = 1", "use one of the keys extend, select, extend-select"),
        ('"a\\u001b[31m\\nb" = 1', r"unknown key 'a\x1b[31m\nb'"),
        (
            'select = "TL101"',
            "torchlint.toml: select must be an array of strings, not a string; write ['TL101']",
        ),
        ("ignore = [101]", "ignore must hold strings only, not an integer; put quotes around it"),
        ('exclude = [""]', "exclude holds an empty string"),
        ("exclude = 1979-05-27", "not a date or time"),
        ("target-torch = 2.4", 'target-torch must be a string such as "2.4", not a number'),
        ('target-torch = "latest"', "must be a torch version such as \"2.4\", not 'latest'"),
        (
            'fail-on = "warn"',
            "must be one of error, warning, info, never, not 'warn'; did you mean 'warning'?",
        ),
        ("fail-on = 1", "not an integer"),
        ('force-exclude = "yes"', "must be true or false, not a string"),
        ('per-file-ignores = ["a"]', "per-file-ignores must be a table of globs, not an array"),
        ('[per-file-ignores]\n"a/*" = "TL1"', "per-file-ignores at 'a/*' must be an array of strings"),
        ('severity = "info"', "severity must be a table of severities, not a string"),
        ('[severity]\nTL101 = "warn"', "severity at 'TL101' must be one of error, warning, info, not 'warn'"),
        ("rules = 1", "rules must be a table of tables"),
        ("[rules]\nhardcoded-cuda = true", "rules at 'hardcoded-cuda' must be a table, not a boolean"),
    ],
)
def test_mistakes_are_named_with_file_key_and_remedy(text: str, words: str) -> None:
    assert words in error(text)


def test_the_advice_for_keys_of_other_tools_names_what_exists() -> None:
    assert set(other_tools.KEYS.values()) <= set(KEYS)
    options = (Path(__file__).parents[1] / "docs/options.md").read_text(encoding="utf-8")
    assert all(f"`{option}`" in options or f"`{option} " in options for option in other_tools.OPTIONS.values())
    assert not {*other_tools.KEYS, *other_tools.OPTIONS} & set(KEYS)


def test_keys_of_a_project_file_are_named_in_full() -> None:
    assert "pyproject.toml: unknown key 'tool.torchlint.selct'; did you mean 'select'?" in error(
        "[tool.torchlint]\nselct = 1", "pyproject.toml"
    )
    assert error("[tool.torchlint]\nselect = 1", "pyproject.toml").startswith(
        "pyproject.toml: tool.torchlint.select must be"
    )
    assert "tool.torchlint must be a table, not an integer" in error("tool.torchlint = 1", "pyproject.toml")
    assert "tool must be a table" in error("tool = 'torchlint'", "pyproject.toml")


def test_bad_toml_is_reported_with_its_line() -> None:
    assert error('select = ["TL1"]\nignore = = 1\n').startswith("torchlint.toml:2:10: is not valid TOML: ")
    assert "is not valid TOML" in error("select = [")
    assert "torchlint.toml" in error("x = " + "[" * 100_000)


def test_other_encodings_are_reported_with_their_line() -> None:
    Path("torchlint.toml").write_bytes(b"# a\n# \xe9\n")
    with pytest.raises(ConfigError, match=r"^torchlint\.toml:2: is not UTF-8"):
        load(Path())


def test_single_values_of_the_command_line_are_read_alike() -> None:
    assert read_value("fail-on", "never", "--fail-on") is None
    with pytest.raises(ConfigError, match=r"^--target-torch must be a torch version"):
        read_value("target-torch", "new", "--target-torch")


MANY = """
select = []
ignore = ["TL999", "copys"]
fail-on = "nevr"
selct = ["TL1"]
[severity]
TL101 = "high"
loading = "warnin"
[world]
acelerators = 2
options = { ok = [1], "!" = true }
[rules.nope]
"""


def test_all_mistakes_are_reported_at_once_each_on_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    Path("torchlint.toml").write_text(MANY, encoding="utf-8")
    assert main(["--no-cache", "."]) == 2
    said = capsys.readouterr().err.splitlines()
    expected = [
        "select selects no rule; name some, or remove the key",
        "fail-on must be one of error, warning, info, never, not 'nevr'; did you mean 'never'?",
        "unknown key 'selct'; did you mean 'select'?",
        "severity at 'TL101' must be one of",
        "severity at 'loading' must be one of",
        "world has no key 'acelerators'; did you mean 'accelerators'?",
        "world at options must give 'ok'",
        "world at options holds '!'",
        "rules.'nope' names no rule; `torchlint rules` lists them",
        "ignore: no rule has the id 'TL999'",
        "ignore: there is no rule, topic, group, prefix or preset 'copys'; did you mean 'copies'?",
    ]
    assert len(said) == len(expected)
    for line, words in zip(said, expected, strict=True):
        assert line.startswith(f"torchlint: error: torchlint.toml: {words}")


def test_mistakes_of_an_extended_file_are_reported_with_those_of_the_file() -> None:
    Path("base.toml").write_text('fail-on = "nevr"\n', encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        read('extend = "base.toml"\nselect = "TL1"\n')
    assert [message.partition(" must")[0] for message in caught.value.messages] == [
        "base.toml: fail-on",
        "torchlint.toml: select",
    ]


def options(**table: Any) -> Any:
    return options_for(Sized, Config(rules={"tensor-copies-ndarray": table}))


def test_options_default_where_nothing_is_said() -> None:
    assert options_for(Sized, Config()) == Options()
    assert options_for(Plain, Config()) == Plain.Options()


def test_options_are_read_by_their_types() -> None:
    table = {"strict": True, "min-size": 1, "share": 1, "mode": "exact", "producers": ["a.b"], "limit": 2}
    expected = Options(strict=True, min_size=1, share=1.0, mode="exact", producers=("a.b",), limit=2)
    assert options(**table) == expected
    assert options_for(Sized, Config(rules={"TL101": table})) == expected


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"min_size": 1}, "has no option 'min_size'; did you mean 'min-size'?"),
        ({"min-size": "1"}, "min-size must be an integer, not a string"),
        ({"min-size": True}, "min-size must be an integer, not a boolean"),
        ({"min-size": -1}, "min-size must not be negative"),
        ({"limit": "a"}, "limit must be an integer"),
        ({"strict": 1}, "strict must be true or false, not an integer"),
        ({"share": "a"}, "share must be a number"),
        ({"mode": "exakt"}, "mode must be one of fast, exact, not 'exakt'; did you mean 'exact'?"),
        ({"producers": "a"}, "producers must be an array of strings"),
    ],
)
def test_wrong_options_are_named(table: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_rule_tables(RULES, Config(rules={"tensor-copies-ndarray": table}, source="t.toml"))
    assert str(caught.value).startswith("t.toml: rules.tensor-copies-ndarray")
    assert words in str(caught.value)


def test_tables_of_known_rules_pass() -> None:
    check_rule_tables(RULES, Config(rules={"TL101": {}, "device-round-trip": {}}))


def test_a_table_of_an_unknown_rule_is_an_error_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match="names no rule; did you mean 'device-round-trip'"):
        check_rule_tables(RULES, Config(rules={"device-roundtrip": {}}))


def test_a_table_of_a_retired_rule_is_an_error_that_says_why_it_is_gone() -> None:
    said = "rules.'manual-pin-then-copy': TL203 manual-pin-then-copy was retired: measured on a GPU, .*; remove it"
    with pytest.raises(ConfigError, match=said):
        check_rule_tables(RULES, Config(rules={"manual-pin-then-copy": {}}))


def test_a_rule_configured_twice_is_an_error() -> None:
    with pytest.raises(ConfigError, match="are the same rule"):
        options_for(Sized, Config(rules={"TL101": {}, "tensor-copies-ndarray": {}}))


def test_every_key_fills_a_field_and_every_field_has_a_key() -> None:
    fields = set(Config._fields)
    assert {key.field for key in KEYS.values()} == fields - {"root", "source", "top", "given", "programs_root"}


def validator() -> Any:
    import jsonschema

    content = json.loads(schema.render(RULES))
    jsonschema.Draft7Validator.check_schema(content)
    return jsonschema.Draft7Validator(content)


def test_the_schema_accepts_what_the_reader_accepts() -> None:
    accepted = {
        "select": ["ALL", "TL1", "copies", "TL101", "device-round-trip"],
        "per-file-ignores": {"tests/*": ["TL001"]},
        "target-torch": "2.4",
        "fail-on": "never",
        "severity": {"TL101": "info", "copies": "error"},
        "exclude": ["a"],
        "force-exclude": True,
        "rules": {"tensor-copies-ndarray": {"min-size": 8, "mode": "exact", "producers": ["a"]}, "TL201": {}},
    }
    assert not list(validator().iter_errors(accepted))


@pytest.mark.parametrize(
    "content",
    [
        {"selct": []},
        {"select": ["TL999"]},
        {"select": "ALL"},
        {"fail-on": "warn"},
        {"target-torch": "new"},
        {"severity": {"TL999": "info"}},
        {"severity": {"TL101": "never"}},
        {"rules": {"nothing": {}}},
        {"rules": {"tensor-copies-ndarray": {"min-size": "8"}}},
        {"rules": {"TL101": {"min_size": 8}}},
        {"rules": {"device-round-trip": {"a": 1}}},
    ],
)
def test_the_schema_refuses_what_the_reader_refuses(content: object) -> None:
    assert list(validator().iter_errors(content))


def test_the_default_of_a_key_in_the_schema_is_a_value_that_the_key_may_have() -> None:
    content = json.loads(schema.render(RULES))
    defaults = {name: key["default"] for name, key in content["properties"].items() if "default" in key}
    assert defaults["severity"] == {}
    assert not list(validator().iter_errors(defaults))


def test_the_published_schema_is_fresh() -> None:
    registry = pytest.importorskip("torchlint.run.rules.registry", reason="there are no rules yet")
    published = Path(__file__).parent.parent / schema.TARGET
    fresh = schema.render(registry.load())
    assert published.read_text(encoding="utf-8") == fresh, "stale; run: python -m torchlint.schema"


@pytest.mark.parametrize(
    ("text", "words"), [("time-limit = '9'", "a number of seconds"), ("time-limit = -1", "0 for no")]
)
def test_a_wrong_time_limit_is_an_error_that_says_what_to_write(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "torchlint.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=words):
        load(tmp_path)


def test_the_time_limit_is_read_in_seconds(tmp_path: Path) -> None:
    (tmp_path / "torchlint.toml").write_text("time-limit = 2.5", encoding="utf-8")
    assert load(tmp_path).time_limit == 2.5
