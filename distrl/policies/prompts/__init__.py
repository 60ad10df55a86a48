"""Prompts: a `Situation` in, the messages of a chat out; the answer of a model in, an `Action` out. One per format.

Plain data without torch or transformers: what a model on this machine and a server are shown is the same. The system
message never changes within a run; the task and the actions come before the screens, so that consecutive prompts of an
episode begin alike and what was computed for one prompt can be used for the next.
"""

from distrl.policies.prompts.interface import Message, Prompt, Role, as_image, text_of
from distrl.policies.prompts.styles import PROMPT_NAMES, make_prompt

__all__ = ["PROMPT_NAMES", "Message", "Prompt", "Role", "as_image", "make_prompt", "text_of"]
