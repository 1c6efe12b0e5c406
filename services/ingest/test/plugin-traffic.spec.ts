import { type AgentEvent, EventBatch } from '@agentlens/contracts';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Gateway, startGateway } from './gateway.ts';
import { LOG_LLM_CALL, PLUGIN_TRAFFIC } from './plugin-traffic.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.close());
beforeEach(() => {
  gateway.batches.length = 0;
});

const everything = Object.values(PLUGIN_TRAFFIC).flat();

async function taken(hook: string): Promise<AgentEvent> {
  const found = everything.find((one) => one.hook === hook);
  expect((await gateway.post({ events: [found?.event] })).status).toBe(201);
  const event = gateway.events()[0];
  if (event === undefined) throw new Error('nothing was published');
  return event;
}

describe('the traffic of the Python plugins', () => {
  it.each(everything)('$hook is accepted with its payload', async ({ event }) => {
    expect((await gateway.post({ events: [event] })).status).toBe(201);
    expect(gateway.events()[0]).toMatchObject({
      payload: event.payload,
      metadata: event.metadata,
      occurredAt: expect.stringMatching(/^2026-03-01T11:59:58\.\d{3}Z$/),
    });
  });

  it('of log_llm_call is accepted as a pair', async () => {
    expect((await gateway.post({ events: LOG_LLM_CALL })).body.ingested).toBe(2);
    expect(gateway.events()[1]?.usage).toMatchObject({ costUsd: 0.000111, costSource: 'reported', totalTokens: 17 });
  });

  it('is accepted in one request as well', async () => {
    const answer = await gateway.post({ events: everything.map(({ event }) => event) });
    expect(answer.body.ingested).toBe(everything.length);
    for (const batch of gateway.batches) expect(EventBatch.safeParse(batch).error).toBeUndefined();
  });

  it('ends the sessions of CrewAI and AutoGen', async () => {
    expect(await taken('crewai on_crew_end')).toMatchObject({ kind: 'run.ended', outcome: 'succeeded' });
  });

  it('keeps the tags of the session', async () => {
    expect((await taken('autogen on_conversation_start')).tags).toEqual(['autogen:conversation']);
  });

  it('prices the flat answer of AutoGen', async () => {
    expect(await taken('autogen on_llm_response')).toMatchObject({
      provider: 'openai',
      payload: { finishReason: 'unknown', latencyMs: 950.12, usage: { totalTokens: 1500 } },
      usage: { costUsd: 0.0075, costSource: 'priced', latencyMs: 950.12, totalTokens: 1500 },
    });
  });

  it('marks an answer of an unknown model as unpriced', async () => {
    expect(await taken('autogen on_llm_response with defaults')).toMatchObject({ usage: { costSource: 'unpriced' } });
  });

  it('prices what LangChain reports as zero', async () => {
    const events = PLUGIN_TRAFFIC.LANGCHAIN.map(({ event }) => event);
    await gateway.post({ events });
    const answer = gateway.events().find(({ kind }) => kind === 'llm.completed');
    expect(answer?.usage).toMatchObject({ costUsd: 0.0075, costSource: 'priced' });
  });

  it('counts a failed function of Semantic Kernel once as an error', async () => {
    expect(await taken('semantic_kernel filter exception')).toMatchObject({ kind: 'tool.completed', isError: true });
  });

  it('reads a warning of AutoGen as a warning', async () => {
    expect(await taken('autogen on_code_result')).toMatchObject({ severity: 'warn', isError: false });
  });
});
