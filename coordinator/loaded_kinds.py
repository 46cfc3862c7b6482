"""The kinds of groups that one partition of `__consumer_offsets` uses, and the kind of each group.

Classic groups are always in use: a group that has only offsets is an empty classic group. The other
kinds are imported with their first group.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TypeVar

from ..protocol.errors import Code, Refused
from .classic.groups import ClassicGroups
from .classic.requests import GroupSettings
from .group_kind import GroupKind
from .group_kinds import GROUP_KINDS

K = TypeVar("K", bound=GroupKind)
Setups = Mapping[str, Callable[[], object]]
"""By the kind's name: returns the argument `setup` of `make_kind`, at the first group."""


class LoadedKinds:
    """The kinds in use.

    Attributes:
        classic: the classic groups.
        all: every kind in use, in the order of `GROUP_KINDS`.
    """

    def __init__(self, settings: GroupSettings, setups: Setups) -> None:
        self._setups = setups
        self._settings = settings
        self.classic = ClassicGroups(settings)
        self.all: tuple[GroupKind, ...] = (self.classic,)
        self._others: tuple[GroupKind, ...] = ()
        self._by_name: dict[str, GroupKind] = {self.classic.name: self.classic}

    def of(self, group_id: str) -> GroupKind:
        """The kind of a group; the classic one for an unknown group."""
        for kind in self._others:
            if group_id in kind.groups:
                return kind
        return self.classic

    def named(self, group_id: str) -> GroupKind:
        """`of`, for a request that has to name a group.

        Raises:
            Refused: INVALID_GROUP_ID: the id is empty.
        """
        if not group_id:
            raise Refused(Code.INVALID_GROUP_ID)
        return self.of(group_id)

    def find(self, group_id: str) -> GroupKind | None:
        """The kind of a group; None for an unknown group."""
        kind = self.of(group_id)
        return kind if group_id in kind.groups else None

    def get(self, kind_class: type[K]) -> K:
        """The kind with this class; imported and made if it is not in use yet."""
        kind = self._by_name.get(kind_class.name) or self.load(kind_class.name)
        assert isinstance(kind, kind_class)
        return kind

    def load(self, name: str) -> GroupKind:
        """The kind with this name in `GROUP_KINDS`; imported and made if it is not in use yet."""
        known = self._by_name.get(name)
        if known is not None:
            return known
        module = import_module(f".{GROUP_KINDS[name].module}", __package__)
        setup = self._setups.get(name)
        loaded: GroupKind = module.make_kind(
            self._settings, self.classic, None if setup is None else setup()
        )
        self._by_name[name] = loaded
        self._others = tuple(
            self._by_name[each]
            for each in GROUP_KINDS
            if each in self._by_name and each != self.classic.name
        )
        self.all = (self.classic, *self._others)
        return loaded
