"""The page of any Kafka: what `ottla console` serves, without what only a control has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from .browser import Browser
from .local_http import Answered, Asked, Failure
from .page import page
from .questions import QUESTIONS, Question, ask

_BY_PATH: Final = {each.path: each for each in QUESTIONS}


def site_of(browser: Browser) -> Callable[[Asked], Answered]:
    """What answers the requests for a page whose questions a browser asks."""

    def answer(asked: Asked) -> Answered:
        if asked.path == "/":
            return page(asked)
        question = _question_for(asked)
        body = asked.decoded(takes_body=bool(question.body), needs_body=bool(question.body))
        return Answered.of(200, ask(browser, question, asked.query, body))

    return answer


def _question_for(asked: Asked) -> Question:
    question = _BY_PATH.get(asked.path)
    if question is None:
        raise Failure(404, f"there is no {asked.path}")
    method = "GET" if asked.method == "HEAD" else asked.method
    if method != question.method:
        raise Failure(405, f"{asked.path} takes {question.method}", question.method)
    return question
