import {
  type AgentEvent,
  agentRegistered,
  EndBody,
  type PriceBook,
  runEnded,
  runStarted,
  StartBody,
  type TranslatedEvent,
  type Translation,
  translateAgentLensEvent,
  translateHandlebarEvent,
} from '@agentlens/contracts';
import { describe, expect, it } from '@jest/globals';
import { ledgerOf } from './ledger.ts';
import { statusOf } from './run.ts';

const NOON = Date.parse('2026-03-01T12:00:00.000Z');
const noPrices: PriceBook = { providerOf: () => undefined, quote: () => ({ unpriced: 'unknown_model' }) };

/** Events as the gateway publishes them, a second apart. */
function eventsOf(...translated: TranslatedEvent[]): AgentEvent[] {
  return translated.map(({ facts }, i) => ({
    ...facts,
    id: `e${i}`,
    occurredAt: new Date(NOON + i * 1_000).toISOString(),
    retryable: true,
    hash: 'h',
  }));
}

function read(translation: Translation): TranslatedEvent {
  if (!translation.ok) throw new Error(JSON.stringify(translation.details));
  return translation.event;
}

const audit = (kind: string, data: object) =>
  read(translateHandlebarEvent({ kind, runId: 'r', data }, 'a', noPrices, NOON));
const session = (eventType: string, payload: object) =>
  read(translateAgentLensEvent({ eventType, sessionId: 'r', agentId: 'a', payload }, noPrices, NOON));

describe('run reported by an agent SDK', () => {
  it('has everything its start and end reported', () => {
    const start = StartBody.parse({
      agentId: 'a',
      sessionId: 's',
      actor: { externalId: 'ann', name: 'Ann', metadata: { tier: 'gold' } },
      model: { name: 'large' },
      tags: { team: 'blue' },
      runTtlMs: 60_000,
      heartbeatEveryMs: 5_000,
      parentRunId: 'parent',
      parentToolUseId: 'call',
    });
    const end = EndBody.parse({ agentId: 'a', status: 'error', result: { n: 1 }, error: { message: 'broken' } });

    const events = eventsOf(
      runStarted('r', start),
      audit('tool.decision', { tool: { name: 'pay' }, verdict: 'BLOCK' }),
      audit('tool.result', { tool: { name: 'search' }, outcome: 'success', durationMs: 12 }),
      audit('tool.result', { tool: { name: 'search' }, outcome: 'error', durationMs: 12 }),
      audit('llm.result', { model: { name: 'large' }, tokens: { in: 10, out: 5, cacheRead: 3 } }),
      runEnded('r', end),
    );
    const run = ledgerOf(events).runs.get('r');

    expect(run).toMatchObject({
      sessionId: 's',
      parent: { value: { runId: 'parent', toolUseId: 'call' } },
      ttlMs: 60_000,
      heartbeatEveryMs: 5_000,
      runTags: { team: 'blue' },
      actor: { value: { externalId: 'ann', name: 'Ann', metadata: { tier: 'gold' } } },
      result: { value: { n: 1 } },
      errorMessage: { value: 'broken' },
      totals: { toolCalls: 2, toolErrors: 1, steps: 2, llmCalls: 1, inputTokens: 10, cacheReadTokens: 3 },
    });
    expect(run && statusOf(run)).toBe('failed');
  });

  it('has the registration of its agent', () => {
    const tools = [{ name: 'pay', tags: ['money'] }];
    const agent = ledgerOf(eventsOf(agentRegistered('a', { slug: 'support', name: 'Support', tools }))).agents.get('a');

    expect(agent).toMatchObject({ name: { value: 'Support' }, registration: { slug: 'support' }, runs: 0 });
    expect(agent?.registration.tools.get('pay')?.value).toEqual(tools[0]);
  });
});

describe('session reported in the AgentLens dialect', () => {
  it('has the same data if its payloads contain it', () => {
    const events = eventsOf(
      session('session_started', { agentName: 'Ann', tags: ['x'], actor: { externalId: 'ann' }, runTtlMs: 5_000 }),
      session('tool_call', { toolName: 'search', callId: 'c', arguments: {} }),
      session('tool_response', { toolName: 'search', callId: 'c', durationMs: 5, result: 1 }),
      session('session_ended', { reason: 'completed', summary: 'all done' }),
    );
    const run = ledgerOf(events).runs.get('r');

    expect(run).toMatchObject({
      tags: ['x'],
      runTags: {},
      ttlMs: 5_000,
      actor: { value: { externalId: 'ann' } },
      result: { value: 'all done' },
      totals: { toolCalls: 1, steps: 1 },
    });
    expect(run && statusOf(run)).toBe('succeeded');
  });
});
