#!/usr/bin/env python3
"""readme_test.py: the README shows code that is compiled and run, and opens with two commands."""
import pathlib
import re
import textwrap
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()


class Readme(unittest.TestCase):
    def test_opens_with_exactly_two_commands(self):
        commands = re.findall(r"^    (\S.*)$", README.split("##")[0], re.M)
        self.assertEqual(commands, ["./dev run", "./dev test"])

    def test_shows_the_example_as_it_is_compiled(self):
        shown = re.search(r"From `(.*?)`:\n\n```cpp\n(.*?)```", README, re.S)
        source = (ROOT / shown[1]).read_text()
        region = re.search(r"// \[readme\]\n(.*?) *// \[readme\]", source, re.S)[1]
        self.assertEqual(shown[2], textwrap.dedent(region))

    def test_names_only_headers_that_exist(self):
        for header in re.findall(r"`(muster/[\w/]+\.hpp)`", README):
            self.assertTrue((ROOT / "include" / header).is_file(), header)


if __name__ == "__main__":
    unittest.main()
