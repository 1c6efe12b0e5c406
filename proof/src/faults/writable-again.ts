import { jetstream } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { until } from '../bench/poll.ts';

const DEADLINE_MS = 60_000;
const ASK_EVERY_MS = 200;
const ANSWER_MS = 400;

/**
 * Milliseconds from the start of `lose` until one of these servers stores a message on `subject`, for bare clients that
 * wait at each of them. This is the cluster's share of a gap. An elected leader is not enough, because it may still be
 * catching up or be replaced soon.
 */
export async function writableAgain(
  servers: readonly string[],
  subject: string,
  lose: () => Promise<void>,
): Promise<number> {
  const clients = await Promise.all(
    servers.map((server) => connect({ servers: server, maxReconnectAttempts: -1, reconnectTimeWait: ASK_EVERY_MS })),
  );
  try {
    const since = performance.now();
    await lose();
    await until('the cluster to store a message', () => kept(clients, subject), DEADLINE_MS);
    return performance.now() - since;
  } finally {
    await Promise.all(clients.map((client) => client.close()));
  }
}

/** Returns true as soon as one of them was acknowledged. Retries on silent connections. */
async function kept(clients: readonly NatsConnection[], subject: string): Promise<true | undefined> {
  const asked = performance.now();
  const answers = clients.map(async (client) => {
    await jetstream(client).publish(subject, '', { timeout: ANSWER_MS });
    return true as const;
  });
  const answer = await Promise.any(answers).catch(() => undefined);
  if (answer) return answer;
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, asked + ASK_EVERY_MS - performance.now())));
  return undefined;
}
