"""A model as an OpenAI-compatible server: chats go in, answers with their log-probabilities go out.

What it cannot do it refuses, with 400 and a reason: a key that were ignored would make the caller believe in it.
Without a token it listens on loopback only, to requests that name it so; with one, every request has to bring it.
"""

import asyncio
import base64
import binascii
import hmac
import io
import time
from random import Random
from typing import Annotated, Any, Literal

import msgspec
from PIL import Image
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from distrl.core.types import Screen
from distrl.policies.prompts import Message
from distrl.runtime.chat_model import Answer, ChatModel, TooLongError

MAX_BODY_BYTES = 32 * 2**20
MAX_PIXELS = 50_000_000
MAX_ANSWER_TOKENS = 4096
_FORMATS: dict[str | None, Literal["png", "jpeg", "webp"]] = {"PNG": "png", "JPEG": "jpeg", "WEBP": "webp"}
_MEANINGLESS: dict[str, tuple[Any, ...]] = {
    "n": (1,),
    "stream": (False,),
    "top_p": (1,),
    "top_k": (0, -1),
    "min_p": (0,),
    "frequency_penalty": (0,),
    "presence_penalty": (0,),
    "repetition_penalty": (1,),
    "top_logprobs": (0, 1),
    "user": (),
    "return_token_ids": (True, False),
}
"""Keys that are taken with these values only (any value, if none is named), because they change nothing then."""


class _Url(msgspec.Struct, frozen=True):
    url: str


class _Part(msgspec.Struct, frozen=True):
    type: Literal["text", "image_url"]
    text: str = ""
    image_url: _Url | None = None


class _Turn(msgspec.Struct, frozen=True):
    role: Literal["system", "user", "assistant"]
    content: str | tuple[_Part, ...]


class _Question(msgspec.Struct, frozen=True):
    model: str
    messages: Annotated[tuple[_Turn, ...], msgspec.Meta(min_length=1)]
    temperature: Annotated[float, msgspec.Meta(ge=0, le=10)] = 1.0
    max_tokens: Annotated[int, msgspec.Meta(ge=1, le=MAX_ANSWER_TOKENS)] | None = None
    max_completion_tokens: Annotated[int, msgspec.Meta(ge=1, le=MAX_ANSWER_TOKENS)] | None = None
    seed: int | None = None
    logprobs: bool = False
    return_token_ids: bool = False


class _RefusalError(Exception):
    """What is wrong with a request, and its status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class ChatServer:
    """Answers for one model."""

    def __init__(self, model: ChatModel, name: str, *, hosts: frozenset[str], token: str = "") -> None:
        self._model = model
        self._name = name
        self._hosts = hosts
        self._token = token
        self._began_s = int(time.time())
        self._turn = asyncio.Lock()

    def app(self) -> Starlette:
        """The routes."""
        routes = [
            Route("/v1/models", self._models),
            Route("/v1/chat/completions", self._complete, methods=["POST"]),
            Route("/health", self._health),
        ]
        return Starlette(routes=routes, exception_handlers={_RefusalError: _refused})

    def _let_in(self, request: Request) -> None:
        if self._token:
            given = request.headers.get("authorization", "")
            if not hmac.compare_digest(given.encode(), f"Bearer {self._token}".encode()):
                raise _RefusalError(401, "the token is wrong or missing")
        elif request.headers.get("host", "") not in self._hosts or request.headers.get("origin"):
            raise _RefusalError(403, "without a token this server is for this machine only")

    async def _health(self, request: Request) -> Response:
        self._let_in(request)
        return Response()

    async def _models(self, request: Request) -> Response:
        self._let_in(request)
        card = {"id": self._name, "object": "model", "created": self._began_s, "owned_by": "distrl"}
        return JSONResponse({"object": "list", "data": [card]})

    async def _complete(self, request: Request) -> Response:
        self._let_in(request)
        question = _read_question(await _body(request))
        if question.model != self._name:
            raise _RefusalError(404, f"there is no model {question.model[:100]!r}; this is {self._name!r}")
        messages = [Message(role=turn.role, parts=_parts(turn)) for turn in question.messages]
        has_pictures = any(isinstance(part, Screen) for message in messages for part in message.parts)
        if has_pictures and not self._model.has_eyes:
            raise _RefusalError(400, "image input is not supported by this model")
        async with self._turn:  # whoever hangs up before its turn costs nothing
            answer = await asyncio.to_thread(self._answer, question, messages)
        return JSONResponse(_completion(answer, question, self._name))

    def _answer(self, question: _Question, messages: list[Message]) -> Answer:
        is_greedy = question.temperature == 0
        seed = question.seed if question.seed is not None else time.time_ns()
        try:
            return self._model.answer(
                messages,
                None if is_greedy else Random(seed),
                temperature=1.0 if is_greedy else question.temperature,
                max_new_tokens=question.max_completion_tokens or question.max_tokens or 256,
            )
        except TooLongError as error:
            raise _RefusalError(400, str(error)) from error


def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, _RefusalError)
    return JSONResponse({"error": {"message": str(error), "type": "invalid_request_error"}}, status_code=error.status)


async def _body(request: Request) -> bytes:
    data = bytearray()
    try:
        async for chunk in request.stream():
            data += chunk
            if len(data) > MAX_BODY_BYTES:
                raise _RefusalError(413, f"more than {MAX_BODY_BYTES:,} bytes")
    except ClientDisconnect as error:
        raise _RefusalError(400, "the request was cut off") from error
    return bytes(data)


def _read_question(data: bytes) -> _Question:
    """A request that can be answered as it is meant."""
    try:
        fields = msgspec.json.decode(data, type=dict[str, Any])
        question = msgspec.convert(fields, _Question)
    except (msgspec.DecodeError, RecursionError) as error:
        raise _RefusalError(400, f"not a chat: {error}") from error
    for key, value in fields.items():
        if key in _Question.__struct_fields__ or value is None:
            continue
        if key not in _MEANINGLESS or (_MEANINGLESS[key] and value not in _MEANINGLESS[key]):
            raise _RefusalError(400, f"{key} = {str(value)[:40]} is not supported here: leave it out")
    return question


def _parts(turn: _Turn) -> tuple[str | Screen, ...]:
    if isinstance(turn.content, str):
        return (turn.content,)
    return tuple(part.text if part.type == "text" else _picture(part.image_url) for part in turn.content)


def _picture(url: _Url | None) -> Screen:
    """The picture in a data URI; nothing is fetched from anywhere."""
    head, _, data = (url.url if url else "").partition(",")
    if not head.startswith("data:image/") or not head.endswith(";base64"):
        raise _RefusalError(400, "a picture has to be a data URI (data:image/png;base64,...)")
    try:
        decoded = base64.b64decode(data, validate=True)
        image = Image.open(io.BytesIO(decoded), formats=["PNG", "JPEG", "WEBP"])
        if image.width * image.height > MAX_PIXELS:
            raise _RefusalError(400, f"a picture of more than {MAX_PIXELS:,} pixels")
        image.load()
    except (binascii.Error, OSError, ValueError, Image.DecompressionBombError) as error:
        raise _RefusalError(400, "a picture that cannot be opened") from error
    return Screen(data=decoded, width=image.width, height=image.height, encoding=_FORMATS[image.format])


def _completion(answer: Answer, question: _Question, name: str) -> dict[str, Any]:
    choice: dict[str, Any] = {
        "index": 0,
        "message": {"role": "assistant", "content": answer.text},
        "finish_reason": "stop" if answer.is_complete else "length",
    }
    if question.logprobs:
        pairs = zip(answer.words, answer.log_probs, strict=True)
        content = [{"token": w, "logprob": n, "bytes": list(w.encode()), "top_logprobs": []} for w, n in pairs]
        choice["logprobs"] = {"content": content}
    if question.return_token_ids:
        choice["token_ids"] = list(answer.ids)
    usage = {"prompt_tokens": answer.num_prompt_tokens, "completion_tokens": len(answer.ids)}
    return {
        "id": f"chatcmpl-{time.time_ns():x}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": name,
        "choices": [choice],
        "usage": usage | {"total_tokens": sum(usage.values())},
    }
