import { setTimeout as pause } from 'node:timers/promises';
import { STREAMS } from '@agentlens/contracts';
import { request } from 'undici';
import type { ServiceProcess } from '../harness/service-process.ts';
import { GreatestDepths, type QueueDepth, queuesIn } from './queue-depths.ts';
import type { Site } from './site.ts';

const EVERY_MS = 200;
/** A scrape asks NATS how far behind consumers are, which may be late. */
const DEADLINE_MS = 15_000;
const WATCHED_STREAMS = [STREAMS.AGENT_EVENTS, STREAMS.GUARDRAILS];

/** Looks at the queues of all processes, and at what NATS has handed out, again and again. */
export class QueueWatch {
  readonly #site: Site;
  readonly #depths = new GreatestDepths();
  readonly #over = new AbortController();
  readonly #watching: Promise<unknown>;

  constructor(site: Site) {
    this.#site = site;
    const services = site.stack.services.map((service) =>
      this.#watch(async () => this.#depths.note(service.name, await scraped(service))),
    );
    const broker = this.#watch(async () => this.#depths.note('nats', await this.#handedOut()));
    this.#watching = Promise.all([...services, broker]);
    // Told when the watch is closed; until then a look that failed is nobody's unhandled rejection.
    this.#watching.catch(() => undefined);
  }

  /** Looks no more. */
  stop(): void {
    this.#over.abort();
  }

  /** Looks no more; answers the greatest depths. @throws what a look failed with */
  async close(): Promise<readonly QueueDepth[]> {
    this.stop();
    await this.#watching;
    return this.#depths.all;
  }

  async #watch(look: () => Promise<void>): Promise<void> {
    while (!this.#over.signal.aborted) {
      await look();
      await pause(EVERY_MS, undefined, { signal: this.#over.signal }).catch(() => undefined);
    }
  }

  /** Messages of each durable consumer that are handed out and not acknowledged, beside how many may be. */
  async #handedOut(): Promise<QueueDepth[]> {
    const depths: QueueDepth[] = [];
    for (const { name } of WATCHED_STREAMS) {
      for await (const { config, num_ack_pending } of this.#site.streams.manager.consumers.list(name)) {
        if (config.durable_name === undefined || config.max_ack_pending === undefined) continue;
        depths.push({ queue: config.durable_name, size: num_ack_pending, capacity: config.max_ack_pending });
      }
    }
    return depths;
  }
}

async function scraped({ url }: ServiceProcess): Promise<QueueDepth[]> {
  const answer = await request(`${url}/metrics`, { headersTimeout: DEADLINE_MS, bodyTimeout: DEADLINE_MS });
  return queuesIn(await answer.body.text());
}
