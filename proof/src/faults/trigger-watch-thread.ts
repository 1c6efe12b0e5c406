import { parentPort, workerData } from 'node:worker_threads';
import { guardrailTriggered } from '@agentlens/contracts';
import { connect } from '@nats-io/transport-node';
import { monotonicMs } from '../harness/monotonic-ms.ts';
import type { FromWatch, WatchOrder } from './trigger-watch.ts';

// A thread of its own: the one of the faults also works to see how slow the machine is, receives webhooks and passes on
// what the proxies hold, and what waits for that would be counted as latency of a trigger.

interface Seen {
  readonly agentId: string;
  readonly conditionValue: number;
}

function tell(message: FromWatch): void {
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
    tell({ kind: 'seen', atMs, ...message.json<Seen>() });
  },
});
await connection.flush();
tell({ kind: 'watching' });
