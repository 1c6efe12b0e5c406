import { STREAMS } from '@agentlens/contracts';
import { request } from 'undici';
import type { ServiceProcess } from '../harness/service-process.ts';
import { RepeatedLook } from '../harness/time.ts';
import type { Site } from './site.ts';

/** A queue in a process, as shown on `/metrics`. */
interface QueueDepth {
  readonly queue: string;
  readonly size: number;
  readonly capacity: number;
}

const SAMPLE = /^agentlens_queue_(size|capacity)\{(?:.*,)?queue="([^"]*)".*\} (\S+)/gm;

/** Reads the queues from Prometheus text. */
export function queuesIn(text: string): QueueDepth[] {
  const found = { size: new Map<string, number>(), capacity: new Map<string, number>() };
  for (const [, what, queue = '', value] of text.matchAll(SAMPLE)) {
    found[what === 'size' ? 'size' : 'capacity'].set(queue, Number(value));
  }
  return [...found.capacity].map(([queue, capacity]) => ({ queue, capacity, size: found.size.get(queue) ?? 0 }));
}

/** The maximum observed depth of each queue. */
export class GreatestDepths {
  readonly #depths = new Map<string, QueueDepth>();

  /** @param of process that the queues belong to */
  note(of: string, depths: readonly QueueDepth[]): void {
    for (const depth of depths) {
      const queue = `${of}: ${depth.queue}`;
      if (depth.size >= (this.#depths.get(queue)?.size ?? 0)) this.#depths.set(queue, { ...depth, queue });
    }
  }

  get all(): readonly QueueDepth[] {
    return [...this.#depths.values()];
  }
}

const EVERY_MS = 200;
/** A scrape asks NATS for the lag of consumers, which may be slow. */
const DEADLINE_MS = 15_000;
const WATCHED_STREAMS = [STREAMS.AGENT_EVENTS, STREAMS.GUARDRAILS];

/** Polls the queues of all processes and the unacknowledged messages in NATS. */
export class QueueWatch {
  readonly #site: Site;
  readonly #depths = new GreatestDepths();
  readonly #looks: readonly RepeatedLook[];

  constructor(site: Site) {
    this.#site = site;
    const services = site.stack.services.map((service) => async () => {
      this.#depths.note(service.name, await scraped(service));
    });
    const broker = async () => this.#depths.note('nats', await this.#handedOut());
    this.#looks = [...services, broker].map((look) => new RepeatedLook(look, EVERY_MS));
  }

  /** Stops polling. */
  stop(): void {
    for (const look of this.#looks) look.stop();
  }

  /** Stops polling and returns the maximum depths. @throws the error of a failed poll */
  async close(): Promise<readonly QueueDepth[]> {
    await Promise.all(this.#looks.map((look) => look.close()));
    return this.#depths.all;
  }

  /** Unacknowledged messages of each durable consumer, with their limit. */
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
