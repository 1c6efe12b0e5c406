// A whole agent with Anthropic's client: a guarded tool, a human's approval, the kill switch, the breaker.
//   npm install @anthropic-ai/sdk http://127.0.0.1:3400/packages/sdk-0.2.0.tgz          (served by the platform)
//   AGENTLENS_URL=http://127.0.0.1:3400 AGENTLENS_API_KEY=… ANTHROPIC_API_KEY=… node anthropic-agent.mjs "Refund 20 EUR."

import { AgentLens, defineTool, isAgentStopped, toolInfo, withRun, wrapTool } from '@agentlens/sdk';
import Anthropic from '@anthropic-ai/sdk';

const { AGENTLENS_API_KEY: apiKey = '', AGENTLENS_URL: baseUrl = 'http://127.0.0.1:3400' } = process.env;
const model = process.env.ANTHROPIC_MODEL ?? 'claude-haiku-4-5';
const anthropic = new Anthropic();

const refund = defineTool({
  name: 'refund',
  description: 'Pays money back to the customer',
  tags: ['money'],
  execute: ({ eur }) => `refunded ${eur} EUR`,
});
const guarded = new Map([[refund.name, wrapTool(refund, { waitForApproval: true })]]);
const input_schema = { type: 'object', properties: { eur: { type: 'number' } }, required: ['eur'] };
const tools = [{ name: refund.name, description: refund.description, input_schema }];

const agent = { slug: 'refund-bot' };
const lens = await AgentLens.init({ apiKey, baseUrl, agent, tools: [toolInfo(refund)], breaker: { maxIterations: 5 } });
const run = await lens.startRun({ model: { name: model, provider: 'anthropic' } });
try {
  console.log(await withRun(run, () => work(process.argv[2] ?? 'Refund 20 EUR.')));
  await run.end('success');
} catch (error) {
  const stopped = isAgentStopped(error) || run.stopped !== undefined;
  await run.end(stopped ? 'interrupted' : 'error');
  if (!stopped) throw error;
  console.log(`stopped: ${run.stopped?.message ?? error.message}`);
} finally {
  await lens.shutdown();
}

async function work(task) {
  const messages = [{ role: 'user', content: task }];
  for (;;) {
    const { content } = await ask(messages);
    messages.push({ role: 'assistant', content });
    const calls = content.filter(({ type }) => type === 'tool_use');
    if (calls.length === 0) return content.map(({ text = '' }) => text).join('');
    const results = [];
    for (const { id, name, input } of calls) {
      const result = (await guarded.get(name)?.(input, { callId: id })) ?? 'no such tool';
      results.push({ type: 'tool_result', tool_use_id: id, content: JSON.stringify(result) });
    }
    messages.push({ role: 'user', content: results });
  }
}

async function ask(messages) {
  const allowed = await run.beforeLlm(messages); // throws AgentStopped: killed, paused, breaker open, budget spent
  const request = { model, messages: allowed, tools, max_tokens: 1_000 };
  try {
    const answer = await anthropic.messages.create(request, { signal: run.signal });
    await run.afterLlm(answer);
    return answer;
  } catch (error) {
    await run.afterLlm({ content: [], model, error });
    throw error;
  }
}
