"""Declares what the visitors of a rule are called for.

A method of a rule is a visitor if it is named ``visit_<LibCST node>``, or if it has one of the decorators below. The
declaration also implies which files and functions can be skipped. Some visitors are called for nodes:

``@on.call("torch.tensor", "torch.as_tensor")``
    calls of these functions, through any import or alias;
``@on.method("item", "tolist")``
    calls of methods with these names;
``@on.within("cuda")``
    combined with another decorator or a ``visit_`` method: only nodes outside functions, and in functions that contain
    one of these identifiers. It can be repeated.

Others are called for objects that the analysis finds once for all rules (:mod:`torchlint.analysis.things`):

``@on.loader``
    each ``Loader``: a call that constructs a data loader;
``@on.move``
    each ``Move``: a call of ``to``, ``cuda``, ``cpu``, ``type_as``, ``type`` or ``copy_``;
``@on.step``
    each ``Step``: a loop or function that runs in every step, with what it reads from the device;
``@on.cuda_request``
    each ``CudaRequest``: an expression that requests CUDA as the device;
``@on.traced``
    each ``Traced``: a function that ``torch.compile`` records as a graph;
``@on.flag("torch.backends.cudnn.enabled", value=False)``
    each ``BackendFlag``: a write that sets the flag to this value;
``@on.flags_together("torch.backends.cudnn.benchmark", "torch.backends.cudnn.deterministic")``
    each ``Conflict``: two writes that leave both flags on;
``@on.form(RECORDED)``
    each expression at which following the programs has seen a form (:mod:`torchlint.knowledge.forms`) in a step;
``@on.file``
    the ``SourceModule`` of each file, for what only queries can find.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from torchlint.knowledge.backends import FLAG_IDENTIFIERS
from torchlint.knowledge.forms import Form
from torchlint.knowledge.loaders import LOADERS
from torchlint.knowledge.portability import REQUEST_NAMES
from torchlint.prefilter import concepts
from torchlint.prefilter.needs import Need, identifier_parts, identifiers, of_library

Visitor = TypeVar("Visitor", bound=Callable[..., None])


class Declaration(NamedTuple):
    """What a visitor is called for.

    ``node`` is the name of a LibCST class; ``functions`` are the dotted names of called functions, ``methods`` the
    names of called methods, ``form`` the key of a form. Nodes in a function that lacks an identifier of some group are
    skipped, and so are files that do not satisfy all ``needs``. Instead of ``node``, ``thing`` names an object of the
    analysis; ``flags`` and ``value`` select backend flags.
    """

    node: str = ""
    functions: frozenset[str] = frozenset()
    methods: frozenset[str] = frozenset()
    groups: tuple[frozenset[str], ...] = ()
    needs: tuple[Need, ...] = ()
    thing: str = ""
    flags: tuple[str, ...] = ()
    value: bool = True
    form: str = ""


def call(*names: str) -> Callable[[Visitor], Visitor]:
    """Calls of functions or classes, given by dotted names."""
    _require_names("call", names)
    last = frozenset(name.rpartition(".")[2] for name in names)
    return _declared(Declaration("Call", functions=frozenset(names), groups=(last,), needs=(of_library(names),)))


def method(*names: str) -> Callable[[Visitor], Visitor]:
    """Calls of methods, given by name, on any receiver."""
    _require_names("method", names)
    found = frozenset(names)
    return _declared(Declaration("Call", methods=found, groups=(found,), needs=(identifiers(*names),)))


def within(*names: str) -> Callable[[Visitor], Visitor]:
    """Restrict a visitor to functions that contain one of these identifiers, and to code outside functions."""
    _require_names("within", names)

    def declare(visitor: Visitor) -> Visitor:
        event = _event_of(visitor.__name__, visitor)
        narrowed = event._replace(groups=(*event.groups, frozenset(names)), needs=(*event.needs, identifiers(*names)))
        return _declared(narrowed)(visitor)

    return declare


def flag(*names: str, value: bool) -> Callable[[Visitor], Visitor]:
    """Writes that leave one of these backend flags at a value."""
    spelled = identifier_parts(*(FLAG_IDENTIFIERS[name] for name in names))
    return _declared(Declaration(thing="flag", flags=names, value=value, needs=(spelled,)))


def flags_together(one: str, other: str) -> Callable[[Visitor], Visitor]:
    """Pairs of writes that leave both backend flags on; one of them may be in another file."""
    return _declared(Declaration(thing="flags_together", flags=(one, other)))


def form(form: Form) -> Callable[[Visitor], Visitor]:
    """Expressions at which a form was seen in a step, by following the programs."""
    return _declared(Declaration(thing="form", form=form.key, needs=(concepts.seen(form.key),)))


def _require_names(decorator: str, names: tuple[object, ...]) -> None:
    if not names or not all(isinstance(name, str) for name in names):
        raise TypeError(f'@on.{decorator} lacks names: it is used as @on.{decorator}("...")')


def _declared(event: Declaration) -> Callable[[Visitor], Visitor]:
    def declare(visitor: Visitor) -> Visitor:
        visitor.__event__ = event  # type: ignore[attr-defined]
        return visitor

    return declare


loader = _declared(Declaration(thing="loader", needs=(of_library(LOADERS),)))
move = _declared(Declaration(thing="move", needs=(concepts.MOVE,)))
step = _declared(Declaration(thing="step", needs=(concepts.HOT,)))
traced = _declared(Declaration(thing="traced", needs=(of_library(["compile"]),)))
file = _declared(Declaration(thing="file"))
cuda_request = _declared(Declaration(thing="cuda_request", needs=(identifiers(*REQUEST_NAMES),)))


def _event_of(name: str, visitor: object) -> Declaration:
    """The declared event of a visitor, or the one that its name implies."""
    event = getattr(visitor, "__event__", None)
    return event if isinstance(event, Declaration) else Declaration(name.removeprefix("visit_"))


def events(rule: type[Any]) -> dict[str, Declaration]:
    """The visitors of a rule by name."""
    every = ((name, getattr(rule, name)) for name in dir(rule))
    return {
        name: _event_of(name, visitor)
        for name, visitor in every
        if name.startswith("visit_") or isinstance(getattr(visitor, "__event__", None), Declaration)
    }
