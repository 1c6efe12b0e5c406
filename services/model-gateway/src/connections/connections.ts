import { type ConnectionDialect, DEFAULT_FIRST_BYTE_SECONDS, TRIAL_PROVIDER } from '@agentlens/contracts';
import type { Database } from '@agentlens/database';
import { type Clock, type Platform, type SecretBox, withDeadline } from '@agentlens/platform';
import { BoundedMap, SingleFlight } from '@agentlens/state';
import { RefusedCall } from '../refused-call.ts';

/** A connection to a model provider. The credential stays sealed until a request is sent. */
export interface Connection {
  readonly name: string;
  readonly dialect: ConnectionDialect;
  readonly baseUrl: string;
  readonly sealedCredential: string | null;
  /** Globs; undefined allows every model. */
  readonly models: readonly string[] | undefined;
  readonly forwardHeaders: readonly string[];
  readonly enabled: boolean;
  /** Name of the connection that gets a call if this one gives no answer. */
  readonly fallback: string | undefined;
  /** How long the provider may take to begin its answer. */
  readonly firstByteMs: number;
  /** Provider of prices and records. */
  readonly provider: string;
}

/** A change applies within this time and that of a read. */
const FRESH_MS = 4_000;
/** How long a connection is used while the database cannot be read. */
const STALE_MS = 5 * 60_000;
const READ_DEADLINE_MS = 1_000;
const MAX_ENTRIES = 10_000;

/** The provider of each dialect in price tables. */
const PRICED_AS: Readonly<Record<ConnectionDialect, string>> = {
  anthropic: 'anthropic',
  openai: 'openai',
  gemini: 'google',
};

interface Entry {
  readonly connection: Connection | undefined;
  readonly readAtMs: number;
}

interface ConnectionsDependencies {
  readonly database: Pick<Database, 'db'>;
  readonly secrets: SecretBox;
  readonly clock: Clock;
  readonly logger: Platform['logger'];
}

export class Connections {
  readonly #parts: ConnectionsDependencies;
  readonly #entries = new BoundedMap<Entry>(MAX_ENTRIES);
  readonly #reading = new SingleFlight<Entry>();
  readonly #authorized = new WeakMap<Connection, Readonly<Record<string, string>>>();

  constructor(parts: ConnectionsDependencies) {
    this.#parts = parts;
  }

  /** @throws RefusedCall if there is no such connection, it is disabled, or it cannot be read */
  async find(tenantId: string, name: string): Promise<Connection> {
    const { connection } = await this.#entry(tenantId, name);
    if (connection?.enabled === false) {
      const message = `The connection "${name}" is disabled. An admin enables it.`;
      throw new RefusedCall('policy', 'connection_disabled', message);
    }
    if (connection !== undefined) return connection;
    const message = 'There is no model connection of that name. The address is /gw/<connection>; an admin creates it.';
    throw new RefusedCall('not_found', 'connection_unknown', message);
  }

  /**
   * The fallback of a connection, if it can take calls of the model now. A fallback that cannot be used is no reason to
   * refuse a call that may not need it.
   */
  async findFallback(
    tenantId: string,
    { fallback, dialect }: Connection,
    model: string,
  ): Promise<Connection | undefined> {
    if (fallback === undefined) return undefined;
    const found = await this.#entry(tenantId, fallback).catch((error: unknown) => {
      if (error instanceof RefusedCall) return undefined;
      throw error;
    });
    const connection = found?.connection;
    const isUsable = connection?.enabled === true && connection.dialect === dialect && allowsModel(connection, model);
    return isUsable ? connection : undefined;
  }

  /**
   * The headers with the key of the provider, in memory only, and for as long as the connection is not read again.
   *
   * @throws RefusedCall if the key was sealed with another key of the installation
   */
  authorize(tenantId: string, connection: Connection): Readonly<Record<string, string>> {
    const known = this.#authorized.get(connection);
    if (known !== undefined) return known;
    const headers = this.#openCredential(tenantId, connection);
    this.#authorized.set(connection, headers);
    return headers;
  }

  #openCredential(tenantId: string, { name, dialect, sealedCredential }: Connection): Record<string, string> {
    if (sealedCredential === null) return {};
    const credential = this.#unseal(tenantId, name, sealedCredential);
    if (dialect === 'openai') return { authorization: `Bearer ${credential}` };
    return { [dialect === 'anthropic' ? 'x-api-key' : 'x-goog-api-key']: credential };
  }

  #unseal(tenantId: string, name: string, sealed: string): string {
    const { secrets, logger } = this.#parts;
    try {
      return secrets.open(sealed, [tenantId, 'provider_connections', name]);
    } catch (error) {
      logger.error({ err: error, tenantId, connection: name }, 'the key of a model connection cannot be read');
      const message = `The key of the connection "${name}" cannot be read. An admin has to enter it again.`;
      throw new RefusedCall('credential_rejected', 'credential_unreadable', message);
    }
  }

  async #entry(tenantId: string, name: string): Promise<Entry> {
    const key = JSON.stringify([tenantId, name]);
    const known = this.#entries.get(key);
    if (known !== undefined && this.#isWithin(known, FRESH_MS)) return known;
    try {
      return await this.#reading.run(key, () => this.#read(tenantId, name, key));
    } catch {
      if (known?.connection !== undefined && this.#isWithin(known, STALE_MS)) return known;
      const message = 'Model connections cannot be read now. Send the request again.';
      throw new RefusedCall('unavailable', 'connections_unavailable', message);
    }
  }

  async #read(tenantId: string, name: string, key: string): Promise<Entry> {
    const readAtMs = this.#parts.clock.now();
    const reading = this.#parts.database.db
      .selectFrom('provider_connections')
      .select(['dialect', 'base_url', 'sealed_credential', 'models', 'forward_headers', 'pricing_provider', 'enabled'])
      .select(['fallback', 'first_byte_seconds'])
      .where('tenant_id', '=', tenantId)
      .where('name', '=', name)
      .executeTakeFirst();
    const row = await withDeadline(reading, READ_DEADLINE_MS);
    // Only query writes it, from the same list.
    const dialect = row?.dialect as ConnectionDialect;
    const connection: Connection | undefined = row && {
      name,
      dialect,
      baseUrl: row.base_url,
      sealedCredential: row.sealed_credential,
      models: row.models ?? undefined,
      forwardHeaders: row.forward_headers,
      enabled: row.enabled,
      fallback: row.fallback ?? undefined,
      firstByteMs: 1_000 * (row.first_byte_seconds ?? DEFAULT_FIRST_BYTE_SECONDS),
      provider: row.pricing_provider ?? PRICED_AS[dialect],
    };
    const entry = { connection, readAtMs };
    this.#entries.set(key, entry);
    return entry;
  }

  #isWithin({ readAtMs }: Entry, ms: number): boolean {
    const age = this.#parts.clock.now() - readAtMs;
    return age >= 0 && age < ms;
  }
}

export function isTrial({ baseUrl }: Connection): boolean {
  return baseUrl === TRIAL_PROVIDER;
}

/** @throws RefusedCall if the connection does not allow the model */
export function requireModel(connection: Connection, model: string): void {
  if (allowsModel(connection, model)) return;
  const { name, models = [] } = connection;
  const message = `The connection "${name}" does not allow this model. It allows: ${models.slice(0, 20).join(', ')}.`;
  throw new RefusedCall('invalid', 'model_not_allowed', message);
}

function allowsModel({ models }: Connection, model: string): boolean {
  return models === undefined || models.some((glob) => matchesGlob(glob, model));
}

/** `*` stands for any characters. Linear in the length of both. */
function matchesGlob(glob: string, text: string): boolean {
  const [start = '', ...parts] = glob.split('*');
  if (parts.length === 0) return glob === text;
  if (!text.startsWith(start)) return false;
  const end = parts.pop() ?? '';
  let at = start.length;
  for (const part of parts) {
    const found = text.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return text.length - end.length >= at && text.endsWith(end);
}
