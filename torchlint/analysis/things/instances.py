"""Instances: where the attributes of objects are read that a value is stored in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule


class Instances:
    """The attributes of the objects of one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module

    def reads_of(self, target: cst.Attribute) -> Iterator[cst.Attribute]:
        """The reads of an attribute that a value is assigned to."""
        owner = self._module.class_of(target)
        for read in self._module.attributes_named(target.attr.value):
            if read is not target and not isinstance(self._module.parent(read), cst.AssignTarget):
                same = isinstance(read.value, cst.Name) and self._same_class(read, owner)
                if same or (owner is not None and self._module.value(read.value).node is owner):
                    yield read

    def _same_class(self, read: cst.Attribute, owner: cst.ClassDef | None) -> bool:
        """Whether a read is in the class that stores the attribute, or in one that it derives from or vice versa."""
        around = self._module.class_of(read)
        if around is owner or around is None or owner is None:
            return around is owner
        own = isinstance(read.value, cst.Name) and read.value.value == "self"
        return own and self._module.classes.inherits(around, owner)

    def receiver_of(self, call: cst.Call, arg: cst.Arg) -> cst.Param | list[cst.Attribute] | None:
        """What gets an argument of a call of a class of the file: a parameter, or the reads of a field."""
        owner = self._module.value(call.func).node
        if not isinstance(owner, cst.ClassDef) or arg.star:
            return None
        constructor = self._module.classes.method(owner, "__init__")
        if constructor is not None:
            return self._module.functions.parameter_for(constructor, call, arg, skip=1)
        name = self._field_for(owner, call, arg)
        return list(self._field_reads(owner, name)) if name is not None else None

    def _field_for(self, owner: cst.ClassDef, call: cst.Call, arg: cst.Arg) -> str | None:
        """The field of a data class, or of a named tuple, that an argument sets."""
        if arg.keyword is not None:
            return arg.keyword.value
        lines = (s for s in owner.body.body if isinstance(s, cst.SimpleStatementLine))
        small = (s for line in lines for s in line.body if isinstance(s, cst.AnnAssign))
        fields = [s.target.value for s in small if isinstance(s.target, cst.Name)]
        place = call.args.index(arg)
        return fields[place] if place < len(fields) and not any(a.star for a in call.args) else None

    def _field_reads(self, owner: cst.ClassDef, name: str) -> Iterator[cst.Attribute]:
        for read in self._module.attributes_named(name):
            if self._module.value(read.value).node is owner:
                yield read
