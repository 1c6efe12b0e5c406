// One agent delegates to others: one that it waits for, one in the background. Their tokens count for the parent.
//
//   node libs/agent/examples/sub-agents.mjs
import { Agent, AgentRuntime, AgentSession, Message } from '@agentlens/agent';
import { ScriptedModel } from '@agentlens/agent/testing';

const usage = { inputTokens: 100, outputTokens: 20 };
const runtime = new AgentRuntime();
const researcher = new Agent({
  id: 'researcher',
  taskPrompt: 'You find facts.',
  runtime,
  modelProviders: [new ScriptedModel([{ text: 'Water boils at 100 °C.', usage }])],
});
const writer = new Agent({
  id: 'writer',
  taskPrompt: 'Write one sentence about boiling water.',
  runtime,
  subAgents: { research: researcher },
  modelProviders: [
    new ScriptedModel([
      { toolCalls: [{ name: 'research', input: { task: 'At how many degrees does water boil?' } }], usage },
      { text: 'At 100 °C water turns to steam.', usage },
    ]),
  ],
});
const result = await writer.run();
console.log(result.result);
console.log(`tokens ${result.tokenUsage.total}, of which sub-agents ${result.tokenUsage.children}`);

// The same with a hand-written loop and an independent child.
const watcher = new Agent({
  id: 'watcher',
  taskPrompt: 'You watch.',
  runtime,
  modelProviders: [new ScriptedModel([{ text: 'Nothing happened.', usage }])],
});
const handle = runtime.spawn(new AgentSession('lead'), async (internals) => {
  const input = await internals.receive();
  if (input.type !== 'user-input') return;
  const child = internals.spawnChild('watcher', watcher.asFunction(), { input: 'Watch the kettle.', background: true });
  internals.session.addMessage(Message.user(input.content));
  for await (const event of child.subscribe({ from: 'start', only: ['done'] })) if (event.type === 'done') break;
  internals.send({ type: 'done', result: child.getHistory().at(-1).content[0].text });
});
const events = handle.stream();
handle.sendInput('Begin.');
for await (const chunk of events) {
  if (chunk.type === 'subagent-spawned') console.log(`begun: ${chunk.agentType}`);
  if (chunk.type === 'done') console.log('the watcher says:', chunk.result);
}
await runtime.shutdownAll();
