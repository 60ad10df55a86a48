"""`distrl serve`: a trained policy as an OpenAI-compatible server.

Parameters are named for their options, shadowing or not: the name is also that of the option's variable.
"""

import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from distrl.cli.output import Output

if TYPE_CHECKING:
    from distrl.runtime.chat_model import ChatModel

TOKEN_VARIABLE = "DISTRL_SERVE_TOKEN"
LOOPBACK = ("127.0.0.1", "localhost", "::1")


def serve(
    context: typer.Context,
    checkpoint: Annotated[
        Path, typer.Option(help="A directory of transformers or peft, or a run with such a policy.", show_default=False)
    ],
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any that is free.")] = 8000,
    host: Annotated[str, typer.Option(help="Other than loopback needs a token in DISTRL_SERVE_TOKEN.")] = "127.0.0.1",
    name: Annotated[str, typer.Option(help="The model's name in calls; that of the directory if not given.")] = "",
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1, ...; auto: a GPU if there is one.")] = "auto",
    trust_remote_code: Annotated[
        bool, typer.Option("--trust-remote-code", help="Run Python code that comes with the model.")
    ] = False,
) -> None:
    """Offer a trained model at /v1/chat/completions, with log-probabilities."""
    from distrl.cli.extras import require_extra
    from distrl.core.errors import UserError

    output = Output.of(context)
    token = os.environ.get(TOKEN_VARIABLE, "").strip()
    if host not in LOOPBACK and not token:
        raise UserError(f"--host {host} is beyond this machine, which needs a token: set the variable {TOKEN_VARIABLE}")
    directory = _directory(checkpoint)
    require_extra("train")
    from distrl.runtime.policies import require_models

    require_models()

    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        raise UserError(f"--port {port} on {host} cannot be used: {error.strerror}; 0 is any that is free") from error
    output.note(f"loading {directory}")
    from distrl.runtime.chat_model import ChatModel

    model = ChatModel(directory, device=device, trust_remote_code=trust_remote_code)
    _run(model, name or checkpoint.resolve().name, listener, output, host=host, token=token)


def _run(model: "ChatModel", name: str, listener: socket.socket, output: Output, *, host: str, token: str) -> None:
    import uvicorn

    from distrl.cli.chat_server import ChatServer

    port = listener.getsockname()[1]
    hosts = frozenset(f"{shown}:{port}" for shown in ("127.0.0.1", "localhost", "[::1]"))
    app = ChatServer(model, name, hosts=hosts, token=token).app()
    shown = f"[{host}]" if ":" in host else host
    output.write(f"{name} at http://{shown}:{port}/v1 (Ctrl-C ends it)")
    config = uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=5)
    uvicorn.Server(config).run(sockets=[listener])


def _directory(checkpoint: Path) -> Path:
    """Where the model lies; `UserError` if there is none that answers chats."""
    from distrl.core.errors import UserError

    for directory in (checkpoint, checkpoint / "weights"):
        if any((directory / file).is_file() for file in ("adapter_config.json", "config.json")):
            return directory
    if (checkpoint / "config.toml").is_file():
        raise UserError(
            f"{checkpoint} is a run of a tiny policy, which reads no chats; only models of policy.kind hf do"
        )
    raise UserError(f"{checkpoint} holds no model: config.json or adapter_config.json is wanted")
