"""What was solved and is still kept: ids and templates in, ids to imitate out, every template as often as any other."""

from random import Random


class Successes:
    """Ids by template, in the order in which they came."""

    def __init__(self) -> None:
        self._by_template: dict[str, dict[str, None]] = {}

    def add(self, trajectory_id: str, template: str) -> None:
        """One more."""
        self._by_template.setdefault(template, {})[trajectory_id] = None

    def remove(self, trajectory_id: str, template: str) -> None:
        """One that is no longer kept; it may not have been here."""
        ids = self._by_template.get(template, {})
        ids.pop(trajectory_id, None)
        if not ids:
            self._by_template.pop(template, None)

    def draw(self, count: int, rng: Random) -> list[str]:
        """So many, by template first: what is rarely solved is imitated as often as what always is."""
        templates = sorted(self._by_template)
        return [rng.choice(tuple(self._by_template[rng.choice(templates)])) for _ in range(count if templates else 0)]
