#!/usr/bin/env python3
"""readme_test.py: the README and a guide show code that is compiled and run; the README opens with
two commands."""
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


class ExportingGuide(unittest.TestCase):
    GUIDE = (ROOT / "docs/guides/exporting.md").read_text()

    def test_shows_only_code_that_is_compiled_and_run(self):
        sources = [ROOT / "examples/observability.cpp", ROOT / "tests/integration/otlp/sender.cpp"]
        compiled = [squeezed(source.read_text()) for source in sources]
        shown = re.findall(r"```cpp\n(.*?)```", self.GUIDE, re.S)
        self.assertGreater(len(shown), 5)
        for code in shown:
            self.assertTrue(any(squeezed(code) in source for source in compiled), code)

    def test_lists_every_metric(self):
        golden = (ROOT / "tests/unit/export/golden/pools.prom").read_text()
        for name in re.findall(r"^# TYPE (\S+)", golden, re.M):
            self.assertIn(f"`{name}`", self.GUIDE)


class StrategiesGuide(unittest.TestCase):
    def test_shows_only_code_that_is_compiled_and_run(self):
        compiled = squeezed((ROOT / "examples/choosing_workers.cpp").read_text())
        guide = (ROOT / "docs/guides/strategies.md").read_text()
        shown = re.findall(r"```cpp\n(.*?)```", guide, re.S)
        self.assertGreater(len(shown), 3)
        for code in shown:
            self.assertIn(squeezed(code), compiled)


def squeezed(code):
    """Without indentation, which depends on what is around it, and the line breaks it forces."""
    return " ".join(code.split())


if __name__ == "__main__":
    unittest.main()
