"""One course of work for synchronous and asynchronous hosts: a generator asks for calls, and who drives it makes them, or awaits them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, TypeVar

from salience.errors import SeamError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Call:
    """A call of somebody else's code that may take long or be asynchronous: a model, an embeddings provider."""

    function: Callable[..., Any]
    args: tuple[Any, ...]


Steps = Generator[Call, Any, T]
"""Work that yields calls, is sent what they return, and returns a result."""


def drive(steps: Steps[T]) -> T:
    """Do the work, making each call. What a call raises passes through, and the work ends there.

    Raises:
        SeamError: A call is asynchronous.
    """
    answer: Any = None
    try:
        while True:
            try:
                call = steps.send(answer)
            except StopIteration as end:
                result: T = end.value
                return result
            answer = call.function(*call.args)
            if inspect.isawaitable(answer):
                if inspect.iscoroutine(answer):
                    answer.close()
                name = getattr(call.function, "__qualname__", repr(call.function))
                raise SeamError(f"{name} is asynchronous: use AsyncMemory, aenrich or aenrich_from_turn")
    finally:
        steps.close()


async def adrive(steps: Steps[T]) -> T:
    """Do the work, awaiting what is asynchronous; plain functions are called as they are."""
    answer: Any = None
    try:
        while True:
            try:
                call = steps.send(answer)
            except StopIteration as end:
                result: T = end.value
                return result
            answer = call.function(*call.args)
            if inspect.isawaitable(answer):
                answer = await answer
    finally:
        steps.close()
