import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { connect } from '@nats-io/transport-node';
import type { Bench, Scenario } from '../scenario.ts';
import { atTheEdgeOfABudget } from './decisions/budget-edge.ts';
import { inFlight } from './decisions/in-flight.ts';
import { inTheAgent } from './decisions/in-the-agent.ts';
import { killed } from './decisions/killed.ts';
import { neighbours } from './decisions/neighbours.ts';
import { withSchemaLock } from './decisions/one-at-a-time.ts';
import { EMPTY_SUBJECT } from './decisions/ways.ts';

/** What asking costs an agent and the platform, and whether a stop really stops. */
export const decisions: Scenario = {
  name: 'decisions',
  title:
    'hooks, local and remote decisions beside an empty handler and a dear neighbour, a kill that arrives, 500 callers at a budget',
  smoke: false,
  async run(bench: Bench) {
    await inTheAgent(bench);
    const stage = await bench.stage('distributed');
    const { natsUrl } = stage.stack;
    if (natsUrl === undefined) throw new Error('the distributed shape has a NATS server');
    const connection = await connect({ servers: natsUrl });
    const empty = fork(fileURLToPath(new URL('../empty-handler.ts', import.meta.url)), [natsUrl, EMPTY_SUBJECT]);
    try {
      const [port] = (await once(empty, 'message')) as [number];
      const endpoints = { connection, emptyUrl: `http://127.0.0.1:${port}` };
      await withSchemaLock(bench, stage, endpoints);
      await inFlight(bench, stage, endpoints);
      await neighbours(bench, stage);
      await killed(bench, stage);
      await atTheEdgeOfABudget(bench, stage);
    } finally {
      await stopped(empty);
      await connection.close();
    }
    await stage.setRules([]);
  },
};

async function stopped(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const exit = once(child, 'exit');
  child.disconnect();
  await exit;
}
