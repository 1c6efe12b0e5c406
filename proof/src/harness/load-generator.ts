import { derivedId } from '@agentlens/contracts';
import { Pool } from 'undici';
import type { AcceptedOfAgent, FromGenerator, LoadOrder, LoadReport, ToGenerator } from './generate-load.ts';
import { seededRandom } from './seeded-random.ts';
import { markerEvent, modelEvent, toolEvent } from './sent-events.ts';
import { Latencies } from './statistics.ts';
import { monotonicMs } from './time.ts';

// A separate process, so that generating load does not count as serving it. Accepts one order over IPC.

const RETRY_BASE_MS = 50;
const RETRY_CAP_MS = 1_000;
const REQUEST_DEADLINE_MS = 10_000;

interface Body {
  readonly agent: string;
  readonly bytes: Buffer;
  readonly ids: readonly string[];
  readonly events: number;
  readonly errors: number;
  readonly marker: number | undefined;
}

let stopped = false;

process.on('message', (message: ToGenerator) => {
  if (message.kind === 'stop') {
    stopped = true;
    return;
  }
  run(message.order).then(
    (report) => send({ kind: 'report', report }),
    (error: Error) => send({ kind: 'failed', message: error.stack ?? error.message }),
  );
});

// The parent process is gone.
process.on('disconnect', () => {
  stopped = true;
});

function send(message: FromGenerator): void {
  process.send?.(message, undefined, undefined, () => process.disconnect());
}

/** Opens connections in advance, because agents keep theirs and connection setup is not measured. */
async function connected(pool: Pool, connections: number): Promise<void> {
  const look = async () => {
    const answer = await pool.request({ method: 'GET', path: '/healthz' });
    await answer.body.dump();
  };
  // The load itself reveals an unreachable server.
  await Promise.allSettled(Array.from({ length: connections }, look));
}

async function run(order: LoadOrder): Promise<LoadReport> {
  const pool = new Pool(order.url, {
    connections: order.concurrency,
    pipelining: 1,
    headersTimeout: REQUEST_DEADLINE_MS,
    bodyTimeout: REQUEST_DEADLINE_MS,
  });
  const random = seededRandom(order.seed);
  const latencies = new Latencies();
  const refused = new Latencies();
  const statuses: Record<string, number> = {};
  const markers: Record<string, number> = {};
  const acceptedIds: string[] = [];
  const acceptedMarkerIds: string[] = [];
  const acceptedMarkersSentAt: Record<string, number> = {};
  const acceptedByAgent: Record<string, AcceptedOfAgent> = {};
  const premade = Array.from({ length: order.premade ?? 0 }, (_, i) => bodyOf({ ...order, markEvery: 0 }, i, random));
  await connected(pool, order.concurrency);
  const startedAt = performance.now();
  const cpuAtStart = process.cpuUsage();
  let serial = 0;
  let requests = 0;
  let acceptedEvents = 0;
  let acceptedErrors = 0;
  let lastAcceptedAt = startedAt;
  let longestStallMs = 0;
  const over = () => stopped || performance.now() - startedAt >= order.durationMs;
  const everyMs = order.eventsPerSecond === undefined ? 0 : (1000 * order.batchSize) / order.eventsPerSecond;

  async function worker(): Promise<void> {
    while (!over()) {
      const mine = serial++;
      if (everyMs > 0) {
        const due = startedAt + mine * everyMs;
        const wait = due - performance.now();
        if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
        if (over()) return;
      }
      const ready = isMarked(order, mine) ? undefined : premade[mine % premade.length];
      await deliver(ready ?? bodyOf(order, mine, random), mine);
    }
  }

  async function deliver(body: Body, mine: number): Promise<void> {
    const key = order.keys[mine % order.keys.length] ?? '';
    let firstSentAt = 0;
    for (let attempt = 0; ; attempt++) {
      const sentAt = performance.now();
      const attemptedAt = monotonicMs();
      if (attempt === 0) firstSentAt = attemptedAt;
      const status = await post(key, body.bytes);
      requests += 1;
      statuses[status] = (statuses[status] ?? 0) + 1;
      const now = performance.now();
      if (status === 201) {
        latencies.record((now - sentAt) * 1000);
        longestStallMs = Math.max(longestStallMs, now - lastAcceptedAt);
        lastAcceptedAt = now;
        acceptedEvents += body.events;
        acceptedErrors += body.errors;
        if (body.marker !== undefined) {
          markers[body.marker] = firstSentAt;
          acceptedMarkersSentAt[body.marker] = attemptedAt;
        }
        if (order.reliable) remember(body);
        return;
      }
      if (status === 429 || status === 503) refused.record((now - sentAt) * 1000);
      // Load without `reliable` is measured, not repeated. A client error would be repeated forever.
      const worthRepeating = status === 0 || status === 429 || status >= 500;
      if (!order.reliable && everyMs === 0 && worthRepeating) await restAfterRefusal();
      if (!order.reliable || !worthRepeating) return;
      const longest = Math.min(RETRY_CAP_MS, RETRY_BASE_MS * 2 ** attempt);
      await new Promise((resolve) => setTimeout(resolve, random() * longest));
    }
  }

  function remember({ agent, ids, marker, events, errors }: Body): void {
    acceptedIds.push(...ids);
    const [first] = ids;
    if (marker !== undefined && first !== undefined) acceptedMarkerIds.push(first);
    const before = acceptedByAgent[agent] ?? { events: 0, errors: 0 };
    acceptedByAgent[agent] = { events: before.events + events, errors: before.errors + errors };
  }

  /** Pauses after a rejection, so that a client that sends as fast as possible honors Retry-After. */
  function restAfterRefusal(): Promise<unknown> {
    return new Promise((resolve) => setTimeout(resolve, RETRY_BASE_MS * (1 + random())));
  }

  async function post(key: string, bytes: Buffer): Promise<number> {
    try {
      const answer = await pool.request({
        method: 'POST',
        path: '/api/events',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
        body: bytes,
      });
      await answer.body.dump();
      return answer.statusCode;
    } catch {
      return 0;
    }
  }

  await Promise.all(Array.from({ length: order.concurrency }, worker));
  longestStallMs = Math.max(longestStallMs, performance.now() - lastAcceptedAt);
  const seconds = (performance.now() - startedAt) / 1000;
  const cpu = process.cpuUsage(cpuAtStart);
  await pool.destroy();
  return {
    seconds,
    requests,
    acceptedEvents,
    statuses,
    latency: latencies.summary(),
    refusedLatency: refused.summary(),
    longestStallMs,
    acceptedErrors,
    markers,
    cpuMicros: cpu.user + cpu.system,
    ...(order.reliable ? { acceptedIds, acceptedMarkerIds, acceptedMarkersSentAt, acceptedByAgent } : {}),
  };
}

/** About 400 bytes per event, like real agents: tool calls and model responses with usage. */
function bodyOf(order: LoadOrder, serial: number, random: () => number): Body {
  const agent = `${order.label}-agent-${serial % order.agents}`;
  const session = `${order.label}-session-${serial % (order.agents * 4)}`;
  const marker = isMarked(order, serial) ? serial : undefined;
  const ids: string[] = [];
  const events: object[] = [];
  let errors = 0;
  for (let i = 0; i < order.batchSize; i++) {
    const isError = random() < order.errorShare;
    if (isError) errors += 1;
    const event: Record<string, unknown> = {
      sessionId: session,
      agentId: agent,
      severity: isError ? 'error' : 'info',
      metadata: { region: 'eu-west-1', release: '2026.11.3', attempt: i },
      ...(marker !== undefined && i === 0
        ? markerEvent(marker)
        : i % 2 === 0
          ? toolEvent(serial, i, random)
          : modelEvent(serial, i, random)),
    };
    if (order.reliable) {
      const id = derivedId(Date.now(), order.label, order.seed, serial, i);
      event.id = id;
      ids.push(id);
    }
    events.push(event);
  }
  const bytes = Buffer.from(JSON.stringify({ events }));
  return { agent, bytes, ids, events: order.batchSize, errors, marker };
}

function isMarked({ markEvery }: LoadOrder, serial: number): boolean {
  return markEvery > 0 && serial % markEvery === 0;
}
