"""Prompts as servers want them, and their answers as decisions: messages in, JSON out; a reply in, a `Decision` out.

An answer that is not what was asked for is a `ServerError`, never data: another model's name, no log-probabilities or
not one for each token, log-probabilities that are none; and, if it is to be learned from, tokens that nobody could
have said. What the model *wrote* is data, whatever it is.
"""

import base64
import io
import math
from collections.abc import Sequence
from typing import Any

import msgspec

from distrl.core.calls.chat import Reply
from distrl.core.errors import ServerError
from distrl.core.types import Decision, Observation, Screen
from distrl.core.vetting import MAX_OUTPUT_CHARS, invalid
from distrl.policies.prompts import Message, Prompt, as_image

Json = dict[str, Any]
_MIME = {"png": "image/png", "jpeg": "image/jpeg", "webp": "image/webp"}
_CERTAIN = 1e-4
"""A log-probability may be so far above 0 by rounding."""


class Vocabulary(msgspec.Struct, frozen=True, kw_only=True):
    """What a model can say, by the numbers of tokens: 0 to `size` - 1, but for those that stand for no text."""

    size: int
    never_said: frozenset[int] = frozenset()


def as_json(messages: Sequence[Message]) -> list[Json]:
    """Messages in OpenAI's form; those without a screen are plain text, which servers of text models insist on."""
    return [
        {
            "role": message.role,
            "content": [_part(part) for part in message.parts]
            if any(isinstance(part, Screen) for part in message.parts)
            else "".join(part for part in message.parts if isinstance(part, str)),
        }
        for message in messages
    ]


def _part(part: str | Screen) -> Json:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    return {"type": "image_url", "image_url": {"url": data_uri(part)}}


def data_uri(screen: Screen) -> str:
    """A screen as the address of itself."""
    data, mime = screen.data, _MIME.get(screen.encoding)
    if mime is None:
        file = io.BytesIO()
        as_image(screen).save(file, "PNG", compress_level=3)
        data, mime = file.getvalue(), "image/png"
    return f"data:{mime};base64,{base64.b64encode(data).decode()}"


def decision_of(
    reply: Reply,
    prompt: Prompt,
    observation: Observation,
    *,
    model: str,
    version: int,
    needs_log_probs: bool,
    max_tokens: int,
    vocabulary: Vocabulary | None,
) -> Decision:
    """What was decided by this reply; `ServerError` if it is none of this model, or not with what was asked for.

    With a vocabulary the decision is to be learned from, and has to tell the tokens that its probability belongs to.
    """
    require_model(reply, model)
    log_probs = checked_log_probs(reply) if needs_log_probs else ()
    if vocabulary is not None:
        _require_tokens(reply, vocabulary, max_tokens)
    is_refusal = reply.problem == "a refusal"
    return Decision(
        action=invalid(reply.text, "a refusal") if is_refusal else prompt.read(reply.text, observation),
        raw=reply.text[:MAX_OUTPUT_CHARS],
        tokens=reply.token_ids or () if needs_log_probs else (),
        token_log_probs=log_probs,
        log_prob=sum(log_probs),
        policy_version=version,
    )


def _require_tokens(reply: Reply, vocabulary: Vocabulary, max_tokens: int) -> None:
    """`ServerError` unless a learner can compute the probability of this very answer again."""
    ids = reply.token_ids
    if not ids:
        raise ServerError("the server answered without the token ids (return_token_ids) that it was asked for")
    if len(ids) > max_tokens:
        raise ServerError(f"the server gave an answer of {len(ids)} tokens, and {max_tokens} were allowed")
    bad = [i for i in ids if not 0 <= i < vocabulary.size or i in vocabulary.never_said]
    if bad:
        raise ServerError(f"the server gave {str(bad[0])[:40]} for a token id, which the model cannot say")


def require_model(reply: Reply, model: str) -> None:
    """`ServerError` unless this is an answer, and that model's."""
    if reply.problem and not reply.finish_reason:
        raise ServerError(f"the server gave {reply.problem}")
    if reply.model != model:
        raise ServerError(
            f"the server answered as the model {reply.model!r}, and {model!r} was asked; if that is the same model "
            "under another name, say so in policy.endpoint.answers_as"
        )


def checked_log_probs(reply: Reply) -> tuple[float, ...]:
    """One for each token of the answer; `ServerError` if they are not there, too few, or no log-probabilities."""
    if not reply.log_probs:
        raise ServerError("the server answered without the log-probabilities that it was asked for")
    found = tuple(token.logprob for token in reply.log_probs)
    bad = [number for number in found if not math.isfinite(number) or number > _CERTAIN]
    if bad:
        raise ServerError(f"the server gave {bad[0]!r} for a log-probability")
    if reply.token_ids is not None and len(reply.token_ids) != len(found):
        raise ServerError(f"the server gave {len(found)} log-probabilities for {len(reply.token_ids)} tokens")
    return found
