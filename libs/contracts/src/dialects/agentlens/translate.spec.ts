import { describe, expect, it } from '@jest/globals';
import type { PriceBook, PricedCall, Quote } from '../../prices.ts';
import { EVENT_TYPE_NAMES, type EventTypeName, SERVER_ONLY_TYPES } from './event-types.ts';
import { type TranslatedEvent, translateAgentLensEvent } from './translate.ts';

const NOW = Date.parse('2026-03-01T12:00:00.000Z');

/** One dollar per thousand tokens of "gpt-4o"; other models have no price. */
const prices: PriceBook = {
  providerOf: (model) => (model === 'gpt-4o' ? 'openai' : undefined),
  quote: ({ model, usage }: PricedCall): Quote =>
    model === 'gpt-4o'
      ? { costUsd: ((usage.inputTokens ?? 0) + (usage.outputTokens ?? 0)) / 1000, priceRef: 'table@test' }
      : { unpriced: 'unknown_model' },
};

const PAYLOADS: Record<EventTypeName, Record<string, unknown>> = {
  session_started: { agentName: 'Researcher', agentVersion: '1.2', tags: ['nightly'] },
  session_ended: { reason: 'completed', summary: 'done', totalToolCalls: 3, totalDurationMs: 1200 },
  tool_call: { toolName: 'search', callId: 'c1', arguments: { q: 'x' } },
  tool_response: { callId: 'c1', toolName: 'search', durationMs: 12.5, result: [1, 2] },
  tool_error: { callId: 'c1', toolName: 'search', error: 'timeout', durationMs: 30_000, errorCode: 'ETIMEDOUT' },
  llm_call: { callId: 'l1', provider: 'openai', model: 'gpt-4o', messages: [{ role: 'user', content: 'hi' }] },
  llm_response: {
    callId: 'l1',
    provider: 'openai',
    model: 'gpt-4o',
    completion: 'hello',
    finishReason: 'stop',
    usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15 },
    costUsd: 0.02,
    latencyMs: 800,
  },
  cost_tracked: {
    provider: 'openai',
    model: 'gpt-4o',
    inputTokens: 10,
    outputTokens: 5,
    totalTokens: 15,
    costUsd: 0.6,
  },
  approval_requested: { requestId: 'r1', action: 'delete', params: {}, urgency: 'high' },
  approval_granted: { requestId: 'r1', action: 'delete', decidedBy: 'ann' },
  approval_denied: { requestId: 'r1', action: 'delete', decidedBy: 'ann', reason: 'no' },
  approval_expired: { requestId: 'r1', action: 'delete', decidedBy: 'system' },
  form_submitted: { submissionId: 's1', formId: 'f1', fieldCount: 3 },
  form_completed: { submissionId: 's1', formId: 'f1', completedBy: 'ann', durationMs: 5 },
  form_expired: { submissionId: 's1', formId: 'f1', expiredAfterMs: 60_000 },
  alert_triggered: {
    alertRuleId: 'a1',
    alertName: 'cost',
    condition: 'cost_exceeds',
    currentValue: 12,
    threshold: 10,
    message: 'too dear',
  },
  alert_resolved: { alertRuleId: 'a1', alertName: 'cost', resolvedBy: 'ann' },
  retrieval: { query: 'cats', topK: 5, resultCount: 2, durationMs: 4 },
  embedding: { model: 'text-embedding-3-small', inputCount: 2, dimensions: 1536 },
  chain_step: { name: 'plan', stepType: 'chain' },
  custom: { type: 'deploy', data: { ok: true } },
};

function raw(eventType: string, fields: Record<string, unknown> = {}): Record<string, unknown> {
  const payload = PAYLOADS[eventType as EventTypeName] ?? {};
  return { sessionId: 's-1', agentId: 'a-1', eventType, payload, ...fields };
}

function translate(eventType: string, fields: Record<string, unknown> = {}): TranslatedEvent {
  const result = translateAgentLensEvent(raw(eventType, fields), prices, NOW);
  if (!result.ok) throw new Error(JSON.stringify(result.details));
  return result.event;
}

function refusal(value: unknown) {
  const result = translateAgentLensEvent(value, prices, NOW);
  if (result.ok) throw new Error('was accepted');
  return result.details;
}

describe('the AgentLens vocabulary', () => {
  it.each(EVENT_TYPE_NAMES)('accepts %s with its documented payload unchanged', (type) => {
    expect(translate(type).facts).toMatchObject({
      runId: 's-1',
      agentId: 'a-1',
      dialect: 'agentlens',
      sourceType: type,
      severity: 'info',
      payload: PAYLOADS[type],
    });
  });

  it.each([
    ['session_started', 'run.started'],
    ['session_ended', 'run.ended'],
    ['tool_call', 'tool.called'],
    ['tool_response', 'tool.completed'],
    ['tool_error', 'tool.completed'],
    ['llm_call', 'llm.called'],
    ['llm_response', 'llm.completed'],
    ['cost_tracked', 'cost.recorded'],
    ['approval_requested', 'approval.requested'],
    ['approval_expired', 'approval.decided'],
    ['chain_step', 'custom.recorded'],
  ])('reads %s as %s', (type, kind) => {
    expect(translate(type).facts.kind).toBe(kind);
  });

  it.each(SERVER_ONLY_TYPES)('rejects %s, which a client could forge', (type) => {
    expect(refusal(raw(type))).toEqual([
      { path: 'eventType', message: expect.stringMatching(/made by the server.*custom/) },
    ]);
  });

  it('suggests the nearest type for a misspelled one', () => {
    expect(refusal(raw('tool_eror'))[0]).toEqual({
      path: 'eventType',
      message: '"tool_eror" is not an event type; did you mean "tool_error"?',
    });
  });

  it.each([undefined, null, 7, '', {}, ['custom'], 'toString', '__proto__', 'x'.repeat(10_000)])(
    'rejects %p as an event type with a short message',
    (type) => {
      const detail = refusal({ ...raw('custom'), eventType: type })[0];
      expect(detail?.path).toBe('eventType');
      expect(detail?.message.length).toBeLessThan(600);
    },
  );

  it.each([null, 7, 'text', [], true])('rejects %p as an event', (value) => {
    expect(refusal(value)).toEqual([{ path: '', message: 'must be an object' }]);
  });

  it.each([
    ['tool_call', 'arguments'],
    ['tool_error', 'error'],
    ['llm_call', 'messages'],
    ['llm_response', 'model'],
    ['cost_tracked', 'model'],
    ['approval_requested', 'urgency'],
    ['approval_granted', 'decidedBy'],
    ['form_submitted', 'fieldCount'],
    ['alert_triggered', 'threshold'],
    ['retrieval', 'query'],
    ['embedding', 'inputCount'],
    ['chain_step', 'name'],
    ['custom', 'data'],
  ])('names the missing payload field of %s: %s', (type, field) => {
    const { [field]: _left, ...payload } = PAYLOADS[type as EventTypeName];
    expect(refusal(raw(type, { payload })).map(({ path }) => path)).toContain(`payload.${field}`);
  });

  it('names every invalid field of the envelope', () => {
    const details = refusal({ eventType: 'custom', sessionId: '', agentId: 3, severity: 'loud', payload: [] });
    expect(new Set(details.map(({ path }) => path))).toEqual(new Set(['agentId', 'payload', 'sessionId', 'severity']));
  });
});

describe('tolerance', () => {
  it.each([
    ['2026-03-01T12:00:00Z', '2026-03-01T12:00:00.000Z'],
    ['2026-03-01T13:30:00.123456+01:30', '2026-03-01T12:00:00.123Z'],
    ['2026-03-01T12:00:00.5+00:00', '2026-03-01T12:00:00.500Z'],
    ['2026-02-28T23:00:00-13:00', '2026-03-01T12:00:00.000Z'],
  ])('converts %s to UTC', (timestamp, utc) => {
    expect(translate('custom', { timestamp }).timestamp).toBe(utc);
  });

  it.each([
    '2026-03-01T12:00:00',
    '2026-02-30T12:00:00Z',
    'yesterday',
    '',
    '+010000-01-01T00:00:00Z',
    1_772_366_400_000,
  ])('rejects the timestamp %p', (timestamp) => {
    expect(refusal(raw('custom', { timestamp })).map(({ path }) => path)).toEqual(['timestamp']);
  });

  it('reads "warning" as warn', () => {
    expect(translate('custom', { severity: 'warning' }).facts.severity).toBe('warn');
  });

  it('defaults the end of a session to completed', () => {
    expect(translate('session_ended', { payload: {} }).facts).toMatchObject({
      payload: { reason: 'completed' },
      outcome: 'succeeded',
    });
  });

  it('keeps unknown payload keys and drops unknown members of the event', () => {
    const { facts } = translate('custom', { payload: { type: 't', data: {}, colour: { deep: [1] } }, mood: 'good' });
    expect(facts.payload).toEqual({ type: 't', data: {}, colour: { deep: [1] } });
    expect(facts).not.toHaveProperty('mood');
  });

  it('merges tags of the event and the session without duplicates', () => {
    const { facts } = translate('session_started', { tags: ['a', 'b'], payload: { tags: ['b', 'c'] } });
    expect(facts.tags).toEqual(['a', 'b', 'c']);
  });

  it('reads null as absent', () => {
    const event = translate('session_started', {
      id: null,
      timestamp: null,
      tags: null,
      metadata: null,
      severity: null,
      payload: { agentName: null, tags: null },
    });
    expect(event).toMatchObject({
      clientId: undefined,
      timestamp: undefined,
      facts: { severity: 'info', metadata: {} },
    });
  });

  it('derives the provider from the model, or unknown, without changing the payload', () => {
    const call = (model: string) => ({ callId: 'l', model, messages: [] });
    expect(translate('llm_call', { payload: call('gpt-4o') }).facts).toMatchObject({
      provider: 'openai',
      payload: call('gpt-4o'),
    });
    expect(translate('llm_call', { payload: call('mine') }).facts.provider).toBe('unknown');
  });

  it("builds usage, latency and finish reason from the plugins' flat fields", () => {
    const payload = {
      callId: '',
      model: 'gpt-4o',
      completion: 'x',
      durationMs: 12.5,
      inputTokens: 900,
      outputTokens: 100,
    };
    expect(translate('llm_response', { payload }).facts).toMatchObject({
      callId: undefined,
      payload: {
        ...payload,
        usage: { inputTokens: 900, outputTokens: 100, totalTokens: 1000 },
        latencyMs: 12.5,
        finishReason: 'unknown',
      },
      usage: {
        inputTokens: 900,
        outputTokens: 100,
        totalTokens: 1000,
        latencyMs: 12.5,
        costUsd: 1,
        costSource: 'priced',
      },
    });
  });

  it('rejects a usage of the wrong type instead of filling it', () => {
    const payload = { ...PAYLOADS.llm_response, usage: 'lots' };
    expect(refusal(raw('llm_response', { payload })).map(({ path }) => path)).toEqual(['payload.usage']);
  });

  it("passes on the client's id", () => {
    expect(translate('custom', { id: 'mine-1' }).clientId).toBe('mine-1');
  });
});

describe('errors', () => {
  it.each([
    ['tool_error', {}, true],
    ['tool_error', { severity: 'error' }, true],
    ['tool_response', {}, false],
    ['tool_response', { payload: { ...PAYLOADS.tool_response, isError: true } }, true],
    ['custom', { severity: 'error' }, true],
    ['custom', { severity: 'critical' }, true],
    ['custom', { severity: 'warn' }, false],
    ['session_ended', { payload: { reason: 'error' } }, false],
  ])('of %s with %j: %p', (type, fields, isError) => {
    expect(translate(type, fields).facts.isError).toBe(isError);
  });

  it.each([
    ['completed', 'succeeded'],
    ['error', 'failed'],
    ['timeout', 'timed_out'],
    ['manual', 'cancelled'],
  ])('include a session that ended with %s as %s', (reason, outcome) => {
    expect(translate('session_ended', { payload: { reason } }).facts.outcome).toBe(outcome);
  });
});

describe('cost', () => {
  const response = (fields: Record<string, unknown>) => ({ payload: { ...PAYLOADS.llm_response, ...fields } });

  it('is the one the client reported', () => {
    expect(translate('llm_response').facts.usage).toMatchObject({ costUsd: 0.02, costSource: 'reported' });
  });

  it('does not believe a zero beside tokens of a model that is not known to be free', () => {
    const event = response({ costUsd: 0, model: 'mine' });
    expect(translate('llm_response', event).facts.usage).toMatchObject({ costSource: 'unpriced' });
  });

  it('says that counts were computed if they are not those of the client', () => {
    const usage = { inputTokens: 10, outputTokens: 5, cacheReadTokens: 900 };
    expect(translate('llm_response', response({ usage })).facts.usage).toMatchObject({
      ...{ inputTokens: 910, countsFrom: 'computed' },
    });
  });

  it('does not believe a zero beside tokens of a model that has a price', () => {
    const event = response({ costUsd: 0 });
    expect(translate('llm_response', event).facts.usage).toMatchObject({ costUsd: 0.015, costSource: 'priced' });
  });

  it('is priced if the LangChain plugin reports zero', () => {
    const event = { ...response({ costUsd: 0 }), metadata: { source: 'langchain' } };
    expect(translate('llm_response', event).facts.usage).toMatchObject({ costUsd: 0.015, costSource: 'priced' });
  });

  it('is unpriced rather than zero for an unknown model', () => {
    const { usage } = translate('llm_response', response({ costUsd: undefined, model: 'mine' })).facts;
    expect(usage).toMatchObject({ costSource: 'unpriced', totalTokens: 15 });
    expect(usage).not.toHaveProperty('costUsd');
  });

  it('is unpriced rather than zero for a response without tokens', () => {
    const { usage } = translate('llm_response', response({ costUsd: undefined, usage: {} })).facts;
    expect(usage).toEqual({ costSource: 'unpriced', unpricedReason: 'no_tokens', latencyMs: 800 });
  });

  it('is never written into the payload', () => {
    expect(translate('llm_response', response({ costUsd: undefined })).facts.payload.costUsd).toBeUndefined();
  });

  it('is priced from tokens, and rejected without amount and tokens', () => {
    const tokens = { model: 'gpt-4o', inputTokens: 500, outputTokens: 500 };
    expect(translate('cost_tracked', { payload: tokens }).facts.usage).toMatchObject({ costUsd: 1, totalTokens: 1000 });
    expect(refusal(raw('cost_tracked', { payload: { model: 'gpt-4o' } }))).toEqual([
      { path: 'payload.costUsd', message: 'is required where no token counts are given' },
    ]);
  });

  it.each([-1, 1e9, '3', Number.NaN])('may not be %p', (costUsd) => {
    expect(refusal(raw('llm_response', response({ costUsd }))).map(({ path }) => path)).toEqual(['payload.costUsd']);
  });

  it('and usage are kept for an event with a very large payload', () => {
    const { facts } = translate('llm_response', response({ completion: 'x'.repeat(200_000) }));
    expect(facts.usage).toMatchObject({ costUsd: 0.02, totalTokens: 15 });
    expect(facts.payload.completion).toHaveLength(200_000);
  });
});
