"""What may be built at random (``support.sim.random_pods``) is a pod, and all of it is drawn some time."""

import tomllib

from support.sim.random_pods import CHOICES, random_pod
from ualink_sim.pod.scenario import parse_scenario

SEEDS = range(300)


def test_whatever_is_drawn_is_a_pod():
    for seed in SEEDS:
        parse_scenario(random_pod(seed), f"pod {seed}")


def test_every_value_is_drawn():
    drawn = [tomllib.loads(random_pod(seed)) for seed in SEEDS]
    for table, keys in CHOICES.items():
        for key, values in keys.items():
            found = {pod[table][key] for pod in drawn if key in pod[table]}
            assert found == {tomllib.loads(f"value = {value}")["value"] for value in values}, (table, key)
