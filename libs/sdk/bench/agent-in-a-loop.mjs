// An agent that calls its tool until it is stopped; the parent process signals when a run starts. node
// libs/sdk/bench/agent-in-a-loop.mjs <platform> <API key> <agent slug>
import { setTimeout as after } from 'node:timers/promises';
import { AgentLens, defineTool, isBlockedResult, wrapTool } from '../dist/index.js';

const [baseUrl, apiKey, slug] = process.argv.slice(2);
/** Duration of a tool call, spent waiting. */
const TOOL_MS = 2;
const monotonicMs = () => Number(process.hrtime.bigint()) / 1_000_000;

const client = await AgentLens.init({ apiKey, baseUrl, agent: { slug }, deadlineMs: 5_000 });
while (!client.status.connected || client.status.rulesVersion === null) await after(5);

async function runUntilStopped() {
  const run = await client.startRun();
  let [calls, afterTheStop] = [0, 0];
  const search = wrapTool(
    defineTool({
      name: 'search',
      execute: async () => {
        calls++;
        if (run.signal.aborted) afterTheStop++;
        await after(TOOL_MS);
      },
    }),
    { run },
  );
  await search({});
  process.send({ running: run.id });
  while (!isBlockedResult(await search({})));
  process.send({ stoppedAtMs: monotonicMs(), calls, afterTheStop });
  await run.end('interrupted');
}

process.on('message', () => void runUntilStopped());
process.once('disconnect', () => void client.shutdown());
process.send({ connected: true });
