"""The steps of a release, which .github/workflows/release.yml calls and `make release-check` tries.

`numbers.py` has the version and the tags, `packages.py` builds and tries wheel and sdist, `sums.py`
sums and signs them, `sources.py` pins what a build starts from, `__main__.py` has the commands.
"""
