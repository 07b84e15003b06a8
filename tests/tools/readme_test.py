#!/usr/bin/env python3
"""readme_test.py: the README and the guides show code that is compiled and run; the README opens
with two commands."""
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


def squeezed(code):
    """Without what depends on where it stands: blanks, line breaks, the namespace."""
    return "".join(code.split()).replace("muster::", "")


class Guides(unittest.TestCase):
    def test_show_only_code_that_is_compiled_and_run(self):
        sources = [path for folder in ("examples", "tests")
                   for path in (ROOT / folder).rglob("*.[ch]pp")]
        compiled = [squeezed(source.read_text()) for source in sources]
        count = 0
        for guide in (ROOT / "docs").rglob("*.md"):
            for code in re.findall(r"^ *```cpp\n(.*?)^ *```", guide.read_text(), re.S | re.M):
                count += 1
                self.assertTrue(any(squeezed(code) in source for source in compiled),
                                f"{guide.name} shows what no program has:\n{code}")
        self.assertGreater(count, 30)

    def test_list_every_metric(self):
        golden = (ROOT / "tests/unit/export/golden/pools.prom").read_text()
        guide = (ROOT / "docs/guides/exporting.md").read_text()
        for name in re.findall(r"^# TYPE (\S+)", golden, re.M):
            self.assertIn(f"`{name}`", guide)


if __name__ == "__main__":
    unittest.main()
