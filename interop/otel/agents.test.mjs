// Real agents against a real platform, in both of its modes. Each is started as its framework's documentation says, with
// only the two variables of OpenTelemetry; the stored events are compared with what its model reported.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { MODES, startPlatform } from '../platform.mjs';
import { startModelServer } from './model-server.mjs';
import { runAgent } from './run-agent.mjs';

const AGENTS = ['ai-sdk-7', 'openai-agents-openinference', 'langgraph-openinference', 'pydantic-ai'];
const SETTLED_MS = 60_000;

for (const mode of Object.keys(MODES)) {
  void describe(`the platform ${mode}`, () => {
    let platform;
    before(async () => {
      platform = await startPlatform(mode);
    });
    after(() => platform?.stop());

    const ask = async (path, body) => {
      const answer = await fetch(`${platform.url}${path}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers: { authorization: `Bearer ${platform.key}`, 'content-type': 'application/json' },
        body: body === undefined ? undefined : JSON.stringify(body),
      });
      assert.ok(answer.ok, `${path} answered ${answer.status}`);
      return answer.json();
    };

    for (const agent of AGENTS) {
      void it(`sees ${agent}`, async () => {
        const rule = await ask('/api/guardrails', {
          name: `Cost of ${agent}`,
          conditionType: 'cost_limit',
          conditionConfig: { maxCostUsd: 0.00005, scope: 'session' },
          actionType: 'pause_agent',
          actionConfig: {},
          agentId: agent,
        });
        await inForce(ask, rule.id);
        const model = await startModelServer();
        try {
          const headers = `Authorization=Bearer%20${platform.key}`;
          await runAgent(agent, { modelUrl: model.url, endpoint: platform.url, headers });
          await eventually(async () => {
            const { runs } = await ask(`/api/runs?agentId=${agent}`);
            const byTokens = [...runs].sort((a, b) => b.totals.totalTokens - a.totals.totalTokens);
            assert.deepEqual(byTokens.map(summaryOf), expectedOf(model.calls));
          });
          const { triggers } = await eventually(async () => {
            const history = await ask(`/api/guardrails/history?ruleId=${rule.id}`);
            assert.equal(history.triggers.length, 1);
            return history;
          });
          assert.equal(triggers[0].metadata.agentId, agent);
        } finally {
          await model.close();
        }
      });
    }
  });
}

function summaryOf({ status, totals }) {
  const { llmCalls, toolCalls, toolErrors, inputTokens, outputTokens, cacheReadTokens } = totals;
  return { status, llmCalls, toolCalls, toolErrors, inputTokens, outputTokens, cacheReadTokens };
}

/** A question with two tool calls of which one fails, a greeting, and a call that the model refused. */
function expectedOf(calls) {
  const [question, greeting, refused] = [calls.slice(0, 3), calls.slice(3, 4), calls.slice(4)];
  assert.deepEqual(
    refused.map(({ failed }) => failed),
    [true],
  );
  const sum = (some, name) => some.reduce((all, { usage }) => all + (usage?.[name] ?? 0), 0);
  const run = (some, status, toolErrors) => ({
    status,
    llmCalls: some.length,
    toolCalls: some.filter(({ toolCall }) => toolCall !== undefined).length,
    toolErrors,
    inputTokens: sum(some, 'input'),
    outputTokens: sum(some, 'output'),
    cacheReadTokens: sum(some, 'cacheRead'),
  });
  return [run(question, 'succeeded', 1), run(greeting, 'succeeded', 0), run(refused, 'failed', 0)];
}

/** A new rule reaches every evaluator within a second; its status says when it first was asked. */
async function inForce(ask, ruleId) {
  await eventually(async () => {
    const event = { sessionId: 'warm-up', agentId: 'warm-up', eventType: 'custom', payload: { type: 'x', data: {} } };
    await ask('/api/events', { events: [event] });
    await ask(`/api/guardrails/${ruleId}/status`);
  });
  await delay(2_000);
}

async function eventually(look) {
  const until = Date.now() + SETTLED_MS;
  for (;;) {
    try {
      return await look();
    } catch (error) {
      if (Date.now() > until) throw error;
      await delay(250);
    }
  }
}
