"""What turns text and pictures into a model's inputs: a model's name in, its own processor or tokenizer out.

Of many families the processor wants a part for videos, which needs torchvision. Nobody shows videos here, so where that
part cannot be had the family's own processor is made without it: its way to expand a picture into tokens stays.
"""

from typing import Any

from transformers import AutoImageProcessor, AutoProcessor, AutoTokenizer
from transformers.models.auto.modeling_auto import MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING
from transformers.models.auto.processing_auto import PROCESSOR_MAPPING


def has_eyes(config: Any) -> bool:
    """Whether a model of this configuration can look at pictures; one that brings its own code has to say so."""
    return type(config) in MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING or "AutoModelForImageTextToText" in own_classes(config)


def own_classes(config: Any) -> dict[str, str]:
    """Classes in code that comes with a model, by the class of `transformers` that stands for them."""
    return getattr(config, "auto_map", None) or {}


def load_processor(source: str, config: Any, **options: Any) -> Any:
    """The processor of a model with eyes, the tokenizer of one without; errors are those of `transformers`."""
    if not has_eyes(config):
        return AutoTokenizer.from_pretrained(source, **options)
    try:
        return AutoProcessor.from_pretrained(source, **options)
    except (ImportError, ValueError) as error:
        if "torchvision" not in str(error).lower() or type(config) not in PROCESSOR_MAPPING:
            raise
        return _without_videos(PROCESSOR_MAPPING[type(config)]).from_pretrained(source, **options)


def _without_videos(family: Any) -> Any:
    """The same processor with nothing in the place of that part."""

    def load_parts(cls: Any, /, source: str, processor_dict: Any = None, **options: Any) -> list[Any]:
        loaders = {"tokenizer": AutoTokenizer, "image_processor": AutoImageProcessor}
        names: list[str] = family.get_attributes()
        return [loaders[name].from_pretrained(source, **options) if "video" not in name else None for name in names]

    def check(self: Any, name: str, part: Any) -> Any:
        return None if part is None else family.check_argument_for_proper_class(self, name, part)

    # It keeps its name, which is written down when it is saved.
    members = {"_get_arguments_from_pretrained": classmethod(load_parts), "check_argument_for_proper_class": check}
    return type(family.__name__, (family,), members)


def tokenizer_of(processor: Any) -> Any:
    """The tokenizer within a processor; a tokenizer is its own."""
    return getattr(processor, "tokenizer", processor)
