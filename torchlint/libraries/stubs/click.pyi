"""Click 8.2 (``core.py``, ``decorators.py``): the command line runs commands, and gives them their options."""

from torchlint_stubs import runs

def command(name=None, *args, **kwargs):
    def decorated(function):
        runs(function)
        return function
    return decorated(name) if callable(name) else decorated

def group(name=None, *args, **kwargs):
    def decorated(function):
        runs(function)
        return Group()
    return decorated(name) if callable(name) else decorated

class Group:
    def command(self, name=None, *args, **kwargs):
        return command(name)
    def group(self, name=None, *args, **kwargs):
        return group(name)
    def add_command(self, function, *args, **kwargs):
        runs(function)
    def __call__(self, *args, **kwargs): ...
