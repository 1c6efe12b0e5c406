// Records a run, replays it without its model and tools, and finds the first difference of another run.
//
//   node libs/agent/examples/replay.mjs
import { Agent, PermissionRule, tool } from '@agentlens/agent';
import { Cassette } from '@agentlens/agent/replay';
import { ScriptedModel } from '@agentlens/agent/testing';

let throws = 0;
const dice = tool({
  name: 'dice',
  description: 'Throws a die.',
  category: 'read',
  input: { type: 'object' },
  execute: () => {
    throws += 1;
    return 1 + Math.floor(Math.random() * 6);
  },
});
const agentFor = (taskPrompt, steps) =>
  new Agent({
    id: 'gambler',
    taskPrompt,
    tools: [dice],
    permissions: [PermissionRule.allowTool('dice')],
    modelProviders: [new ScriptedModel(steps)],
  });
const steps = [
  {
    toolCalls: [
      { name: 'dice', input: {} },
      { name: 'dice', input: {} },
    ],
  },
  (messages) => ({
    text: `I threw ${messages
      .at(-1)
      .content.map(({ content }) => content)
      .join(' and ')}.`,
  }),
];

const cassette = new Cassette();
const recorded = await agentFor('Throw two dice.', steps).run({ record: cassette, events: 'inline' });
console.log(recorded.result);

const kept = JSON.parse(JSON.stringify(cassette));
const replayed = await agentFor('Throw two dice.', []).run({ replay: Cassette.from(kept), events: 'inline' });
console.log(`replayed: ${String(replayed.result)}`);
console.log(`equal: ${JSON.stringify(replayed) === JSON.stringify(recorded)}, throws: ${throws}`);

const other = await agentFor('Throw three dice.', []).run({ replay: Cassette.from(kept) });
console.log(other.error.message);
