import {
  type DecisionPath,
  findScopes,
  type RoleGrant,
  SCOPES,
  type Scope,
  type TreeLimits,
  type AccessWay,
} from '@agentlens/contracts';
import { BoundedMap } from '@agentlens/state';
import type { Clock } from '../platform.ts';
import { withDeadline } from '../with-deadline.ts';
import { isSameHash, ShownKeys } from './api-key.ts';
import type { Caller } from './caller.ts';
import { KeyReads } from './key-records.ts';

/** Result of checking a key. */
export type KeyCheck =
  | { readonly kind: 'accepted'; readonly caller: Caller }
  | {
      readonly kind: 'refused';
      readonly reason: 'malformed' | 'unknown' | 'revoked' | 'expired' | 'signed_out' | 'no_rights';
    }
  /** The key is not cached and cannot be looked up at the moment. */
  | { readonly kind: 'unavailable' };

/** Checks API keys. */
export interface KeyDirectory {
  /** @param session the browser session that the key comes from */
  check(key: string, session?: string): Promise<KeyCheck>;
}

/** Resolution of the last use of a key: enough to find unused keys. */
const REPORT_EVERY_MS = 60_000;
const MAX_KEYS = 10_000;

/** Decides when to report a use of a key: the first one, then at most once a minute per key. */
export class KeyUses {
  readonly #reportedAtMs = new BoundedMap<number>(MAX_KEYS);

  isNews(keyId: string, nowMs: number): boolean {
    const reportedAtMs = this.#reportedAtMs.get(keyId);
    if (reportedAtMs !== undefined && nowMs - reportedAtMs < REPORT_EVERY_MS) return false;
    this.#reportedAtMs.set(keyId, nowMs);
    return true;
  }

  lastReportOf(keyId: string): number | undefined {
    return this.#reportedAtMs.get(keyId);
  }
}

/** Columns of `api_keys` that checking needs. */
export interface KeyRecord {
  readonly tenantId: string;
  readonly keyId: string;
  readonly secretHash: Uint8Array;
  readonly scopes: readonly string[];
  /** Agents that the key is bound to; null means every agent of the tenant. */
  readonly agents: readonly string[] | null;
  readonly eventsPerSecond: number | null;
  /** Setting of the tenant. */
  readonly decisionFailMode?: 'allow' | 'block';
  /** Setting of the tenant. */
  readonly decisionPath?: DecisionPath;
  /** Setting of the tenant: decisions keep arguments. */
  readonly keepsArguments?: boolean;
  /** Of the tenant: a call that a person denied is put before a person again. */
  readonly asksAgain?: boolean;
  /** Of the tenant; absent if none are set. */
  readonly treeLimits?: TreeLimits;
  /** Ids of ended browser sessions. */
  readonly endedSessions?: readonly string[];
  readonly expiresAtMs: number | null;
  readonly revokedAtMs: number | null;
  /** Absent: a key of a program. */
  readonly person?: PersonRecord;
  readonly breakGlass?: boolean;
}

/** The person of a key, with the rights at the time of reading. */
export interface PersonRecord {
  readonly personId: string;
  readonly name: string;
  readonly isDisabled: boolean;
  readonly via: AccessWay;
  readonly signedInAt: string;
  /** When the provider last asked for credentials. Absent: it did not say. */
  readonly credentialsAt?: string;
  /** The key ends after this long without a request. Null: it does not. */
  readonly idleMs: number | null;
  readonly lastUsedAtMs: number;
  /** Roles from claims count until then. */
  readonly claimsUntilMs: number;
  readonly grants: readonly (RoleGrant & { readonly source: 'provider' | 'manual' })[];
  readonly teams: readonly string[];
  /** Patterns of the agents that a team owns, by team. */
  readonly agentsOfTeams: Readonly<Record<string, readonly string[]>>;
}

interface CachedKeyDirectoryOptions {
  /** Reads keys; missing ones are left out. Throws if they cannot be read. */
  readonly read: (keyIds: readonly string[]) => Promise<readonly KeyRecord[]>;
  readonly clock: Clock;
  readonly defaultEventsPerSecond: number;
  /** Called at most once a minute per key. */
  readonly onUse?: (use: { readonly tenantId: string; readonly keyId: string; readonly atMs: number }) => void;
}

/** With a read of at most 1 s, a revocation takes effect everywhere within 5 s, even if its message is lost. */
const FRESH_MS = 4_000;
/** A key in use is refreshed in the background from this age on, together with others. */
const DUE_MS = 2_000;
/** While keys cannot be read, a cached key works for this long. */
const STALE_MS = 5 * 60_000;
const READ_DEADLINE_MS = 1_000;
/** Pause after a failed read. */
const READ_PAUSE_MS = 1_000;
const MAX_ENTRIES = 10_000;

interface Entry {
  readonly record: KeyRecord | null;
  /** Result of a check with the right secret, shared until the record is read again. */
  readonly accepted: KeyCheck | null;
  readonly readAtMs: number;
}

/**
 * Checks keys against a short-lived cache of `api_keys`. A key that can be neither confirmed nor rejected is
 * `unavailable`.
 */
export class CachedKeyDirectory implements KeyDirectory {
  readonly #options: CachedKeyDirectoryOptions;
  readonly #entries = new BoundedMap<Entry>(MAX_ENTRIES);
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

  async check(key: string, session?: string): Promise<KeyCheck> {
    const shown = this.#shown.read(key);
    if (shown === null) return { kind: 'refused', reason: 'malformed' };
    const entry = this.#fresh(shown.keyId) ?? (await this.#readEntry(shown.keyId));
    if (entry === null) return { kind: 'unavailable' };
    const { record, accepted } = entry;
    if (record === null || accepted === null || !isSameHash(shown.hash, record.secretHash)) {
      return { kind: 'refused', reason: 'unknown' };
    }
    if (session !== undefined && record.endedSessions?.includes(session) === true)
      return { kind: 'refused', reason: 'signed_out' };
    return this.#judge(record, accepted);
  }

  /** Evicts a changed key; the next check reads it again. */
  forget(keyId: string): void {
    this.#entries.delete(keyId);
    this.#reads.forget(keyId);
  }

  #judge(record: KeyRecord, accepted: KeyCheck): KeyCheck {
    if (record.revokedAtMs !== null) return { kind: 'refused', reason: 'revoked' };
    const atMs = this.#options.clock.now();
    if (record.expiresAtMs !== null && record.expiresAtMs <= atMs) return { kind: 'refused', reason: 'expired' };
    if (record.person !== undefined) {
      const refused = refusePerson(record.person, this.#lastUseOf(record.keyId, record.person), atMs);
      if (refused !== undefined) return { kind: 'refused', reason: refused };
    }
    if (this.#uses.isNews(record.keyId, atMs)) {
      this.#options.onUse?.({ tenantId: record.tenantId, keyId: record.keyId, atMs });
    }
    return accepted;
  }

  /** This process may know of a later use than the table. */
  #lastUseOf(keyId: string, { lastUsedAtMs }: PersonRecord): number {
    return Math.max(lastUsedAtMs, this.#uses.lastReportOf(keyId) ?? lastUsedAtMs);
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
    // Absence is not cached: the key may have been created since.
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
    return {
      record,
      accepted: record && acceptanceOf(record, this.#options.defaultEventsPerSecond, readAtMs),
      readAtMs,
    };
  }

  /** A clock that went backwards makes entries stale, not fresh forever. */
  #isWithin(atMs: number, ms: number): boolean {
    const age = this.#options.clock.now() - atMs;
    return age >= 0 && age < ms;
  }
}

function refusePerson(
  person: PersonRecord,
  lastUsedAtMs: number,
  atMs: number,
): 'signed_out' | 'no_rights' | undefined {
  const { isDisabled, idleMs, claimsUntilMs, grants } = person;
  if (isDisabled) return 'signed_out';
  if (idleMs !== null && atMs - lastUsedAtMs > idleMs) return 'signed_out';
  return grants.some(({ source }) => source === 'manual' || claimsUntilMs > atMs) ? undefined : 'no_rights';
}

/** A key of a person has the scopes that it was made for and that the person has now. */
function findRights({ scopes, person }: KeyRecord, nowMs: number): Pick<Caller, 'scopes' | 'signedIn'> {
  const own = scopes.filter((scope): scope is Scope => SCOPES.includes(scope as Scope));
  if (person === undefined) return { scopes: own };
  const { personId, name, via, signedInAt, credentialsAt, teams, agentsOfTeams, claimsUntilMs } = person;
  const grants = person.grants.filter(({ source }) => source === 'manual' || claimsUntilMs > nowMs);
  const roles = grants.filter(({ team }) => team === undefined).map(({ role }) => role);
  const forAgents = grants.flatMap(({ role, team }) =>
    team === undefined
      ? []
      : findScopes([role])
          .filter((scope) => own.includes(scope) && scope !== 'admin')
          .map((scope) => ({ scope, agents: agentsOfTeams[team] ?? [] })),
  );
  const mayRead = grants.length > 0 && own.includes('read');
  const held = new Set<Scope>([
    ...findScopes(roles).filter((scope) => own.includes(scope)),
    ...(mayRead ? (['read'] as const) : []),
  ]);
  const signedIn = {
    ...{ personId, name, via, signedInAt, teams, forAgents },
    ...(credentialsAt === undefined ? {} : { credentialsAt }),
  };
  return {
    scopes: [...held],
    signedIn: { ...signedIn, grants: grants.map(({ role, team }) => (team === undefined ? { role } : { role, team })) },
  };
}

function acceptanceOf(record: KeyRecord, defaultEventsPerSecond: number, nowMs: number): KeyCheck {
  return {
    kind: 'accepted',
    caller: {
      tenantId: record.tenantId,
      keyId: record.keyId,
      ...findRights(record, nowMs),
      ...(record.breakGlass === true ? { breakGlass: true } : {}),
      eventsPerSecond: record.eventsPerSecond ?? defaultEventsPerSecond,
      ...(record.agents === null ? {} : { agents: record.agents }),
      ...(record.decisionFailMode === undefined ? {} : { decisionFailMode: record.decisionFailMode }),
      ...(record.decisionPath === 'evaluator' ? { decisionPath: 'evaluator' } : {}),
      ...(record.keepsArguments === true ? { keepsArguments: true } : {}),
      ...(record.asksAgain === true ? { asksAgain: true } : {}),
      ...(record.treeLimits === undefined ? {} : { treeLimits: record.treeLimits }),
    },
  };
}
