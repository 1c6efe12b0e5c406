import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { AgentEvent, type JsonObject } from '../../events.ts';
import { derivedId } from '../../new-ids.ts';
import type { PriceBook } from '../../prices.ts';
import { AUDIT_KIND_NAMES } from './audit-envelope.ts';
import { EndBody, EvaluateBody, StartBody, ToolsBody } from './requests.ts';
import { runEnded, runStarted } from './run-moments.ts';
import { translateHandlebarEvent } from './translate.ts';

const NOW = Date.parse('2026-03-01T12:00:00.000Z');
const RUN = derivedId(NOW - 60_000, 'run');
const prices: PriceBook = {
  providerOf: (model) => (model.startsWith('gpt') ? 'openai' : undefined),
  quote: ({ model, usage }) =>
    model === 'gpt-4o'
      ? { costUsd: (usage.inputTokens ?? 0) / 1000, priceRef: 'table@test' }
      : { unpriced: 'unknown_model' },
};

function read(fields: JsonObject, agentId = 'bot') {
  const raw = { schema: 'handlebar.audit.v1', ts: '2026-03-01T11:59:30.000Z', runId: RUN, kind: 'error', ...fields };
  const translation = translateHandlebarEvent(raw, agentId, prices, NOW);
  if (!translation.ok) throw new Error(JSON.stringify(translation.details));
  return translation;
}
const eventOf = (fields: JsonObject, agentId?: string) => read(fields, agentId).event;
const idOf = (fields: JsonObject, agentId?: string) => eventOf(fields, agentId).clientId;

describe('the vocabulary', () => {
  it.each([
    ['run.started', 'run.started'],
    ['message.raw.created', 'message.created'],
    ['llm.result', 'llm.completed'],
    ['tool.decision', 'tool.decided'],
    ['tool.result', 'tool.completed'],
    ['run.ended', 'run.ended'],
    ['error', 'error.raised'],
  ])('maps %s to %s and keeps the original kind and data', (kind, ours) => {
    const data = { any: ['thing', 1], adapter: { name: 'core' } };
    const { facts } = eventOf({ kind, data });
    expect(facts).toMatchObject({ kind: ours, sourceType: kind, dialect: 'handlebar', payload: data });
  });

  it('covers every kind of the client', () => {
    expect(AUDIT_KIND_NAMES).toHaveLength(7);
  });

  it("accepts the platform's kinds, keeps others as custom, and adds notices for unknown values", () => {
    expect(read({ kind: 'tool.called', data: { tool: { name: 'x' } } })).toMatchObject({
      event: { facts: { kind: 'tool.called', toolName: 'x' } },
      notices: [],
    });
    expect(read({ kind: 'sink.dropped' })).toMatchObject({
      event: { facts: { kind: 'custom.recorded', sourceType: 'sink.dropped' } },
      notices: [{ path: 'kind' }],
    });
    expect(read({ kind: '__proto__' }).event.facts.kind).toBe('custom.recorded');
    expect(read({ schema: 'other', kind: 'error' })).toMatchObject({
      event: { facts: { metadata: { schema: 'other' } } },
      notices: [{ path: 'schema' }],
    });
  });
});

describe('extracted fields', () => {
  it('of a model call: tokens, latency and a derived price', () => {
    const data = { model: { name: 'gpt-4o' }, tokens: { in: 1000, out: 20 }, messageCount: 1, durationMs: 300 };
    expect(eventOf({ kind: 'llm.result', data }).facts).toMatchObject({
      model: 'gpt-4o',
      provider: 'openai',
      usage: {
        inputTokens: 1000,
        outputTokens: 20,
        totalTokens: 1020,
        latencyMs: 300,
        costUsd: 1,
        costSource: 'priced',
      },
    });
  });

  it('of a model without a price: unpriced', () => {
    const data = { model: { name: 'own', provider: 'us' }, tokens: { in: 1, out: 2 } };
    expect(eventOf({ kind: 'llm.result', data }).facts).toMatchObject({
      provider: 'us',
      usage: { costSource: 'unpriced' },
    });
  });

  it('ignore absurd numbers but keep them in the payload', () => {
    const data = { model: { name: 'gpt-4o' }, tokens: { in: 1e300, out: -5 }, durationMs: 'long' };
    const { facts } = eventOf({ kind: 'llm.result', data });
    expect(facts.usage).toEqual({ costSource: 'unpriced', unpricedReason: 'no_tokens' });
    expect(facts.payload).toEqual(data);
  });

  it.each([
    ['a failed tool', { kind: 'tool.result', data: { outcome: 'error' } }, 'error', true],
    ['a successful tool', { kind: 'tool.result', data: { outcome: 'success' } }, 'info', false],
    ['an error', { kind: 'error', data: { scope: 'agent' } }, 'error', true],
    ['a fatal error', { kind: 'error', data: { fatal: true } }, 'critical', true],
    ['a blocked call', { kind: 'tool.decision', data: { verdict: 'BLOCK' } }, 'warn', false],
  ])('have the right severity for %s', (_, fields, severity, isError) => {
    expect(eventOf(fields).facts).toMatchObject({ severity, isError });
  });

  it.each([
    ['success', 'succeeded'],
    ['error', 'failed'],
    ['timeout', 'timed_out'],
    ['interrupted', 'interrupted'],
    ['ok', 'succeeded'],
    ['strange', undefined],
    ['__proto__', undefined],
  ])('map the end status %s', (status, outcome) => {
    expect(eventOf({ kind: 'run.ended', data: { status, totalSteps: 2 } }).facts.outcome).toBe(outcome);
  });

  it('form an event that the platform accepts for any data', () => {
    const anyEvent = fc.record(
      {
        kind: fc.oneof(fc.constantFrom(...AUDIT_KIND_NAMES), fc.string({ minLength: 1, maxLength: 20 })),
        ts: fc.oneof(fc.constant('2026-03-01T11:00:00+02:00'), fc.integer({ min: 0, max: 4e12 })),
        stepIndex: fc.anything(),
        otel: fc.jsonValue(),
        data: fc.dictionary(
          fc.constantFrom(
            'tool',
            'model',
            'tokens',
            'status',
            'outcome',
            'durationMs',
            'messageId',
            'agent',
            'error',
            'x',
          ),
          fc.jsonValue(),
        ),
      },
      { requiredKeys: ['kind'] },
    );
    fc.assert(
      fc.property(anyEvent, (fields) => {
        const { facts, clientId } = eventOf({ ts: undefined, ...fields });
        const event = { ...facts, id: clientId, occurredAt: new Date(NOW).toISOString(), retryable: true, hash: 'h' };
        expect(AgentEvent.safeParse(event).error).toBeUndefined();
      }),
      { numRuns: 500 },
    );
  });
});

describe('rejected events', () => {
  it.each([
    ['no run', { runId: undefined }, 'runId'],
    ['an invalid run', { runId: 'a\u0000b' }, 'runId'],
    ['no kind', { kind: undefined }, 'kind'],
    ['an invalid time', { ts: 'noon' }, 'ts'],
    ['a time beyond the range of a date', { ts: 1e17 }, 'ts'],
    ['data that is a list', { data: [1] }, 'data'],
  ])('have %s, with the path', (_, fields, path) => {
    const raw = { ts: NOW, runId: RUN, kind: 'error', ...fields };
    const translation = translateHandlebarEvent(raw, 'bot', prices, NOW);
    expect(translation).toMatchObject({ ok: false, details: [{ path }] });
  });

  it.each([[null], ['text'], [[]], [7]])('%j', (raw) => {
    expect(translateHandlebarEvent(raw, 'bot', prices, NOW).ok).toBe(false);
  });
});

describe('the id of an event', () => {
  const message = { kind: 'message.raw.created', data: { messageId: 'm1', role: 'user', content: 'hi' } };

  it("is derived from a message's id alone", () => {
    expect(idOf({ ...message, ts: 7, stepIndex: 3 })).not.toBe(idOf({ ...message, data: { messageId: 'm2' } }));
    expect(idOf({ ...message, data: { messageId: 'm1', content: 'other' } })).toBe(idOf(message));
  });

  it.each([
    ['agent', {}, 'other'],
    ['run', { runId: 'other' }, 'bot'],
    ['kind', { kind: 'tool.result' }, 'bot'],
    ['step', { stepIndex: 2 }, 'bot'],
    ['time', { ts: '2026-03-01T11:59:30.001Z' }, 'bot'],
    ['data', { data: { message: 'y' } }, 'bot'],
  ])('differs with the %s', (_, fields, agentId) => {
    const base = { kind: 'error', stepIndex: 1, data: { message: 'x' } };
    expect(idOf({ ...base, ...fields }, agentId)).not.toBe(idOf(base));
    expect(idOf({ ...base })).toBe(idOf(base));
  });

  it('is the same for both forms of a time and any order of members', () => {
    expect(idOf({ ts: NOW, data: { a: 1, b: 2 } })).toBe(
      idOf({ ts: '2026-03-01T13:00:00.000+01:00', data: { b: 2, a: 1 } }),
    );
  });

  it("is the client's own if it sends one", () => {
    expect(idOf({ id: 'mine' })).toBe('mine');
  });

  it('contains no time if the event has none', () => {
    expect(idOf({ ts: undefined })).toMatch(/^hb-[0-9a-f]{32}$/);
    expect(idOf({ ts: -5 })).toMatch(/^hb-/);
  });

  it('is stable across batches, orders and repetitions', () => {
    const anAudit = fc.record({
      kind: fc.constantFrom(...AUDIT_KIND_NAMES),
      ts: fc.integer({ min: NOW - 1_000, max: NOW }),
      stepIndex: fc.nat(3),
      data: fc.dictionary(fc.constantFrom('messageId', 'a', 'status'), fc.oneof(fc.string(), fc.nat(2))),
    });
    const retried = fc
      .uniqueArray(anAudit, { minLength: 1, maxLength: 20, selector: (one) => JSON.stringify(one) })
      .chain((list) =>
        fc.tuple(fc.constant(list), fc.shuffledSubarray([...list, ...list, ...list], { minLength: list.length * 3 })),
      );
    fc.assert(
      fc.property(retried, ([once, thrice]) => {
        const ids = (list: readonly JsonObject[]) =>
          [...new Set(list.map((fields) => idOf(fields)))].sort((a = '', b = '') => (a < b ? -1 : 1));
        expect(ids(thrice.map((fields) => JSON.parse(JSON.stringify(fields))))).toEqual(ids(once));
      }),
    );
  });
});

describe("a run's start and end", () => {
  const started = (fields: JsonObject = {}) => runStarted(RUN, StartBody.parse({ agentId: 'bot', ...fields }));

  it('have the same id as a call and as an audit event', () => {
    expect(started().clientId).toBe(idOf({ kind: 'run.started' }));
    const ended = runEnded(RUN, EndBody.parse({ agentId: 'bot', status: 'error' }));
    expect(ended.clientId).toBe(idOf({ id: 'mine', kind: 'run.ended', data: { status: 'error' } }));
    expect(ended.facts).toMatchObject({ kind: 'run.ended', outcome: 'failed', sourceType: 'run.ended' });
  });

  it('differ by run and agent, and from each other', () => {
    const ids = [
      started().clientId,
      runStarted('other', StartBody.parse({ agentId: 'bot' })).clientId,
      started({ agentId: 'other' }).clientId,
      idOf({ kind: 'run.ended' }),
    ];
    expect(new Set(ids).size).toBe(4);
  });

  it('include everything in the request', () => {
    const body = {
      actor: { externalId: 'u', group: { externalId: 'g' } },
      tags: { a: '1' },
      runTtlMs: 5,
      model: { name: 'm' },
    };
    expect(started({ ...body, parentRunId: 'p' }).facts).toMatchObject({ payload: body, parentRunId: 'p', model: 'm' });
  });
});

describe('requests', () => {
  it('normalize both forms of a tool', () => {
    const { tools } = ToolsBody.parse({
      tools: [
        { name: 'a', tags: ['x'] },
        { key: 'function:a', name: 'a', version: 1, kind: 'function', metadata: { metadata: ['x'] } },
        { name: 'bare', metadata: { metadata: 'nonsense' } },
      ],
    });
    expect(tools.map(({ name, tags }) => [name, tags])).toEqual([
      ['a', ['x']],
      ['a', ['x']],
      ['bare', []],
    ]);
  });

  it('for a decision are accepted if any part is readable', () => {
    fc.assert(
      fc.property(
        fc.record({
          args: fc.jsonValue(),
          result: fc.jsonValue(),
          actor: fc.jsonValue(),
          tags: fc.jsonValue(),
          subjects: fc.jsonValue(),
          metrics: fc.jsonValue(),
          toolTags: fc.jsonValue(),
        }),
        ({ toolTags, ...fields }) => {
          const question = { phase: 'tool.before', agentId: 'bot', tool: { name: 't', tags: toolTags }, ...fields };
          expect(EvaluateBody.safeParse(question).error).toBeUndefined();
        },
      ),
    );
  });
});
