"""The JSON schema of the configuration, made from its keys and the options of the rules.

``python -m torchlint.schema`` writes it to ``docs/torchlint.schema.json``. It describes
``torchlint.toml``, and equally the table ``tool.torchlint`` of ``pyproject.toml``.
"""

from __future__ import annotations

import json
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from torchlint.config.config import KEYS, Config
from torchlint.config.options import names_of
from torchlint.config.select import selectors
from torchlint.config.values import BUDGET, FAIL_ON
from torchlint.model import Severity
from torchlint.rule import Rule

TARGET = Path("docs", "torchlint.schema.json")
_ID = "https://github.com/torchlint/torchlint/blob/main/docs/torchlint.schema.json"


def schema(rules: Sequence[type[Rule]]) -> dict[str, Any]:
    """The schema as JSON data, for the given rules."""
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": _ID,
        "title": "torchlint configuration",
        "type": "object",
        "additionalProperties": False,
        "properties": {name: _property(name, rules) for name in KEYS},
        "definitions": {
            "selector": {"description": "An id, a name, a topic, a prefix or ALL.", "enum": selectors(rules)},
            "selectors": {"type": "array", "items": {"$ref": "#/definitions/selector"}},
        },
    }


def render(rules: Sequence[type[Rule]]) -> str:
    """The text of the published schema file."""
    return json.dumps(schema(rules), indent=2, ensure_ascii=False) + "\n"


def main() -> None:
    """Write the schema of the installed rules to its place in the repository."""
    from torchlint.run import registry

    TARGET.write_text(render(registry.load()), encoding="utf-8", newline="\n")


def _property(name: str, rules: Sequence[type[Rule]]) -> dict[str, Any]:
    key = KEYS[name]
    content = _KINDS[key.kind] if key.kind != "rules" else _tables(rules)
    default = _default(key.field)
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


_TYPES: Mapping[type, str] = {bool: "boolean", int: "integer", float: "number", str: "string"}
_STRINGS: dict[str, Any] = {"type": "array", "items": {"type": "string", "minLength": 1}}
_KINDS: Mapping[str, dict[str, Any]] = {
    "selectors": {"$ref": "#/definitions/selectors"},
    "globs": _STRINGS,
    "table": {"type": "object", "additionalProperties": {"$ref": "#/definitions/selectors"}},
    "flag": {"type": "boolean"},
    "version": {"type": "string", "pattern": r"^[0-9]{1,4}\.[0-9]{1,4}(\.[0-9]{1,4})?$"},
    "fail-on": {"enum": list(FAIL_ON)},
    "seconds": {"type": "number", "minimum": 0, "maximum": 86_400},
    "budget": {
        "type": "object",
        "additionalProperties": False,
        "properties": {key: {"description": text, "type": "number", "minimum": 0} for key, text in BUDGET.items()},
    },
}


if __name__ == "__main__":
    main()
