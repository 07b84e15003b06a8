#!/usr/bin/env python3
"""Does tools/tidy report what breaks a rule, at its line, and nothing else?

Most cases are little trees in samples/. A line that must be reported carries want(rule), and no
other line may be. What is long or depends on git is made here, in a temporary folder.
"""

import contextlib
import importlib.machinery
import importlib.util
import io
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
SAMPLES = HERE / "samples"
TIDY = HERE.parent.parent / "tools" / "tidy"
WANT = re.compile(r"want\(([a-z-]+)\)")
PROBLEM = re.compile(r"(\S+):(\d+): ([a-z-]+): (.+); (.+)")
MADE_HERE = {"file-length", "function-length"}


def load_tidy():
    """Runs in this process, for speed; one test below runs it as people do."""
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(TIDY.parent))
    loader = importlib.machinery.SourceFileLoader("tidy", str(TIDY))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("tidy", loader))
    loader.exec_module(module)
    return module


tidy = load_tidy()


class Report:
    """What one run of tidy said."""

    def __init__(self, *arguments):
        with contextlib.redirect_stdout(io.StringIO()) as output, \
                contextlib.redirect_stderr(io.StringIO()) as errors:
            self.exit_code = tidy.main([str(argument) for argument in arguments])
        self.errors = errors.getvalue()
        *self.lines, self.summary = output.getvalue().splitlines() or [""]

    def problems(self) -> list[tuple[str, int, str]]:
        found = []
        for line in self.lines:
            match = PROBLEM.fullmatch(line)
            if not match:
                raise AssertionError(f"not of the form path:line: rule: wrong; do: {line}")
            found.append((match[1], int(match[2]), match[3]))
        return sorted(found)


def marked(root: Path) -> list[tuple[str, int, str]]:
    return sorted((path.relative_to(root).as_posix(), number, rule)
                  for path in root.rglob("*") if path.is_file()
                  for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
                  for rule in WANT.findall(line))


class SampleTest(unittest.TestCase):
    def assert_reports_what_is_marked(self, sample: str) -> None:
        report = Report("--root", SAMPLES / sample)
        self.assertEqual(report.problems(), marked(SAMPLES / sample))
        self.assertEqual(report.exit_code, 1)

    def test_a_layer_includes_and_links_only_lower_layers(self):
        self.assert_reports_what_is_marked("layers")

    def test_a_folder_says_what_it_holds(self):
        self.assert_reports_what_is_marked("folders")

    def test_a_line_has_at_most_100_columns(self):
        self.assert_reports_what_is_marked("line_length")

    def test_an_order_names_its_partner(self):
        self.assert_reports_what_is_marked("sync_tags")

    def test_atomics_come_from_the_seam(self):
        self.assert_reports_what_is_marked("raw_atomics")

    def test_a_file_opens_with_what_it_is(self):
        self.assert_reports_what_is_marked("file_comment")

    def test_some_words_are_not_for_shipping(self):
        self.assert_reports_what_is_marked("words")

    def test_a_name_says_something(self):
        self.assert_reports_what_is_marked("names")

    def test_every_rule_has_a_sample_and_every_sample_is_run(self):
        listed = Report("--list-rules")
        rules = {line.partition(":")[0] for line in [*listed.lines, listed.summary]}
        folders = {path.name.replace("_", "-") for path in SAMPLES.iterdir() if path.is_dir()}
        self.assertEqual(folders | MADE_HERE, rules)
        for rule in folders:
            with self.subTest(rule=rule):
                marks = marked(SAMPLES / rule.replace("-", "_"))
                self.assertIn(rule, {marked_rule for _, _, marked_rule in marks})


class TreeTest(unittest.TestCase):
    """Gives each test an empty tree of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name).resolve()

    def write(self, path: str, text: str = "") -> Path:
        full = self.root / path
        full.parent.mkdir(parents=True, exist_ok=True)
        full.write_text(f"// {full.name}: made for a test.\n{text}", encoding="utf-8")
        return full

    def problems(self, *arguments) -> list[tuple[str, int, str]]:
        return Report("--root", self.root, *arguments).problems()


class FileLengthTest(TreeTest):
    def test_a_header_has_at_most_300_lines(self):
        self.write("src/base/full.hpp", "#pragma once\n" + "\n" * 298)
        self.write("src/base/over.hpp", "#pragma once\n" + "\n" * 299)
        self.assertEqual(self.problems(), [("src/base/over.hpp", 301, "file-length")])

    def test_a_source_file_has_at_most_500_lines(self):
        self.write("tests/unit/full.cpp", "\n" * 499)
        self.write("tests/unit/over.cpp", "\n" * 500)
        self.assertEqual(self.problems(), [("tests/unit/over.cpp", 501, "file-length")])


class FunctionLengthTest(TreeTest):
    def lines_reported(self, text: str) -> list[int]:
        """The lines of `text`, counted from 1, at which functions are reported as too long."""
        self.write("src/base/sample.cpp", text)
        problems = self.problems()
        self.assertLessEqual({rule for _, _, rule in problems}, {"function-length"})
        return [line - 1 for _, line, _ in problems]

    def assert_measures(self, opening: str, closing: str = "}\n", first_line: int = 1) -> None:
        """The function that `opening` begins may have 60 lines and no more."""
        room = 60 - (opening + closing).count("\n") + first_line - 1
        full = opening + "  step();\n" * room + closing
        over = opening + "  step();\n" * (room + 1) + closing
        self.assertEqual(self.lines_reported(full), [])
        self.assertEqual(self.lines_reported(over), [first_line])

    def assert_not_a_function(self, text: str) -> None:
        self.assertGreater(text.count("\n"), 60)
        self.assertEqual(self.lines_reported(text), [])

    def test_a_function_has_at_most_60_lines(self):
        self.assert_measures("void run() {\n")

    def test_the_signature_counts(self):
        self.assert_measures("template <class T>\nauto Pool<T>::run(\n"
                             "    int a) const noexcept\n    -> std::pair<int, T> {\n")

    def test_a_function_in_a_class_in_a_namespace_counts(self):
        self.assert_measures("namespace a::b {\nclass M_X(y(\"z\")) C final : public B<int> {\n"
                             " public:\n  C& operator=(const C& c) & {\n", "}\n", first_line=4)

    def test_a_function_that_returns_a_struct_counts(self):
        self.assert_measures("struct Row make_row(int a) {\n")

    def test_a_constructor_with_braced_members_counts(self):
        self.assert_measures("Pool::Pool(int a) : a_{a}, b_{[] { return 1; }()}, c_{} {\n")

    def test_a_test_body_counts(self):
        self.assert_measures("TEST(Pool, RunsEverything) {\n")

    def test_a_lambda_counts_inside_its_function(self):
        self.assert_measures("void run() {\n  each([&](int i) mutable -> int {\n", "  });\n}\n")

    def test_a_lambda_outside_functions_counts(self):
        self.assert_measures("const auto run = [](int i) {\n", "};\n")

    def test_braces_in_strings_and_comments_do_not_count(self):
        self.assert_measures('void run() {\n  print("}}", R"x(\n}})" }}}\n)x", \'}\', 1\'000);\n'
                             "  // }}}\n  /* }}}\n  } */\n")

    def test_braces_in_macros_do_not_count(self):
        self.assert_measures("void run() {\n#define CLOSE \\\n  } } }\n")

    def test_only_one_branch_of_an_if_opens_the_function(self):
        self.assert_measures("#if FAST\nvoid run(int a) {\n#else\nvoid run(long a) {\n#endif\n",
                             "}\n", first_line=2)

    def test_a_value_in_braces_ends_no_function(self):
        self.assert_measures("void run() {\n  struct stat info {};\n"
                             "  Options o{.a = {1, 2}, .b = f({})};\n"
                             "  if (int x{1}; x) {\n    return {};\n  } else {\n  }\n")

    def test_namespaces_classes_and_enums_are_not_functions(self):
        for head in ("namespace {", 'extern "C" {', "enum class Step : int {", "class Pool {",
                     "struct alignas(kCacheLine) Row : Base {", "union {",
                     "template <class T>\n  requires Small<T>\nstruct Pool<T>::Row {"):
            with self.subTest(head=head):
                inside = "  a,\n" if "enum" in head else "  void a() {}\n"
                self.assert_not_a_function(head + "\n" + inside * 80 + "};\n")

    def test_values_are_not_functions(self):
        for head in ("constexpr int kTable[] = {", "int table[80]{", "const Row kRow{",
                     "std::array<int, 80> table = {", "auto table = std::map<int, int>{"):
            with self.subTest(head=head):
                self.assert_not_a_function(head + "\n" + "  {1, 2},\n" * 80 + "};\n")

    def test_a_short_function_behind_a_long_value_is_short(self):
        self.assert_not_a_function("int table[] = {\n" + "  1,\n" * 80 + "};\nvoid run() {}\n")


class RunTest(TreeTest):
    """Which files are looked at, and what the last line and the exit code say."""

    BAD = "int volatile x;\n"

    def git(self, *arguments) -> None:
        subprocess.run(["git", "-C", self.root, *arguments], check=True, capture_output=True)

    def test_a_clean_tree_exits_with_0(self):
        self.write("src/base/clean.cpp")
        report = Report("--root", self.root)
        self.assertEqual((report.exit_code, report.lines), (0, []))
        self.assertEqual(report.summary, "tidy: 1 files, 0 problems")

    def test_a_problem_exits_with_1(self):
        self.write("src/base/clean.cpp")
        self.write("src/base/bad.cpp", self.BAD)
        report = Report("--root", self.root)
        self.assertEqual(report.exit_code, 1)
        self.assertEqual(report.problems(), [("src/base/bad.cpp", 2, "raw-atomics")])
        self.assertEqual(report.summary, "tidy: 2 files, 1 problems")

    def test_it_runs_as_a_program(self):
        self.write("src/base/bad.cpp", self.BAD)
        done = subprocess.run([TIDY, "--root", self.root], capture_output=True, text=True,
                              check=False)
        problem, summary = done.stdout.splitlines()
        self.assertTrue(problem.startswith("src/base/bad.cpp:2: raw-atomics: "), problem)
        self.assertEqual((summary, done.returncode), ("tidy: 1 files, 1 problems", 1))

    def test_without_git_all_files_but_those_built_are_checked(self):
        self.write("src/base/bad.cpp", self.BAD)
        self.write("build/dev/src/made.cpp", self.BAD)
        self.write("tests/tools/samples/x/src/base/bad.cpp", "catch (...) {}\n")
        self.assertEqual(self.problems(), [("src/base/bad.cpp", 2, "raw-atomics")])

    def test_with_git_tracked_and_new_files_are_checked_but_not_ignored_and_deleted_ones(self):
        self.git("init")
        self.write("src/base/tracked.cpp", self.BAD)
        gone = self.write("src/base/gone.cpp", self.BAD)
        self.git("add", ".")
        gone.unlink()
        self.write("src/base/new.cpp", self.BAD)
        self.write("src/base/ignored.cpp", self.BAD)
        (self.root / ".gitignore").write_text("ignored.cpp\n", encoding="utf-8")
        self.assertEqual(self.problems(), [("src/base/new.cpp", 2, "raw-atomics"),
                                           ("src/base/tracked.cpp", 2, "raw-atomics")])

    def test_named_files_are_reported_alone_but_their_tags_may_pair_elsewhere(self):
        writer = self.write("src/sync/writer.cpp", "int x = a.exchange(1, release);  // sync(a)\n")
        self.write("src/sync/reader.cpp", "int y = a.load(acquire);  // sync(a)\n" + self.BAD)
        self.assertEqual(self.problems(writer), [])
        self.assertEqual(self.problems(self.root / "src"),
                         [("src/sync/reader.cpp", 3, "raw-atomics")])

    def test_a_named_sample_is_checked(self):
        sample = self.write("tests/tools/samples/bad.cpp", "catch (...) {}\n")
        self.assertEqual(self.problems(sample), [("tests/tools/samples/bad.cpp", 2, "words")])

    def test_a_file_that_is_not_there_is_an_error(self):
        report = Report("--root", self.root, self.root / "nowhere.cpp")
        self.assertEqual(report.exit_code, 2)
        self.assertIn("nowhere.cpp: no such file", report.errors)

    def test_a_broken_file_is_no_crash(self):
        for text in ("}}}}\n", "void f() {{{\n", '"\n', 'R"(', "#if 1\n#else\n", "#endif\n#else\n",
                     "/*", "'", "#define\n#\n", "template <\n", "((]]{\n", "struct {", "\0", ""):
            with self.subTest(text=text):
                self.write("src/base/broken.cpp", text)
                self.assertEqual(self.problems(), [])


if __name__ == "__main__":
    unittest.main()
