"""Lines about each request, for `kafka.request.logger` at DEBUG or TRACE.

DEBUG has a line for each answer, with the time that it took; TRACE one for each request, too, and
the fields of both. A dispatch has this layer only while the logger has one of these levels
(`NodeSockets`), so that a request without these lines costs nothing more.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Final

from ...protocol.errors import Refused
from ..log_names import LEVELS
from ..log_output import Log
from .context import Context, Disconnect
from .dispatch import Dispatch
from .handler import Body
from .request_fields import shown

_log = Log("requests")
_TRACE: Final = LEVELS["TRACE"]


def log_requests(dispatch: Dispatch) -> None:
    """Log each request and its answer."""
    handle, now_s = dispatch.handle, dispatch.node.clock.live.monotonic_s

    def log_and_handle(context: Context, request: object) -> Coroutine[object, None, Body | None]:
        if _log.lowest <= _TRACE:
            _log.trace("request", **_named(context), request=shown(request))
        began_s = now_s()
        return finish_and_log(context, handle(context, request), began_s)

    async def finish_and_log(
        context: Context, handling: Coroutine[object, None, Body | None], began_s: float
    ) -> Body | None:
        fields: dict[str, object] = {}
        try:
            body = await handling
            if _log.lowest <= _TRACE and body is not None:
                fields["response"] = shown(body)
        except (Refused, Disconnect) as refused:
            fields["refused"] = str(refused)
            raise
        except Exception as fault:
            fields["fault"] = repr(fault)
            raise
        finally:
            handling.close()
            took_ms = (now_s() - began_s) * 1000
            _log.debug("answer", **_named(context), took_ms=round(took_ms, 3), **fields)
        return body

    dispatch.handle = log_and_handle


def _named(context: Context) -> dict[str, object]:
    return {
        **context.log_fields(),
        "correlation_id": context.correlation_id,
        "principal": context.principal.text,
        "listener": context.connection.listener.name,
    }
