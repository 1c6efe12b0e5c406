import { parentPort, workerData } from 'node:worker_threads';
import { guardrailTriggered } from '@agentlens/contracts';
import { connect } from '@nats-io/transport-node';
import { monotonicMs } from '../harness/time.ts';
import type { FromWatch, WatchOrder } from './trigger-watch.ts';

// A separate thread, because the main thread also measures the slowness of the machine, receives webhooks and forwards
// data in the proxies. Waiting for that would count as latency of a trigger.

interface Seen {
  readonly agentId: string;
  readonly conditionValue: number;
}

function report(message: FromWatch): void {
  parentPort?.postMessage(message);
}

const { servers } = workerData as WatchOrder;
const silence = { pingInterval: 1_000, maxPingOut: 2 };
const lasting = { maxReconnectAttempts: -1, reconnectTimeWait: 100 };
const connection = await connect({ servers: [...servers], ...lasting, ...silence });
connection.subscribe(guardrailTriggered.pattern(), {
  callback: (error, message) => {
    if (error !== null) return;
    const atMs = monotonicMs();
    report({ kind: 'seen', atMs, ...message.json<Seen>() });
  },
});
await connection.flush();
report({ kind: 'watching' });
