import { SCOPES, type Scope } from '@agentlens/contracts';
import { BoundedMap } from '@agentlens/state';
import type { Clock } from '../platform.ts';
import { withDeadline } from '../with-deadline.ts';
import { isSameHash } from './api-key.ts';
import type { KeyCheck, KeyDirectory } from './key-directory.ts';
import { KeyReads } from './key-reads.ts';
import { KeyUses } from './key-uses.ts';
import { ShownKeys } from './shown-keys.ts';

/** One row of `api_keys`, as far as checking needs it. */
export interface KeyRecord {
  readonly tenantId: string;
  readonly keyId: string;
  readonly secretHash: Uint8Array;
  readonly scopes: readonly string[];
  /** The agents that the key is bound to; null: every agent of the tenant. */
  readonly agents: readonly string[] | null;
  readonly eventsPerSecond: number | null;
  /** Of the tenant. */
  readonly decisionFailMode?: 'allow' | 'block';
  /** Of the tenant: its decisions keep arguments. */
  readonly keepsArguments?: boolean;
  /** Of the tenant: a call that a person denied is put before a person again. */
  readonly asksAgain?: boolean;
  readonly expiresAtMs: number | null;
  readonly revokedAtMs: number | null;
}

interface CachedKeyDirectoryOptions {
  /** Reads keys from where they are kept, without those there are none of. Throws when they cannot be read now. */
  readonly read: (keyIds: readonly string[]) => Promise<readonly KeyRecord[]>;
  readonly clock: Clock;
  readonly defaultEventsPerSecond: number;
  /** Told of uses, at most once a minute per key. */
  readonly onUse?: (use: { readonly tenantId: string; readonly keyId: string; readonly atMs: number }) => void;
}

/** Together with the 1 s a read may take, a revocation holds everywhere within 5 s even if its message is lost. */
const FRESH_MS = 4_000;
/** A key in use is read again from then on, along with others and before anybody has to wait for it. */
const DUE_MS = 2_000;
/** Only while keys cannot be read: a known key goes on working this long. */
const STALE_MS = 5 * 60_000;
const READ_DEADLINE_MS = 1_000;
/** After a failed read nobody waits for another one this long. */
const READ_PAUSE_MS = 1_000;
const MOST_ENTRIES = 10_000;

interface Entry {
  readonly record: KeyRecord | null;
  /** What the record makes of whoever shows the key; the same for every check until it is read again. */
  readonly accepted: KeyCheck | null;
  readonly readAtMs: number;
}

/** Checks keys against a short memory of `api_keys`; a key nobody can vouch for now is `unavailable`, not refused. */
export class CachedKeyDirectory implements KeyDirectory {
  readonly #options: CachedKeyDirectoryOptions;
  readonly #entries = new BoundedMap<Entry>(MOST_ENTRIES);
  readonly #reads = new KeyReads<Entry>(
    (keyIds) => this.#read(keyIds),
    (keyId, entry) => this.#entries.set(keyId, entry),
  );
  readonly #uses = new KeyUses();
  readonly #shown = new ShownKeys();
  #failedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: CachedKeyDirectoryOptions) {
    this.#options = options;
  }

  async check(key: string): Promise<KeyCheck> {
    const shown = this.#shown.read(key);
    if (shown === null) return { kind: 'refused', reason: 'malformed' };
    const entry = this.#fresh(shown.keyId) ?? (await this.#readEntry(shown.keyId));
    if (entry === null) return { kind: 'unavailable' };
    const { record, accepted } = entry;
    if (record === null || accepted === null || !isSameHash(shown.hash, record.secretHash)) {
      return { kind: 'refused', reason: 'unknown' };
    }
    return this.#judge(record, accepted);
  }

  /** The key changed: the next check reads it again. */
  forget(keyId: string): void {
    this.#entries.delete(keyId);
    this.#reads.forget(keyId);
  }

  #judge(record: KeyRecord, accepted: KeyCheck): KeyCheck {
    if (record.revokedAtMs !== null) return { kind: 'refused', reason: 'revoked' };
    const atMs = this.#options.clock.now();
    if (record.expiresAtMs !== null && record.expiresAtMs <= atMs) return { kind: 'refused', reason: 'expired' };
    if (this.#uses.isNews(record.keyId, atMs)) {
      this.#options.onUse?.({ tenantId: record.tenantId, keyId: record.keyId, atMs });
    }
    return accepted;
  }

  #fresh(keyId: string): Entry | undefined {
    const known = this.#entries.get(keyId);
    if (known === undefined || !this.#isWithin(known.readAtMs, FRESH_MS)) return undefined;
    if (!this.#isWithin(known.readAtMs, DUE_MS) && !this.#isPausing()) this.#reads.soon(keyId);
    return known;
  }

  async #readEntry(keyId: string): Promise<Entry | null> {
    const known = this.#entries.get(keyId);
    const read = this.#isPausing() ? null : await this.#reads.now(keyId);
    if (read !== null) return read;
    // Absence is never vouched for by memory: the key may have been made since.
    const usable = known !== undefined && known.record !== null && this.#isWithin(known.readAtMs, STALE_MS);
    return usable ? known : null;
  }

  #isPausing(): boolean {
    return this.#isWithin(this.#failedAtMs, READ_PAUSE_MS);
  }

  async #read(keyIds: readonly string[]): Promise<ReadonlyMap<string, Entry> | null> {
    const readAtMs = this.#options.clock.now();
    try {
      const records = await withDeadline(this.#options.read(keyIds), READ_DEADLINE_MS);
      const found = new Map(records.map((record) => [record.keyId, record]));
      return new Map(keyIds.map((keyId) => [keyId, this.#entryOf(found.get(keyId) ?? null, readAtMs)]));
    } catch {
      this.#failedAtMs = this.#options.clock.now();
      return null;
    }
  }

  #entryOf(record: KeyRecord | null, readAtMs: number): Entry {
    return { record, accepted: record && acceptanceOf(record, this.#options.defaultEventsPerSecond), readAtMs };
  }

  /** A clock that went backwards makes things old, not eternally fresh. */
  #isWithin(atMs: number, ms: number): boolean {
    const age = this.#options.clock.now() - atMs;
    return age >= 0 && age < ms;
  }
}

function acceptanceOf(record: KeyRecord, defaultEventsPerSecond: number): KeyCheck {
  return {
    kind: 'accepted',
    caller: {
      tenantId: record.tenantId,
      keyId: record.keyId,
      scopes: record.scopes.filter((scope): scope is Scope => SCOPES.includes(scope as Scope)),
      eventsPerSecond: record.eventsPerSecond ?? defaultEventsPerSecond,
      ...(record.agents === null ? {} : { agents: record.agents }),
      ...(record.decisionFailMode === undefined ? {} : { decisionFailMode: record.decisionFailMode }),
      ...(record.keepsArguments === true ? { keepsArguments: true } : {}),
      ...(record.asksAgain === true ? { asksAgain: true } : {}),
    },
  };
}
