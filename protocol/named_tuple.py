"""`NamedTuple` of typing without its look at the annotations, for modules that a start imports.

For each field of a class typing compiles the annotation, and keeps the result. For the 65 classes
of a start that was a twentieth of its time. Here the annotations stay texts, as in any other class
of a module with `from __future__ import annotations`; the tuples are those of `collections`.
"""

from __future__ import annotations

from collections import namedtuple
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple
else:
    _NOT_COPIED = {"__module__", "__annotations__"}

    class _NamedTupleMaker(type):
        """Makes a tuple with names of the annotated fields of a class."""

        def __new__(cls, name: str, bases: tuple[Any, ...], body: dict[str, Any]) -> type:
            if len(bases) > 1:
                raise TypeError(f"{name}: a NamedTuple has no other base class")
            fields = body.get("__annotations__", {})
            defaults = [body[field] for field in fields if field in body]
            if any(field in body for field in list(fields)[: len(fields) - len(defaults)]):
                raise TypeError(f"{name}: a field without a default follows one that has one")
            made = namedtuple(name, fields, defaults=defaults, module=body["__module__"])
            made.__annotations__ = made.__new__.__annotations__ = fields
            for key, value in body.items():
                if key not in fields and key not in _NOT_COPIED:
                    setattr(made, key, value)
            return made

    NamedTuple = type.__new__(_NamedTupleMaker, "NamedTuple", (), {})
