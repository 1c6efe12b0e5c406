import { type AgentEvent, CostSource, EventKind, type JsonObject, SEVERITIES } from '@agentlens/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { eventFromBatch } from '../src/events/stored-event.ts';
import { NOW, type OperatorApi, startOperatorApi } from './operator-api.ts';
import { aRunRow } from './rows.ts';

const BATCH = { tenantId: 'acme', receivedAt: '2026-03-01T12:00:00.050Z' };
const LATEST = '2026-03-02T12:00:00.000Z';

/** Text that can be stored: any Unicode except NUL. */
const anyText = fc.string({ unit: 'binary' }).filter((text) => text.isWellFormed() && !text.includes('\0'));
const special = fc.constantFrom(
  '"',
  '\\',
  '\\u0000',
  '\u001f',
  '\n',
  '\u007f',
  '\u2028',
  '😀',
  'null',
  '{}',
  ',"id":1',
);
const someText = fc.oneof(anyText, special);
const anId = someText.filter((text) => text !== '');
/**
 * JSON.parse in Node misreads an escaped name after it has seen a lone backslash as a name (docs/wire-format.md,
 * limits).
 */
const aName = someText.filter((text) => text !== '\\');
const number = fc.oneof(fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }));
const { value: someJson } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constant(null),
    fc.boolean(),
    number,
    someText,
    fc.array(tie('value')),
    fc.dictionary(aName, tie('value')),
  ),
}));
const contents = fc.dictionary(aName, someJson) as fc.Arbitrary<JsonObject>;
const count = fc.integer({ min: 0, max: 2 ** 40 });
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });

const someEvent: fc.Arbitrary<AgentEvent> = fc.record({
  id: anId,
  agentId: anId,
  runId: fc.constant('run-1'),
  kind: fc.constantFrom(...EventKind.options),
  dialect: someText,
  sourceType: someText,
  severity: fc.constantFrom(...SEVERITIES),
  isError: fc.boolean(),
  occurredAt: fc
    .date({ min: new Date(NOW), max: new Date(LATEST), noInvalidDate: true })
    .map((date) => date.toISOString()),
  retryable: fc.constant(false),
  hash: someText,
  toolName: optional(someText),
  callId: optional(someText),
  model: optional(someText),
  provider: optional(someText),
  usage: fc.record(
    {
      inputTokens: count,
      outputTokens: count,
      totalTokens: count,
      costUsd: fc.integer({ min: 0, max: 1e12 }).map((micros) => micros / 1e6),
      costSource: fc.constantFrom(...CostSource.options),
      latencyMs: fc.double({ min: 0, noNaN: true, noDefaultInfinity: true }),
    },
    { requiredKeys: [] },
  ),
  tags: optional(fc.array(someText)),
  payload: contents,
  metadata: contents,
}) as fc.Arbitrary<AgentEvent>;

const LISTS = ['/api/runs/run-1/events', '/api/sessions/run-1/timeline', '/api/events', '/api/runs/run-1/timeline'];

describe('an event read back', () => {
  let api: OperatorApi;

  beforeAll(async () => {
    api = await startOperatorApi();
    await api.insert('runs', aRunRow({ last_event_at: LATEST }));
  });
  afterAll(() => api.close());

  it('equals what the stream showed, for any contents, on every page', async () => {
    let n = 0;
    await fc.assert(
      fc.asyncProperty(someEvent, async (any) => {
        const event = { ...any, id: `${n++}${any.id}` };
        await api.insert('events', rowOf(event));
        const shown = JSON.parse(JSON.stringify(eventFromBatch(event, BATCH)));
        for (const list of LISTS) {
          const { body } = await api.get(`${list}?limit=500`);
          const listed = body.events ?? body.entries.map((entry: { event: object }) => entry.event);
          expect(listed.find(({ id }: { id: string }) => id === event.id)).toEqual(shown);
        }
      }),
      { numRuns: 50 },
    );
  });
});

/** The row that run-tracking would store. */
function rowOf(event: AgentEvent) {
  const { usage = {} } = event;
  return {
    tenant_id: BATCH.tenantId,
    occurred_at: event.occurredAt,
    event_id: event.id,
    run_id: event.runId,
    agent_id: event.agentId,
    kind: event.kind,
    dialect: event.dialect,
    source_type: event.sourceType,
    severity: event.severity,
    is_error: event.isError,
    tool_name: event.toolName,
    call_id: event.callId,
    model: event.model,
    provider: event.provider,
    input_tokens: usage.inputTokens,
    output_tokens: usage.outputTokens,
    total_tokens: usage.totalTokens,
    cost_usd: usage.costUsd,
    cost_source: usage.costSource,
    latency_ms: usage.latencyMs,
    tags: event.tags ?? [],
    payload: event.payload,
    metadata: event.metadata,
    hash: event.hash,
    received_at: BATCH.receivedAt,
  };
}
