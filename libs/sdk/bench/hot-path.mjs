// Overhead of the SDK without a server: node libs/sdk/bench/hot-path.mjs [--json] (after a build)
import { fileURLToPath } from 'node:url';
import { CLOSED_BREAKER, check, DEFAULT_BREAKER_LIMITS, record } from '@agentlens/guardrails/breaker';
import { catalogRules } from '../dist/rules/index.js';
import { idSource } from '../dist/runtime/ids.js';
import { systemClock } from '../dist/runtime/system-clock.js';
import { EventSink } from '../dist/sink/event-sink.js';
import { SINK_DEFAULTS } from '../dist/sink/sink-options.js';
import { TestPlatform } from '../dist/testing/index.js';
import { measure, measureAsync, print } from './measure.mjs';

const ARGS = { path: '/srv/data/report.txt', text: 'x'.repeat(1_000) };

/** One event created and enqueued, with 1 kB of arguments: id, time, object, ring. */
export function benchEnqueue() {
  const newId = idSource();
  const tools = { clock: systemClock, random: Math.random, newId, agentId: () => undefined };
  const sink = new EventSink(SINK_DEFAULTS, { ...tools, send: () => undefined, warn: () => undefined });
  const run = { runId: 'run-1' };
  const enqueue = () => {
    const at = Date.now();
    sink.add({ id: newId(at), at, kind: 'tool.decision', run, stepIndex: 1, data: { tool: 'write', args: ARGS } });
  };
  const result = measure('hook enqueue, 1 kB args', enqueue, 20);
  sink.close();
  return result;
}

export function benchBreakerCheck() {
  const used = record(CLOSED_BREAKER, { tokens: 100, iterations: 1, costUsd: 0.01, confidence: 0.9 }, 0);
  return measure('breaker check', () => check(used, DEFAULT_BREAKER_LIMITS, 0).allowed);
}

export function benchBreakerRecord() {
  const used = { tokens: 100, iterations: 1, costUsd: 0.01, outcome: 'success' };
  return measure('breaker record and check', () => {
    return check(record(CLOSED_BREAKER, used, 0), DEFAULT_BREAKER_LIMITS, 0).allowed;
  });
}

/** One call judged among `count` rules, of which one applies. */
export function benchLocalDecision(count) {
  const rules = Array.from({ length: count }, (_, index) => rule(`r${index}`, `tool_${index}`));
  const compiled = catalogRules.compile(rules);
  const call = {
    ...{ phase: 'tool.before', toolName: 'tool_0', toolTags: [], callId: 'c', runId: 'r', args: ARGS },
    ...{ result: undefined, actor: undefined, subjects: [], metrics: {}, runTags: {}, now: Date.now() },
  };
  return measure(`local decision, ${count} rules`, () => compiled.judge(call).ask, 10);
}

/** A complete `run.beforeTool`, decided locally: arguments measured, breaker, rules, decision event. */
export async function benchBeforeTool() {
  const server = new TestPlatform();
  server.offerBundle({ version: 1, ttlSeconds: 3_600, askAlways: [], rules: [rule('r', 'shell*')] });
  const client = await server.client({ rules: catalogRules, control: 'off', heartbeatMs: 0 });
  while (client.status.rulesVersion === null) await new Promise((resolve) => setTimeout(resolve, 1));
  const run = await client.startRun();
  const result = await measureAsync('beforeTool whole, decided here, 1 kB args', () => run.beforeTool('write', ARGS));
  await client.shutdown();
  return result;
}

function rule(id, pattern) {
  return {
    ...{
      id,
      version: 1,
      name: id,
      mode: 'enforce',
      priority: 0,
      phases: ['tool.before'],
      selector: { tools: [pattern] },
    },
    ...{ onMissing: 'allow', onUnavailable: 'allow', conditionType: 'tool_argument' },
    ...{
      conditionConfig: { path: 'path', operator: 'startsWith', value: '/etc' },
      actionType: 'block',
      actionConfig: {},
    },
  };
}

export async function benchSdk() {
  return [
    benchEnqueue(),
    benchBreakerCheck(),
    benchBreakerRecord(),
    ...[10, 100, 1_000, 10_000].map(benchLocalDecision),
    await benchBeforeTool(),
  ];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const results = await benchSdk();
  if (process.argv.includes('--json')) console.log(JSON.stringify(results));
  else print(results);
}
