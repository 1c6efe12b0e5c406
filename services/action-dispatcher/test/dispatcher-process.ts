import { Writable } from 'node:stream';
import { openDatabase } from '@agentlens/database';
import { createMemoryBus } from '@agentlens/messaging';
import {
  assemblePlatform,
  createHttpApp,
  createLogger,
  loadConfig,
  type Platform,
  startApp,
} from '@agentlens/platform';
import { createMemoryState } from '@agentlens/state';
import type { KyselyPlugin } from 'kysely';
import { ActionDispatcherModule } from '../src/action-dispatcher.module.ts';
import { CRASH_POINTS, SENDING } from './crash-points.ts';

/** A dispatcher that kills itself, as `kill -9` does, when it reaches a statement for the nth time. */
const [point = '', nth = '0'] = (process.env.DISPATCHER_DIES_AT ?? '').split(':');
const dies = CRASH_POINTS.find(({ name }) => name === point);
let reached = 0;
function reach(): void {
  reached += 1;
  if (reached === Number(nth)) process.kill(process.pid, 'SIGKILL');
}

const dying: KyselyPlugin = {
  transformQuery({ node }) {
    if (dies?.isReached(JSON.stringify(node)) === true) reach();
    return node;
  },
  transformResult: ({ result }) => Promise.resolve(result),
};

const url = process.env.DISPATCHER_DATABASE ?? '';
const database = openDatabase({ url, role: 'action-dispatcher', maxConnections: 4 });
const logger = createLogger({
  name: 'dispatcher',
  level: 'error',
  stream: new Writable({ write: (_c, _e, done) => done() }),
});
const assembled = assemblePlatform({
  config: loadConfig('standalone', { DATABASE_URL: url, AGENTLENS_EGRESS_ALLOW: '127.0.0.1/32' }),
  ...{ bus: createMemoryBus(), logger, databaseUrl: url, state: createMemoryState() },
  secretKeys: [Buffer.alloc(32, 7).toString('base64')],
});
const { egress } = assembled;
const platform: Platform = {
  ...assembled,
  database: () => ({ ...database, db: database.db.withPlugin(dying) }),
  egress: {
    ...egress,
    send: (request) => {
      if (point === SENDING) reach();
      return egress.send(request);
    },
  },
};
// A lease covers the time that a claimed delivery may wait, and its attempt.
const timings = { pollMs: 100, leaseMs: 9_000, deadlineMs: 3_000 };
await startApp(
  await createHttpApp(platform, [ActionDispatcherModule.register(platform, { timings, random: () => 0 })]),
);
