import type { Topic } from '@agentlens/contracts';
import { BackgroundWork, type EventBus, type Subscription } from '@agentlens/messaging';
import type { Platform } from '../platform.ts';

const POLL_MS = 10_000;
/** Overlap of polls, because clocks of evaluators differ and a transaction commits later than the time it writes. */
const OVERLAP_MS = 60_000;

/** Reads one kind of setting from its table. */
export interface SettingsReader<T> {
  all(): Promise<ReadonlyMap<string, T>>;
  /** Returns undefined if the tenant has no settings. */
  ofTenant(tenantId: string): Promise<T | undefined>;
  /** Tenants whose settings changed at or after an instant. */
  changedSince(instant: string): Promise<readonly string[]>;
}

interface TenantSettingsOptions<T> {
  readonly name: string;
  readonly reader: SettingsReader<T>;
  readonly bus: EventBus;
  /** The topic that announces changed settings of a tenant. */
  readonly topic: Topic<{ tenantId: string }>;
  readonly logger: Platform['logger'];
  readonly now: () => number;
  readonly pollMs?: number;
}

/**
 * In-memory cache of the settings of all tenants, so that no question waits for Postgres. Reads everything once,
 * reloads a tenant when a change is announced, and polls every ten seconds for missed announcements.
 */
export class TenantSettingsCache<T> {
  readonly #options: TenantSettingsOptions<T>;
  readonly #held = new Map<string, T>();
  #comparedToMs = 0;
  #watch: Subscription | undefined;
  #timer: NodeJS.Timeout | undefined;
  readonly #reading = new BackgroundWork();

  constructor(options: TenantSettingsOptions<T>) {
    this.#options = options;
  }

  of(tenantId: string): T | undefined {
    return this.#held.get(tenantId);
  }

  get tenants(): IterableIterator<string> {
    return this.#held.keys();
  }

  /** @throws Error if the table cannot be read; may then be called again */
  async start(): Promise<void> {
    const { bus, topic, reader, now, pollMs = POLL_MS } = this.#options;
    this.#watch ??= await bus.watch(topic, { from: 'new' }, ({ value }) => this.#quietly(this.reload(value.tenantId)));
    this.#comparedToMs = now();
    for (const [tenantId, settings] of await reader.all()) this.#held.set(tenantId, settings);
    this.#timer ??= setInterval(() => this.#quietly(this.poll()), pollMs).unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#watch?.close();
    await this.#reading.ended();
  }

  async reload(tenantId: string): Promise<void> {
    const settings = await this.#options.reader.ofTenant(tenantId);
    if (settings === undefined) this.#held.delete(tenantId);
    else this.#held.set(tenantId, settings);
  }

  async poll(): Promise<void> {
    const nowMs = this.#options.now();
    const since = new Date(Math.max(0, this.#comparedToMs - OVERLAP_MS)).toISOString();
    for (const tenantId of await this.#options.reader.changedSince(since)) await this.reload(tenantId);
    this.#comparedToMs = nowMs;
  }

  #quietly(reading: Promise<void>): void {
    const settled = reading.catch((error: unknown) =>
      this.#options.logger.warn({ err: error }, `${this.#options.name} could not be read, keeping those in memory`),
    );
    this.#reading.add(settled);
  }
}
