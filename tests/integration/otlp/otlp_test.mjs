// otlp_test.mjs SENDER PACKAGES: what an exporter sends is OTLP, by the official definitions.
//
// Receives what the program SENDER sends, and decodes it with the code that opentelemetry-js makes
// from opentelemetry-proto, found in the folder PACKAGES.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { test } from "node:test";

const [sender, packages] = process.argv.slice(2);
const definitions = "node_modules/@opentelemetry/otlp-transformer/build/src/generated/root.js";
const require = createRequire(import.meta.url);
const { opentelemetry } = require(resolve(join(packages, definitions)));
const { trace, metrics } = opentelemetry.proto.collector;
const requestTypes = {
  "/v1/traces": trace.v1.ExportTraceServiceRequest,
  "/v1/metrics": metrics.v1.ExportMetricsServiceRequest,
};
const idKeys = ["traceId", "spanId", "parentSpanId"];

// In OTLP ids are hexadecimal, where protobuf's JSON has base 64.
function withProtobufIds(value) {
  return JSON.parse(JSON.stringify(value), (key, inner) => {
    if (!idKeys.includes(key)) return inner;
    assert.match(inner, /^([0-9a-f]{16}|[0-9a-f]{32})$/);
    return Buffer.from(inner, "hex").toString("base64");
  });
}

// The message as it comes out of protobuf's binary form. Fields that the definitions do not have
// are lost on that way, and what is of another type comes out different.
function decode(path, json) {
  const type = requestTypes[path];
  const sent = withProtobufIds(json);
  const message = type.decode(type.encode(type.fromObject(sent)).finish());
  const received = type.toObject(message, { longs: String, bytes: String });
  assert.deepEqual(received, sent);
  return json;
}

// Runs the program against a receiver that refuses the first request. Gives all requests, and what
// the program says.
async function receive() {
  const requests = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const part of request) body += part;
    requests.push({ path: request.url, type: request.headers["content-type"], body });
    if (requests.length === 1) response.writeHead(503, { "retry-after": "0" });
    response.end("{}");
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const endpoint = `http://127.0.0.1:${server.address().port}`;
  const program = spawn(sender, [endpoint], {
    stdio: ["ignore", "pipe", "inherit"],
    timeout: 60_000,
  });
  let output = "";
  program.stdout.on("data", (text) => (output += text));
  const code = await new Promise((done) => program.on("close", done));
  server.close();
  assert.equal(code, 0, "the sender has failed");
  return { requests, output };
}

const attributesOf = (item) =>
  Object.fromEntries(item.attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

const { requests, output } = await receive();
const accepted = requests.slice(1);

test("what was refused for the moment came again, unchanged", () => {
  assert.deepEqual(requests.map(({ path }) => path), ["/v1/traces", "/v1/traces", "/v1/metrics"]);
  assert.equal(requests[1].body, requests[0].body);
});

test("all of it is OTLP by the official definitions", () => {
  for (const { path, type, body } of requests) {
    assert.equal(type, "application/json");
    decode(path, JSON.parse(body));
  }
});

test("the decoder notices what is not", () => {
  for (const damage of [
    (span) => (span.madeUp = 1),
    (span) => (span.startTimeUnixNano = Number(span.startTimeUnixNano)),
    (span) => (span.traceId = Buffer.from(span.traceId, "hex").toString("base64")),
    (span) => (span.kind = "SPAN_KIND_INTERNAL"),
    (span) => (span.status.code = "2"),
    (span) => (span.attributes[0].value.text = "x"),
  ]) {
    const json = JSON.parse(accepted[0].body);
    damage(json.resourceSpans[0].scopeSpans[0].spans[5]);
    assert.throws(() => decode("/v1/traces", json), damage.toString());
  }
});

test("spans tell of the wait and the run of each task", () => {
  const { resource, scopeSpans } = decode("/v1/traces", JSON.parse(accepted[0].body))
    .resourceSpans[0];
  assert.equal(attributesOf(resource)["service.name"], "shop");
  const [wait, run, cancelled, ...more] = scopeSpans[0].spans.slice(4);
  assert.equal(more.length, 0);
  for (const span of [wait, run]) {
    assert.equal(span.traceId, "4bf92f3577b34da6a3ce929d0e0e4736");
    assert.equal(span.parentSpanId, "00f067aa0ba902b7");
    assert.equal(attributesOf(span).pool, "io");
  }
  assert.equal(wait.name, "resize wait");
  assert.equal(run.name, "resize");
  assert.equal(BigInt(wait.endTimeUnixNano) - BigInt(wait.startTimeUnixNano), 10_000_000n);
  assert.equal(BigInt(run.endTimeUnixNano) - BigInt(run.startTimeUnixNano), 20_000_000n);
  assert.equal(run.startTimeUnixNano, wait.endTimeUnixNano);
  const age = Date.now() - Number(BigInt(run.endTimeUnixNano) / 1_000_000n);
  assert.ok(age >= 0 && age < 60_000, `${age} ms old`);
  assert.deepEqual(run.status, { code: 2, message: 'no "space" left' });
  assert.equal(attributesOf(run).worker, "1");
  assert.equal(cancelled.parentSpanId, undefined);
  assert.equal(attributesOf(cancelled).outcome, "cancelled");
  assert.notEqual(cancelled.traceId, run.traceId);
});

test("a pool tells of its tasks, from one program to the next", () => {
  const { scopeSpans } = decode("/v1/traces", JSON.parse(accepted[0].body)).resourceSpans[0];
  const spans = scopeSpans[0].spans.slice(0, 4);
  const byName = Object.fromEntries(spans.map((span) => [span.name, span]));
  const [requestWait, request, questionWait, question] =
    ["request wait", "request", "question wait", "question"].map((name) => byName[name]);
  for (const span of spans) {
    assert.equal(span.traceId, "4bf92f3577b34da6a3ce929d0e0e4736");
    assert.equal(span.traceState, "vendor=1");
    assert.equal(attributesOf(span).pool, "web");
  }
  assert.equal(requestWait.parentSpanId, "00f067aa0ba902b7");
  assert.equal(request.parentSpanId, "00f067aa0ba902b7");
  assert.equal(questionWait.parentSpanId, request.spanId);
  assert.equal(question.parentSpanId, request.spanId);
  assert.equal(attributesOf(question).worker, "0");
  assert.equal(attributesOf(question).outcome, "succeeded");
  assert.equal(output, `00-${question.traceId}-${question.spanId}-01 vendor=1\n`);
  const times = [requestWait.startTimeUnixNano, request.startTimeUnixNano,
    questionWait.startTimeUnixNano, question.startTimeUnixNano, question.endTimeUnixNano];
  assert.deepEqual([...times].sort(), times);
});

test("metrics tell the pool's figures", () => {
  const { resource, scopeMetrics } = decode("/v1/metrics", JSON.parse(accepted[1].body))
    .resourceMetrics[0];
  assert.equal(attributesOf(resource)["service.name"], "shop");
  const byName = Object.fromEntries(scopeMetrics[0].metrics.map((each) => [each.name, each]));
  const tasks = byName["muster.tasks"].sum;
  assert.equal(tasks.isMonotonic, true);
  assert.equal(tasks.aggregationTemporality, 2);
  const counts = Object.fromEntries(
    tasks.dataPoints.map((point) => [attributesOf(point).status, point.asInt]));
  assert.deepEqual(counts, { succeeded: "90", failed: "10", rejected: "0", dropped: "0" });
  for (const point of tasks.dataPoints) {
    assert.equal(attributesOf(point).pool, "io");
    assert.ok(BigInt(point.startTimeUnixNano) < BigInt(point.timeUnixNano));
  }
  const [duration] = byName["muster.task.duration"].histogram.dataPoints;
  assert.equal(byName["muster.task.duration"].unit, "s");
  assert.equal(duration.count, "100");
  assert.deepEqual(duration.explicitBounds, [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1]);
  assert.equal(duration.bucketCounts.length, 10);
  assert.equal(duration.bucketCounts.reduce((sum, count) => sum + Number(count), 0), 100);
  const workers = byName["muster.workers"].gauge.dataPoints;
  assert.equal(workers.reduce((sum, point) => sum + Number(point.asInt), 0), 2);
});
