"""The report as one page of HTML, without scripts and without other files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Final
from urllib.parse import quote

from ...verdict.rules.rule import Status
from .findings import Finding, Result, in_all
from .text_report import summary

_STYLE: Final = """
:root { color-scheme: light dark; --line: #8884; --good: #1a7f37; --bad: #cf222e; --dim: #767676; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .3rem .8rem .3rem 0;
  border-bottom: 1px solid var(--line); }
td.id { font-family: ui-monospace, monospace; font-size: .87em; white-space: nowrap; }
td.status { white-space: nowrap; font-weight: 600; }
.obeyed { color: var(--good); } .allowed { color: #bf8700; } .violated { color: var(--bad); }
.not-exercised, .source { color: var(--dim); font-weight: 400; } .not-judged { color: #bf8700; }
.source { font-size: .87em; }
.wide { overflow-x: auto; }
pre { font: .83em/1.45 ui-monospace, monospace; overflow-x: auto; padding: .6rem .8rem;
  border: 1px solid var(--line); border-radius: 6px; }
.text { margin: .2rem 0; white-space: pre-wrap; }
details { margin: .8rem 0; } summary { cursor: pointer; }
.matrix td, .matrix th { text-align: center; padding: .15rem .4rem; width: auto; }
.matrix { width: auto; } .matrix td:first-child { text-align: left; }
@media (max-width: 44rem) {
  td.id, td.status { white-space: normal; } .source { overflow-wrap: anywhere; }
}
.matrix th span { writing-mode: vertical-rl; transform: rotate(180deg); font-weight: 400; }
"""
_SIGNS: Final = {Status.OBEYED: "✓", Status.VIOLATED: "✗", Status.NOT_EXERCISED: "·",
                 Status.ALLOWED: "!"}  # fmt: skip


def pictures_of(html: Path) -> Path:
    """The folder beside a page that has the pictures of its scenarios, and their traces."""
    return html.with_name(f"{html.stem}-scenarios")


def picture_name(scenario: str) -> str:
    """The name of a scenario's picture in that folder."""
    return f"{scenario}.html"


def as_html(results: Sequence[Result], title: str, file: Path | None = None) -> str:
    """The page.

    Args:
        title: what was judged.
        file: of the page; scenarios with a picture beside it link to that.
    """
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width">',
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{escape(title)}</h1><p>{escape(summary(results))}</p>",
    ]
    is_trace = len(results) == 1 and not results[0].sentence
    if not is_trace:
        parts += _scenarios(results, file)
    parts += _violations(results, with_names=not is_trace)
    parts += _rules(results)
    if len(results) > 1:
        parts += _matrix(results)
    return "".join([*parts, "</body></html>\n"])


def _status(text: str) -> str:
    return f'<td class="status {escape(text.replace(" ", "-"))}">{escape(text)}</td>'


def _linked(name: str, file: Path | None) -> str:
    """The name of a scenario, as a link if there is a picture of it."""
    if file is None or not (pictures_of(file) / picture_name(name)).exists():
        return escape(name)
    path = quote(f"{pictures_of(file).name}/{picture_name(name)}")
    return f'<a href="{path}">{escape(name)}</a>'


def _scenarios(results: Sequence[Result], file: Path | None) -> Iterator[str]:
    yield "<h2>Scenarios</h2><table><tr><th>status<th>time<th>scenario<th>what happens</tr>"
    for each in results:
        notes = "".join(
            f"<br>{escape(note)}"
            for note in (each.trouble, each.does_not_work, *each.notes)
            if note
        )
        last = f"<pre>{escape(chr(10).join(each.last_lines))}</pre>" if each.last_lines else ""
        yield (
            f'<tr>{_status(each.verdict)}<td>{each.took_s:.1f} s<td class="id">'
            f"{_linked(each.name, file)}<td>{escape(each.sentence)}{notes}{last}</tr>"
        )
    yield "</table>"


def _violations(results: Sequence[Result], *, with_names: bool) -> Iterator[str]:
    found = [(each, rule) for each in results for rule in each.findings if rule.violated]
    if found:
        yield "<h2>Violations</h2>"
    for result, finding in found:
        where = f" in {escape(result.name)}" if with_names else ""
        yield (
            f'<details open><summary><b class="violated">{escape(finding.rule_id)}</b>{where}: '
            f'{escape(finding.sentence)}<br><span class="source">{escape(finding.source)}</span>'
            "</summary>"
        )
        for each in finding.breaches:
            client = f" (client {escape(each.client_id)})" if each.client_id else ""
            yield f'<p class="text">{escape(each.text)}{client}</p>'
            if each.lines:
                yield f"<pre>{escape(chr(10).join(each.lines))}</pre>"
        for text in (*finding.known, *([f"allowed {finding.allowed}"] if finding.allowed else ())):
            yield f'<p class="text">{escape(text)}</p>'
        left = finding.violated - len(finding.breaches)
        yield f"<p>and {left} more</p></details>" if left > 0 else "</details>"


def _rules(results: Sequence[Result]) -> Iterator[str]:
    yield "<h2>Rules</h2><table><tr><th>status<th>count<th>rule<th>sentence and source</tr>"
    for each in in_all(results):
        yield (
            f'<tr>{_status(each.status)}<td>{each.counts}<td class="id">{escape(each.rule_id)}'
            f'<td>{escape(each.sentence)}<br><span class="source">{escape(each.source)}</span></tr>'
        )
    yield "</table>"


def _matrix(results: Sequence[Result]) -> Iterator[str]:
    yield '<h2>Rules by scenario</h2><div class="wide"><table class="matrix"><tr><th>'
    yield "".join(f"<th><span>{escape(each.name)}</span>" for each in results)
    yield "</tr>"
    by_scenario = [{each.rule_id: each for each in result.findings} for result in results]
    for rule in in_all(results):
        cells = "".join(_cell(found.get(rule.rule_id)) for found in by_scenario)
        yield f'<tr><td class="id">{escape(rule.rule_id)}{cells}</tr>'
    yield "</table></div>"


def _cell(finding: Finding | None) -> str:
    if finding is None:
        return "<td>"
    name = finding.status.replace(" ", "-")
    return f'<td class="{name}" title="{escape(finding.status)}">{_SIGNS[finding.status]}'
