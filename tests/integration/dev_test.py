#!/usr/bin/env python3
"""dev_test.py: ./dev itself, on a machine made of fakes.

Each test runs a copy of ./dev in a directory of its own. The programs through which it would touch
the system or build anything (apt-get, sudo, cmake, ctest, ...) are small scripts that write down
how they were called, so nothing is installed and nothing is built.
"""
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# What ./dev uses of the system besides the fakes; nothing else is on its PATH.
REAL_PROGRAMS = "bash basename cat dirname env find grep mkdir mktemp rm sort tail tee".split()

BUILD_PACKAGES = "g++-12 cmake ninja-build"
INSTALL_BY_HAND = "sudo apt-get install --no-install-recommends --no-remove"

# Four tests in each preset; FAILURES_dev=1 makes one of them fail.
FAKE_CTEST = """
preset=$(basename "$2")
failures=FAILURES_$preset
echo "1/4 Test #1: unit.a ...   ${SKIP:-Passed}    0.00 sec"
echo "99% tests passed, ${!failures:-0} tests failed out of 4"
exit "${!failures:-0}"
"""

# Says "installed" of what INSTALLED names, as dpkg-query does, and fails if something is missing.
FAKE_DPKG_QUERY = """
[[ " $* " == *' -f ${Package} ${db:Status-Status}\\n '* ]] || exit 2
for package in "${@:4}"; do
  if [[ " $INSTALLED " == *" $package "* ]]; then echo "$package installed"; fi
  if [[ " $REMOVED " == *" $package "* ]]; then echo "$package config-files"; fi
done
exit 1
"""


class Machine:
    """A directory with a copy of ./dev, fake programs, and the log of their calls."""

    def __init__(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="dev_test."))
        self.bin = self.dir / "bin"
        self.bin.mkdir()
        self.log = self.dir / "calls.log"
        self.tree = self.dir / "tree"
        (self.tree / "tools").mkdir(parents=True)
        for name in ["dev", "CMakePresets.json", *map(str, (ROOT / "tools").glob("*.sh"))]:
            source = ROOT / name
            shutil.copy(source, self.tree / source.relative_to(ROOT))
        for folder in ["tests/unit", "tests/stress", "examples", "bench/queues"]:
            (self.tree / folder).mkdir(parents=True)
        (self.tree / "bench/queues/CMakeLists.txt").touch()
        for name in REAL_PROGRAMS:
            (self.bin / name).symlink_to(shutil.which(name))
        for name in ["apt-get", "sudo", "cmake"]:
            self.fake(name)
        self.fake("dpkg-query", FAKE_DPKG_QUERY)
        self.fake("ctest", FAKE_CTEST)
        self.fake("id", "echo ${USER_ID:-0}")
        for name in ["order_pipeline", "other"]:
            (self.tree / f"examples/{name}.cpp").touch()
            self.fake(name, folder=self.tree / "build/release/examples")

    def fake(self, name, body="", folder=None):
        """Puts a program there that logs its call and then does `body`."""
        folder = folder or self.bin
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / name
        path.write_text(f'#!{shutil.which("bash")}\necho "{name} $*" >>"$CALLS"\n{body}\n')
        path.chmod(0o755)

    def dev(self, *arguments, **environment):
        """Runs ./dev with no packages installed unless INSTALLED says so."""
        base = {"PATH": str(self.bin), "CALLS": str(self.log), "INSTALLED": "", "REMOVED": ""}
        return subprocess.run([str(self.tree / "dev"), *arguments], env={**base, **environment},
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)

    def calls(self, program):
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [line for line in lines if line.split()[0] == program]


def everything():
    """The names of all packages that ./dev may ask for."""
    lists = " ".join(f"${{packages_{name}[@]}}" for name in ["check", "bench", "torture"])
    return subprocess.check_output(["bash", "-c", f'source tools/packages.sh; echo "{lists} npm"'],
                                   cwd=ROOT, text=True).strip()


class DevTest(unittest.TestCase):
    def setUp(self):
        self.machine = Machine()
        self.addCleanup(shutil.rmtree, self.machine.dir)


class Packages(DevTest):
    def test_a_user_without_sudo_is_told_the_exact_command(self):
        self.machine.fake("sudo", "exit 1")
        result = self.machine.dev("run", USER_ID="1000", INSTALLED="cmake")
        self.assertEqual(result.returncode, 1)
        self.assertIn(f"{INSTALL_BY_HAND} g++-12 ninja-build\n", result.stderr)
        self.assertEqual(self.machine.calls("apt-get") + self.machine.calls("cmake"), [])

    def test_a_user_on_a_machine_without_the_sudo_program_is_told_too(self):
        (self.machine.bin / "sudo").unlink()
        result = self.machine.dev("run", USER_ID="1000")
        self.assertEqual(result.returncode, 1)
        self.assertIn(f"{INSTALL_BY_HAND} {BUILD_PACKAGES}\n", result.stderr)

    def test_root_installs_the_missing_ones_and_removes_none(self):
        result = self.machine.dev("run", INSTALLED="cmake")
        self.assertEqual(result.returncode, 0, result.stderr)
        update, install = self.machine.calls("apt-get")
        self.assertIn("update", update.split())
        self.assertIn("install --no-install-recommends --no-remove -y g++-12 ninja-build", install)
        self.assertEqual(len(self.machine.calls("order_pipeline")), 1)

    def test_a_user_with_sudo_installs_through_it(self):
        self.machine.fake("sudo", '[[ $1 == -n ]] || exec "$@"')
        result = self.machine.dev("run", USER_ID="1000")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len([c for c in self.machine.calls("sudo") if " apt-get " in c]), 2)
        self.assertIn(f"--no-remove -y {BUILD_PACKAGES}", self.machine.calls("apt-get")[1])

    def test_when_nothing_is_missing_apt_is_not_touched(self):
        result = self.machine.dev("run", INSTALLED=BUILD_PACKAGES)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.machine.calls("apt-get"), [])

    def test_a_removed_package_with_leftover_settings_counts_as_missing(self):
        self.machine.dev("run", INSTALLED="g++-12 cmake", REMOVED="ninja-build")
        self.assertTrue(self.machine.calls("apt-get")[1].endswith("-y ninja-build"))

    def test_it_stops_when_apt_would_have_to_remove_something(self):
        self.machine.fake("apt-get", '[[ $* == *update* ]] || { echo '
                          '"E: Packages need to be removed but remove is disabled."; exit 100; }')
        result = self.machine.dev("run")
        self.assertEqual(result.returncode, 1)
        self.assertIn("would have to remove the packages named above", result.stderr)
        self.assertEqual(self.machine.calls("cmake"), [])

    def test_it_goes_on_with_old_package_lists_when_the_update_fails(self):
        self.machine.fake("apt-get", "[[ $* != *update* ]]")
        self.assertEqual(self.machine.dev("run").returncode, 0)

    def test_without_apt_it_names_the_missing_programs(self):
        (self.machine.bin / "apt-get").unlink()
        result = self.machine.dev("run")
        self.assertEqual(result.returncode, 1)
        self.assertIn("missing: g++-12 ninja\n", result.stderr)

    def test_every_package_can_be_recognised_without_apt(self):
        (self.machine.bin / "apt-get").unlink()
        for command in [["check"], ["bench", "queues"], ["torture", "models"]]:
            self.assertIn("missing: ", self.machine.dev(*command).stderr)


class Commands(DevTest):
    def test_help_is_what_one_gets_without_a_command(self):
        result = self.machine.dev()
        self.assertEqual(result.returncode, 0)
        self.assertIn("usage: ./dev", result.stdout)

    def test_an_unknown_command_gets_help_and_exit_2(self):
        result = self.machine.dev("dance")
        self.assertEqual(result.returncode, 2)
        self.assertIn('unknown command "dance"', result.stderr)
        self.assertIn("usage: ./dev", result.stderr)

    def test_run_hands_arguments_to_the_default_example(self):
        self.machine.dev("run", "--workers", "2", INSTALLED=everything())
        self.assertEqual(self.machine.calls("order_pipeline"), ["order_pipeline --workers 2"])

    def test_run_takes_the_name_of_another_example(self):
        self.machine.dev("run", "other", "fast", INSTALLED=everything())
        self.assertEqual(self.machine.calls("other"), ["other fast"])

    def test_run_builds_an_example_with_the_components_that_it_needs(self):
        for header in ("export/prometheus.hpp", "process_pool.hpp"):
            (self.machine.tree / "examples/other.cpp").write_text(f"#include <muster/{header}>\n")
            self.machine.fake("other", folder=self.machine.tree / "build/complete/examples")
            result = self.machine.dev("run", "other", INSTALLED=BUILD_PACKAGES)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("prometheus-cpp-dev", self.machine.calls("apt-get")[-1])
            self.assertIn("--build build/complete --target other", self.machine.calls("cmake")[-1])

    def test_run_names_the_examples_when_asked_for_an_unknown_one(self):
        result = self.machine.dev("run", "nothing", INSTALLED=everything())
        self.assertEqual(result.returncode, 1)
        self.assertIn("there are: order_pipeline other\n", result.stderr)

    def test_a_failing_build_shows_its_output_and_stops(self):
        self.machine.fake("cmake", "echo the compiler says no; exit 1")
        result = self.machine.dev("test", INSTALLED=everything())
        self.assertEqual(result.returncode, 1)
        self.assertIn("the compiler says no", result.stderr)
        self.assertEqual(self.machine.calls("ctest"), [])


class Tests(DevTest):
    def test_three_passes_are_summed_in_the_last_line(self):
        result = self.machine.dev("test", INSTALLED=everything())
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout.splitlines()[-1], "12 passed, 0 failed")
        passes = [(preset, "-L" in call.split())
                  for call in self.machine.calls("ctest") for preset in ["dev", "tsan", "asan"]
                  if f"build/{preset} " in call]
        self.assertEqual(passes, [("dev", False), ("tsan", True), ("asan", True)])

    def test_a_failure_in_one_pass_fails_the_run_after_all_passes(self):
        result = self.machine.dev("test", INSTALLED=everything(), FAILURES_tsan="1")
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stdout.splitlines()[-1], "11 passed, 1 failed")

    def test_skipped_tests_are_not_counted_as_passed(self):
        result = self.machine.dev("test", INSTALLED=everything(), SKIP="***Skipped")
        self.assertEqual(result.stdout.splitlines()[-1], "9 passed, 0 failed, 3 skipped")

    def test_a_pass_in_which_no_test_ran_fails_the_run(self):
        self.machine.fake("ctest", "exit 8")
        result = self.machine.dev("test", INSTALLED=everything())
        self.assertEqual(result.returncode, 1)
        self.assertNotIn("passed", result.stdout)

    def test_a_regex_picks_tests_of_the_dev_preset_only(self):
        result = self.machine.dev("test", "queue", INSTALLED=everything())
        self.assertEqual(result.stdout.splitlines()[-1], "4 passed, 0 failed")
        (call,) = self.machine.calls("ctest")
        self.assertTrue(call.endswith("-R queue"))

    def test_a_sanitizer_command_builds_and_runs_the_concurrent_parts(self):
        self.machine.dev("tsan", INSTALLED=everything())
        self.assertIn("--target tests/unit/all tests/stress/all", self.machine.calls("cmake")[-1])
        self.assertIn("-L ^(unit|stress|fuzz|conformance)$", self.machine.calls("ctest")[0])

    def test_the_output_has_no_colours_without_a_terminal(self):
        self.assertNotIn("\033", self.machine.dev("test", INSTALLED=everything()).stdout)


if __name__ == "__main__":
    unittest.main()
