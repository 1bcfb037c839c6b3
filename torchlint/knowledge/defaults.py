"""Methods that construct a module: frameworks may call them with another default device or dtype."""

from __future__ import annotations

# Methods of modules that are part of their construction.
CONSTRUCTING_METHODS = frozenset(
    "__init__ setup build reset_parameters init_weights _init_weights configure_model post_init __post_init__".split()
)
