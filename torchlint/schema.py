"""The JSON schemas of the configuration, made from its keys and the options of the rules, and of baselines.

``python -m torchlint.schema`` writes them to ``docs/torchlint.schema.json`` and ``docs/baseline.schema.json``. The
first describes ``torchlint.toml``, and equally the table ``tool.torchlint`` of ``pyproject.toml``.
"""

from __future__ import annotations

import json
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from torchlint.base.version import REPOSITORY
from torchlint.config.config import KEYS, Config
from torchlint.config.options import names_of
from torchlint.config.select import selectors
from torchlint.config.values import BUDGET, FAIL_ON, SEVERITIES
from torchlint.config.world import WORLD
from torchlint.model import Severity
from torchlint.rule import Rule
from torchlint.run.baselines.baseline import KEY, VERSION

TARGET = Path("docs", "torchlint.schema.json")
BASELINE_TARGET = Path("docs", "baseline.schema.json")
# Ids of rules of other packages, and prefixes of such ids.
_FOREIGN = "^(?!(TL|ALL)[0-9]*$)[A-Z]{2,12}[0-9]{0,4}$"
_DRAFT = "http://json-schema.org/draft-07/schema#"
_ID = REPOSITORY + "/blob/main/docs/{}"


def schema(rules: Sequence[type[Rule]]) -> dict[str, Any]:
    """The schema as JSON data, for the given rules."""
    return {
        "$schema": _DRAFT,
        "$id": _ID.format(TARGET.name),
        "title": "torchlint configuration",
        "type": "object",
        "additionalProperties": False,
        "properties": {name: _property(name, rules) for name in KEYS},
        "definitions": {
            "selector": {
                "description": "An id, name, topic, group, preset, prefix or ALL; those of other packages as well.",
                "anyOf": [{"enum": selectors(rules)}, {"type": "string", "pattern": _FOREIGN}],
            },
            "selectors": {"type": "array", "items": {"$ref": "#/definitions/selector"}},
        },
    }


def baseline_schema() -> dict[str, Any]:
    """The schema of baselines as JSON data."""
    properties = {
        "path": {"description": "The file, relative to the folder of the baseline, with /.", **_TEXT},
        "rule": {"description": "The id of the rule.", **_TEXT},
        "line": {"description": "The line of the finding, without white space around it.", "type": "string"},
        "count": {"description": "How many such findings the file has.", "type": "integer", "minimum": 1, "default": 1},
    }
    entry = {"type": "object", "required": ["path", "rule", "line"], "properties": properties}
    return {
        "$schema": _DRAFT,
        "$id": _ID.format(BASELINE_TARGET.name),
        "title": "torchlint baseline",
        "type": "object",
        "required": [KEY, "findings"],
        "properties": {
            KEY: {"description": "The version of the format.", "const": VERSION},
            "findings": {"description": "The accepted findings, in order.", "type": "array", "items": entry},
        },
    }


def render(rules: Sequence[type[Rule]]) -> str:
    """The text of the published schema of the configuration."""
    return _text(schema(rules))


def render_baseline() -> str:
    """The text of the published schema of baselines."""
    return _text(baseline_schema())


def main() -> None:
    """Write the schemas, that of the configuration for the installed rules, to their places in the repository."""
    from torchlint.run.rules import registry

    for target, text in ((TARGET, render(registry.core())), (BASELINE_TARGET, render_baseline())):
        target.write_text(text, encoding="utf-8", newline="\n")


def _text(content: dict[str, Any]) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def _property(name: str, rules: Sequence[type[Rule]]) -> dict[str, Any]:
    key = KEYS[name]
    content = _KINDS[key.kind] if key.kind != "rules" else _tables(rules)
    default = {} if content.get("type") == "object" else _default(key.field)
    return {"description": key.help, **content, **({} if default is None else {"default": default})}


def _default(field: str) -> Any:
    value = getattr(Config(), field)
    return value.value if isinstance(value, Severity) else value


def _tables(rules: Sequence[type[Rule]]) -> dict[str, Any]:
    own = [rule for rule in sorted(rules, key=lambda rule: rule.id) if rule.options_of is None]
    tables = {rule.name: _options(rule) for rule in own}
    by_id = {rule.id: {"$ref": f"#/properties/rules/properties/{rule.name}"} for rule in own}
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {**tables, **dict(sorted(by_id.items()))},
        "patternProperties": {_FOREIGN: {"type": "object"}},
    }


def _options(rule: type[Rule]) -> dict[str, Any]:
    hints = typing.get_type_hints(rule.Options)
    properties = {}
    for name in names_of(rule.Options):
        content, default = _of_type(hints[name]), getattr(rule.Options(), name)
        properties[name.replace("_", "-")] = content if default is None else {**content, "default": default}
    return {
        "description": rule.summary,
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
    }


def _of_type(hint: Any) -> dict[str, Any]:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return {"enum": list(arguments)}
    if origin in (list, tuple):
        return _STRINGS
    if type(None) in arguments:
        return _of_type(next(a for a in arguments if a is not type(None)))
    return {"type": _TYPES[hint]}


_TEXT = {"type": "string", "minLength": 1}
_TYPES: Mapping[type, str] = {bool: "boolean", int: "integer", float: "number", str: "string"}
_STRINGS: dict[str, Any] = {"type": "array", "items": {"type": "string", "minLength": 1}}
_OF_WORLD: Mapping[str, dict[str, Any]] = {
    "options": {"type": "object", "additionalProperties": {"type": ["boolean", "number", "string"]}},
    "programs": _STRINGS,
    "accelerators": {"type": "integer", "minimum": 0, "default": 1},
    "hot": _STRINGS,
    "allowed-waits": _STRINGS,
    "upload-helper": {"type": "string", "minLength": 1},
}
_KINDS: Mapping[str, dict[str, Any]] = {
    "selection": {"type": "array", "items": {"$ref": "#/definitions/selector"}, "minItems": 1},
    "selectors": {"$ref": "#/definitions/selectors"},
    "globs": _STRINGS,
    "table": {"type": "object", "additionalProperties": {"$ref": "#/definitions/selectors"}},
    "flag": {"type": "boolean"},
    "version": {"type": "string", "pattern": r"^[0-9]{1,4}\.[0-9]{1,4}(\.[0-9]{1,4})?$"},
    "severities": {
        "type": "object",
        "propertyNames": {"$ref": "#/definitions/selector"},
        "additionalProperties": {"enum": list(SEVERITIES)},
    },
    "fail-on": {"enum": list(FAIL_ON)},
    "file": {"type": "string", "minLength": 1},
    "seconds": {"type": "number", "minimum": 0, "maximum": 86_400},
    "budget": {
        "type": "object",
        "additionalProperties": False,
        "properties": {key: {"description": text, "type": "number", "minimum": 0} for key, text in BUDGET.items()},
    },
    "world": {
        "type": "object",
        "additionalProperties": False,
        "properties": {key: {"description": text, **_OF_WORLD[key]} for key, text in WORLD.items()},
    },
}


if __name__ == "__main__":
    main()
