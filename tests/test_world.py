"""The table ``world`` of the configuration: what a normal run is, where the defaults say something else."""

from __future__ import annotations

import json
import re
from pathlib import Path
from textwrap import dedent, indent

import pytest

from torchlint import schema
from torchlint.cli.main import main
from torchlint.config.config import Config
from torchlint.config.configurations import Configurations
from torchlint.model import Finding
from torchlint.program.world import World
from torchlint.run import session
from torchlint.run.cache import for_settings
from torchlint.server.folder import Folder
from torchlint.server.settings import Settings

IMPORTS = """
import argparse
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader
"""
STEP = """
device = "cuda" if torch.cuda.is_available() else "cpu"
model = torch.nn.Linear(4, 1).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x in DataLoader(torch.randn(32, 4), batch_size=4, pin_memory=True):
    loss = model(x.to(device, non_blocking=True)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
MAIN = '\nif __name__ == "__main__":\n    main()\n'


def program(parser: str, guard: str) -> str:
    """A program that reads its loss in every step under a condition on its options."""
    lines = ["parser = argparse.ArgumentParser()", parser, "args = parser.parse_args()"]
    body = "\n".join(lines) + STEP + f"    {guard}:\n        print(loss.item())\n"
    return f"{IMPORTS}\ndef main():\n{indent(body, '    ')}\n{MAIN}"


def apart(parser: str, guard: str) -> dict[str, str]:
    """The same, with the parser in a file of its own, so that only following knows the options."""
    make = "parser = argparse.ArgumentParser()"
    options = f"import argparse\n\ndef parse():\n    {make}\n    {parser}\n    return parser.parse_args()\n"
    text = program("pass", guard).replace(make, "pass").replace("parser.parse_args()", "parse()")
    return {"train": f"from options import parse\n{text}", "options": options}


def write(folder: Path, world: str, **files: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    settings = 'select = ["TL301"]\npreview = true\n'
    (folder / "pyproject.toml").write_text(f"[tool.torchlint]\n{settings}[tool.torchlint.world]\n{world}\n", "utf-8")
    for name, text in files.items():
        (folder / f"{name}.py").write_text(dedent(text), encoding="utf-8")


def lint(folder: Path, *, cached: bool = False) -> list[Finding]:
    """The findings in all files of a folder, with the nearest configurations."""
    plan = session.plan_of(Configurations(str(folder)))
    cache = for_settings(plan.rules, plan.scopes) if cached else None
    return list(session.run(sorted(map(str, folder.rglob("*.py"))), plan, cache=cache).findings)


def told(folder: Path) -> list[str]:
    """Severity and reason of each finding, in order."""
    return [
        f"{f.severity.value} {f.message.rpartition('(')[2].rstrip(')')}"
        if f.message.endswith(")")
        else f.severity.value
        for f in lint(folder)
    ]


SWITCH = 'parser.add_argument("--use-wandb", action="store_true")'
UNREACHED = "info in programs that call this"
LOG = SWITCH.replace("use-wandb", "log")


# -- options ---------------------------------------------------------------------------------------


def test_without_a_world_the_defaults_are_a_normal_run(tmp_path: Path) -> None:
    write(tmp_path / "on", "", **apart(SWITCH, "if args.use_wandb"))
    write(tmp_path / "off", "", **apart(SWITCH, "if not args.use_wandb"))
    assert told(tmp_path / "on") == ["info only with `--use-wandb`"]
    assert told(tmp_path / "off") == ["warning"]


@pytest.mark.parametrize("name", ['"--use-wandb"', "use-wandb", "use_wandb"])
def test_an_option_that_is_on_makes_a_normal_run_of_what_it_guards(tmp_path: Path, name: str) -> None:
    write(tmp_path / "on", f"options = {{ {name} = true }}", **apart(SWITCH, "if args.use_wandb"))
    write(tmp_path / "off", f"options = {{ {name} = true }}", **apart(SWITCH, "if not args.use_wandb"))
    assert told(tmp_path / "on") == ["warning"]
    assert told(tmp_path / "off") == ["info only without `--use-wandb`"]


def test_an_option_that_is_off_guards_what_a_normal_run_does_not_get_to(tmp_path: Path) -> None:
    switch = 'parser.add_argument("--log", type=bool, default=True)'
    write(tmp_path, "", **apart(switch, "if args.log"))
    assert told(tmp_path) == ["warning"]
    write(tmp_path, "options = { log = false }")
    assert told(tmp_path) == ["info only with `--log`"]


@pytest.mark.parametrize(("name", "value"), [("fast", "false"), ("no-fast", "true")])
def test_an_option_with_another_destination_has_both_names(tmp_path: Path, name: str, value: str) -> None:
    switch = 'parser.add_argument("--no-fast", dest="fast", action="store_false")'
    write(tmp_path, "", **apart(switch, "if not args.fast"))
    assert told(tmp_path) == ["info only with `--no-fast`"]
    write(tmp_path, f"options = {{ {name} = {value} }}")
    assert told(tmp_path) == ["warning"]


@pytest.mark.parametrize(
    ("value", "expected"), [('"nccl"', "warning"), ('"gloo"', "info only with another `--backend`")]
)
def test_the_value_of_an_option_decides_comparisons(tmp_path: Path, value: str, expected: str) -> None:
    files = apart('parser.add_argument("--backend", default="mpi")', 'if args.backend == "nccl"')
    write(tmp_path, f"options = {{ backend = {value} }}", **files)
    assert told(tmp_path) == [expected]


@pytest.mark.parametrize(("value", "expected"), [(5, "warning"), (0, "info only with another `--log-every`")])
def test_a_number_is_the_value_of_an_option(tmp_path: Path, value: int, expected: str) -> None:
    switch = 'parser.add_argument("--log-every", type=int)'
    write(tmp_path, f"options = {{ log-every = {value} }}", **apart(switch, "if args.log_every > 0"))
    assert told(tmp_path) == [expected]


def test_an_option_that_is_zero_is_not_none(tmp_path: Path) -> None:
    switch = 'parser.add_argument("--log-every", type=int)'
    write(tmp_path, "options = { log-every = 0 }", **apart(switch, "if args.log_every is not None"))
    assert told(tmp_path) == ["warning"]


def test_the_value_of_an_option_is_a_name_that_is_looked_up(tmp_path: Path) -> None:
    helpers = "def show(value):\n    print(value.item())\n\ndef note(value):\n    print(value.item())\n"
    files = apart('parser.add_argument("--how", default="note")', "if True")
    text = files["train"].replace("print(loss.item())", "getattr(helpers, args.how)(loss)")
    write(tmp_path, "", **files | {"train": f"import helpers\n{text}", "helpers": helpers})
    assert sorted(told(tmp_path)) == ["info only with `--how show`", "warning"]
    write(tmp_path, 'options = { how = "show" }')
    assert told(tmp_path) == ["warning"]


def test_the_fields_of_a_class_of_options_have_values_too(tmp_path: Path) -> None:
    options = "from dataclasses import dataclass\n@dataclass\nclass Options:\n    use_wandb: bool = False\n"
    text = program("pass", "if args.use_wandb").replace("parser.parse_args()", "tyro.cli(Options)")
    write(tmp_path, "", train=f"import tyro\nfrom options import Options\n{text}", options=options)
    assert told(tmp_path) == ["info only with `use_wandb`"]
    write(tmp_path, "options = { use-wandb = true }")
    assert told(tmp_path) == ["warning"]


FIT = """
    import torch

    def fit(model, loader, optimizer, device, log=False):
        for x in loader:
            loss = model(x.to(device)).mean()
            loss.backward()
            optimizer.step()
            if log:
                print(loss.item())
"""


@pytest.mark.parametrize(
    ("world", "expected"),
    [
        ("", "info only with `log`"),
        ("options = { log = true }", "warning"),
        ("options = { log = false }", "info only with `log`"),
    ],
)
def test_a_parameter_of_a_function_that_nothing_calls_is_an_option(tmp_path: Path, world: str, expected: str) -> None:
    write(tmp_path, world, train=FIT)
    assert told(tmp_path) == [expected]


@pytest.mark.parametrize(
    ("world", "expected"),
    [
        ("", "info only with `--log`"),
        ("options = { log = true }", "warning"),
    ],
)
def test_a_function_that_a_command_line_library_calls_has_options(tmp_path: Path, world: str, expected: str) -> None:
    text = "import fire\n" + program("pass", "if log").replace("def main()", "def main(log=False)")
    write(tmp_path, world, train=text.replace("    main()\n", "    fire.Fire(main)\n"))
    assert told(tmp_path) == [expected]


@pytest.mark.parametrize(
    ("world", "expected"),
    [
        ("", "info only with `--log`"),
        ("options = { log = true }", "warning"),
    ],
)
def test_a_parameter_that_a_decorator_fills_is_an_option(tmp_path: Path, world: str, expected: str) -> None:
    command = "@click.command()\n@click.option('--log', is_flag=True)\ndef main(log)"
    text = "import click\n" + program("pass", "if log").replace("def main()", command)
    write(tmp_path, world, train=text)
    assert told(tmp_path) == [expected]


def test_an_option_that_chooses_the_cpu_leaves_nothing_on_the_device(tmp_path: Path) -> None:
    text = program('parser.add_argument("--device", default="cpu")', "if True").replace('"cuda" if', "args.device #")
    write(tmp_path, "", train=text)
    assert told(tmp_path) == ["warning"]
    write(tmp_path, 'options = { device = "cpu" }')
    assert told(tmp_path) == []


@pytest.mark.parametrize(("world", "expected"), [("", ["warning"]), ("options = { no-cuda = true }", [])])
def test_a_switch_that_chooses_the_cpu_does_so_too(tmp_path: Path, world: str, expected: list[str]) -> None:
    text = program('parser.add_argument("--no-cuda", action="store_true")', "if True")
    write(tmp_path, world, train=text.replace("if torch.cuda.is_available()", "if not args.no_cuda"))
    assert told(tmp_path) == expected


# -- programs --------------------------------------------------------------------------------------

SCRIPT = IMPORTS + STEP + "    print(loss.item())\n"


def test_only_the_named_files_are_programs(tmp_path: Path) -> None:
    guarded = program("pass", "if True")
    files = {"train": guarded, "old": guarded, "script": SCRIPT}
    write(tmp_path, "", **files)
    assert told(tmp_path) == ["warning", "warning", "warning"]
    write(tmp_path, 'programs = ["train.py"]')
    by_file = dict(zip(["old", "script", "train"], told(tmp_path), strict=True))
    assert by_file == {"train": "warning", "old": UNREACHED, "script": UNREACHED}


def test_globs_of_programs_are_relative_to_their_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "project", 'programs = ["/tools/*.py"]', train=program("pass", "if True"))
    tools = tmp_path / "project" / "tools"
    tools.mkdir()
    (tools / "run.py").write_text(program("pass", "if True"), encoding="utf-8")
    for folder in (tmp_path, tools):
        monkeypatch.chdir(folder)
        assert told(tmp_path / "project") == ["warning", UNREACHED]


def test_a_named_file_is_a_program_wherever_it_is(tmp_path: Path) -> None:
    write(tmp_path, 'programs = ["benchmarks/run.py"]', train=program("pass", "if True"))
    write(tmp_path / "benchmarks", 'programs = ["run.py"]', run=program("pass", "if True"))
    (tmp_path / "benchmarks" / "pyproject.toml").unlink()
    assert told(tmp_path) == ["warning", UNREACHED]


def test_a_program_imports_files_that_are_no_programs(tmp_path: Path) -> None:
    text = "import fit\nif __name__ == '__main__':\n    fit.main()\n"
    write(tmp_path, 'programs = ["run.py"]', fit=program("pass", "if True"), run=text)
    assert told(tmp_path) == ["warning"]


def test_what_an_import_runs_is_part_of_the_program_and_a_main_guard_is_not(tmp_path: Path) -> None:
    guarded = 'if __name__ == "__main__":\n' + indent(STEP + "    print(loss.item())\n", "    ")
    write(tmp_path, 'programs = ["run.py"]', run="import script\n", script=SCRIPT + guarded)
    assert told(tmp_path) == ["warning"]


def test_programs_without_a_step_leave_out_the_bodies_of_other_files(tmp_path: Path) -> None:
    write(tmp_path, 'programs = ["tool.py"]', tool="print('hello')\n", script=SCRIPT, train=program("pass", "if True"))
    assert told(tmp_path) == [UNREACHED, "warning"]


def test_what_no_program_reaches_is_followed_by_assumption_as_before(tmp_path: Path) -> None:
    stop = """
        import torch
        from transformers import StoppingCriteria

        class Stop(StoppingCriteria):
            def __call__(self, ids: torch.LongTensor, scores: torch.FloatTensor) -> bool:
                device = ids.device
                return ids[0, -1].item() == 2
    """
    write(tmp_path, 'programs = ["tool.py"]', stop=stop, tool="print('hello')\n")
    assert told(tmp_path) == ["info in programs that call this"]


def test_globs_that_match_no_file_leave_the_assumptions(tmp_path: Path) -> None:
    write(tmp_path, 'programs = ["missing.py"]', train=program("pass", "if True"), fit=FIT.replace("if log", "if True"))
    assert told(tmp_path) == ["warning", "warning"]


# -- accelerators ----------------------------------------------------------------------------------


@pytest.mark.parametrize("count", ["dist.get_world_size()", "torch.cuda.device_count()"])
@pytest.mark.parametrize(
    ("comparison", "world", "expected"),
    [
        ("> 1", "", "info only with several GPUs"),
        ("> 1", "accelerators = 1", "info only with several GPUs"),
        ("> 1", "accelerators = 4", "warning"),
        ("== 1", "", "warning"),
        ("== 1", "accelerators = 4", "info only with another number of GPUs"),
        ("> 4", "accelerators = 4", "info only with another number of GPUs"),
    ],
)
def test_the_number_of_accelerators(tmp_path: Path, count: str, comparison: str, world: str, expected: str) -> None:
    write(tmp_path, world, train=program("pass", f"if {count} {comparison}"))
    assert told(tmp_path) == [expected]


def test_without_an_accelerator_following_tells_nothing(tmp_path: Path) -> None:
    write(
        tmp_path,
        "",
        fit=FIT.replace("if log", "if True").replace("torch", "torch, train", 1),
        train=program("pass", "if dist.get_world_size() > 1"),
    )
    assert told(tmp_path) == [UNREACHED, "info only with several GPUs"]
    write(tmp_path, "accelerators = 0")
    assert not told(tmp_path)


# -- where it is read ------------------------------------------------------------------------------


def test_a_change_of_the_world_changes_what_a_warm_cache_gives(tmp_path: Path) -> None:
    write(tmp_path, "", train=program(SWITCH, "if args.use_wandb"), other=program(LOG, "if args.log"))

    def severities(world: str) -> list[str]:
        write(tmp_path, world)
        return [finding.severity.value for finding in lint(tmp_path, cached=True)]

    for _ in range(2):
        assert severities("") == ["info", "info"]
        assert severities("options = { log = true, use-wandb = true }") == ["warning", "warning"]
        assert severities("options = { log = true }") == ["warning", "info"]
        assert severities('options = { log = true, use-wandb = true }\nprograms = ["other.py"]') == ["warning", "info"]


def test_a_wrong_configuration_above_several_projects_is_not_theirs(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write(tmp_path / name, "", train=program("pass", "if True"))
    (tmp_path / "torchlint.toml").write_text("unknown = 1\n", encoding="utf-8")
    plan = session.plan_of(Configurations(str(tmp_path / "one")))
    paths = sorted(map(str, tmp_path.rglob("*.py")))
    assert [f.severity.value for f in session.run(paths, plan).findings] == ["warning", "warning"]


def test_a_run_without_files_needs_no_world(tmp_path: Path) -> None:
    write(tmp_path, 'programs = ["train.py"]')
    assert lint(tmp_path) == []


def nested(folder: Path) -> None:
    """A project with a world in another one, which sets the same option."""
    write(folder, "options = { use-wandb = true }")
    write(folder / "inner", "options = { use-wandb = false }", train=program(SWITCH, "if args.use_wandb"))


@pytest.mark.parametrize("cached", [False, True])
def test_the_world_is_that_of_the_nearest_configuration_above_all_files(tmp_path: Path, *, cached: bool) -> None:
    nested(tmp_path)
    for _ in range(2):
        assert [f.severity.value for f in lint(tmp_path / "inner", cached=cached)] == ["info"]
        (tmp_path / "first.py").write_text("import torch\nfrom inner import train\n", encoding="utf-8")
        assert [f.severity.value for f in lint(tmp_path, cached=cached)] == ["warning"]
        (tmp_path / "first.py").unlink()


def test_a_change_of_an_outer_world_changes_what_the_cache_of_an_inner_project_gives(tmp_path: Path) -> None:
    nested(tmp_path)
    (tmp_path / "first.py").write_text("import torch\nfrom inner import train\n", encoding="utf-8")
    found = []
    for value in ("true", "false", "true"):
        write(tmp_path, f"options = {{ use-wandb = {value} }}")
        plan = session.plan_of(Configurations(str(tmp_path / "inner")))
        cache = for_settings(plan.rules, plan.scopes)
        (finding,) = session.run(sorted(map(str, tmp_path.rglob("*.py"))), plan, cache=cache).findings
        found.append(finding.severity.value)
    assert found == ["warning", "info", "warning"]
    assert len(list((tmp_path / "inner" / ".torchlint_cache").glob("*.json"))) == 1


def test_the_language_server_follows_programs_in_the_same_world(tmp_path: Path) -> None:
    write(tmp_path, "options = { use-wandb = true }", train=program(SWITCH, "if args.use_wandb"))
    folder = Folder(str(tmp_path), Settings())
    path = str(tmp_path / "train.py")
    alone = folder.lint(path, Path(path).read_bytes())
    folder.scan([path], lambda _: None, lambda: None)
    changed = Path(path).read_bytes() + b"# more\n"
    folder.follow({path: changed}, [], search=False)
    results = alone, folder.lint(path, Path(path).read_bytes()), folder.lint(path, changed)
    assert [[finding.severity.value for finding in result.findings] for result in results] == [["warning"]] * 3


def test_the_settings_show_the_world(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, 'options = { "--use-wandb" = true }\nprograms = ["train.py"]\naccelerators = 4')
    assert main(["--show-settings", str(tmp_path)]) == 0
    shown = json.loads(capsys.readouterr().out)["world"]
    told = {"options": {"use_wandb": True}, "programs": ["train.py"], "accelerators": 4}
    assert shown == {**told, "hot": [], "allowed-waits": [], "upload-helper": ""}


@pytest.mark.parametrize(
    ("world", "message"),
    [
        ("world = 4", "world must be a table, not an integer; write accelerators = 4 in it"),
        (
            "world.gpus = 4",
            (
                "world has no key 'gpus'; remove it, or use one of the keys options, programs, accelerators, hot, "
                "allowed-waits, upload-helper"
            ),
        ),
        ("world.accelerator = 4", "world has no key 'accelerator'; did you mean 'accelerators'?"),
        ("world.accelerators = -1", "world at accelerators must not be -1; write 0 for no accelerator"),
        (
            "world.accelerators = true",
            "world at accelerators must be a number of accelerators, not a boolean; write 1, or 0 for none",
        ),
        ('world.programs = "a.py"', "world at programs must be an array of strings, not a string; write ['a.py']"),
        ('world.programs = ["/"]', "world at programs holds '/', which is not a valid pattern; correct or remove it"),
        ("world.options = []", "world at options must be a table of options, not an array; write { use-wandb = true }"),
        (
            "world.options.amp = []",
            "world at options must give 'amp' a boolean, a number or a string, not an array",
        ),
        ("world.options.amp = nan", "world at options must give 'amp' a boolean, a number or a string, not nan"),
        (
            "world.options.'a b' = 1",
            "world at options holds 'a b', which is not the name of an option; write one such as use-wandb",
        ),
        (
            "world.options = { a-b = 1, a_b = 2 }",
            "world at options holds 'a_b' twice, in two spellings; remove one",
        ),
    ],
)
def test_what_is_wrong_is_one_line_with_file_and_key(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    world: str,
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pyproject.toml").write_text(f"[tool.torchlint]\n{world}\n", encoding="utf-8")
    assert main(["."]) == 2
    assert capsys.readouterr().err.splitlines() == [f"torchlint: error: pyproject.toml: tool.torchlint.{message}"]


def test_globs_that_take_too_long_are_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    glob = "*a" * 40
    write(tmp_path, f'programs = ["{glob}"]', **{"a" * 200: program("pass", "if True")})
    assert main(["."]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("torchlint: error: pyproject.toml: world at programs ")
    assert line.endswith("has too many `*` to be matched with so long a path; use fewer")


def test_the_schema_accepts_a_world() -> None:
    import jsonschema

    validator = jsonschema.Draft7Validator(json.loads(schema.render(())))
    world = {"options": {"amp": True, "--lr": 0.1, "backend": "nccl"}, "programs": ["train.py"], "accelerators": 0}
    assert validator.is_valid({"world": world})
    refused: list[dict[str, object]] = [{"accelerators": -1}, {"programs": "a"}, {"options": {"a": []}}, {"gpus": 1}]
    for wrong in refused:
        assert not validator.is_valid({"world": wrong})


def test_files_that_are_given_by_their_content_are_in_the_same_world(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # as a scan lints repositories
    world = World(options=(("use_wandb", True),), programs=("/train.py",))
    plan = session.plan(Config(select=("TL301",), preview=True, root=str(tmp_path), world=world))
    contents = {f"{name}.py": program(SWITCH, "if args.use_wandb").encode() for name in ("train", "old")}
    found = session.run(sorted(contents), plan, given=contents).findings
    assert [(f.path, f.severity.value) for f in found] == [("old.py", "info"), ("train.py", "warning")]


# -- names that match nothing ----------------------------------------------------------------------


def said(folder: Path, capsys: pytest.CaptureFixture[str], *paths: str) -> list[str]:
    main(["--no-cache", *(paths or [str(folder)])])
    text = " ".join(capsys.readouterr().out.split())
    return re.findall(r"world\.\w+: '[^']+' (?:matches|occurs) [^.]*\.", text)


def test_names_that_match_are_not_mentioned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    world = 'options = { use_wandb = true, no-cuda = true }\nprograms = ["train.py"]'
    write(tmp_path, world, **apart(f"{SWITCH}; parser.add_argument('--cuda')", "if args.use_wandb"))
    assert said(tmp_path, capsys) == []


def test_names_that_match_nothing_are_said_where_the_whole_project_is_linted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world = 'options = { use-wandbb = true }\nprograms = ["tarin.py", "train.py"]'
    write(tmp_path, world, **apart(SWITCH, "if args.use_wandb"))
    option, program = sorted(said(tmp_path, capsys))
    assert option == "world.options: 'use_wandbb' occurs in none of the linted files, so it changes nothing."
    assert program == "world.programs: 'tarin.py' matches none of the linted files."
    assert said(tmp_path, capsys, str(tmp_path / "options.py")) == []
