#!/usr/bin/env python3
"""observability_test.py PROGRAM: what the example serves is what Prometheus and the dashboard want.

A real Prometheus reads the example's /metrics every second; then each query of the dashboard must
be answered without an error, and not with nothing. Ports are the system's choice, files go to a
folder of their own, and whatever was started is ended.
"""
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples/observability"
PROGRAM = sys.argv.pop(1) if len(sys.argv) > 1 else "observability"
PATIENCE_SECONDS = 60

# On the loopback nobody stands between us.
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def get(url):
    with DIRECT.open(url, timeout=10) as response:
        return response.read().decode()


def until(what, attempt):
    """What `attempt` gives as soon as it gives something; fails after PATIENCE_SECONDS."""
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        result = attempt()
        if result:
            return result
        time.sleep(0.2)
    raise AssertionError(f"no {what} within {PATIENCE_SECONDS} s")


class Process:
    """A running program whose output, errors included, is gathered by a thread."""

    def __init__(self, *command):
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        text=True)
        self.output = []
        self.reader = threading.Thread(target=lambda: self.output.extend(self.process.stdout))
        self.reader.start()

    def said(self, pattern):
        """The first group of what it says, once it says so."""
        def look():
            if self.process.poll() is not None:
                raise AssertionError(f"ended with {self.process.returncode}: {self.output}")
            return re.search(pattern, "".join(self.output))
        return until(pattern, look)[1]

    def end(self):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.reader.join()
        self.process.stdout.close()


class Prometheus:
    """Reads `target`, by the configuration that is our example, but every second."""

    def __init__(self, folder, target):
        config = (FOLDER / "prometheus.yml").read_text()
        for ours, theirs in [("localhost:9464", target), ("scrape_interval: 5s",
                                                          "scrape_interval: 1s")]:
            assert ours in config, ours
            config = config.replace(ours, theirs)
        path = pathlib.Path(folder) / "prometheus.yml"
        path.write_text(config)
        self.process = Process("prometheus", f"--config.file={path}",
                               f"--storage.tsdb.path={folder}/data",
                               "--web.listen-address=127.0.0.1:0")
        self.end = self.process.end

    def start(self):
        address = self.process.said(r'msg="?Listening on"? address=(127\.0\.0\.1:[1-9]\d*)')
        self.url = f"http://{address}"

    def query(self, expression):
        asked = urllib.parse.urlencode({"query": expression})
        try:
            answer = json.loads(get(f"{self.url}/api/v1/query?{asked}"))
        except urllib.error.HTTPError as error:
            if error.code == 503:  # still starting
                return []
            raise AssertionError(f"{expression}: {error.read().decode()}") from error
        assert answer["status"] == "success", answer
        assert not answer.get("warnings"), answer
        return answer["data"]["result"]


def dashboard_queries():
    """Each query as Grafana would send it: its variables replaced."""
    dashboard = json.loads((FOLDER / "dashboard.json").read_text())
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            expression = target["expr"].replace("$pool", "web").replace("$__rate_interval", "30s")
            assert "$" not in expression, expression
            yield panel["title"], target["legendFormat"], expression


class Observability(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="observability_test.")
        cls.addClassCleanup(folder.cleanup)
        cls.example = Process(PROGRAM, "--port=0", "--seconds=600")
        cls.addClassCleanup(cls.example.end)
        cls.metrics = cls.example.said(r"(http://\S+/metrics)\n")
        cls.prometheus = Prometheus(folder.name, cls.metrics.split("/")[2])
        cls.addClassCleanup(cls.prometheus.end)
        cls.prometheus.start()
        # Rates need two looks.
        until("two samples", lambda: [
            each for each in cls.prometheus.query("count_over_time(muster_tasks_total[1m])")
            if float(each["value"][1]) >= 3])

    def test_promtool_has_no_complaint_about_what_is_served(self):
        golden = (ROOT / "tests/unit/export/golden/pools.prom").read_text()
        for text in [get(self.metrics), golden]:
            checked = subprocess.run(["promtool", "check", "metrics"], input=text, text=True,
                                     capture_output=True, timeout=30)
            self.assertEqual((checked.returncode, checked.stdout + checked.stderr), (0, ""))

    def test_the_scrape_example_is_valid(self):
        subprocess.run(["promtool", "check", "config", FOLDER / "prometheus.yml"], check=True,
                       capture_output=True, timeout=30)

    def test_each_query_of_the_dashboard_is_answered(self):
        queries = list(dashboard_queries())
        self.assertGreaterEqual(len(queries), 12)
        for title, legend, expression in queries:
            with self.subTest(title, query=expression):
                result = self.prometheus.query(expression)
                self.assertNotEqual(result, [])
                labels = set(re.findall(r"{{(\w+)}}", legend))
                for series in result:
                    self.assertEqual(series["metric"].keys() & labels, labels)
                    self.assertTrue(math.isfinite(float(series["value"][1])), series)

    def test_the_dashboard_leaves_out_three_metrics_only(self):
        shown = (FOLDER / "dashboard.json").read_text()
        served = set(re.findall(r"^# TYPE (muster_\S+)", get(self.metrics), re.M))
        hidden = {name for name in served if name not in shown}
        self.assertEqual(hidden, {"muster_affinity_sessions", "muster_worker_queue_size",
                                  "muster_worker_weight"})

    def test_a_busy_pool_shows_as_busy(self):
        def value(expression):
            (series,) = self.prometheus.query(expression)
            return float(series["value"][1])
        self.assertGreater(value('sum(rate(muster_tasks_total{status="succeeded"}[30s]))'), 100)
        self.assertGreater(value('sum(increase(muster_tasks_total{status="failed"}[30s]))'), 0)
        self.assertEqual(value("sum(muster_workers)"), 4)
        self.assertEqual(value("muster_scaling_workers"), 4)
        self.assertGreater(value("sum(muster_steals_total)"), 0)
        self.assertGreater(value("max(muster_worker_utilisation_ratio)"), 0)
        self.assertLess(value("histogram_quantile(0.5, sum by (le) (rate("
                              "muster_task_duration_seconds_bucket[30s])))"), 0.05)


if __name__ == "__main__":
    unittest.main()
