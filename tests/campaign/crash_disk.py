"""A disk that loses power in its n-th operation, with the worst behaviour of file systems.

Synced data stays. Of later appends a prefix stays, or the full length with zeros in place of the
rest. Only `sync_directory` syncs names: of the later creations, renames and removals the first few
stay. One random generator decides, so that a seed repeats a run.
"""

from __future__ import annotations

import os
from random import Random

from ottla.storage.disk.files import Bytes
from tests.storage.disk import Disk, PowerCut, _File


class _NameChange:
    """A creation, rename or removal that is not synced yet."""

    def __init__(self, kind: str, path: str, other: str = "", file: _File | None = None) -> None:
        self.kind = kind
        self.path = path
        self.other = other
        self.file = file
        self.parents = {os.path.dirname(one) for one in (path, other) if one}
        self.is_synced = False

    def apply_to(self, disk: Disk) -> None:
        if self.kind == "file" and os.path.dirname(self.path) in disk.directories:
            assert self.file is not None
            disk.files[self.path] = self.file
        elif self.kind == "directory" and os.path.dirname(self.path) in disk.directories:
            disk.directories.add(self.path)
        elif self.kind == "rename":
            if self.path in disk.files or self.path in disk.directories:
                Disk.rename(disk, self.path, self.other)
        elif self.kind == "gone":
            disk.files.pop(self.path, None)
            disk.directories.discard(self.path)


class CrashDisk(Disk):
    """The disk of this module.

    Args:
        cut_at: the operation in which the power fails; 0: never.
        seed: seed of the random generator.
    """

    def __init__(self, *, cut_at: int = 0, seed: int = 0) -> None:
        super().__init__(cut_at=cut_at)
        self._chance = Random(seed)
        self._changes: list[_NameChange] = []

    def reboot(self, *, power_cut: bool) -> CrashDisk:
        """The disk for the next process, after a loss of power or a kill."""
        disk = CrashDisk(seed=self._chance.randrange(1 << 30))
        disk.boots = self.boots + power_cut
        if not power_cut:
            disk.directories = set(self.directories)
            copies = {id(file): _copy(file) for file in self.files.values()}
            disk.files = {path: copies[id(file)] for path, file in self.files.items()}
            for change in self._changes:
                file = change.file and copies.get(id(change.file), change.file)
                copy = _NameChange(change.kind, change.path, change.other, file)
                copy.is_synced = change.is_synced
                disk._changes.append(copy)
            return disk
        unsynced = [change for change in self._changes if not change.is_synced]
        happened = set(unsynced[: self._chance.randint(0, len(unsynced))])
        for change in self._changes:
            if change.is_synced or change in happened:
                change.apply_to(disk)
        for path, file in disk.files.items():
            data = self._left_of(file)
            disk.files[path] = _synced(data)
        disk.operations = 0
        disk._changes = [_NameChange("directory", path) for path in sorted(disk.directories)]
        disk._changes += [_NameChange("file", path, file=f) for path, f in disk.files.items()]
        for change in disk._changes:
            change.is_synced = True
        return disk

    def _left_of(self, file: _File) -> bytes:
        kept = len(file.synced)
        if file.data[:kept] != file.synced:  # truncated since
            return self._chance.choice([file.synced, bytes(file.data)])
        whole = bytes(file.data)
        end = self._chance.randint(kept, len(whole))
        if end < len(whole) and self._chance.random() < 0.25:
            left = len(whole) - end
            return whole[:end] + bytes(self._chance.choice([left, self._chance.randint(1, left)]))
        return whole[:end]

    def _operation(self, *, half: tuple[_File, Bytes] | None = None) -> None:
        self.operations += 1
        if self.operations == self.cut_at:
            if half is not None:
                file, data = half
                file.data += bytes(data)[: self._chance.randint(0, len(data))]
            raise PowerCut

    def open(self, path: str, /) -> int:
        is_new = path not in self.files
        descriptor = super().open(path)
        if is_new:
            self._changes.append(_NameChange("file", path, file=self.files[path]))
        return descriptor

    def rename(self, source: str, target: str, /) -> None:
        super().rename(source, target)
        self._changes.append(_NameChange("rename", source, target))

    def remove(self, path: str, /) -> None:
        super().remove(path)
        self._changes.append(_NameChange("gone", path))

    def make_directory(self, directory: str, /) -> None:
        parent = os.path.dirname(directory)
        if parent and parent not in self.directories:
            self.make_directory(parent)
        if directory not in self.directories:
            super().make_directory(directory)
            self._changes.append(_NameChange("directory", directory))
            self._changes[-1].is_synced = not parent  # the data directory existed before

    def remove_directory(self, directory: str, /) -> None:
        super().remove_directory(directory)
        self._changes.append(_NameChange("gone", directory))

    def sync_directory(self, directory: str, /) -> None:
        super().sync_directory(directory)
        for change in self._changes:
            if directory in change.parents:
                change.is_synced = True


def _copy(file: _File) -> _File:
    copy = _File(bytes(file.data))
    copy.synced = file.synced
    return copy


def _synced(data: bytes) -> _File:
    file = _File(data)
    file.synced = data
    return file
