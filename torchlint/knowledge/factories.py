"""Functions that make tensors and arrays of regular or random content. Sources: the PyTorch and NumPy manuals."""

from __future__ import annotations

from collections.abc import Iterable

from torchlint.knowledge.screening import Trigger, guarded
from torchlint.knowledge.tensors import LEGACY
from torchlint.patterns import NAMED_END, Led, Pattern, ends_with, is_imported, is_named
from torchlint.words import Words

# Content that is the same on every device.
DETERMINISTIC = frozenset(
    f"torch.{name}"
    for name in "zeros ones full empty eye arange range tril_indices triu_indices zeros_like ones_like full_like "
    "empty_like".split()
)
# Content that may differ in the last bits.
ROUNDED = frozenset(
    f"torch.{name}"
    for name in "linspace logspace hann_window hamming_window bartlett_window blackman_window kaiser_window".split()
)
# Content that another generator makes differently.
RANDOM = frozenset(
    f"torch.{name}" for name in "rand randn randint randperm normal rand_like randn_like randint_like".split()
)
ALL = DETERMINISTIC | ROUNDED | RANDOM
LAST = frozenset(name.rpartition(".")[2] for name in ALL)
CALLED = tuple(sorted(LAST, key=lambda name: (-len(name), name)))
LIKE = frozenset(name for name in ALL if name.endswith("_like"))
# Methods that change the form of a new tensor, or its dtype, and compute nothing.
FORM = frozenset(
    "view reshape unsqueeze squeeze expand expand_as repeat flatten permute transpose t contiguous float double half "
    "bfloat16 long int bool byte short clone detach requires_grad_ view_as type".split()
)

CONSTRUCTORS = frozenset({"torch.tensor", "torch.as_tensor", "torch.asarray", "torch.from_numpy"})
LAST_CONSTRUCTORS = frozenset(name.rpartition(".")[2] for name in (*CONSTRUCTORS, *LEGACY))


def _renamed(*names: bytes, after: bytes = rb"as\b") -> tuple[Trigger, ...]:
    """What gives other names to functions whose names end so."""
    end = rb"(?:[ \t\r\n\\)]+(?P<sure>" + after + rb")|" + NAMED_END.encode() + rb")"
    return tuple(guarded(name + end, name, before=is_named) for name in names)


def _converters(*names: bytes) -> tuple[Trigger, ...]:
    """Calls of functions whose names end so, and what gives them other names."""
    return (*(name + b"(" for name in names), *_renamed(*names, after=rb"as\b|\("))


TENSORS = _converters(b"ensor", b"asarray")
CONVERTERS = _converters(b"ensor", b"from_numpy", b"asarray")
# NumPy's factory, and the torch factory that makes the same.
ARRAYS = {
    "numpy.zeros": "torch.zeros",
    "numpy.ones": "torch.ones",
    "numpy.full": "torch.full",
    "numpy.empty": "torch.empty",
    "numpy.eye": "torch.eye",
    "numpy.identity": "torch.eye",
    "numpy.arange": "torch.arange",
    "numpy.linspace": "torch.linspace",
    "numpy.random.rand": "torch.rand",
    "numpy.random.random": "torch.rand",
    "numpy.random.random_sample": "torch.rand",
    "numpy.random.randn": "torch.randn",
    "numpy.random.standard_normal": "torch.randn",
    "numpy.random.normal": "torch.normal",
    "numpy.random.uniform": "torch.rand",
    "numpy.random.randint": "torch.randint",
    "numpy.random.permutation": "torch.randperm",
}
# Content that is regular without NumPy, as patterns, each with words of which it needs one: a call that is given a
# range, a call that is given a list of one number that is repeated or a comprehension, and new memory that is filled.
# They begin with a plain character, and repetitions are bounded or told apart by what follows, so that no text makes
# them slow.
_GAP = r"[\s\\]*(?:#[^\n]{0,160}\n[\s\\]*){0,6}"
_FIRST = rf"{_GAP}(?:data\s*={_GAP})?"
_OPEN = rf"(?:[\[(]{_GAP}){{1,5}}"
_NUMBER = rf"[(+-]{{0,9}}(?:\.?\d[\w.+-]*|True|False)\){{0,9}}{_GAP}"
_GIVEN = {
    rf"(?:[\w.]{{0,40}}list{_GAP}\({_GAP})?[\w.]{{0,40}}range(?<!\.arange){_GAP}\(": (b"range",),
    rf"{_OPEN}(?:{_NUMBER}(?:,{_GAP})?(?:\]{_GAP}(?:\){_GAP})?\*|for\b)"
    rf"|(\w{{1,80}})\)?{_GAP}for\b{_GAP}\(?{_GAP}\1\b)": (),
}
_REPEATED = rf"\*{_GAP}\(?\[{_GAP}{_NUMBER}(?:,{_GAP})?\]"
_FILLED = rf"\){_GAP}\.{_GAP}(?:fill|zero|uniform|normal)_{_GAP}\("
_ELSE: dict[str, tuple[bytes, ...]] = {_REPEATED: (), _FILLED: (b"fill_", b"zero_", b"uniform_", b"normal_")}
_LOOPED = r"(?<!\blist\()(?<!enumerate\()(?<!reversed\()(?<!tqdm\()"
_FORMS = {rf"\({_LOOPED}{_FIRST}{source}": words for source, words in _GIVEN.items()} | _ELSE
_FORM_TRIGGERS = tuple(guarded(source.encode(), *words) for source, words in _FORMS.items())
_FORM_WORDS = tuple(map(Pattern, _FORMS))
# The same where it is certainly converted, unless a constructor has another name.
_CONVERTED = {
    rf"{name}[\s\\)]*\({_FIRST}(?:\({_GAP}){{0,3}}(?:{'|'.join(_GIVEN)})": (name.encode(),)
    for name in ("ensor", "asarray")
}
_CONVERTED_TRIGGERS = tuple(guarded(source.encode(), *words) for source, words in _CONVERTED.items())
_CONVERTED_WORDS = tuple(map(Pattern, (*_CONVERTED, _REPEATED)))
_LEGACY_CALLED = Pattern(r"Tensor[\s\\)]*\(")
_ELSE_TRIGGERS = tuple(guarded(source.encode(), *words) for source, words in _ELSE.items())
_ARRAY_NAMES = sorted({name.rpartition(".")[2] for name in ARRAYS})
# One of each group stands where regular content is made: NumPy and a function of it, or a form.
REGULAR: tuple[tuple[Trigger, ...], ...] = (
    (b"numpy", *_CONVERTED_TRIGGERS, *_ELSE_TRIGGERS, *_renamed(b"ensor", b"asarray")),
    (*_converters(*(name.encode() for name in _ARRAY_NAMES)), *_FORM_TRIGGERS),
)
# What gives other names to constructors, and to NumPy and parts of it.
_CONSTRUCTORS_RENAMED = tuple(
    Led(name + after, before)
    for name in ("ensor", "asarray")
    for after, before in ((NAMED_END, is_named), (r"[ \t\r\n\\)]+as\b", is_imported))
)
_RANDOM_NAMES = sorted(name.rpartition(".")[2] for name in ARRAYS if ".random." in name)
_PLAIN_NAMES = sorted(name.rpartition(".")[2] for name in ARRAYS if ".random." not in name)
_DOT = r"[\s\\]*\.[\s\\]*"
_FUNCTION = rf"{_DOT}(?:random{_DOT}(?:{'|'.join(_RANDOM_NAMES)})|(?:{'|'.join(_PLAIN_NAMES)}))\b"
_NUMPY_AS = Pattern(r"numpy[ \t\\\r\n]+as[ \t\\\r\n]+(\w+)")
_NUMPYS = 4  # names that NumPy may have in one file, to be asked for by them
_NUMPY_IN_PARTS = (Pattern(r"numpy\.\w+[ \t]+as\b"), Led(r"numpy\b", ends_with(r"from[ \t]+")))
_RENAMED = rf"(?:{_FUNCTION}|{_DOT}random)?[ \t)]*(?:[\r\n#;,]|if\b|else\b|\Z)"


def regular_words(text: str) -> tuple[Words, ...]:
    """Groups of words: one of each stands in every function that makes regular content.

    Where NumPy and its functions have plain names, these are asked for, and where constructors have, what they are
    given.
    """
    forms = _forms_in(text)
    names = sorted({"numpy", *_NUMPY_AS.pattern.findall(text)})
    renamed = [Led(name + _RENAMED, is_named) for name in names]
    if len(names) > _NUMPYS or _any_of((*_NUMPY_IN_PARTS, *renamed), text):
        return ("numpy", "numpy.", *forms), (*(f"{name}(" for name in _ARRAY_NAMES), *forms)
    return ((*(Pattern(name + _FUNCTION) for name in names), *forms),)


def _forms_in(text: str) -> Words:
    if _any_of(_CONSTRUCTORS_RENAMED, text):
        return _FORM_WORDS
    # Only what legacy constructors make is filled.
    return (*_CONVERTED_WORDS, Pattern(_FILLED)) if _any_of((_LEGACY_CALLED,), text) else _CONVERTED_WORDS


def _any_of(words: Iterable[Pattern | Led], text: str) -> bool:
    return any(word.search(text, 0, len(text)) for word in words)


# What NumPy gives where no dtype is written.
ARRAY_DTYPES = {
    "numpy.zeros": "float64",
    "numpy.ones": "float64",
    "numpy.empty": "float64",
    "numpy.eye": "float64",
    "numpy.identity": "float64",
    "numpy.linspace": "float64",
    "numpy.random.randint": "int64",
    "numpy.random.permutation": "int64",
}
# Methods of an array that only change its form or dtype.
ARRAY_FORM = frozenset("astype reshape copy".split())
# Methods that fill a tensor, and the torch factory that makes the same.
FILLS = {"fill_": "torch.full", "zero_": "torch.zeros", "uniform_": "torch.rand", "normal_": "torch.randn"}
