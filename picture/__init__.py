"""Pictures of a trace: a page that explains what happened, and files for viewers of time lines.

`page.py` writes one HTML file that needs nothing else. `model.py` makes what the page draws, of
events: rows (`rows.py`), lanes (`lanes.py`), transactions (`transactions.py`), groups
(`groups.py`), which records a transaction copied (`copies.py`), and what stands out (`findings/`).
Rows have the first keys and values (`contents.py`) and usual errors (`usual_errors.py`).
`web/` has the sources of the front end, and `page.html` is built of them by `make page`.
`perfetto.py` and `otlp.py` make what viewers of others read.

May enter: what shows a trace to people. Not: judgement of clients, which is `ottla.verdict`, nor
requests to a broker. It imports of Ottla's rooms only `ottla.protocol` and `ottla.trace`.
Begin with `model.py`, then `web/README.md`.
"""
