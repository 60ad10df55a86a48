"""Environments: a device, a task and a judge make steps. Importing this registers `distrl/Phone-v0` with gymnasium."""

import gymnasium

if "distrl/Phone-v0" not in gymnasium.registry:
    # Named as text: only runtime knows the concrete device, tasks and judge.
    gymnasium.register(id="distrl/Phone-v0", entry_point="distrl.runtime.build:make_gym_env")
