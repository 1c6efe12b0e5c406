import { jetstream } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { until } from '../bench/poll.ts';

const DEADLINE_MS = 60_000;
const ASK_EVERY_MS = 200;
const ANSWER_MS = 400;

/**
 * Milliseconds from the beginning of `lose` until the first of these servers keeps a message on `subject`, for bare
 * clients that wait at each of them: what of a gap is the cluster's. That a leader is named is not enough: it may still
 * be catching up, or not be one for long.
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
    await until('the cluster to keep a message', () => kept(clients, subject), DEADLINE_MS);
    return performance.now() - since;
  } finally {
    await Promise.all(clients.map((client) => client.close()));
  }
}

/** True as soon as one of them was acknowledged; every one that is silent is asked again. */
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
