"""`dataclass` of the standard library, whose methods are compiled when they are first called.

A dataclass compiles up to seven methods where it is defined. For 40 classes that was a seventh of
the time that a broker takes to start, and most of them have no instance before the first requests.
`__init__` is compiled here, because the standard library compiles two methods more with that of a
frozen class; the others are its own. A frozen class with this decorator and one with the standard
decorator cannot derive from each other.
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
        method: Callable[..., Any] = (
            _compile_init(cls, frozen=frozen)
            if name == "__init__"
            else _compiled(cls, name, frozen=frozen)
        )
        setattr(cls, name, method)
        return method

    def first_call(self: Any, *args: Any, **named: Any) -> Any:
        return compile_now()(self, *args, **named)

    _later[cls, name] = compile_now
    first_call.__name__ = name
    first_call.__qualname__ = f"{cls.__qualname__}.{name}"
    return first_call


def _compile_init(cls: Any, *, frozen: bool) -> Any:
    """`__init__`, as the standard library makes it for the fields of a class."""
    names: dict[str, Any] = {"_set": object.__setattr__, "_not_given": object()}
    positional, keyword_only, lines = ["self"], list[str](), list[str]()
    for field in dataclasses.fields(cls):
        name = value = parameter = field.name
        if field.default_factory is not dataclasses.MISSING:
            names[f"_make_{name}"] = field.default_factory
            parameter = f"{name}=_not_given"
            value = f"_make_{name}()"
            if field.init:
                value += f" if {name} is _not_given else {name}"
        elif field.default is not dataclasses.MISSING:
            names[f"_default_{name}"] = field.default
            parameter = f"{name}=_default_{name}"
            value = name if field.init else f"_default_{name}"
        elif not field.init:
            continue  # `__post_init__` sets it
        if field.init:
            (keyword_only if field.kw_only else positional).append(parameter)
        lines.append(f" _set(self, {name!r}, {value})" if frozen else f" self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append(" self.__post_init__()")
    parameters = [*positional, *(["*", *keyword_only] if keyword_only else ())]
    exec("\n".join([f"def __init__({', '.join(parameters)}):", *lines, " return"]), names)
    made = names["__init__"]
    made.__module__, made.__qualname__ = cls.__module__, f"{cls.__qualname__}.__init__"
    return made


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
    of_the_fields = type(cls.__name__, (), body)
    dataclasses.dataclass(
        init=False,
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
