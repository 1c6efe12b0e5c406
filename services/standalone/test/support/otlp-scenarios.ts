import { readFileSync } from 'node:fs';
import { eventually } from '@agentlens/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from './client.ts';
import type { PlatformUnderTest } from './platform-under-test.ts';

const RECORDINGS = new URL('../../../../libs/otlp/src/recordings/', import.meta.url);
/** Each asks for the weather (3 model calls, 2 tool calls, one of which fails), sends a greeting, and is blocked. */
const AGENTS = ['ai-sdk-7', 'openai-agents-openinference', 'pydantic-ai', 'langgraph-openinference'];

interface RecordedRun {
  readonly status: string;
  readonly totals: Readonly<Record<string, number>>;
}

/** A span that has ended, of a trace whose root has not. */
function span(id: string, attributes: Readonly<Record<string, string>>): object {
  const now = Date.now();
  return {
    traceId: '5'.repeat(32),
    spanId: id.repeat(16),
    parentSpanId: '1'.repeat(16),
    name: 'span',
    startTimeUnixNano: `${now - 100}000000`,
    endTimeUnixNano: `${now - 50}000000`,
    attributes: attributesOf(attributes),
  };
}

function requestOf(service: string, spans: readonly object[]): object {
  const resource = { attributes: attributesOf({ 'service.name': service }) };
  return { resourceSpans: [{ resource, scopeSpans: [{ spans }] }] };
}

function attributesOf(attributes: Readonly<Record<string, string>>): object[] {
  return Object.entries(attributes).map(([key, stringValue]) => ({ key, value: { stringValue } }));
}

const firedOn = (agentId: string) => ({ metadata: { agentId } });

/** How instrumented agents appear, in every mode. */
export function describeOtlp(mode: string, start: () => Promise<PlatformUnderTest>): void {
  describe(`instrumented agents, ${mode}`, () => {
    let platform: PlatformUnderTest;
    let tenants = 0;
    beforeAll(async () => {
      platform = await start();
    });
    afterAll(() => platform?.stop());

    const newTenant = async () => {
      const { key } = await platform.keyOf(`otlp-${++tenants}`, 'admin');
      return { key, client: new Client(platform, key) };
    };
    const makeRule = async (client: Client, rule: object) => {
      const before = await platform.ruleCounts();
      const made = await client.post('/api/guardrails', { actionType: 'pause_agent', actionConfig: {}, ...rule });
      expect(made).toMatchObject({ status: 201 });
      await eventually(async () => {
        expect((await platform.ruleCounts()).map((count, i) => count - (before[i] ?? 0))).toEqual(before.map(() => 1));
      });
      return made.body as { id: string };
    };
    const runsOf = async (client: Client, agentId: string) => {
      const { body } = await client.get(`/api/runs?agentId=${agentId}&limit=100`);
      return (body.runs as RecordedRun[]).sort((a, b) => (b.totals.totalTokens ?? 0) - (a.totals.totalTokens ?? 0));
    };
    const sendRecorded = async (key: string, agent: string) => {
      const { requests } = JSON.parse(readFileSync(new URL(`${agent}.json`, RECORDINGS), 'utf8')) as {
        requests: { path: string; contentType: string; protobuf: string }[];
      };
      for (const { path, contentType, protobuf } of requests) {
        const { status } = await fetch(`${platform.addressFor('POST', path)}${path}`, {
          method: 'POST',
          headers: { 'x-api-key': key, 'content-type': contentType },
          body: Buffer.from(protobuf, 'base64'),
        });
        expect(status).toBe(200);
      }
    };
    const triggersOf = async (client: Client, ruleId: string) => {
      const { body } = await client.get(`/api/guardrails/history?ruleId=${ruleId}`);
      return body.triggers as { metadata: { agentId: string } }[];
    };

    it.each(AGENTS)(
      '%s is one run per conversation, with what its model reported, regardless of repetition',
      async (agent) => {
        const { key, client } = await newTenant();
        const expected = [
          {
            status: 'succeeded',
            totals: { llmCalls: 3, toolCalls: 2, toolErrors: 1, inputTokens: 540, outputTokens: 72 },
          },
          { status: 'succeeded', totals: { llmCalls: 1, toolCalls: 0, errors: 0, inputTokens: 40, outputTokens: 10 } },
          { status: 'failed', totals: { llmCalls: 1, toolCalls: 0, inputTokens: 0, unpricedCalls: 1 } },
        ];
        await sendRecorded(key, agent);
        await eventually(async () => expect(await runsOf(client, agent)).toMatchObject(expected));
        const once = await runsOf(client, agent);
        expect(once[0]?.totals.costUsd).toBeGreaterThan(0);

        await sendRecorded(key, agent);
        await sendRecorded(key, 'strands');
        await eventually(async () => expect(await runsOf(client, 'strands')).toHaveLength(3));

        expect((await runsOf(client, agent)).map(({ totals }) => totals)).toEqual(once.map(({ totals }) => totals));
      },
    );

    it('show the agents inside a run in its tree, each with its own calls', async () => {
      const { client } = await newTenant();
      const inside = (id: string, parent: string, fromMs: number, attributes: Readonly<Record<string, string>>) => ({
        ...span(id, attributes),
        parentSpanId: parent.repeat(16),
        startTimeUnixNano: `${Date.now() - fromMs}000000`,
      });
      const agent = (name: string) => ({ 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': name });
      const spans = [
        inside('2', '3', 60, { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'gpt-4o' }),
        inside('3', '4', 200, agent('helper')),
        inside('5', '4', 55, { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'search' }),
        inside('4', '1', 900, agent('planner')),
      ];
      expect((await client.post('/v1/traces', requestOf('team', spans))).status).toBe(200);
      await eventually(async () => {
        const { body } = await client.get(`/api/runs/${'5'.repeat(32)}/tree`);
        expect(body.agents).toMatchObject([
          { name: 'planner', depth: 0, status: 'succeeded', llmCalls: 0, toolCalls: 1 },
          { name: 'helper', depth: 1, parentSpanId: '4'.repeat(16), llmCalls: 1, toolCalls: 0 },
        ]);
      });
    });

    it('trigger rules of cost and of errors like any other agent', async () => {
      const { key, client } = await newTenant();
      const cost = await makeRule(client, {
        name: 'Costs too much',
        conditionType: 'cost_limit',
        conditionConfig: { maxCostUsd: 0.00005, scope: 'session' },
      });
      const errors = await makeRule(client, {
        name: 'Too many errors',
        conditionType: 'error_rate_threshold',
        conditionConfig: { threshold: 50, windowMinutes: 5 },
      });
      await sendRecorded(key, 'pydantic-ai');
      const failing = span('e', { 'gen_ai.operation.name': 'chat', 'error.type': 'timeout' });
      expect((await client.post('/v1/traces', requestOf('failer', [failing]))).status).toBe(200);
      await eventually(async () => expect(await triggersOf(client, cost.id)).toMatchObject([firedOn('pydantic-ai')]));
      await eventually(async () => expect(await triggersOf(client, errors.id)).toMatchObject([firedOn('failer')]));
    });

    it('are stopped in a loop, regardless of the order of their spans', async () => {
      const { client } = await newTenant();
      const loop = await makeRule(client, {
        name: 'Loop',
        conditionType: 'same_call',
        conditionConfig: { times: 3 },
      });
      const spans = ['c', 'a', 'd', 'b'].map((id) =>
        span(id, {
          'gen_ai.operation.name': 'execute_tool',
          'gen_ai.tool.name': 'search',
          // One of them asks for something else.
          'gen_ai.tool.call.arguments': id === 'd' ? '{"q":"other"}' : '{"q":"same","page":1}',
        }),
      );
      for (const one of [...spans.slice(0, 3), ...spans.slice(0, 3)]) {
        expect((await client.post('/v1/traces', requestOf('looper', [one]))).status).toBe(200);
      }
      // Two equal calls and another one, each sent twice, are not a loop; the third equal call makes it one.
      await eventually(async () => expect((await runsOf(client, 'looper'))[0]?.totals.toolCalls).toBe(3));
      expect(await triggersOf(client, loop.id)).toEqual([]);
      await client.post('/v1/traces', requestOf('looper', spans.slice(3)));
      await eventually(async () => expect(await triggersOf(client, loop.id)).toHaveLength(1));
      await eventually(async () => {
        expect((await client.get('/api/agents/looper')).body).toMatchObject({ pausedAt: expect.any(String) });
      });
    });
  });
}
