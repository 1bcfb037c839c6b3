"""What programs read from option files: the values there are options, as far as it is known which file is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torchlint.engine.arguments import OTHERS, Arguments
from torchlint.engine.paths import path_of, text_of
from torchlint.engine.values import UNKNOWN, Kind, Value, collection, constant, sequence
from torchlint.program.option_files import OptionFiles
from torchlint.program.yaml import NOT_READ

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from torchlint.engine.protocol import Engine
    from torchlint.program.modules import Module

_ITEMS = 24  # of a list that are known one by one
_OWN = "_self_"  # in the list of defaults of a file of hydra: what the file itself says


class FileOptions:
    """Follows functions that read option files."""

    def __init__(self, engine: Engine, option: Callable[[str, Value], Value]) -> None:
        """``option`` makes the value of an option from its name and its default."""
        self._option = option
        self._files = OptionFiles(engine.program.world.files)

    def path(self, given: Arguments) -> Value:
        """A path made of others: ``open(path)``, ``os.path.join(folder, name)``, ``Path(folder, name)``."""
        return path_of(*given.values) if given.values else UNKNOWN

    def load(self, given: Arguments) -> Value:
        """What ``yaml.safe_load(file)`` and the like give."""
        text = text_of(given.get(0, "f"))
        found = self._files.find(text, _folder_of(given.scope.module))
        return self._value(self._files.content(found), "") if found is not None else UNKNOWN

    def merged(self, given: Arguments) -> Value:
        """``OmegaConf.merge(one, other, ..)``: what is unknown of any of them may say anything."""
        found = given.get(0)
        for other in given.values[1:]:
            found = _merged(found, other)
        return found

    def of_hydra(self, named: Mapping[str, Value], module: Module) -> Value:
        """The configuration that ``@hydra.main(config_path=.., config_name=..)`` passes to a function of a module."""
        name = text_of(named.get("config_name", UNKNOWN)).removesuffix(".yaml")
        path = path_of(named.get("config_path", constant(".")), constant(f"{name}.yaml"))
        found = self._files.find(text_of(path), _folder_of(module))
        return self._composed(found) if found is not None else UNKNOWN

    def _composed(self, path: str) -> Value:
        content = self._files.content(path)
        if not isinstance(content, dict):
            return UNKNOWN
        entries = content.get("defaults") or []
        entries = entries if isinstance(entries, list) else []
        own = self._value({key: value for key, value in content.items() if key != "defaults"}, "")
        found = Value(Kind.DICT)
        for entry in entries if _OWN in entries else [*entries, _OWN]:
            found = _merged(found, own if entry == _OWN else self._default(entry, path.rpartition("/")[0]))
        return found

    def _default(self, entry: Any, folder: str) -> Value:
        """An entry of a list of defaults: the name of a file, or a group with the name of a file in it."""
        if isinstance(entry, str):
            entry = {"": entry}
        group, name = next(iter(entry.items())) if isinstance(entry, dict) and entry else ("", None)
        group = str(group).removeprefix("optional ").removeprefix("override ")
        if name is None or group.startswith("hydra/"):
            return Value(Kind.DICT)
        found = self._files.find("/".join(part for part in (folder, group, f"{name}.yaml") if part))
        content = self._files.content(found) if found is not None and isinstance(name, str) else NOT_READ
        if content is NOT_READ or "@" in group:
            return UNKNOWN
        for part in reversed(group.split("/") if group else []):
            content = {part: content}
        return self._value(content, "")

    def _value(self, content: Any, name: str) -> Value:
        """A value in a file, under a dotted name."""
        if content is NOT_READ:
            return UNKNOWN
        if isinstance(content, dict):
            return self._mapping(content, f"{name}." if name else "")
        if isinstance(content, list):
            items = [self._value(each, name) for each in content[:_ITEMS]]
            return sequence(items) if 0 < len(content) <= _ITEMS else collection(items[0] if items else None)
        return self._option(name, constant(content))

    def _mapping(self, content: Mapping[Any, Any], prefix: str) -> Value:
        merges = any(key == "<<" or key is NOT_READ for key in content)
        fields = {key: self._value(value, f"{prefix}{key}") for key, value in content.items()}
        return Value(Kind.DICT, OTHERS if merges else None, fields=fields)


def _merged(one: Value, other: Value) -> Value:
    """What a mapping is after another one has been written into it."""
    if one.kind is not Kind.DICT or other.kind is not Kind.DICT:
        return UNKNOWN if Kind.DICT in (one.kind, other.kind) else other
    fields = dict(one.fields)
    for name, value in other.fields.items():
        fields[name] = _merged(fields[name], value) if name in fields and value.kind is Kind.DICT else value
    return Value(Kind.DICT, one.detail or other.detail, fields=fields, element=other.element or one.element)


def _folder_of(module: Module) -> str:
    return module.path.rpartition("/")[0]
