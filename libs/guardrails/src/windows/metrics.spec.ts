import { anEvent } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import { quantityOf } from './metrics.ts';

describe('quantityOf', () => {
  it.each([
    ['event_count', anEvent(), 1],
    ['error_count', anEvent({ isError: true }), 1],
    ['error_count', anEvent(), null],
    ['session_count', anEvent({ kind: 'run.started' }), 1],
    ['tool_call_count', anEvent({ kind: 'tool.called' }), 1],
    ['tool_call_count', anEvent({ kind: 'tool.completed' }), null],
    ['tool_call_count', anEvent({ kind: 'tool.completed', dialect: 'handlebar' }), 1],
    ['tool_call_count', anEvent({ kind: 'tool.called', dialect: 'handlebar' }), null],
    ['tool_call_count', anEvent({ kind: 'tool.completed', dialect: 'otlp' }), 1],
    ['llm_call_count', anEvent({ kind: 'llm.called' }), 1],
    ['llm_call_count', anEvent({ kind: 'llm.completed', dialect: 'handlebar' }), 1],
    ['input_tokens', anEvent({ usage: { inputTokens: 3 } }), 3],
    ['output_tokens', anEvent({ usage: { outputTokens: 0 } }), 0],
    ['total_tokens', anEvent({ usage: { totalTokens: 9, inputTokens: 1 } }), 9],
    ['total_tokens', anEvent({ usage: { inputTokens: 1, outputTokens: 2 } }), 3],
    ['total_tokens', anEvent({ usage: {} }), null],
    ['cost_usd', anEvent({ usage: { costUsd: 0.5 } }), 0.5],
    ['cost_usd', anEvent(), null],
    ['latency_ms', anEvent({ usage: { latencyMs: 12 } }), 12],
    ['no_such_metric', anEvent(), null],
  ])('%s', (metric, event, value) => expect(quantityOf(metric, event)).toBe(value));

  it('prefers metadata over the payload', () => {
    const event = anEvent({ metadata: { a: { b: 1 } }, payload: { a: { b: 2 }, c: 3 } });
    expect([quantityOf('path:a.b', event), quantityOf('path:c', event)]).toEqual([1, 3]);
  });

  it('finds a key that contains dots', () => {
    expect(quantityOf('path:gen_ai.usage.cost', anEvent({ metadata: { 'gen_ai.usage.cost': 4 } }))).toBe(4);
  });

  it.each(['one', '1,000', '', true, null, {}, Number.NaN])('does not read %p as a number', (value) => {
    expect(quantityOf('path:a', anEvent({ payload: { a: value } }))).toBeNull();
  });

  it.each(['path:constructor.length', 'path:__proto__', 'path:a.length'])('reads own keys only: %s', (metric) => {
    expect(quantityOf(metric, anEvent({ payload: { a: 'text' } }))).toBeNull();
  });
});
