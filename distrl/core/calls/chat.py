"""What `/chat/completions` answers: bytes in; text, its tokens and their log-probabilities, and the cost out."""

import msgspec

from distrl.core.calls.limits import Purse, Usage


class Token(msgspec.Struct, frozen=True, kw_only=True):
    """One token of an answer, as servers tell it: `id` only some of them."""

    token: str = ""
    logprob: float
    id: int | None = None


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """What came back. `problem` says why there is no text, if there is none to be read."""

    text: str
    cost: float
    tokens: int
    problem: str = ""
    has_usage: bool = True
    model: str = ""
    finish_reason: str = ""
    log_probs: tuple[Token, ...] | None = None
    """None if the server gave none."""
    token_ids: tuple[int, ...] | None = None


def read_reply(data: bytes, purse: Purse) -> Reply:
    """The text of an answer and what it cost; an answer that is none is paid for as well."""
    try:
        answer, problem = _ANSWERS.decode(data), ""
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        answer, problem = _Answer(), "an answer that is not a chat completion"
    usage = answer.usage
    cost = purse.pay(usage)
    choice = answer.choices[0] if answer.choices else _Choice()
    log_probs = None if choice.logprobs is None else choice.logprobs.content
    if not problem and not answer.choices:
        problem = "an answer without a choice"
    elif choice.message.refusal:
        problem = "a refusal"
    elif choice.finish_reason in ("length", "content_filter"):
        problem = f"an answer that was cut off ({choice.finish_reason})"
    return Reply(
        text=choice.message.content or "",
        cost=cost,
        tokens=0 if usage is None else usage.prompt_tokens + usage.completion_tokens,
        problem=problem,
        has_usage=usage is not None,
        model=answer.model,
        finish_reason=choice.finish_reason or "",
        log_probs=log_probs,
        token_ids=choice.token_ids if choice.token_ids is not None else _ids_of(log_probs),
    )


def _ids_of(log_probs: tuple[Token, ...] | None) -> tuple[int, ...] | None:
    """llama.cpp tells the number of a token beside its log-probability."""
    ids = tuple(token.id for token in log_probs or () if token.id is not None)
    return ids if log_probs and len(ids) == len(log_probs) else None


def too_long(max_bytes: int, purse: Purse) -> Reply:
    """What an answer of more bytes than that amounts to."""
    return Reply(
        text="", cost=purse.pay(None), tokens=0, problem=f"an answer of more than {max_bytes:,} bytes", has_usage=False
    )


class _Text(msgspec.Struct, frozen=True, kw_only=True):
    content: str | None = None
    refusal: str | None = None


class _LogProbs(msgspec.Struct, frozen=True, kw_only=True):
    content: tuple[Token, ...] | None = None


class _Choice(msgspec.Struct, frozen=True, kw_only=True):
    message: _Text = _Text()
    finish_reason: str | None = None
    logprobs: _LogProbs | None = None
    token_ids: tuple[int, ...] | None = None


class _Answer(msgspec.Struct, frozen=True, kw_only=True):
    choices: tuple[_Choice, ...] = ()
    usage: Usage | None = None
    model: str = ""


_ANSWERS = msgspec.json.Decoder(_Answer)
