"""`dataclass` of the standard library, whose methods are compiled when they are first called.

A dataclass compiles up to seven methods where it is defined. For 40 classes that was a seventh of
the time that a broker takes to start, and most of them have no instance before the first requests.
The compiled methods are the standard library's own. A frozen class with this decorator and one with
the standard decorator cannot derive from each other.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from dataclasses import dataclass as dataclass
else:

    def dataclass(
        *, frozen: bool = False, slots: bool = False, kw_only: bool = False
    ) -> Callable[[Any], Any]:
        """A decorator like `dataclasses.dataclass`, with some of its arguments."""

        def decorate(cls: Any) -> Any:
            written = cls.__dict__.keys()
            if cls.__doc__ is None:
                cls.__doc__ = cls.__name__  # or dataclasses describes the signature: slow
            decorator = dataclasses.dataclass(
                init=False, repr=False, eq=False, slots=slots, kw_only=kw_only
            )
            made = decorator(cls)
            lazy = {"__init__", "__repr__", "__eq__"} - written
            if frozen:
                lazy |= {"__hash__"} - written
                _freeze(made)
            elif "__eq__" in lazy and "__hash__" not in written:
                made.__hash__ = None
            for name in lazy:
                setattr(made, name, _compiled_later(made, name, frozen=frozen))
            return made

        return decorate


_later: dict[tuple[Any, str], Callable[[], object]] = {}


def prepare() -> Iterator[str]:
    """Compile, step by step, the methods that were not called yet; yields the names of classes."""
    while _later:
        (cls, _), compile_now = _later.popitem()
        compile_now()
        yield cls.__name__


def _compiled_later(cls: Any, name: str, *, frozen: bool) -> Callable[..., Any]:
    """A method that at its first call compiles the one of that name, and takes its place."""

    def compile_now() -> Callable[..., Any]:
        _later.pop((cls, name), None)
        method: Callable[..., Any] = _compiled(cls, name, frozen=frozen)
        setattr(cls, name, method)
        return method

    def first_call(self: Any, *args: Any, **named: Any) -> Any:
        return compile_now()(self, *args, **named)

    _later[cls, name] = compile_now
    first_call.__name__ = name
    first_call.__qualname__ = f"{cls.__qualname__}.{name}"
    return first_call


def _compiled(cls: Any, name: str, *, frozen: bool) -> Any:
    """The standard library's method for the fields of a class."""
    fields = {field.name: field for field in dataclasses.fields(cls)}
    body: dict[str, Any] = {
        **fields,
        "__annotations__": {field.name: field.type for field in fields.values()},
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
        "__doc__": cls.__doc__,
    }
    if hasattr(cls, "__post_init__"):
        body["__post_init__"] = cls.__post_init__
    of_the_fields = type(cls.__name__, (), body)
    dataclasses.dataclass(
        init=name == "__init__",
        repr=name == "__repr__",
        eq=name in ("__eq__", "__hash__"),
        frozen=frozen,
    )(of_the_fields)
    return getattr(of_the_fields, name)


def _freeze(cls: Any) -> None:
    """Refuse to assign and delete attributes; let copy and pickle do it."""

    def refuse_set(self: object, name: str, value: object) -> NoReturn:
        raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")

    def refuse_delete(self: object, name: str) -> NoReturn:
        raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")

    def state(self: Any) -> list[Any]:
        return [getattr(self, field.name) for field in dataclasses.fields(self)]

    def set_state(self: Any, values: list[Any]) -> None:
        for field, value in zip(dataclasses.fields(self), values, strict=True):
            object.__setattr__(self, field.name, value)

    cls.__setattr__, cls.__delattr__ = refuse_set, refuse_delete
    cls.__getstate__, cls.__setstate__ = state, set_state
