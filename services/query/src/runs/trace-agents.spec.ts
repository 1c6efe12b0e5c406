import { describe, expect, it } from '@jest/globals';
import { type AgentSpan, type TraceCall, traceAgents } from './trace-agents.ts';

const agent = (name: string, startMs: number, endMs: number, fields: Partial<AgentSpan> = {}): AgentSpan => ({
  spanId: `${name}-${startMs}`,
  parentSpanId: undefined,
  name,
  startMs,
  endMs,
  failed: false,
  ...fields,
});
const call = (atMs: number, fields: Partial<TraceCall> = {}): TraceCall => ({
  parentSpanId: undefined,
  agentName: undefined,
  atMs,
  isModelCall: true,
  isError: false,
  inputTokens: 10,
  outputTokens: 5,
  costUsd: 0.1,
  ...fields,
});
const calls = (spans: readonly AgentSpan[], made: readonly TraceCall[]) =>
  traceAgents(spans, made).map(({ name, depth, llmCalls, toolCalls }) => [name, depth, llmCalls, toolCalls]);

describe('the agents inside a trace', () => {
  it('own the calls that ended while they ran, the innermost agent first', () => {
    const spans = [agent('helper', 20, 40), agent('planner', 0, 100)];
    expect(calls(spans, [call(10), call(30), call(35, { isModelCall: false }), call(90), call(500)])).toEqual([
      ['planner', 0, 2, 0],
      ['helper', 1, 1, 1],
    ]);
  });

  it('own the calls whose parent they are, regardless of when those ended', () => {
    const spans = [agent('planner', 0, 100), agent('helper', 20, 40)];
    expect(calls(spans, [call(30, { parentSpanId: 'planner-0' })])).toEqual([
      ['planner', 0, 1, 0],
      ['helper', 1, 0, 0],
    ]);
  });

  it('that run in parallel are matched by the agent name of a call', () => {
    const spans = [agent('planner', 0, 100), agent('left', 10, 90), agent('right', 11, 91)];
    expect(calls(spans, [call(50, { agentName: 'left' }), call(50, { agentName: 'right' })])).toEqual([
      ['planner', 0, 0, 0],
      ['left', 1, 1, 0],
      ['right', 1, 1, 0],
    ]);
  });

  it('are merged if a framework nests an agent in itself', () => {
    expect(calls([agent('weather', 0, 100), agent('weather', 1, 99)], [call(50)])).toEqual([['weather', 0, 1, 0]]);
  });

  it('sum their spend without drift and report how they ended', () => {
    const [only] = traceAgents([agent('a', 0, 9, { failed: true })], [call(1), call(2), call(3, { isError: true })]);
    expect(only).toMatchObject({ status: 'failed', errors: 1, inputTokens: 30, outputTokens: 15, costUsd: 0.3 });
  });

  it('are empty if no span names an agent', () => {
    expect(traceAgents([], [call(1)])).toEqual([]);
  });
});
