"""The egress of a response plane: beats that were found wrong, whoever is ready."""

import random

import pytest

from support.switch.bench import coded, pack, random_response, run
from ualink.switch.response_egress import ResponseEgress
