"""The audit's results: a table on the terminal, JSON, and one self-contained page."""

from __future__ import annotations

import json
from html import escape
from typing import TYPE_CHECKING, Final

from ...audit.rules import RULES, Finding
from ...protocol.shown_text import shown
from . import plots as plots
from .run import Report

if TYPE_CHECKING:
    from rich.console import Console

_SHOWN: Final = 40
_SHOWN_OF_A_RULE: Final = 5
_ON_PAGE_OF_A_RULE: Final = 20
_PARTITIONS_ON_PAGE: Final = 1000
_COLOURS: Final = {"error": "red", "warning": "yellow", "notice": "cyan"}


def as_json(report: Report) -> str:
    """The whole report, for other programs."""
    content = {
        "name": report.name,
        "clean": report.is_clean,
        "counts": report.counts,
        "findings": [_fields(each) for each in report.findings],
        "partitions": [each._asdict() for each in report.partitions],
        "coordinators_log": _extent(report),
        "seconds": round(report.seconds, 3),
    }
    return json.dumps(content, indent=2) + "\n"


def _fields(finding: Finding) -> dict[str, object]:
    return {
        **finding._asdict(),
        "evidence": json.loads(finding.evidence),
        "severity": str(finding.severity),
        "anomaly": finding.anomaly,
        "place": finding.place,
    }


def _extent(report: Report) -> str:
    if not report.has_coordinators:
        return "missing"
    return "whole" if report.is_whole else "compacted"


def verdict(report: Report) -> str:
    """The result in one sentence."""
    records = sum(each.records for each in report.partitions)
    committed = sum(each.committed for each in report.partitions)
    aborted = sum(each.aborted for each in report.partitions)
    read = (
        f"{len(report.partitions):,} partitions, {records:,} records,"
        f" {committed:,} committed and {aborted:,} aborted transactions on partitions"
    )
    notices = sum(
        number for rule, number in report.counts.items() if RULES[rule].severity == "notice"
    )
    found = sum(report.counts.values()) - notices
    result = "no findings" if not found else f"{found:,} finding{'s' * (found != 1)}"
    if notices:
        result += f", {notices:,} notice{'s' * (notices != 1)}"
    return f"{result} in {read} ({report.seconds:.1f} s)"


def limits(report: Report) -> str:
    """What the logs do not show; empty if they show everything."""
    if not report.has_coordinators:
        return "without __transaction_state, transactions are not compared with decisions"
    if not report.is_whole:
        return "__transaction_state is compacted: transactions without a decision are not judged"
    return ""


def show(report: Report, console: Console) -> None:
    """Print the findings, some of each rule, and the verdict."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    if report.findings:
        table = Table(box=SIMPLE_HEAD, show_header=False)
        table.add_column("rule", no_wrap=True)
        table.add_column("finding", overflow="fold")
        left = dict.fromkeys(report.counts, _SHOWN_OF_A_RULE)
        rows = 0
        for finding in report.findings:
            left[finding.rule] -= 1
            if left[finding.rule] < 0 or rows == _SHOWN:
                continue
            rows += 1
            colour = _COLOURS[finding.severity]
            text = f"[bold]{escape_markup(finding.place)}[/bold] {escape_markup(finding.text)}"
            if finding.command:
                text += f"\n[bold]{escape_markup(finding.command)}[/bold]"
            name = f"[{colour}]{finding.rule}[/{colour}]"
            if finding.anomaly:
                name += f"\n[dim]{finding.anomaly}[/dim]"
            table.add_row(name, text)
        console.print(table)
        total = sum(report.counts.values())
        if rows < total:
            console.print(f"... and {total - rows:,} more; --json, --html and --parquet have them")
    mark = "[green]clean[/green]" if report.is_clean else "[red]not clean[/red]"
    console.print(f"{escape_markup(report.name)}: {mark}: {escape_markup(verdict(report))}")
    if limits(report):
        console.print(f"[dim]{limits(report)}[/dim]")


def escape_markup(text: str) -> str:
    """Text for rich, with no markup and no control characters of its own."""
    from rich.markup import escape as escaped

    return escaped(shown(text))


_STYLE: Final = """
:root{color-scheme:light dark;--ink:#1d2733;--paper:#fff;--soft:#f3f5f7;--line:#d5dbe1;
--bad:#b3261e;--warn:#8a5100;--note:#1f5f8b;--commit:#2c7fb8;--abort:#e08214;--open:#b3261e;
--write:#5aae61;--end:#762a83}
@media(prefers-color-scheme:dark){:root{--ink:#dfe6ee;--paper:#14191f;--soft:#1e262f;--line:#36424f;
--bad:#ff8a80;--warn:#f0a04b;--note:#7cc0f0;--commit:#5aa9e6;--abort:#f0a04b;--open:#ff8a80;
--write:#7fcf86;--end:#b98fd0}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:1040px;
margin:2rem auto;padding:0 1rem}
h1{font-size:1.5rem;margin-bottom:.2rem;overflow-wrap:anywhere}h2{font-size:1.1rem;margin-top:2rem}
table{border-collapse:collapse;width:100%;font-size:13px}
th,td{text-align:left;padding:4px 8px;border-bottom:1px solid var(--line);vertical-align:top}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}td{overflow-wrap:anywhere}
td:first-child{overflow-wrap:break-word}
pre,code{font:12px ui-monospace,monospace;overflow-wrap:anywhere;white-space:pre-wrap}
pre{background:var(--soft);padding:8px;margin:4px 0}
.error{color:var(--bad)}.warning{color:var(--warn)}.notice{color:var(--note)}
.verdict{padding:.6rem 1rem;background:var(--soft);border-left:5px solid var(--commit)}
.verdict.bad{border-color:var(--open)}.none{font-style:italic}
.scroll{overflow-x:auto}svg{display:block;width:100%;min-width:680px;background:var(--soft)}
svg text{font:11px system-ui,sans-serif;fill:var(--ink)}
svg line{stroke:var(--line)}rect.commit{fill:var(--commit)}rect.abort{fill:var(--abort)}
rect.open{fill:var(--open);stroke:var(--ink)}rect.write{fill:var(--write)}rect.end{fill:var(--end)}
@media(max-width:640px){.stacked tr{display:block;border-bottom:1px solid var(--line)}
.stacked td{display:block;border:0;padding:1px 0}.stacked tr:first-child{display:none}
.stacked td:first-child{font-weight:600;padding-top:8px}.stacked td:last-child{padding-bottom:8px}}
"""


def as_html(report: Report) -> str:
    """One page, with its style and plots; it loads nothing."""
    plotted = (
        ("Transactions", plots.lanes(report.transactions)),
        ("Durations", plots.latencies(report.transactions)),
        ("Commits and aborts", plots.aborts(report.transactions)),
        ("Held back by open transactions", plots.lags(report.partitions)),
    )
    name = escape(report.name)
    bad = "" if report.is_clean else " bad"
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width,initial-scale=1">',
        f"<title>Audit of {name}</title><style>{_STYLE}</style></head><body>",
        f'<h1>Audit of {name}</h1><p class="verdict{bad}">{escape(verdict(report))}</p>',
        f"<p>{escape(limits(report))}</p>" if limits(report) else "",
        _findings_table(report),
        *(f'<h2>{title}</h2><div class="scroll">{svg}</div>' for title, svg in plotted),
        _rules_table(report),
        _partitions_table(report),
        "</body></html>\n",
    ]
    return "".join(parts)


def _findings_table(report: Report) -> str:
    if not report.findings:
        return ""
    rows = []
    left = dict.fromkeys(RULES, _ON_PAGE_OF_A_RULE)
    for each in report.findings:
        left[each.rule] -= 1
        if left[each.rule] < 0:
            continue
        command = each.command.replace("  # or: ", "\n# or: ")
        command = f"<pre>{escape(command)}</pre>" if command else ""
        shown = json.dumps(json.loads(each.evidence), indent=1)
        rows.append(
            f'<tr><td class="{each.severity}">{each.rule}</td><td>{each.anomaly}</td>'
            f"<td>{escape(each.place)}</td><td>{escape(each.text)}{command}"
            f"<details><summary>evidence</summary><pre>{escape(shown)}</pre></details></td></tr>"
        )
    total = sum(report.counts.values())
    more = ""
    if total > len(rows):
        more = (
            f"<p>{len(rows):,} of {total:,}, at most {_ON_PAGE_OF_A_RULE} of each rule."
            " --json has 10,000, --parquet all.</p>"
        )
    head = "<tr><th>rule</th><th>anomaly</th><th>place</th><th>finding</th></tr>"
    return f'<h2>Findings</h2>{more}<table class="stacked">{head}{"".join(rows)}</table>'


def _rules_table(report: Report) -> str:
    rows = "".join(
        f"<tr><td>{rule.id}</td><td>{escape(rule.sentence)}</td><td>{escape(rule.source)}</td>"
        f'<td class="n">{report.counts.get(rule.id, 0):,}</td></tr>'
        for rule in RULES.values()
    )
    head = '<tr><th>rule</th><th>it says</th><th>source</th><th class="n">findings</th></tr>'
    return f'<h2>Rules</h2><table class="stacked">{head}{rows}</table>'


def _partitions_table(report: Report) -> str:
    names = ("partition", "begin", "last stable", "end", "records", "committed", "aborted", "open")
    head = "".join(f"<th{' class=n' if at else ''}>{name}</th>" for at, name in enumerate(names))
    rows = []
    for each in sorted(report.partitions)[:_PARTITIONS_ON_PAGE]:
        numbers = (
            each.start_offset,
            each.last_stable_offset,
            each.end_offset,
            each.records,
            each.committed,
            each.aborted,
            each.open,
        )
        cells = "".join(f'<td class="n">{number:,}</td>' for number in numbers)
        rows.append(f"<tr><td>{escape(f'{each.topic}-{each.partition}')}</td>{cells}</tr>")
    table = f"<table><tr>{head}</tr>{''.join(rows)}</table>"
    cut = len(report.partitions) - len(rows)
    more = f"<p>{cut:,} more are in --json.</p>" if cut else ""
    return f'<h2>Partitions</h2><div class="scroll">{table}</div>{more}'
