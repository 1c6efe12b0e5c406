import { once } from 'node:events';
import { parentPort, workerData } from 'node:worker_threads';
import { openDatabase } from '@agentlens/database';
import { executeBacktest } from './execute-backtest.ts';
import type { FromThread, ThreadOrder } from './in-thread.ts';

const { databaseUrl, job } = workerData as ThreadOrder;
const port = parentPort;
if (port === null) throw new Error('this module runs as a thread');
const send = (message: FromThread) => port.postMessage(message);

const database = openDatabase({ url: databaseUrl, role: 'backtester', maxConnections: 2 });
try {
  const proceed = async (progress: Extract<FromThread, { progress: unknown }>['progress']) => {
    const answered = once(port, 'message');
    send({ progress });
    const [goesOn] = (await answered) as [boolean];
    return goesOn;
  };
  send({ done: await executeBacktest(database, job, { proceed }) });
} catch (error) {
  send({ failed: error instanceof Error ? error.message : String(error) });
} finally {
  await database.close();
}
