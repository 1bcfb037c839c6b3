"""Functions of the standard library and of libraries around PyTorch."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchlint.engine.arguments import OTHERS, Arguments, device_of
from torchlint.engine.containers import is_loader
from torchlint.engine.origins import of_operands, overwrite, own_origins, read_among
from torchlint.engine.started import iterator
from torchlint.engine.union import join_all
from torchlint.engine.values import (
    ANY_MODULE,
    NUMBER,
    TEXT,
    UNKNOWN,
    Counted,
    Device,
    Kind,
    Value,
    collection,
    leaves,
    library,
    sequence,
    tensor,
)
from torchlint.knowledge import following as known
from torchlint.knowledge import forms
from torchlint.knowledge.arrays import ON_DEVICE as NUMPY_NAMES
from torchlint.knowledge.factories import ARRAY_NAMES
from torchlint.libraries.builtins import pairs
from torchlint.libraries.loaders import Loaders
from torchlint.libraries.options import Options
from torchlint.libraries.stub_words import WORDS, StubWords

if TYPE_CHECKING:
    from torchlint.engine.protocol import Engine

_MODULES = 40  # that a computed name of a module may mean
_PREFIX = 3  # characters of it that must be known
_FUNCTIONS_CALLED = (Kind.FUNCTION, Kind.PARTIAL)
_ARRAYS = (Kind.ARRAY, Kind.TENSOR)


class Others:
    """Follows calls of other libraries."""

    def __init__(self, engine: Engine, words: StubWords, loaders: Loaders, options: Options) -> None:
        self._engine, self._state = engine, engine.state
        self._words, self._loaders, self._options = words, loaders, options
        self._files = options.files

    def call(self, dotted: str, given: Arguments) -> Value:
        """What a function gives."""
        top, name = dotted.partition(".")[0], given.name
        if top == WORDS:
            return self._words.call(given)
        special = _EXACT.get(dotted) or _NAMED.get(name)
        if special is not None:
            return special(self, given)
        if top == "tqdm" or name in known.PROGRESS:
            return Value(Kind.RANGE) if name == "trange" else given.get(0, "iterable")
        if top == "itertools":
            return self._itertools(given)
        if known.LOADER.fullmatch(name) or name in _LOADERS:
            return self._loaders.loader(given._replace(named={**given.named, OTHERS: UNKNOWN}))
        if name in known.OPTIMIZERS:
            return Value(Kind.OPTIMIZER, name)
        if name in known.WRAPPERS and given.values:
            return given.values[0]
        if top in known.MODEL_LIBRARIES:
            found = self._of_models(dotted, name)
            if found is not None:
                return found
        follow = _TOPS.get(top)
        if follow is not None:
            return follow(self, given)
        if name in _PARSERS and given.get(0).kind is Kind.CLASS:
            return self._options.of_class(given.get(0), given.node, given.scope)
        return self._computed(top, given)

    def _computed(self, top: str, given: Arguments) -> Value:
        """A function of which nothing is known: what it makes of tensors of the device is probably there, too."""
        device = device_of(given.all)
        if given.node is self._state.discarded:
            self._written(given)
        if top in known.TENSOR_LIBRARIES and device is not None:
            return tensor(device)
        return tensor(Device.ACCELERATOR, sure=False) if device is Device.ACCELERATOR else UNKNOWN

    def _written(self, given: Arguments) -> None:
        """A function whose result nothing uses writes to what it gets."""
        for value in given.all:
            self._state.involve(value)
        for node, value in zip(given.node.args, given.values, strict=False):
            if isinstance(node, ast.Name) and value.kind is Kind.ARRAY:
                self._state.foreign.update(origin.node for origin in own_origins(value))

    def _of_models(self, dotted: str, name: str) -> Value | None:
        if "okenizer" in dotted or "rocessor" in dotted or ".transforms" in dotted or "scheduler" in dotted.lower():
            return UNKNOWN
        if ".datasets" in dotted:
            return Value(Kind.UNKNOWN, "dataset")
        if "DataCollator" in name:
            return None
        made = name[:1].isupper() or name == "create_model" or name.startswith("from_")
        return Value(Kind.LIBRARY_MODULE, dotted) if made or dotted.startswith("torchvision.models") else None

    # -- the standard library ----------------------------------------------------------------------

    def _parser(self, given: Arguments) -> Value:
        return Value(Kind.PARSER)

    def _partial(self, given: Arguments) -> Value:
        if not given.values:
            return UNKNOWN
        return Value(Kind.PARTIAL, target=given.values[0], items=given.values[1:], fields=given.named)

    def _first(self, given: Arguments) -> Value:
        return given.get(0)

    def _last(self, given: Arguments) -> Value:
        return given.values[-1] if given.values else UNKNOWN

    def _field(self, given: Arguments) -> Value:
        """``dataclasses.field(..)``: the default of the field."""
        make = given.named.get("default_factory")
        if make is not None:
            return self._engine.call(make, [], {}, given.node, given.scope)
        return given.named.get("default", UNKNOWN)

    def _time(self, given: Arguments) -> Value:
        return Value(Kind.NUMBER, Counted.TIME)

    def _itertools(self, given: Arguments) -> Value:
        element = self._engine.containers.element
        if given.name == "cycle":
            return iterator(self._state, given.get(0), given.node, whole=True)
        if given.name in ("islice", "takewhile"):
            return given.get(0 if given.name == "islice" else 1)
        if given.name == "count":
            return Value(Kind.RANGE)
        elements = [element(value, given.node, given.scope) for value in given.values]
        if given.name == "product":
            return collection(sequence(elements))
        loads = given.name == "chain" and any(is_loader(value) for value in given.values)
        return Value(Kind.LOADER, element=join_all(elements)) if loads else collection(join_all(elements))

    def _spawn(self, given: Arguments) -> Value:
        """``mp.spawn(train, args=(..), nprocs=n)``, ``Process(target=train, args=(..))``."""
        target = given.get(0) if given.name in ("spawn", "start_processes") else given.named.get("target", UNKNOWN)
        passed = given.named.get("args", given.get(1) if given.name in ("spawn", "start_processes") else UNKNOWN)
        rank = [NUMBER] if given.name in ("spawn", "start_processes") else []
        if target.kind in _FUNCTIONS_CALLED:
            self._engine.call(target, [*rank, *passed.items], {}, given.node, given.scope)
        return UNKNOWN

    def _mapping(self, given: Arguments) -> Value:
        given_last = given.values[-1] if given.values else UNKNOWN
        source = given_last if given_last.kind is Kind.DICT else pairs(given_last) or Value(Kind.DICT)
        element = source.element
        if given.name == "defaultdict" and given.get(0).kind in _FUNCTIONS_CALLED:
            element = self._engine.call(given.values[0], [], {}, given.node, given.scope)
        return Value(Kind.DICT, fields={**source.fields, **given.named}, element=element)

    def _namespace(self, given: Arguments) -> Value:
        made = self._engine.classes.namespace((given.node, "namespace"))
        made.fields.update(given.named)
        return Value(Kind.INSTANCE, "namespace", target=made)

    def _queue(self, given: Arguments) -> Value:
        first = given.values[0] if given.values else None
        return collection(
            self._engine.containers.element(first, given.node, given.scope) if first is not None else None
        )

    def _import(self, given: Arguments) -> Value:
        """``importlib.import_module(..)`` with a name, or with the beginning of one."""
        wanted = given.get(0)
        if wanted.kind is Kind.CONSTANT and isinstance(wanted.detail, str):
            module = self._engine.program.find(wanted.detail, given.scope.module)
            if module is None:
                return library(wanted.detail)
            self._engine.statements.load(module)
            return self._engine.module(module)
        prefix = _beginning(given.node.args[0]) if given.node.args else ""
        if len(prefix) < _PREFIX:
            return Value(Kind.UNKNOWN, ANY_MODULE)
        names = [m.name for m in self._engine.program.modules.values() if _may_mean(m.name, prefix) and not m.is_test]
        found = [self._engine.loaded(each) for each in names[:_MODULES]]
        return join_all(value for value in found if value is not None)

    # -- other libraries ---------------------------------------------------------------------------

    def _numpy(self, given: Arguments) -> Value:
        read = None
        for value in given.all:
            for leaf in leaves(value):
                if self._state.is_on_device(leaf):
                    self._state.happen(given.node, given.scope, forms.OF_NUMPY, leaf.origin, name=given.name)
                    read = self._state.origin("read", given.node)
        origin = read or read_among(given.all)
        if given.name in ("random", "rand", "uniform", "randint", "normal") and not given.values:
            return NUMBER
        if origin is None and any(leaf.kind in _ARRAYS for value in given.all for leaf in leaves(value)):
            origin = of_operands(given.all)
        elif given.name not in NUMPY_NAMES:
            origin = None
        own = "generated" if given.name in ARRAY_NAMES else "array"
        return Value(Kind.ARRAY, origin=origin or self._state.origin(own, given.node))

    def _images(self, given: Arguments) -> Value:
        self._read_all(given)
        origin = next((value.origin for value in given.values if value.origin), None)
        for node, value in zip(given.node.args, given.values, strict=False):
            self._state.involve(value)
            overwrite(node, value, given.scope)  # what is drawn on
        return Value(Kind.ARRAY, origin=origin if origin is None or origin.kind != "read" else None)

    def _log(self, given: Arguments) -> Value:
        self._read_all(given)
        return UNKNOWN

    def _math(self, given: Arguments) -> Value:
        self._read_all(given)
        return NUMBER

    def _host(self, given: Arguments) -> Value:
        if given.name in _PATHS:
            return self._files.path(given)
        return TEXT if given.name in ("basename", "getcwd", "strftime", "dirname") else UNKNOWN

    def _option_file(self, given: Arguments) -> Value:
        return self._files.load(given)

    def _merged(self, given: Arguments) -> Value:
        return self._files.merged(given)

    def _environment(self, given: Arguments) -> Value:
        return Value(Kind.UNKNOWN, "environment")

    def _random(self, given: Arguments) -> Value:
        if given.name in ("choice", "choices", "sample"):
            element = self._engine.containers.element(given.get(0), given.node, given.scope)
            return element if given.name == "choice" else collection(element)
        return NUMBER

    def _read_all(self, given: Arguments) -> None:
        for value in given.all:
            self._state.reads(value, given.node, given.scope, forms.READ_FUNCTION, given.name)


def _beginning(node: ast.expr) -> str:
    """The known beginning of a computed name, such as ``f"models.{name}"`` or ``"models." + name``."""
    if isinstance(node, ast.JoinedStr) and node.values:
        return _beginning(node.values[0])
    if isinstance(node, ast.BinOp):
        return _beginning(node.left)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return _beginning(node.func.value)
    text = node.value if isinstance(node, ast.Constant) else ""
    return text.partition("{")[0].partition("%")[0] if isinstance(text, str) else ""


def _may_mean(name: str, prefix: str) -> bool:
    """Whether a module has a name that begins so, in the package that the beginning names if it ends with a dot."""
    if not (name.startswith(prefix) or f".{prefix}" in name):
        return False
    return not prefix.endswith(".") or "." not in name.partition(prefix)[2]


_LOADERS = frozenset("MultiEpochsDataLoader DataLoaderX WebLoader".split())
_PATHS = frozenset("join abspath realpath normpath expanduser fspath Path PurePath".split())
_PARSERS = frozenset("cli parse CLI from_cli".split())
_EXACT = {
    **dict.fromkeys(("functools.partial", "funcy.partial"), Others._partial),
    "copy.deepcopy": Others._last,
    "copy.copy": Others._last,
    "typing.cast": Others._last,
    "dataclasses.field": Others._field,
    "importlib.import_module": Others._import,
    "builtins.__import__": Others._import,
    **dict.fromkeys(known.CLOCKS, Others._time),
    **dict.fromkeys(known.READ_OPTIONS, Others._option_file),
    **dict.fromkeys(("omegaconf.OmegaConf.create", "omegaconf.OmegaConf.to_container"), Others._first),
    "omegaconf.OmegaConf.merge": Others._merged,
    "hydra.utils.to_absolute_path": Others._first,
}
_NAMED = {
    **dict.fromkeys(("ArgumentParser", "ArgParser", "ConfigArgumentParser"), Others._parser),
    **dict.fromkeys(("spawn", "start_processes", "Process", "Thread"), Others._spawn),
    **dict.fromkeys(known.MAPPINGS, Others._mapping),
    **dict.fromkeys(known.NAMESPACES, Others._namespace),
    **dict.fromkeys(known.QUEUES, Others._queue),
    **dict.fromkeys(("BackgroundGenerator", "prefetch"), Others._first),
}
_TOPS = {
    "numpy": Others._numpy,
    **dict.fromkeys(("cv2", "PIL", "skimage", "scipy"), Others._images),
    **dict.fromkeys(("wandb", "loguru", "logging"), Others._log),
    **dict.fromkeys(("math", "statistics", "sklearn"), Others._math),
    **dict.fromkeys(
        "matplotlib pandas os sys re json yaml time datetime pathlib pickle shutil glob".split(),
        Others._host,
    ),
    "random": Others._random,
    **dict.fromkeys(("gym", "gymnasium", "envpool"), Others._environment),
}
