import './require-node.mjs';
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from './demo/client.mjs';
import { ResearchAgent } from './demo/research-agent.mjs';
import { actionDone, chapter, dim, eventSeen, ruleFires, say, webhookGot } from './demo/screen.mjs';
import { startWebhookReceiver } from './demo/webhook-receiver.mjs';

// A scripted agent goes wrong against a running platform: what happens is shown as the platform reports it.

const SETTLE_MS = 10_000;
const agentId = `demo-agent-${randomUUID().slice(0, 6)}`;
const cleanUps = [];

process.once('SIGINT', () => void leave(130));

let code = 0;
try {
  await play();
} catch (error) {
  console.error(`\n${error.message}`);
  code = 1;
}
await leave(code);

/** Takes back what the demo made, also when it is interrupted. */
async function leave(exitCode) {
  for (const cleanUp of cleanUps.splice(0).reverse()) {
    await Promise.resolve()
      .then(cleanUp)
      .catch(() => {});
  }
  process.exit(exitCode);
}

async function play() {
  const client = await Client.connect();
  chapter(`1. Two rules for the agent "${agentId}"`);
  const pause = await makeRule(client, {
    name: 'A third of its calls fails',
    conditionType: 'error_rate_threshold',
    conditionConfig: { threshold: 33, windowMinutes: 5, of: 'calls', minEvents: 10 },
    actionType: 'pause_agent',
    actionConfig: { message: 'A third of its calls fails' },
  });
  const rules = [pause, await makeSpendingRule(client)];

  chapter('2. The agent runs; everything below is the live stream of the platform');
  const fired = await watch(client, rules);
  const agent = new ResearchAgent(client, agentId);
  const run = await agent.run();
  if (!run.paused) throw new Error('The agent was never paused: look at the log of the platform.');

  chapter('3. What the platform keeps of it');
  const history = await settledHistory(client, rules, fired);
  for (const { ruleName, actionType, actionResult } of history)
    actionDone(`${ruleName}: ${actionType} ${actionResult}`);
  const { totalCostUsd, eventCount, errorCount } = await client.must('GET', `/api/sessions/${agent.sessionId}`);
  say(
    `        The run: ${eventCount} events, ${errorCount} errors, $${totalCostUsd.toFixed(2)}. Stopped after ${run.tries} of 12 tries.`,
  );

  chapter('Look for yourself');
  for (const path of [
    `/api/sessions/${agent.sessionId}/timeline`,
    `/api/agents/${agentId}`,
    `/api/guardrails/history?agentId=${agentId}`,
  ]) {
    say(`  curl -sS -H "Authorization: Bearer ${client.keyAsTyped}" '${client.address}${path}'`);
  }
  say(dim('\nThe demo removes its rules and resumes its agent; events and history stay.'));
}

async function makeRule(client, draft) {
  const rule = await client.must('POST', '/api/guardrails', { ...draft, agentId });
  cleanUps.push(() => client.must('DELETE', `/api/guardrails/${rule.id}`));
  say(`  ${rule.name}  ->  ${rule.actionType}`);
  return rule;
}

/** A webhook to this machine, where the platform's operator allows that; else the agent gets a cheaper model. */
async function makeSpendingRule(client) {
  const receiver = await startWebhookReceiver(({ genuine, id, body }) =>
    webhookGot(`${genuine ? 'signature fine' : 'NOT SIGNED BY US'}, id ${id}: ${body.message ?? body.guardrailName}`),
  );
  cleanUps.push(receiver.stop);
  const draft = {
    name: 'It spends more than $0.15 in one run',
    conditionType: 'cost_limit',
    conditionConfig: { maxCostUsd: 0.15, scope: 'session' },
    actionType: 'notify_webhook',
    actionConfig: { url: receiver.url, secret: receiver.secret },
  };
  try {
    return await makeRule(client, draft);
  } catch (error) {
    if (!/answered 4(00|22)/.test(error.message)) throw error;
    const rule = await makeRule(client, {
      ...draft,
      actionType: 'downgrade_model',
      actionConfig: { targetModel: 'gpt-4o-mini', message: 'It spends too much' },
    });
    say(
      dim(
        '  (Addresses of this machine are refused, as they should be. To see a webhook instead, start the platform on',
      ),
    );
    say(dim('   this machine with AGENTLENS_EGRESS_ALLOW=127.0.0.1/32 in its environment.)'));
    return rule;
  }
}

/** Shows the agent's events and triggers as they are streamed. @returns the ids of the rules that fired, filled live */
async function watch(client, rules) {
  const fired = new Set();
  const leaving = new AbortController();
  const { ended } = await client.stream(`/api/stream?agentId=${agentId}`, leaving.signal, ({ event, data }) => {
    if (event === 'event') eventSeen(data);
    if (event !== 'alert' || !rules.some((rule) => rule.id === data.ruleId)) return;
    fired.add(data.ruleId);
    ruleFires(`"${data.name}" fires: ${data.message}`);
  });
  cleanUps.push(
    () => ended,
    () => leaving.abort(),
    () => client.must('PUT', `/api/agents/${agentId}/unpause`, { clearModelOverride: true }),
  );
  return fired;
}

/** The agent's history once every trigger's action is done. */
async function settledHistory(client, rules, fired) {
  const deadline = performance.now() + SETTLE_MS;
  for (;;) {
    const { triggers } = await client.must('GET', `/api/guardrails/history?agentId=${agentId}`);
    const open = triggers.filter(({ actionResult }) => actionResult === 'pending' || actionResult === 'retrying');
    if (triggers.length >= Math.max(fired.size, rules.length) && open.length === 0) return triggers;
    if (performance.now() > deadline) return triggers;
    await delay(100);
  }
}
