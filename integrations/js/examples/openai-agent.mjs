// A whole agent with OpenAI's client: a guarded tool, a human's approval, the kill switch, the breaker.
//   npm install openai http://127.0.0.1:3400/packages/sdk-0.2.0.tgz          (served by the platform)
//   AGENTLENS_URL=http://127.0.0.1:3400 AGENTLENS_API_KEY=… OPENAI_API_KEY=… node openai-agent.mjs "Refund 20 EUR."
import { AgentLens, defineTool, isAgentStopped, toolInfo, withRun, wrapTool } from '@agentlens/sdk';
import OpenAI from 'openai';

const { AGENTLENS_API_KEY: apiKey = '', AGENTLENS_URL: baseUrl = 'http://127.0.0.1:3400' } = process.env;
const model = process.env.OPENAI_MODEL ?? 'gpt-4.1-mini';
const openai = new OpenAI();

const refund = defineTool({
  name: 'refund',
  description: 'Pays money back to the customer',
  tags: ['money'],
  execute: ({ eur }) => `refunded ${eur} EUR`,
});
const guarded = new Map([[refund.name, wrapTool(refund, { waitForApproval: true })]]);
const parameters = { type: 'object', properties: { eur: { type: 'number' } }, required: ['eur'] };
const tools = [{ type: 'function', function: { name: refund.name, description: refund.description, parameters } }];

const agent = { slug: 'refund-bot' };
const lens = await AgentLens.init({ apiKey, baseUrl, agent, tools: [toolInfo(refund)], breaker: { maxIterations: 5 } });
const run = await lens.startRun({ model: { name: model, provider: 'openai' } });
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
    const message = await ask(messages);
    messages.push(message);
    if (!message.tool_calls?.length) return message.content;
    for (const { id, function: call } of message.tool_calls) {
      const result = await guarded.get(call.name)?.(JSON.parse(call.arguments), { callId: id });
      messages.push({ role: 'tool', tool_call_id: id, content: JSON.stringify(result ?? 'no such tool') });
    }
  }
}

async function ask(messages) {
  const allowed = await run.beforeLlm(messages); // throws AgentStopped: killed, paused, breaker open, budget spent
  try {
    const answer = await openai.chat.completions.create({ model, messages: allowed, tools }, { signal: run.signal });
    await run.afterLlm(answer);
    return answer.choices[0].message;
  } catch (error) {
    await run.afterLlm({ content: [], model, error });
    throw error;
  }
}
