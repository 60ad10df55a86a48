"""`json`, the default: the tagged union of core/types.py as JSON, e.g. {"type":"Tap","x":0.5,"y":0.25}.

The type is the name of the class and the fields are its fields, so that there is nothing to learn twice.
"""

import json

import msgspec

from distrl.core.types import Action
from distrl.core.vetting import invalid, vetted
from distrl.policies.codec.json_objects import NotOneObjectError, the_object


class JsonCodec:
    """Our own format; reading forgives prose and fences around the one object."""

    name = "json"

    def encode(self, action: Action) -> str:
        """The action as one line of JSON."""
        fields = msgspec.to_builtins(vetted(action, raw=repr(action)))
        return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))

    def decode(self, text: str) -> Action:
        """The action of the only JSON object in the text."""
        try:
            fields = the_object(text)
            action: Action = msgspec.convert(fields, type=Action)
        except NotOneObjectError as error:
            return invalid(text, str(error))
        except (msgspec.ValidationError, OverflowError, UnicodeEncodeError) as error:
            return invalid(text, f"not an action: {error}")
        return vetted(action, raw=text)
