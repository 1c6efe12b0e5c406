import { AgentError, isAgentError } from '../core/agent-error.ts';
import { isPlainObject, type Json } from '../core/json.ts';
import type { DatabaseClient } from '../memory/database-client.ts';
import {
  byAge,
  checkSessionId,
  matchesFilter,
  readSessionMetadata,
  SCHEMA_VERSION,
  type SessionEntry,
  type SessionFilter,
  type SessionLease,
  type SessionMetadata,
  type SessionStore,
  type StoredSession,
} from './session-store.ts';

const SESSIONS = 'agent-sessions';
const ENTRIES = 'agent-session-entries';
const LEASES = 'agent-session-leases';
const PAGE = 1_000;
const LEASE_MS = 30_000;

/** Sessions as documents. The owner of a session renews its lease; a lease expires after 30 s without renewal. */
export class DatabaseSessionStore implements SessionStore {
  readonly #db: DatabaseClient;

  constructor(db: DatabaseClient) {
    this.#db = db;
  }

  async create(meta: SessionMetadata): Promise<void> {
    await this.#db.write(SESSIONS, checkSessionId(meta.session_id), asJson(meta), { ifAbsent: true });
  }

  async append(id: string, entries: readonly SessionEntry[]): Promise<void> {
    if ((await this.#db.read(SESSIONS, checkSessionId(id))) === null) throw notFound();
    for (const entry of entries)
      await this.#db.write(ENTRIES, entryKey(id, entry.seq), asJson(entry), { ifAbsent: true });
  }

  async load(id: string): Promise<StoredSession> {
    const row = await this.#db.read(SESSIONS, checkSessionId(id));
    if (row === null) throw notFound();
    const meta = readSessionMetadata(row.value, `session ${id}`);
    const entries: SessionEntry[] = [];
    for (const [index, value] of (await this.#all(ENTRIES, `${id}/`)).entries()) {
      if (!isPlainObject(value) || value.seq !== index + 1)
        throw new AgentError('session_corrupt', `entry ${index + 1} of session ${id} is missing`, {
          info: { entry: index + 1 },
        });
      if (typeof value.v === 'number' && value.v > SCHEMA_VERSION)
        throw new AgentError('schema_too_new', `session ${id} was written by a newer version`);
      // Only append writes these.
      entries.push(value as unknown as SessionEntry);
    }
    return { meta, entries, torn: false };
  }

  async saveMetadata(meta: SessionMetadata): Promise<void> {
    await this.#db.write(SESSIONS, meta.session_id, asJson(meta));
  }

  async list(filter?: SessionFilter): Promise<string[]> {
    const metas = (await this.#all(SESSIONS, '')).map((value) => readSessionMetadata(value, 'a session'));
    return metas
      .filter((meta) => matchesFilter(meta, filter))
      .sort(byAge)
      .map((meta) => meta.session_id);
  }

  async delete(id: string): Promise<void> {
    const { meta, entries } = await this.load(id);
    await this.#db.delete?.(SESSIONS, meta.session_id);
    for (const { seq } of entries) await this.#db.delete?.(ENTRIES, entryKey(id, seq));
  }

  async acquire(id: string, owner: string): Promise<SessionLease> {
    if ((await this.#db.read(SESSIONS, checkSessionId(id))) === null) throw notFound();
    let { version } = await this.#db
      .write(LEASES, id, { owner }, { ifAbsent: true, ttlMs: LEASE_MS })
      .catch((error: unknown) => {
        throw isAgentError(error, 'conflict')
          ? new AgentError('session_busy', 'the session is in use by another process')
          : error;
      });
    const renew = async () => {
      ({ version } = await this.#db.write(LEASES, id, { owner }, { ifVersion: version, ttlMs: LEASE_MS }));
    };
    // A failed renewal is retried; the lease expires if all of them fail.
    const timer = setInterval(() => void renew().catch(() => undefined), LEASE_MS / 3);
    timer.unref();
    return {
      release: async () => {
        clearInterval(timer);
        const held = await this.#db.read(LEASES, id);
        if (held !== null && isPlainObject(held.value) && held.value.owner === owner && held.version === version)
          await this.#db.delete?.(LEASES, id);
      },
    };
  }

  async #all(collection: string, prefix: string): Promise<Json[]> {
    const values: Json[] = [];
    let after: string | undefined;
    for (;;) {
      const rows = await this.#db.query(collection, { prefix, limit: PAGE, ...(after === undefined ? {} : { after }) });
      values.push(...rows.map(({ value }) => value));
      after = rows.at(-1)?.key;
      if (rows.length < PAGE) return values;
    }
  }
}

/** Sorts like numbers. */
function entryKey(id: string, seq: number): string {
  return `${id}/${String(seq).padStart(10, '0')}`;
}

/** Entries and metadata are JSON by their types. */
function asJson(value: SessionMetadata | SessionEntry): Json {
  return value as unknown as Json;
}

function notFound(): AgentError {
  return new AgentError('session_not_found', 'the session does not exist');
}
