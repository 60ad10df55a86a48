"""`endpoint`: a policy behind an OpenAI-compatible server (vLLM, SGLang, llama.cpp, an API). Needs httpx, not torch."""

from distrl.policies.endpoint.adapters import Adapters, Served
from distrl.policies.endpoint.chat import Vocabulary
from distrl.policies.endpoint.policy import Abilities, EndpointOptions, EndpointPolicy

__all__ = ["Abilities", "Adapters", "EndpointOptions", "EndpointPolicy", "Served", "Vocabulary"]
