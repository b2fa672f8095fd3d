"""Random sessions without a window. `SINEW_SESSIONS` says how many are played, and `SINEW_SEED` which is the first."""

import os
import unittest

import scenes
from harness import FOLDER, addon
from sessions import Session

SESSIONS, FIRST = int(os.environ.get("SINEW_SESSIONS", "3")), int(os.environ.get("SINEW_SEED", "1"))


class Sessions(unittest.TestCase):
    def test_no_key_is_ever_lost(self):
        for seed in range(FIRST, FIRST + SESSIONS):
            with self.subTest(seed=seed):
                scenes.animated()
                Session(seed, addon, FOLDER).play()
