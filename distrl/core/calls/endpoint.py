"""A model behind HTTP: messages of a chat in, its text and what it cost out; every failure is a `ServerError`.

It speaks `/chat/completions` as OpenAI, vLLM, llama.cpp and many others do. A call is tried again after 408, 429, 5xx,
a refused or broken connection or no answer in time: when the server says (`Retry-After`), else after a pause that
doubles, has an upper bound and is jittered. All tries together have one deadline, so that a server which sends a byte a
second costs no more than one which says nothing. A key is read from the environment, sent to the server, and replaced
by stars in whatever a server says.
"""

import asyncio
import email.utils
import json
import logging
import re
import ssl
from collections.abc import Awaitable, Callable, Mapping
from functools import cached_property
from random import Random
from typing import Any, TypeVar

import httpx
import msgspec

from distrl.core.calls.chat import Reply, read_reply, too_long
from distrl.core.calls.limits import Breaker, Pace, Purse, Slots
from distrl.core.clock import Clock, VirtualLoop
from distrl.core.errors import RefusedError, ServerError, UserError

log = logging.getLogger(__name__)
T = TypeVar("T")

MAX_BODY_BYTES = 2**20
MAX_SAID_CHARS = 300
REFUSALS = {401: "the key is wrong or missing", 402: "there is no credit left", 403: "the key may not do this"}
BUSY = (429, 503, 529)
AGAIN = (408, 425, *BUSY)
MAX_HOLD_S = 3600.0
"""The longest pause that a server can ask for."""


class _AgainError(Exception):
    """Worth another try, not before so many seconds if the server said so."""

    def __init__(self, why: str, *, after_s: float | None = None, is_busy: bool = False) -> None:
        super().__init__(why)
        self.after_s = after_s
        self.is_busy = is_busy


class Patience(msgspec.Struct, frozen=True, kw_only=True):
    """How long and how often an answer is tried for."""

    deadline_s: float = 90.0
    attempt_s: float = 45.0
    max_tries: int = 6
    first_backoff_s: float = 0.5
    max_backoff_s: float = 20.0


class Limits:
    """All that bounds the calls to one server."""

    def __init__(self, slots: Slots, pace: Pace, breaker: Breaker, purse: Purse) -> None:
        self.slots = slots
        self.pace = pace
        self.breaker = breaker
        self.purse = purse


class Endpoint:
    """One server; shared by all that ask it, so that its limits hold for them together."""

    def __init__(
        self,
        url: str,
        key: str,
        limits: Limits,
        patience: Patience,
        *,
        clock: Clock,
        rng: Random,
        wall_s: Callable[[], float],
        table: str = "judge",
    ) -> None:
        self.url = _checked_url(url, table)
        self.limits = limits
        self._table = table
        self._key = key
        self._patience = patience
        self._clock = clock
        self._rng = rng
        self._wall_s = wall_s

    def deadline_s(self) -> float:
        """The time by which a question that is asked now has to be answered."""
        return self._clock.now() + self._patience.deadline_s

    async def ask(self, body: Mapping[str, Any], *, ends_s: float) -> Reply:
        """The answer to a chat; `ServerError` if there is none before that time or within the limits."""
        try:
            return await self._until(ends_s, lambda: self._chat(body))
        except RefusedError as error:
            if error.is_lasting and self.limits.breaker.failed(str(error), at_once=True):
                log.warning("%s: the server is left alone for a while: %s", self._table, error)
            raise

    async def fetch(self, path: str, body: Mapping[str, Any] | None = None, *, ends_s: float) -> bytes:
        """What the server says at another path of its API: to a GET, or to this body; nothing is paid for it."""
        return await self._until(ends_s, lambda: self._other(path, body))

    async def _until(self, ends_s: float, call: Callable[[], Awaitable[T]]) -> T:
        """Try until there is an answer."""
        if isinstance(asyncio.get_running_loop(), VirtualLoop):
            raise UserError("a model behind a server needs real time, and this is virtual time, which jumps over waits")
        why = "no time"
        for number in range(self._patience.max_tries):
            self.limits.breaker.check()
            self.limits.purse.check()
            try:
                reply = await self._try(call, ends_s)
            except _AgainError as error:
                why = str(error)
                self._note_failure(error)
                pause_s = self._pause_s(number, error)
                if number + 1 == self._patience.max_tries or self._clock.now() + pause_s >= ends_s:
                    break
                await self._clock.sleep(pause_s)
            else:
                self.limits.breaker.succeeded()
                self.limits.slots.grow()
                return reply
        raise ServerError(f"no answer from {self.shown_url}: {why} (tried {number + 1} times)")

    def _note_failure(self, error: _AgainError) -> None:
        if error.is_busy:
            self.limits.slots.shrink()
        if error.after_s is not None:
            # It is there and says when to come back: no reason to leave it alone for longer.
            self.limits.pace.hold(min(error.after_s, MAX_HOLD_S))
            return
        if self.limits.breaker.failed(str(error)):
            log.warning("%s: %s is left alone for a while: %s", self._table, self.shown_url, error)

    def _pause_s(self, number: int, error: _AgainError) -> float:
        """What the server asked for, or twice as long as before; never the same for all who wait."""
        if error.after_s is not None:
            return error.after_s + self._rng.uniform(0.0, self._patience.first_backoff_s)
        longest = min(self._patience.max_backoff_s, self._patience.first_backoff_s * 2.0**number)
        return longest * self._rng.uniform(0.5, 1.0)

    async def _try(self, call: Callable[[], Awaitable[T]], ends_s: float) -> T:
        """One call, in its turn. To have waited in vain for a turn is no failure of the server."""
        is_called = False
        try:
            async with asyncio.timeout(max(0.0, ends_s - self._clock.now())), self.limits.slots.one():
                wait_s = self.limits.pace.reserve(within_s=max(0.0, ends_s - self._clock.now()))
                await self._clock.sleep(wait_s)
                self.limits.purse.check()
                is_called = True
                async with asyncio.timeout(self._patience.attempt_s):
                    return await call()
        except TimeoutError:
            if not is_called:
                raise ServerError("more calls than may be made at a time: no turn in time") from None
            raise _AgainError(f"no answer within {self._patience.attempt_s:g} s") from None
        except httpx.InvalidURL as error:
            raise RefusedError(0, f"{self.shown_url} is no address: {error}") from error
        except (httpx.HTTPError, ssl.SSLError, OSError) as error:
            raise _AgainError(self._without_key(f"{type(error).__name__}: {error}")) from error

    async def _chat(self, body: Mapping[str, Any]) -> Reply:
        data = await self._call(self.url, body)
        return read_reply(data, self.limits.purse) if data is not None else too_long(MAX_BODY_BYTES, self.limits.purse)

    async def _other(self, path: str, body: Mapping[str, Any] | None) -> bytes:
        data = await self._call(self.url.replace("/chat/completions", path), body)
        if data is None:
            raise RefusedError(0, f"{self.shown_url}: more than {MAX_BODY_BYTES:,} bytes at {path}")
        return data

    async def _call(self, url: str, body: Mapping[str, Any] | None) -> bytes | None:
        """The body of a good answer, or nothing if it is too long."""
        headers = {"Accept-Encoding": "identity"} | ({"Authorization": f"Bearer {self._key}"} if self._key else {})
        async with (
            # A client for each call: a kept connection would belong to one event loop, and an environment to any.
            httpx.AsyncClient(verify=self._trust, timeout=self._patience.attempt_s, headers=headers) as client,
            client.stream(
                "GET" if body is None else "POST", url, json=None if body is None else dict(body)
            ) as response,
        ):
            data = await _read(response)
        if response.status_code != 200:
            raise self._failure(response, data or b"")
        return data

    def _failure(self, response: httpx.Response, data: bytes) -> Exception:
        """What a status means: worth another try, or not."""
        status = response.status_code
        said = f"{status} {self._without_key(_message_in(data))}".strip()
        if (status in AGAIN or status >= 500) and not speaks_of_images(said):
            after_s = _retry_after_s(response.headers, self._wall_s())
            return _AgainError(f"it said {said}", after_s=after_s, is_busy=status in BUSY)
        meaning = REFUSALS.get(status, "the address or the model is wrong" if status == 404 else "it will not answer")
        return RefusedError(status, f"{self.shown_url}: {meaning} (it said {said})")

    @property
    def shown_url(self) -> str:
        """The address without what may be secret in it."""
        return self.url.partition("?")[0]

    def _without_key(self, text: str) -> str:
        """What a server said, shortened, without the key that it may repeat, nor a part of it."""
        if self._key:
            text = text.replace(self._key, "***")
            text = re.sub(re.escape(self._key[:4]) + r"\S*", "***", text) if len(self._key) >= 8 else text
        return text[:MAX_SAID_CHARS]

    @cached_property
    def _trust(self) -> ssl.SSLContext:
        return httpx.create_ssl_context()


# ---------------------------------------------------------------- what a server sends


_IMAGES = re.compile(
    r"image_url|image input|\b0 image|mmproj|(not|n't|no)\b.{0,60}\b(images?|vision|multi-?modal)"
    r"|\b(images?|vision)\b.{0,40}\bnot\b",
    re.IGNORECASE,
)


def speaks_of_images(said: str) -> bool:
    """Whether an error is about pictures: such a server will never take one, whatever status it gives."""
    return _IMAGES.search(said) is not None


async def _read(response: httpx.Response) -> bytes | None:
    """The body, or nothing as soon as it is too long."""
    data = bytearray()
    async for chunk in response.aiter_bytes():
        data += chunk
        if len(data) > MAX_BODY_BYTES:
            return None
    return bytes(data)


def _message_in(data: bytes) -> str:
    """What an error says, in the form of OpenAI or as plain text; on one line."""
    text = data[: 4 * MAX_SAID_CHARS].decode(errors="replace")
    try:
        found = json.loads(data)
        error = found.get("error", found) if isinstance(found, dict) else found
        text = str(error.get("message", error)) if isinstance(error, dict) else str(error)
    except (ValueError, RecursionError):
        pass
    return " ".join(text.split())


def _retry_after_s(headers: Mapping[str, str], now_s: float) -> float | None:
    """The pause that a server asks for: seconds, or a date, read against the server's own clock if it tells it."""
    value = headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d{1,9}(\.\d{1,6})?", value):
        return float(value)
    at_s, sent_s = _time_of(value), _time_of(headers.get("date", ""))
    return None if at_s is None else max(0.0, at_s - (now_s if sent_s is None else sent_s))


def _time_of(date: str) -> float | None:
    try:
        return email.utils.parsedate_to_datetime(date).timestamp() if date else None
    except (ValueError, OverflowError):
        return None


def _checked_url(url: str, table: str) -> str:
    """The address of chat completions below a base such as http://127.0.0.1:8000/v1; `UserError` if it is none."""
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise UserError(f"{table}.url: {url!r} is no address: {error}") from error
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise UserError(f"{table}.url: {url!r} is no address; http://127.0.0.1:8000/v1 is one")
    if parsed.userinfo:
        raise UserError(f"{table}.url holds a name or a password; a key belongs into a variable ({table}.key_variable)")
    if parsed.path.endswith("/chat/completions"):
        return url
    return str(parsed.copy_with(path=parsed.path.rstrip("/") + "/chat/completions"))
