"""Abseil 2.3, ``absl/flags``: flags are options, and all of them are fields of one object."""

from torchlint_stubs import option

class _Flags:
    def append_flag_values(self, *args): ...

class _Flag:
    def __init__(self, name, default):
        self.name = name
        self.value = option(name, default)
        self.default = default

FLAGS = _Flags()

def _define(name, default, *args, **kwargs):
    setattr(FLAGS, name, option(name, default))
    return _Flag(name, default)

DEFINE_string = DEFINE_integer = DEFINE_float = DEFINE_bool = DEFINE_boolean = _define
DEFINE_enum = DEFINE_list = DEFINE_multi_string = DEFINE_multi_integer = _define
