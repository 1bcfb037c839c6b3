"""Options that programs read from YAML, JSON and TOML files of the project."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from tests.test_project import found
from torchlint.config.config import Config
from torchlint.model import Finding
from torchlint.program import yaml
from torchlint.program.option_files import OptionFiles
from torchlint.run import session
from torchlint.run.cache import for_settings

TRAIN = """
    import argparse
    import json
    import os
    import tomllib
    from pathlib import Path

    import hydra
    import torch
    import yaml
    from omegaconf import OmegaConf
    from torch.utils.data import DataLoader

    from options import read

    def main():
        cfg = {read}
        model = torch.nn.Linear(4, 1).cuda()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for x in DataLoader(range(9), num_workers={workers}, pin_memory={pins}):
            model(x.cuda()).mean().backward()
            optimizer.step()

    main()
"""
READ = """
    import argparse
    import yaml

    def read():
        parser = argparse.ArgumentParser()
        parser.add_argument("--config", default="configs/base.yaml")
        args = parser.parse_args()
        with open(args.config) as file:
            return yaml.safe_load(file)
"""
BASE = """
    # what a run uses
    train:
      num_workers: 4
      pin_memory: {pins}
      lr: 1e-4
      betas: [0.9, 0.999]
"""


def lint(folder: Path, read: str, options: dict[str, str], **others: str) -> list[Finding]:
    """What TL401 finds in a program that reads its options so."""
    for name, text in options.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(dedent(text), encoding="utf-8")
    keys = {"workers": 'cfg["train"]["num_workers"]', "pins": 'cfg["train"]["pin_memory"]', **others}
    return found(folder, {"train.py": TRAIN.format(read=read, **keys), "options.py": READ}, "TL401")


def severities(findings: list[Finding]) -> list[str]:
    return [finding.severity.value for finding in findings]


WAYS = [
    "read()",
    'yaml.load(open("configs/base.yaml"), Loader=yaml.FullLoader)',
    'yaml.safe_load(Path("configs/base.yaml").read_text())',
    'yaml.safe_load((Path(__file__).parent / "configs" / "base.yaml").open())',
    'OmegaConf.load(os.path.join(os.path.dirname(__file__), "configs", "base.yaml"))',
    'OmegaConf.merge(OmegaConf.load("configs/base.yaml"), {"other": 1})',
    "OmegaConf.load(f\"configs/{'base'}.yaml\")",
    'OmegaConf.load("configs/{}.yaml".format("base"))',
    'OmegaConf.load("configs/%s.yaml" % "base")',
]


@pytest.mark.parametrize("read", WAYS)
def test_a_loader_pins_if_the_file_of_options_says_so(tmp_path: Path, read: str) -> None:
    assert not lint(tmp_path, read, {"configs/base.yaml": BASE.format(pins="true")})


@pytest.mark.parametrize("read", WAYS)
def test_a_loader_that_a_file_of_options_leaves_unpinned_is_found(tmp_path: Path, read: str) -> None:
    (finding,) = lint(tmp_path, read, {"configs/base.yaml": BASE.format(pins="false")})
    assert finding.severity.value == "warning"
    assert "sets `pin_memory` only with `train.pin_memory`" in finding.message


def test_attributes_and_get_read_the_same_options(tmp_path: Path) -> None:
    ways = {"workers": "cfg.train.num_workers", "pins": 'cfg.get("train").get("pin_memory", True)'}
    assert severities(lint(tmp_path, "read()", {"configs/base.yaml": BASE.format(pins="off")}, **ways)) == ["warning"]


@pytest.mark.parametrize(
    ("name", "text", "read"),
    [
        ("base.json", '{{"train": {{"num_workers": 2, "pin_memory": {pins}}}}}', 'json.load(open("base.json"))'),
        ("base.toml", "[train]\nnum_workers = 2\npin_memory = {pins}\n", 'tomllib.load(open("base.toml", "rb"))'),
    ],
)
def test_json_and_toml_are_read_like_yaml(tmp_path: Path, name: str, text: str, read: str) -> None:
    assert not lint(tmp_path / "on", read, {name: text.format(pins="true")})
    assert severities(lint(tmp_path / "off", read, {name: text.format(pins="false")})) == ["warning"]


def test_the_number_of_workers_in_a_file_decides_what_a_finding_says(tmp_path: Path) -> None:
    text = BASE.format(pins="false").replace("num_workers: 4", "num_workers: 0")
    (finding,) = lint(tmp_path, "read()", {"configs/base.yaml": text})
    assert finding.severity.value == "info"
    assert "without workers" in finding.message


@pytest.mark.parametrize(
    "read",
    [
        "yaml.safe_load(open(f\"configs/{os.environ['NAME']}.yaml\"))",  # any file of a folder
        "yaml.safe_load(open(os.environ['NAME']))",
        'yaml.safe_load(open("elsewhere/base.yaml"))',
        'OmegaConf.merge(OmegaConf.load("configs/base.yaml"), OmegaConf.load(os.environ["NAME"]))',
        "{**read(), **yaml.safe_load(open(os.environ['NAME']))}",
    ],
)
def test_nothing_is_known_where_it_is_not_known_which_file_is_read(tmp_path: Path, read: str) -> None:
    files = {"configs/base.yaml": BASE.format(pins="false"), "configs/large.yaml": BASE.format(pins="true")}
    assert not lint(tmp_path, read, files)


def test_what_a_program_writes_over_the_options_of_a_file_is_not_known(tmp_path: Path) -> None:
    read = READ.replace("import yaml", "import os\n    import yaml").replace(
        "return yaml.safe_load(file)", "cfg = yaml.safe_load(file)"
    )
    written = "    for name, value in os.environ.items():\n            cfg[name] = value\n        return cfg\n"
    files = {"configs/base.yaml": BASE.format(pins="false")}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(dedent(text), encoding="utf-8")
    keys = {"workers": "2", "pins": 'cfg["train"]["pin_memory"]'}
    program = {"train.py": TRAIN.format(read="read()", **keys), "options.py": read + "    " + written}
    assert not found(tmp_path, program, "TL401")
    assert found(tmp_path, {**program, "options.py": READ}, "TL401")


@pytest.mark.parametrize(
    "text", ["train: !!python/object:os.system {}", "train: {", "train:\n\t- x", "[" * 5000, "\xff"]
)
def test_a_file_that_cannot_be_read_is_no_error(tmp_path: Path, text: str) -> None:
    assert not lint(tmp_path, "read()", {"configs/base.yaml": text})


def test_a_large_file_is_not_read(tmp_path: Path) -> None:
    large = BASE.format(pins="false") + "    # " + "x" * 100_000
    assert not lint(tmp_path, "read()", {"configs/base.yaml": large})


def test_files_outside_of_the_project_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text(dedent(BASE.format(pins="false")), encoding="utf-8")
    project = tmp_path / "project"
    (project / "configs").mkdir(parents=True)
    (project / "configs" / "base.yaml").symlink_to(tmp_path / "base.yaml")
    assert not lint(project, "read()", {})


def test_the_cache_knows_that_findings_depend_on_the_file(tmp_path: Path) -> None:
    base = tmp_path / "configs" / "base.yaml"
    lint(tmp_path, "read()", {"configs/base.yaml": BASE.format(pins="true")})

    def linted() -> list[Finding]:
        plan = session.plan(Config(select=("TL401",), root=str(tmp_path)))
        cache = for_settings(plan.rules, plan.scopes)
        return list(session.run(sorted(map(str, tmp_path.rglob("*.py"))), plan, cache=cache).findings)

    assert not linted()
    base.write_text(dedent(BASE.format(pins="false")), encoding="utf-8")
    assert severities(linted()) == ["warning"]
    base.write_text(dedent(BASE.format(pins="true")), encoding="utf-8")
    assert not linted()


HYDRA = """
    import hydra
    import torch
    from data import loader

    @hydra.main(version_base=None, config_path="conf", config_name="config")
    def main(cfg):
        model = torch.nn.Linear(4, 1).cuda()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for x in loader(cfg):
            model(x.cuda()).mean().backward()
            optimizer.step()

    if __name__ == "__main__":
        main()
"""
LOADER = """
    from torch.utils.data import DataLoader

    def loader(cfg):
        return DataLoader(range(9), num_workers=cfg.data.num_workers, pin_memory=cfg.data.pin_memory)
"""


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ("defaults:\n  - data: small\n  - _self_\n", ["warning"]),
        ("defaults:\n  - data: small\n  - _self_\ndata:\n  pin_memory: true\n", []),
        ("defaults:\n  - _self_\n  - data: small\ndata:\n  pin_memory: true\n", ["warning"]),
        ("defaults:\n  - data: other\ndata:\n  num_workers: 2\n", []),
        ("data:\n  num_workers: 2\n  pin_memory: false\n", ["warning"]),
    ],
)
def test_hydra_composes_its_configuration_from_files(tmp_path: Path, config: str, expected: list[str]) -> None:
    (tmp_path / "conf" / "data").mkdir(parents=True)
    (tmp_path / "conf" / "config.yaml").write_text(config, encoding="utf-8")
    (tmp_path / "conf" / "data" / "small.yaml").write_text("num_workers: 4\npin_memory: false\n", encoding="utf-8")
    assert severities(found(tmp_path, {"train.py": HYDRA, "data.py": LOADER}, "TL401")) == expected


# -- YAML ------------------------------------------------------------------------------------------

TEXTS = [
    "",
    "a: 1\nb: [1, 2.5, x, 'y z', {c: true}]\n",
    "---\n- a\n- b: 1\n  c: [\n    1,\n    2]\n-\n  d: null\n",
    'a:\n- 1\n- - 2\n  - 3\nb: # nothing\nc: "x # no comment" # but this is\n',
    "a: yes\nb: Off\nc: ~\nd: 1e-4\ne: .5\nf: -3\ng: 0x10\nh: 1_000\n",
    "text: |\n  a: 1\n   b\nafter: http://host:80/x#y\n",
    "'quoted key': {}\nempty: []\n1: number\nnested:\n    deep:\n        deeper: on\n",
]


def same(mine: Any, wanted: Any) -> bool:
    """Whether two documents agree, as far as the first is known; YAML 1.1 takes ``1e-4`` for a string."""
    if mine is yaml.NOT_READ:
        return True
    if isinstance(wanted, dict):
        return mine.keys() == wanted.keys() and all(same(mine[key], value) for key, value in wanted.items())
    if isinstance(wanted, list):
        return len(mine) == len(wanted) and all(map(same, mine, wanted))
    return bool(mine == wanted and type(mine) is type(wanted)) or str(mine) == str(float(wanted))


@pytest.mark.parametrize("text", TEXTS)
def test_yaml_is_read_as_pyyaml_reads_it(text: str) -> None:
    import yaml as pyyaml

    assert same(yaml.loads(text), pyyaml.safe_load(text))


@pytest.mark.parametrize("value", ["*alias", "!tag x", "${other}", "&a\n  b: 1", '"\\x41"'])
def test_what_yaml_refers_to_is_not_known(value: str) -> None:
    found_ = yaml.loads(f"a: {value}\nb: 2\n")
    assert found_["b"] == 2
    assert found_["a"] is yaml.NOT_READ or found_["a"] == {"b": 1}


def test_a_path_means_the_file_beside_the_program_and_else_the_only_one() -> None:
    files = OptionFiles([("a/c.yaml", b""), ("b/c.yaml", b""), ("b/only.json", json.dumps({"x": 1}).encode())])
    assert files.find("c.yaml", "a") == "a/c.yaml"
    assert files.find("./c.yaml", "b") == "b/c.yaml"
    assert files.find("c.yaml", "other") is None
    assert files.find("*/only.json") == "b/only.json"
    assert files.find("b/*.json") is None
    assert files.content("b/only.json") == {"x": 1}
