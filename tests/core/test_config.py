"""Configuration: where values come from, who wins, and what is said about mistakes."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrl.core.config import Config, EnvConfig, PhoneConfig, RewardsConfig, TasksConfig, dump_toml, load_config
from distrl.core.config_errors import ConfigError
from distrl.core.config_sources import key_lines, parse_value


def write(folder: Path, text: str) -> Path:
    file = folder / "run.toml"
    file.write_text(text, encoding="utf-8")
    return file


def mistakes_of(path: Path | None = None, **sources: object) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load_config(path, **sources)  # type: ignore[arg-type]
    return [str(mistake) for mistake in caught.value.mistakes]


# ---------------------------------------------------------------- who wins


def test_without_sources_the_defaults_are_those_of_the_model() -> None:
    config = load_config()
    assert config == Config()
    assert (config.seed, config.phone.scale, config.rewards.repetition) == (0, 0.25, -0.4)


def test_command_line_beats_environment_beats_file_beats_defaults(tmp_path: Path) -> None:
    file = write(tmp_path, "seed = 1\n[phone]\nscale = 0.1\n[env]\nkeep_last_actions = 1\n")
    config = load_config(
        file,
        environ={"DISTRL_PHONE__SCALE": "0.2", "DISTRL_ENV__KEEP_LAST_ACTIONS": "2"},
        overrides=["env.keep_last_actions=3"],
    )
    assert (config.seed, config.phone.scale, config.env.keep_last_actions) == (1, 0.2, 3)
    assert config.tasks.suite == "general"


def test_the_last_of_two_overrides_wins() -> None:
    assert load_config(overrides=["seed=1", "seed=2"]).seed == 2


def test_an_override_adds_to_a_table_by_key_and_replaces_it_as_a_whole(tmp_path: Path) -> None:
    file = write(tmp_path, "[phone.faults]\nhang = 0.1\n")
    assert load_config(file, overrides=["phone.faults.drop=0.2"]).phone.faults == {"hang": 0.1, "drop": 0.2}
    assert load_config(file, overrides=["phone.faults={drop = 0.2}"]).phone.faults == {"drop": 0.2}
    assert load_config(file, overrides=["phone.faults={}"]).phone.faults == {}


def test_override_values_are_toml_and_bare_words_are_text() -> None:
    assert parse_value("0.5") == 0.5
    assert parse_value("true") is True
    assert parse_value('["a", "b"]') == ["a", "b"]
    assert parse_value("slow-emulator") == "slow-emulator"
    assert parse_value("1\nother = 2") == "1\nother = 2"
    config = load_config(overrides=["phone.latency=slow-emulator", 'phone.variations=["a"]'])
    assert (config.phone.latency, config.phone.variations) == ("slow-emulator", ("a",))


def test_quoted_parts_of_a_key_may_hold_dots() -> None:
    assert load_config(overrides=['phone.faults."a.b"=0.5']).phone.faults == {"a.b": 0.5}


def test_single_underscores_belong_to_options_and_are_no_configuration() -> None:
    ignored = {"DISTRL_PHONE_SCALE": "nonsense", "DISTRL_CONFIG": "x", "DISTRL_VERSION": "9", "HOME": "y"}
    assert load_config(environ=ignored) == Config()
    assert load_config(environ={"DISTRL_SEED": "7"}).seed == 7


# ---------------------------------------------------------------- what is said about mistakes


def test_all_mistakes_of_a_file_are_told_at_once_with_line_key_expectation_and_suggestion(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        'sede = 1\n[phone]\nscale = 2.0\nlatency = "emulater"\n\n[tasks]\nsuit = "x"\n[env]\nkeep_last_actions = "4"\n',
    )
    assert mistakes_of(file) == [
        f"{file}:1: sede: unknown key (expected one of seed, phone, devices, tasks, rewards, env, judge, policy, "
        "algorithm, learner, replay, collect, train, eval, simulation, got sede); did you mean seed?",
        f"{file}:3: phone.scale: wrong value (expected less than or equal to 1, got 2.0)",
        f"{file}:4: phone.latency: unknown value (expected one of instant, emulator, slow-emulator, phone, even, lab, "
        'rough, got "emulater"); did you mean emulator?',
        f"{file}:7: tasks.suit: unknown key (expected one of suite, split, max_difficulty, templates, file, max_steps, "
        "got suit); did you mean tasks.suite?",
        f'{file}:9: env.keep_last_actions: wrong value (expected a whole number, got "4")',
    ]


def test_mistakes_outside_of_the_file_name_their_variable_or_override() -> None:
    told = mistakes_of(environ={"DISTRL_PHONE__SCAL": "1", "DISTRL_SEEED": "1"}, overrides=["phone.scal=1", "oops"])
    assert told == [
        "DISTRL_SEEED: seeed: unknown variable; did you mean DISTRL_SEED?",
        "--set oops: is not an override (expected key=value, such as phone.scale=0.5)",
        "DISTRL_PHONE__SCAL: phone.scal: unknown key (expected one of scale, latency, faults, variations, got scal); "
        "did you mean phone.scale?",
        "--set phone.scal=1: phone.scal: unknown key (expected one of scale, latency, faults, variations, got scal); "
        "did you mean phone.scale?",
    ]


def test_all_weights_are_not_trained_in_16_bits_wherever_the_two_settings_stand(tmp_path: Path) -> None:
    both = write(tmp_path, '[policy.hf]\nadapter = "none"\ndtype = "bfloat16"\n')
    (mistake,) = mistakes_of(both)
    assert mistake.startswith(f"{both}:3: policy.hf.dtype: bfloat16 loses small steps")
    assert mistake.endswith('set policy.hf.dtype to "float32", or policy.hf.adapter to "lora"')
    one = write(tmp_path, '[policy.hf]\ndtype = "bfloat16"\n')
    assert load_config(one).policy.hf.dtype == "bfloat16"  # with an adapter
    (mistake,) = mistakes_of(one, overrides=["policy.hf.adapter=none"])
    assert mistake.startswith("configuration: policy.hf.dtype: bfloat16 loses small steps")


def test_a_key_in_the_wrong_table_is_pointed_to_its_own() -> None:
    (told,) = mistakes_of(overrides=["scale=0.5"])
    assert told.endswith("did you mean phone.scale?")


def test_a_value_where_a_table_belongs_is_one_mistake(tmp_path: Path) -> None:
    file = write(tmp_path, "\nphone = 3\n")
    assert mistakes_of(file, overrides=["phone.scale=0.5"]) == [
        f"{file}:2: phone: wrong value (expected a table, got 3)"
    ]


def test_an_overridden_mistake_is_still_told(tmp_path: Path) -> None:
    file = write(tmp_path, "seed = 'x'\n")
    assert mistakes_of(file, overrides=["seed=1"]) == [
        f'{file}:1: seed: wrong value (expected a whole number, got "x")'
    ]


@pytest.mark.parametrize(
    "override",
    ["phone.scale=true", "seed=1.0", "phone.scale=0", "phone.scale=nan", "rewards.success=inf", "env.max_episode_s=0"],
)
def test_numbers_of_the_wrong_kind_or_range_are_mistakes(override: str) -> None:
    assert len(mistakes_of(overrides=[override])) == 1


def test_a_syntax_error_is_told_with_line_and_column(tmp_path: Path) -> None:
    file = write(tmp_path, "seed = 1\nphone = [1,\n")
    (told,) = mistakes_of(file)
    assert told.startswith(f"{file}:2:12: not valid TOML")
    file = write(tmp_path, "seed = 1\nseed = 2\n")
    (told,) = mistakes_of(file)
    assert told.startswith(f"{file}:2:")


def test_a_missing_file_is_told_together_with_the_other_mistakes(tmp_path: Path) -> None:
    file = tmp_path / "none.toml"
    told = mistakes_of(file, overrides=["oops"])
    assert told[0] == f"{file}: cannot be read: No such file or directory"
    assert len(told) == 2


def test_a_file_that_is_not_text_is_told(tmp_path: Path) -> None:
    file = tmp_path / "binary.toml"
    file.write_bytes(b"seed = '\xff'")
    assert mistakes_of(file) == [f"{file}: is not UTF-8 text (byte 8)"]


def test_deep_nesting_is_a_mistake_and_not_a_crash(tmp_path: Path) -> None:
    (told,) = mistakes_of(write(tmp_path, "seed = " + "[" * 100_000))
    assert "not valid TOML" in told


def test_a_number_too_long_to_print_is_a_mistake_and_not_a_crash(tmp_path: Path) -> None:
    (told,) = mistakes_of(write(tmp_path, "seed = 0x" + "f" * 10_000))
    assert told.endswith("got a huge number)")


# ---------------------------------------------------------------- lines


def test_lines_are_found_through_headers_dotted_keys_long_values_and_inline_tables() -> None:
    text = (
        "# comment [not.a.header]\n"
        "a.b = 1\n"
        'text = """\n[fake]\nfake = 2\n"""\n'
        "[table]  # why\n"
        "list = [\n  1, # ]\n  2,\n]\n"
        "after = { x = 1, y = { z = 2 } }\n"
        '[table."in.ner"]\n'
        "key = 1\n"
    )
    lines = key_lines(text)
    assert lines[("a", "b")] == 2
    assert lines[("text",)] == 3
    assert ("fake",) not in lines
    assert lines[("table",)] == 7
    assert lines[("table", "list")] == 8
    assert lines[("table", "after")] == lines[("table", "after", "y", "z")] == 12
    assert lines[("table", "in.ner")] == 13
    assert lines[("table", "in.ner", "key")] == 14


def test_a_mistake_inside_an_array_stands_on_the_line_of_its_key(tmp_path: Path) -> None:
    file = write(tmp_path, '[phone]\nvariations = [\n  "a",\n  3,\n]\n')
    assert mistakes_of(file) == [f"{file}:2: phone.variations[1]: wrong value (expected a string, got 3)"]


def test_windows_line_ends_do_not_shift_lines(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_bytes(b"\xef\xbb\xbfseed = 1\r\n[phone]\r\nscale = 9\r\n")
    (told,) = mistakes_of(file)
    assert told.startswith(f"{file}:3: phone.scale:")


# ---------------------------------------------------------------- round trip

finite = st.floats(allow_nan=False, allow_infinity=False)
texts = st.text(st.characters(exclude_categories=["Cs"]))
configs = st.builds(
    Config,
    seed=st.integers(0, 2**63 - 1),
    phone=st.builds(
        PhoneConfig,
        scale=st.floats(0.1, 1),
        latency=st.sampled_from(["instant", "emulator", "slow-emulator", "phone"]),
        faults=st.dictionaries(texts, st.floats(0, 1), max_size=4),
        variations=st.lists(texts, max_size=4).map(tuple),
    ),
    tasks=st.builds(TasksConfig, suite=texts.filter(bool), split=st.sampled_from(["train", "test"])),
    rewards=st.builds(RewardsConfig, success=finite, repetition=finite, invalid=finite),
    env=st.builds(
        EnvConfig,
        judge=st.sampled_from(["each_step", "at_finish"]),
        max_episode_s=st.none() | st.floats(0, exclude_min=True, allow_infinity=False),
        keep_last_actions=st.integers(0, 100),
    ),
)


@given(config=configs)
def test_what_is_written_down_loads_back_equal(config: Config, tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.getbasetemp() / "round_trip.toml"
    file.write_bytes(dump_toml(config).encode())
    assert load_config(file) == config


def test_every_field_says_in_one_line_what_it_is() -> None:
    for section in (Config, PhoneConfig, TasksConfig, RewardsConfig, EnvConfig):
        for name, field in section.model_fields.items():
            assert field.description, f"{section.__name__}.{name}"
            assert "\n" not in field.description


def test_a_config_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="frozen"):
        Config().seed = 1  # type: ignore[misc]


NAMES = {"tasks.suite": ("general", "system"), "phone.variations": ("dark",), "phone.faults": ("freeze",)}


def test_unknown_names_are_told_with_their_lines_beside_all_other_mistakes(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text(
        'sed = 1\n[tasks]\nsuite = "genral"\n[phone]\n'
        'variations = ["dark", "drak"]\nfaults = { freze = 0.1 }\nscale = 9\n'
    )
    with pytest.raises(ConfigError) as caught:
        load_config(file, names=NAMES)
    told = {(m.place.rpartition(":")[2], m.key, m.suggestion) for m in caught.value.mistakes}
    assert ("3", "tasks.suite", "general") in told
    assert ("5", "phone.variations", "dark") in told
    assert ("6", "phone.faults", "freeze") in told
    assert {line for line, _, _ in told} == {"1", "3", "5", "6", "7"}


def test_what_is_no_file_or_too_large_or_too_deep_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo.toml")
    with pytest.raises(ConfigError, match="not a file"):
        load_config(tmp_path / "fifo.toml")
    (tmp_path / "large.toml").write_text("#" * 1_000_001)
    with pytest.raises(ConfigError, match="larger"):
        load_config(tmp_path / "large.toml")
    (tmp_path / "deep.toml").write_text(".".join("a" * 2000) + " = 1\n")
    with pytest.raises(ConfigError, match=r"deep|unknown"):
        load_config(tmp_path / "deep.toml")


@pytest.mark.timeout(20)
def test_a_long_array_does_not_hold_up_the_message(tmp_path: Path) -> None:
    """Trying to parse after each of its lines would take minutes."""
    (tmp_path / "long.toml").write_text("unknown = [\n" + '"x",\n' * 20_000 + "]\nsede = 1\n")
    with pytest.raises(ConfigError) as caught:
        load_config(tmp_path / "long.toml")
    assert {m.place.rpartition(":")[2] for m in caught.value.mistakes} == {"1", "20003"}
