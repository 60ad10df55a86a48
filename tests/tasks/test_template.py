"""Templates: what is drawn for which split, and when two tasks are the same."""

from random import Random

import pytest

from distrl.core.types import Task
from distrl.tasks.book import load_tasks, template_of
from distrl.tasks.generate import SIZES
from distrl.tasks.suites import all_templates
from distrl.tasks.template import Draw, Keep, Pool, front, is_held_out, pool, same
from distrl.tasks.words import CITIES, FIRST_NAMES, LAST_NAMES, PHRASES, THINGS

POOLS = (CITIES, FIRST_NAMES, LAST_NAMES, PHRASES, THINGS)


@pytest.mark.parametrize("words", POOLS, ids=lambda p: p.words[0])
def test_about_one_word_in_five_is_held_out(words: Pool) -> None:
    assert 0.05 < len(words.held_out) / len(words.words) < 0.4
    assert set(words.seen) | set(words.held_out) == set(words.words)
    assert not set(words.seen) & set(words.held_out)


def test_training_never_draws_a_held_out_word_and_the_test_draws_many() -> None:
    train, test = Draw(Random(0), is_test=False), Draw(Random(0), is_test=True)
    assert not [w for w in (train.pick(FIRST_NAMES) for _ in range(500)) if is_held_out(w)]
    assert 200 < sum(is_held_out(test.pick(FIRST_NAMES)) for _ in range(500)) < 300


def test_a_word_is_held_out_in_all_pools_or_in_none() -> None:
    words = ["Recipes", "Felt hat", "Lisbon", "Ana"]
    assert pool(*words).held_out == pool(*reversed(words)).held_out[::-1]
    assert is_held_out("recipes") == is_held_out("Recipes")


def test_two_drawn_words_differ() -> None:
    draw = Draw(Random(1), is_test=False)
    assert all(len(set(draw.pick_two(CITIES))) == 2 for _ in range(50))


def visible(task: Task) -> tuple[str, object]:
    return task.template, template_of(task).visible(task.params)


@pytest.mark.parametrize("suite", SIZES)
def test_no_two_tasks_ask_for_the_same_with_the_same_words(suite: str) -> None:
    tasks = load_tasks(suite, "train") + load_tasks(suite, "test")
    assert len({visible(t) for t in tasks}) == len(tasks)


def test_every_phrasing_can_be_filled_and_names_what_makes_tasks_differ() -> None:
    for template in all_templates().values():
        params = template.draw(Draw(Random(0), is_test=False))
        assert len({p.format(**params) for p in template.phrasings}) == len(template.phrasings) >= 2
        assert template.visible(params), f"{template.name} has no parameter that a reader sees"


def test_equal_to_a_person_ignores_case_and_spaces() -> None:
    assert same("  Buy  MILK ", "buy milk")
    assert not same("buy milk", "buy milks")


def test_the_page_in_front_is_the_top_of_its_stack() -> None:
    stacks = {"notes": [{"name": "home", "arg": ""}, {"name": "edit", "arg": "x"}]}
    assert front(lambda app: {"foreground": "notes", "stacks": stacks}) == ("notes", "edit", "x")
    assert front(lambda app: {"foreground": "launcher", "stacks": {}}) == ("launcher", "home", "")


def test_a_kept_list_may_change_only_where_it_was_asked_for() -> None:
    keep, params = Keep("contacts", "people", "name"), {"name": "ana lopes"}
    world = {"contacts": {"people": [{"name": "Ana Lopes", "phone": "1"}, {"name": "Ben", "phone": "2"}]}}

    def holds(*people: dict[str, str]) -> bool:
        return keep.holds(params, world, lambda app: {"people": list(people)})

    ben = {"name": "Ben", "phone": "2", "mail": ""}
    assert holds(ben)
    assert holds({"name": "Ana Lopes", "phone": "9"}, ben, {"name": "New", "phone": "3"})
    assert not holds({"name": "Ana Lopes", "phone": "1"})
    assert not holds({"name": "Ben", "phone": "3"})


def test_words_and_dictionaries_can_be_kept_too() -> None:
    words, table = Keep("weather", "cities"), Keep("store", "ratings")
    assert words.holds({"city": "Oslo"}, {"weather": {"cities": ["Rome", "Oslo"]}}, lambda app: {"cities": ["Rome"]})
    assert not words.holds({}, {"weather": {"cities": ["Rome", "Oslo"]}}, lambda app: {"cities": ["Rome"]})
    assert table.holds({"app": "B"}, {"store": {"ratings": {"A": 4}}}, lambda app: {"ratings": {"A": 4, "B": 5}})
    assert not table.holds({"app": "B"}, {"store": {"ratings": {"A": 4}}}, lambda app: {"ratings": {"B": 5}})
