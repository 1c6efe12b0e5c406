import type { Topic } from '@agentlens/contracts';
import { BackgroundWork, type EventBus, type Subscription } from '@agentlens/messaging';
import { BoundedMap } from '@agentlens/state';
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
  readonly topic: Topic<{ tenantId: string; version?: string | number }>;
  readonly logger: Platform['logger'];
  readonly now: () => number;
  readonly pollMs?: number;
}

/** Maximum number of tenants; the oldest are evicted, and read again when asked for. */
const MAX_TENANTS = 10_000;

interface AnnouncedRead {
  readonly version: string;
  readonly reading: Promise<void>;
}

/** The newest read of each tenant that an announced change caused, so that others that learn of the change share it. */
export class AnnouncedReads {
  readonly #reads = new BoundedMap<AnnouncedRead>(MAX_TENANTS);

  began(tenantId: string, version: string, reading: Promise<void>): void {
    const read = { version, reading };
    this.#reads.set(tenantId, read);
    reading.catch(() => {
      if (this.#reads.get(tenantId) === read) this.#reads.delete(tenantId);
    });
  }

  /** The read for this change, if it began. */
  of(tenantId: string, version: string | undefined): Promise<void> | undefined {
    const read = this.#reads.get(tenantId);
    return version !== undefined && read?.version === version ? read.reading : undefined;
  }
}

/**
 * In-memory cache of the settings of all tenants, so that no question waits for Postgres. Reads everything once,
 * reloads a tenant when a change is announced, and polls every ten seconds for missed announcements.
 */
export class TenantSettingsCache<T> {
  readonly #options: TenantSettingsOptions<T>;
  readonly #held = new Map<string, T>();
  readonly #announced = new AnnouncedReads();
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
    this.#watch ??= await bus.watch(topic, { from: 'new' }, ({ value: { tenantId, version } }) => {
      const reading = this.reload(tenantId);
      if (version !== undefined) this.#announced.began(tenantId, String(version), reading);
      this.#quietly(reading);
    });
    this.#comparedToMs = now();
    for (const [tenantId, settings] of await reader.all()) this.#held.set(tenantId, settings);
    this.#timer ??= setInterval(() => this.#quietly(this.poll()), pollMs).unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#watch?.close();
    await this.#reading.ended();
  }

  /** @param announced version of a change; a read that its announcement caused suffices */
  async reload(tenantId: string, announced?: string): Promise<void> {
    const begun = this.#announced.of(tenantId, announced);
    if (begun !== undefined) return begun;
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
