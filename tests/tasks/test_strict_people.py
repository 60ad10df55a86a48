"""Outcomes that look right at first sight and are not: other things were lost, changed or added on the way."""

from collections.abc import Callable
from typing import Any

import pytest

from distrl.core.types import Task
from distrl.devices.sim.phone import Phone
from distrl.runtime.build import make_phone
from distrl.runtime.checking import arrange, play
from distrl.tasks.book import expert_for, is_solved
from distrl.tasks.generate import Drawer
from distrl.tasks.suites import all_templates
from distrl.tasks.suites.general_mail import text_of
from distrl.tasks.suites.general_people import mail_of

State = dict[str, Any]


@pytest.fixture(scope="module")
def shared() -> Phone:
    return make_phone()


def drawn(name: str) -> Task:
    template = all_templates()[name]
    split = "test" if template.unseen else "train"
    task = Drawer().draw(template, suite=template.suite, split=split, number=0)
    assert task is not None
    return task


def done(phone: Phone, name: str) -> Task:
    """A task that the expert has done."""
    task = drawn(name)
    arrange(phone, task)
    assert play(phone, task, expert_for(task, phone.inspect).act)
    return task


def begun(phone: Phone, name: str) -> Task:
    task = drawn(name)
    arrange(phone, task)
    assert not is_solved(task, phone.inspect)
    return task


def alter(phone: Phone, app: str, field: str, change: Callable[[Any], Any]) -> None:
    phone.arrange({app: {field: change(phone.inspect(app)[field])}})


def letter(**fields: str) -> State:
    return {"folder": "Sent", "time_s": 40_000.0, **fields}


# ---- contacts

CARDS = ("add_contact", "change_contact_number", "add_contact_mail", "star_contact", "unstar_contact")


@pytest.mark.parametrize("name", [*CARDS, "call_contact", "send_text", "send_mail"])
def test_other_people_stay(shared: Phone, name: str) -> None:
    task = done(shared, name)
    others = [c for c in shared.inspect("contacts")["people"] if c["name"] != task.params["name"]]
    mine = [c for c in shared.inspect("contacts")["people"] if c["name"] == task.params["name"]]
    shared.arrange({"contacts": {"people": mine}})
    assert not is_solved(task, shared.inspect)
    changed = [others[0] | {"phone": "1"}, *others[1:]]
    shared.arrange({"contacts": {"people": [*mine, *changed]}})
    assert not is_solved(task, shared.inspect)
    shared.arrange({"contacts": {"people": [*mine, *others, {"name": "Extra Person", "phone": "1"}]}})
    assert not is_solved(task, shared.inspect)
    shared.arrange({"contacts": {"people": [*mine, *others]}})
    assert is_solved(task, shared.inspect)


@pytest.mark.parametrize("name", CARDS)
@pytest.mark.parametrize("change", [{"mail": "x@y.example"}, {"address": "Mill Lane 1"}, {"phone": "555-1"}])
def test_nothing_else_on_the_card_changes(shared: Phone, name: str, change: State) -> None:
    task = done(shared, name)
    person = task.params["name"]
    alter(shared, "contacts", "people", lambda cards: [c | (change if c["name"] == person else {}) for c in cards])
    assert not is_solved(task, shared.inspect)


def test_a_new_number_does_not_cost_the_mail_address(shared: Phone) -> None:
    task = done(shared, "change_contact_number")
    person = task.params["name"]
    alter(
        shared, "contacts", "people", lambda cards: [c | ({"mail": ""} if c["name"] == person else {}) for c in cards]
    )
    assert not is_solved(task, shared.inspect)


# ---- messages


@pytest.mark.parametrize("name", ["send_text", "text_number", "reply_text", "reply_newest_text"])
def test_a_text_goes_to_nobody_else(shared: Phone, name: str) -> None:
    task = done(shared, name)
    said = {"text": task.params["text"], "mine": True, "time_s": 40_000.0}
    right = (task.params.get("name"), task.params.get("number"))
    talks = shared.inspect("messages")["conversations"]
    told = [t | {"messages": [*t["messages"], said]} if t["name"] not in right else t for t in talks]
    shared.arrange({"messages": {"conversations": told}})
    assert not is_solved(task, shared.inspect)
    shared.arrange({"messages": {"conversations": [*talks, {"name": "Someone Else", "messages": [said]}]}})
    assert not is_solved(task, shared.inspect)
    twice = [t | {"messages": [*t["messages"], said]} if t["name"] in right else t for t in talks]
    shared.arrange({"messages": {"conversations": twice}})
    assert not is_solved(task, shared.inspect)


@pytest.mark.parametrize("name", ["send_text", "archive_conversation", "delete_conversation"])
def test_other_conversations_stay(shared: Phone, name: str) -> None:
    task = done(shared, name)
    kept = task.params["name"]
    alter(shared, "messages", "conversations", lambda talks: [t for t in talks if t["name"] == kept])
    assert not is_solved(task, shared.inspect)


def test_a_number_may_be_written_without_hyphens_and_a_text_with_a_full_stop(shared: Phone) -> None:
    task = begun(shared, "text_number")
    said = {"text": f"{task.params['text']}.", "mine": True}
    talk = {"name": task.params["number"].replace("-", ""), "messages": [said]}
    alter(shared, "messages", "conversations", lambda talks: [*talks, talk])
    assert is_solved(task, shared.inspect)


# ---- mail


def test_nothing_but_the_subject_is_nothing_but_the_subject(shared: Phone) -> None:
    task = begun(shared, "send_mail_to_address")
    mails = shared.inspect("mail")["mails"]
    plain = letter(to=task.params["address"], subject=task.params["subject"], body="")
    shared.arrange({"mail": {"mails": [*mails, plain | {"body": "Hello"}]}})
    assert not is_solved(task, shared.inspect)
    shared.arrange({"mail": {"mails": [*mails, plain]}})
    assert is_solved(task, shared.inspect)


def test_a_forwarded_mail_holds_what_the_first_one_said(shared: Phone) -> None:
    task = begun(shared, "forward_mail")
    mails = shared.inspect("mail")["mails"]
    new = letter(to=mail_of(task.params["to"]), subject=f"Fwd: {task.params['subject']}", body="")
    shared.arrange({"mail": {"mails": [*mails, new]}})
    assert not is_solved(task, shared.inspect)
    shared.arrange({"mail": {"mails": [*mails, new | {"body": text_of(task.params["subject"])}]}})
    assert is_solved(task, shared.inspect)


def test_a_draft_that_stays_was_not_sent(shared: Phone) -> None:
    task = begun(shared, "send_draft")
    mails = shared.inspect("mail")["mails"]
    new = letter(to=mail_of(task.params["name"]), subject=task.params["subject"], body="")
    for body in ("", text_of(task.params["subject"])):
        shared.arrange({"mail": {"mails": [*mails, new | {"body": body}]}})
        assert not is_solved(task, shared.inspect)
    gone = [m for m in mails if m["folder"] != "Drafts" or m["subject"] != task.params["subject"]]
    shared.arrange({"mail": {"mails": [*gone, new]}})
    assert not is_solved(task, shared.inspect)


@pytest.mark.parametrize("name", ["send_mail", "reply_mail", "forward_mail", "send_draft", "star_mail", "archive_mail"])
def test_mails_are_sent_once_and_others_stay(shared: Phone, name: str) -> None:
    task = done(shared, name)
    mails = shared.inspect("mail")["mails"]
    shared.arrange({"mail": {"mails": [*mails, letter(to="x@y.example", subject="Hi", body="")]}})
    assert not is_solved(task, shared.inspect)
    other = next(m for m in mails if m["folder"] == "Inbox" and m["sender"] != task.params["name"])
    shared.arrange({"mail": {"mails": [m for m in mails if m is not other]}})
    assert not is_solved(task, shared.inspect)


# ---- the store

STORE = ("install_app", "install_and_open_app", "install_two_apps", "buy_app", "update_app", "rate_app", "review_app")


@pytest.mark.parametrize("name", [*STORE, "wish_for_app", "drop_wish", "update_all_apps"])
def test_other_apps_stay_and_no_others_come(shared: Phone, name: str) -> None:
    task = done(shared, name)
    installed = shared.inspect("store")["installed"]
    asked = task.params.values()
    shared.arrange({"store": {"installed": [app for app in installed if app in asked]}})
    assert not is_solved(task, shared.inspect)
    shared.arrange({"store": {"installed": [*installed, "Unasked App"]}})
    assert not is_solved(task, shared.inspect)


def test_stars_alone_were_asked_for(shared: Phone) -> None:
    task = done(shared, "rate_app")
    shared.arrange({"store": {"my_reviews": {task.params["app"]: "Nice"}}})
    assert not is_solved(task, shared.inspect)


# ---- the system


@pytest.mark.parametrize("name", ["pair_device", "connect_device", "forget_device"])
def test_other_devices_stay_paired(shared: Phone, name: str) -> None:
    task = done(shared, name)
    alter(shared, "settings", "paired", lambda names: [n for n in names if n == task.params["device"]])
    assert not is_solved(task, shared.inspect)


@pytest.mark.parametrize("name", ["toggle_setting", "set_level", "screen_timeout"])
def test_other_switches_and_levels_stay(shared: Phone, name: str) -> None:
    task = done(shared, name)
    fields = ("roaming", "data_saver")
    was = {field: shared.inspect("settings")[field] for field in fields}
    shared.arrange({"settings": {field: not value for field, value in was.items()}})
    assert not is_solved(task, shared.inspect)


@pytest.mark.parametrize(("name", "field"), [("clear_cache", "cache_mb"), ("app_permission", "permissions")])
def test_other_apps_keep_caches_and_permissions(shared: Phone, name: str, field: str) -> None:
    task = done(shared, name)
    asked = task.params.values()
    alter(shared, "settings", field, lambda by: {key: value for key, value in by.items() if key in asked})
    assert not is_solved(task, shared.inspect)


# ---- media and maps


@pytest.mark.parametrize(
    ("name", "app", "field"),
    [
        ("create_album", "photos", "albums"),
        ("favourite_photo", "photos", "albums"),
        ("create_folder", "files", "folders"),
        ("move_file", "files", "files"),
        ("create_playlist", "music", "playlists"),
        ("like_song", "music", "liked"),
        ("play_song", "music", "playlists"),
        ("navigate_to_place", "maps", "saved"),
    ],
)
def test_other_things_stay(shared: Phone, name: str, app: str, field: str) -> None:
    task = done(shared, name)
    asked = task.params.values()
    alter(shared, app, field, lambda all_: [e for e in all_ if (e if isinstance(e, str) else e["name"]) in asked])
    assert not is_solved(task, shared.inspect)


# ---- shops


@pytest.mark.parametrize("name", ["shop_search", "add_cheapest", "wish_first_result", "remove_from_cart", "empty_cart"])
def test_nothing_is_bought_elsewhere(shared: Phone, name: str) -> None:
    task = done(shared, name)
    title = shared.inspect("browser")["products"][0]["title"]
    used = task.params["shop"].partition(".")[0].casefold()
    other = "bitbarn" if used != "bitbarn" else "homely"
    carts = shared.inspect("browser")["carts"]
    shared.arrange({"browser": {"carts": carts | {other: [{"title": title}]}}})
    assert not is_solved(task, shared.inspect)
    shared.arrange({"browser": {"carts": carts}})
    assert is_solved(task, shared.inspect)
    shared.arrange({"browser": {"orders": [{"shop": used, "items": [{"title": title}]}]}})
    assert not is_solved(task, shared.inspect)
