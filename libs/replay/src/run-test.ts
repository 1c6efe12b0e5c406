import {
  type AgentEvent,
  canonicalJson,
  type DecisionRequest,
  derivedId,
  type GuardrailRule,
  MAX_ANCESTORS,
  type PriceBook,
  sha256Hex,
  type Trigger,
  translateAgentLensEvent,
} from '@agentlens/contracts';
import type { Ruling } from '@agentlens/guardrails';
import { Replay } from './replay.ts';
import type { FileRule } from './rule-file.ts';
import type { ExpectedAnswer, ExpectedTrigger, PlacedTest, RuleTest, TestCall, TestEvent } from './test-file.ts';

/** Events state their cost themselves. */
const NO_PRICES: PriceBook = { providerOf: () => undefined, quote: () => ({ unpriced: 'unknown_model' }) };

type MadeEvent = { readonly ok: true; readonly event: AgentEvent } | { readonly ok: false; readonly problem: string };

/** Converts a test event like the gateway does for a request that arrives at `nowMs`. `place` makes its id unique. */
function testEvent(
  { agent, run, type, payload, severity, tags, metadata }: TestEvent,
  nowMs: number,
  place: number,
): MadeEvent {
  const raw = { agentId: agent, sessionId: run, eventType: type, payload, severity, tags, metadata };
  const translated = translateAgentLensEvent(raw, NO_PRICES, nowMs);
  if (!translated.ok) {
    const problem = translated.details.map(({ path, message }) => `${WRITTEN_AS[path] ?? path}: ${message}`).join('; ');
    return { ok: false, problem };
  }
  const id = derivedId(nowMs, 'event', place);
  const occurredAt = new Date(nowMs).toISOString();
  return {
    ok: true,
    event: { ...translated.event.facts, id, occurredAt, retryable: false, hash: sha256Hex(id) },
  };
}

/** Names of API fields in test files. */
const WRITTEN_AS: Readonly<Record<string, string>> = { eventType: 'type', sessionId: 'run', agentId: 'agent' };

const TENANT = 'test';
const DEADLINE_MS = 1_000;

/** A rule behaved differently than expected, or the test cannot be run. `line` is the line of the expectation. */
interface TestFailure {
  readonly line: number;
  readonly message: string;
}

export interface TestResult {
  readonly name: string;
  readonly file: string;
  readonly line: number;
  /** Empty if the test passed. */
  readonly failures: readonly TestFailure[];
}

/** Runs one test in virtual time without a server. The result is deterministic. */
export async function runTest(rules: readonly FileRule[], placed: PlacedTest): Promise<TestResult> {
  const { test, file, line } = placed;
  const failures: TestFailure[] = [];
  const fail = (path: readonly PropertyKey[], message: string) => failures.push({ line: placed.lineOf(path), message });
  const startMs = Date.parse(test.at);
  for (const { path, key } of namedRules(test)) {
    if (!rules.some((rule) => rule.key === key)) fail(path, `there is no rule "${key}" in these files`);
  }
  try {
    if (failures.length === 0) {
      const replay = new Replay(
        TENANT,
        rules.map((rule) => storedRule(rule, startMs)),
        startMs,
      );
      await replayEvents(replay, test, fail);
      await replayCalls(replay, test, fail);
    }
  } catch (error) {
    fail([], error instanceof Error ? error.message : String(error));
  }
  return { name: test.name, file, line, failures };
}

type Fail = (path: readonly PropertyKey[], message: string) => void;

async function replayEvents(replay: Replay, test: RuleTest, fail: Fail): Promise<void> {
  const triggers: { readonly trigger: Trigger; readonly event: number }[] = [];
  let place = 0;
  for (const [at, written] of test.events.entries()) {
    for (let time = 0; time < written.repeat; time++) {
      replay.advance(written.after ?? 0);
      place += 1;
      const made = testEvent(written, replay.nowMs, place);
      if (!made.ok) {
        fail(['events', at], `is not a valid event: ${made.problem}`);
        return;
      }
      const batch = { id: `batch-${place}`, tenantId: TENANT, partition: '00', events: [made.event] };
      for (const trigger of await replay.happen(batch)) triggers.push({ trigger, event: place });
    }
  }
  if (test.expect === undefined) return;
  const { triggers: expected } = test.expect;
  for (const [at, one] of expected.entries()) {
    const fired = triggers[at];
    if (fired === undefined) fail(['expect', 'triggers', at], `rule "${one.rule}" did not fire`);
    else for (const message of triggerDifferences(one, fired)) fail(['expect', 'triggers', at], message);
  }
  for (const { trigger, event } of triggers.slice(expected.length)) {
    const { ruleId, agentId, conditionValue } = trigger;
    fail(
      ['expect', 'triggers'],
      `rule "${ruleId}" fired for agent "${agentId}" at event ${event} with ${conditionValue}, which is not expected`,
    );
  }
}

async function replayCalls(replay: Replay, test: RuleTest, fail: Fail): Promise<void> {
  const parents = new Map<string, string>();
  for (const [at, call] of test.calls.entries()) {
    if (call.parent !== undefined && !parents.has(call.run)) parents.set(call.run, call.parent);
    replay.advance(call.after ?? 0);
    const context = {
      approved: new Set(call.approved),
      denied: call.denied,
      ...(call.agentTags === undefined ? {} : { agent: { tags: call.agentTags } }),
    };
    const ruling = await replay.ask(
      { ...requestOf(call, at, replay.nowMs), ...ancestorsOf(call.run, parents) },
      context,
    );
    if (call.expect === undefined) continue;
    for (const message of answerDifferences(call.expect, ruling)) fail(['calls', at, 'expect'], message);
  }
}

function triggerDifferences(
  expected: ExpectedTrigger,
  { trigger, event }: { trigger: Trigger; event: number },
): string[] {
  const { rule, agent, value, dryRun } = expected;
  return [
    ...different('rule', rule, trigger.ruleId),
    ...different('agent', agent, trigger.agentId),
    ...different('value', value, trigger.conditionValue),
    ...different('event', expected.event, event),
    ...different('dryRun', dryRun, trigger.dryRun),
  ];
}

function answerDifferences(expected: ExpectedAnswer, ruling: Ruling): string[] {
  const { effect, wouldBe, rule, message, args } = expected;
  const said = `${ruling.message}${ruling.bypasses.map(({ ruleId, why }) => `; "${ruleId}" was passed over: ${why}`).join('')}`;
  return [
    ...different('effect', effect, ruling.effect).map((text) => `${text} (${said})`),
    ...different('wouldBe', wouldBe, ruling.wouldBe),
    ...different('rule', rule, ruling.finalRule?.id),
    ...different('message', message, ruling.message),
    ...different('args', args, ruling.modifiedArgs),
  ];
}

/** Compares only values that are expected. */
function different(what: string, expected: unknown, actual: unknown): string[] {
  if (expected === undefined || canonicalJson(expected) === canonicalJson(actual ?? null)) return [];
  return [`expected ${what} ${shown(expected)}, got ${actual === undefined ? 'none' : shown(actual)}`];
}

function shown(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Every rule that a test names, so that a misspelled key is an error. */
function namedRules({ calls, expect }: RuleTest): { readonly path: PropertyKey[]; readonly key: string }[] {
  return [
    ...(expect?.triggers ?? []).map(({ rule }, at) => ({ path: ['expect', 'triggers', at, 'rule'], key: rule })),
    ...calls.flatMap(({ expect: answer, approved }, at) => [
      ...(answer?.rule === undefined ? [] : [{ path: ['calls', at, 'expect', 'rule'], key: answer.rule }]),
      ...approved.map((key, place) => ({ path: ['calls', at, 'approved', place], key })),
    ]),
  ];
}

/** Uses the key as id, so that triggers and answers contain the name from the file. */
function storedRule({ key, draft }: FileRule, atMs: number): GuardrailRule {
  const at = new Date(atMs).toISOString();
  return { ...draft, id: key, tenantId: TENANT, version: 1, createdAt: at, updatedAt: at };
}

/** Like the gateway: nearest first, and circles end. */
function ancestorsOf(run: string, parents: ReadonlyMap<string, string>): Pick<DecisionRequest, 'ancestors'> {
  const ancestors: string[] = [];
  let parent = parents.get(run);
  while (parent !== undefined && parent !== run && !ancestors.includes(parent) && ancestors.length < MAX_ANCESTORS) {
    ancestors.push(parent);
    parent = parents.get(parent);
  }
  return ancestors.length === 0 ? {} : { ancestors };
}

function requestOf(call: TestCall, place: number, nowMs: number): DecisionRequest {
  const { agent, run, phase, tool, toolTags, callId, args, result, actor, actorTags, tags, metrics } = call;
  return {
    ...{ tenantId: TENANT, agentId: agent, runId: run, phase, args, result, tags, metrics },
    callId: callId ?? `call-${place + 1}`,
    ...(tool === undefined ? {} : { tool: { name: tool, tags: toolTags } }),
    ...(actor === undefined ? {} : { actor: { externalId: actor, metadata: actorTags } }),
    subjects: [],
    receivedAt: new Date(nowMs).toISOString(),
    deadlineMs: DEADLINE_MS,
  };
}
