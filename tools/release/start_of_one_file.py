"""The `__main__` of ottla.pyz: unpacks the packages into the user's cache, and runs from there.

Native code cannot be loaded from an archive. What is unpacked looks like a virtual environment, so
that the processes of Ottla, which run `python -m ottla`, find it too.
"""

import os
import sys

# Written by the build.
NAME = "@NAME@"
PYTHON = "@PYTHON@"


def main() -> int:
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    if version != PYTHON:
        sys.stderr.write(f"ottla.pyz is built for Python {PYTHON}, and this is {version}\n")
        return 2
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    place = os.path.join(caches, "ottla", NAME)
    if not os.path.isdir(place):
        try:
            unpack(place)
        except OSError as error:
            sys.stderr.write(f"ottla.pyz: {place} cannot be written: {error.strerror}\n")
            return 2
    # In the place of the archive itself, which no module comes from.
    sys.path[0] = os.path.join(place, "lib", f"python{PYTHON}", "site-packages")
    sys.executable = os.path.join(place, "bin", "python")
    from ottla.__main__ import main as run

    return run()


def unpack(place: str) -> None:
    """Unpack at another place and move that: several may begin at once, and one may be killed."""
    import io
    import shutil
    import tempfile
    import zipfile

    os.makedirs(os.path.dirname(place), mode=0o700, exist_ok=True)
    made = tempfile.mkdtemp(prefix=f"{NAME}-", dir=os.path.dirname(place))
    try:
        with zipfile.ZipFile(sys.argv[0]) as outer:
            inner = io.BytesIO(outer.read("packages.zip"))
        with zipfile.ZipFile(inner) as packages:
            packages.extractall(os.path.join(made, "lib", f"python{PYTHON}", "site-packages"))
        python = os.path.realpath(sys.executable)
        os.mkdir(os.path.join(made, "bin"))
        os.symlink(python, os.path.join(made, "bin", "python"))
        with open(os.path.join(made, "pyvenv.cfg"), "w") as settings:
            settings.write(f"home = {os.path.dirname(python)}\n")
        try:
            os.rename(made, place)
        except OSError:
            if not os.path.isdir(place):  # another process was not faster
                raise
    finally:
        shutil.rmtree(made, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
