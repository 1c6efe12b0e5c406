import { AgentError } from '../core/agent-error.ts';
import type { DriverEvent } from '../core/agent-event.ts';
import type { Json } from '../core/json.ts';
import type { Effects } from '../effects/effects.ts';
import type { SafetyLayer, SafetyRecord } from '../safety/safety-layer.ts';
import type { Principal, Roles } from '../security/roles.ts';
import type { DatabaseClient } from './database-client.ts';
import type { MemoryClient } from './memory-client.ts';

/** A change that an agent made to stored data. */
export interface MemoryChange {
  readonly store: 'memory' | 'database';
  readonly op: 'append' | 'write' | 'delete' | 'clear';
  readonly key: string;
  /** The policy dropped it. */
  readonly dropped: boolean;
}

export interface MemoryGate {
  readonly effects: Effects;
  readonly safety: SafetyLayer;
  readonly roles?: Roles;
  readonly principal?: Principal;
  readonly ttlMs?: number;
  emit(event: DriverEvent): void;
  changed(change: MemoryChange): void;
}

/**
 * A memory as an agent uses it: writes pass the safety policy, access is checked by roles, and answers go through the
 * effects.
 */
export function filteredMemory(client: MemoryClient, gate: MemoryGate): MemoryClient {
  const search = client.search?.bind(client);
  const clear = client.clear?.bind(client);
  return {
    async append(streamKey, entry, options = {}) {
      gate.roles?.check(gate.principal, 'memory.write', streamKey);
      const kept = await passed(gate, entry, streamKey, { store: 'memory', op: 'append', key: streamKey });
      if (kept === undefined) return { seq: 0 };
      const ttlMs = options.ttlMs ?? gate.ttlMs ?? gate.safety.retentionMs;
      const with_ = ttlMs === undefined ? options : { ...options, ttlMs };
      return gate.effects.perform('memory', { do: 'append', streamKey, entry: kept }, () =>
        client.append(streamKey, kept, with_),
      );
    },
    read(streamKey, options = {}) {
      gate.roles?.check(gate.principal, 'memory.read', streamKey);
      return gate.effects.perform('memory', { do: 'read', streamKey, ...options }, () =>
        client.read(streamKey, options),
      );
    },
    ...(search === undefined
      ? {}
      : {
          search: (query, options = {}) => {
            gate.roles?.check(gate.principal, 'memory.read', options.streamKey ?? '*');
            return gate.effects.perform('memory', { do: 'search', query, ...options }, () => search(query, options));
          },
        }),
    ...(clear === undefined
      ? {}
      : {
          clear: async (streamKey) => {
            gate.roles?.check(gate.principal, 'memory.write', streamKey);
            await gate.effects.perform('memory', { do: 'clear', streamKey }, async () => {
              await clear(streamKey);
              return null;
            });
            gate.changed({ store: 'memory', op: 'clear', key: streamKey, dropped: false });
          },
        }),
  };
}

/** Like `filteredMemory`, for documents. */
export function filteredDatabase(client: DatabaseClient, gate: MemoryGate): DatabaseClient {
  const search = client.search?.bind(client);
  const remove = client.delete?.bind(client);
  return {
    async write(collection, key, value, options = {}) {
      const place = `${collection}/${key}`;
      gate.roles?.check(gate.principal, 'memory.write', place);
      const kept = await passed(gate, value, collection, { store: 'database', op: 'write', key: place });
      if (kept === undefined) throw new AgentError('blocked_by_safety', 'the safety policy blocked this write');
      return gate.effects.perform('memory', { do: 'write', collection, key, value: kept }, () =>
        client.write(collection, key, kept, options),
      );
    },
    read(collection, key) {
      gate.roles?.check(gate.principal, 'memory.read', `${collection}/${key}`);
      return gate.effects.perform('memory', { do: 'read', collection, key }, () => client.read(collection, key));
    },
    query(collection, query = {}) {
      gate.roles?.check(gate.principal, 'memory.read', `${collection}/*`);
      return gate.effects.perform('memory', { do: 'query', collection, query }, () => client.query(collection, query));
    },
    ...(search === undefined
      ? {}
      : {
          search: (text, options = {}) => {
            gate.roles?.check(gate.principal, 'memory.read', `${options.collection ?? '*'}/*`);
            return gate.effects.perform('memory', { do: 'search', text, ...options }, () => search(text, options));
          },
        }),
    ...(remove === undefined
      ? {}
      : {
          delete: async (collection, key) => {
            gate.roles?.check(gate.principal, 'memory.write', `${collection}/${key}`);
            gate.changed({ store: 'database', op: 'delete', key: `${collection}/${key}`, dropped: false });
            return gate.effects.perform('memory', { do: 'delete', collection, key }, () => remove(collection, key));
          },
        }),
  };
}

/** The part of an entry that may be stored; undefined: nothing. */
async function passed(
  gate: MemoryGate,
  entry: Json,
  stream: string,
  change: Omit<MemoryChange, 'dropped'>,
): Promise<Json | undefined> {
  const record = ({ phase, rule, action, inputHash }: SafetyRecord) =>
    gate.emit({ type: 'safety', phase, rule, action, inputHash });
  const inspected = await gate.safety.inspect(entry, { phase: 'memory-write', stream }, record);
  const dropped = !inspected.ok;
  gate.changed({ ...change, dropped });
  gate.emit({ type: 'memory-write', store: change.store, key: change.key, dropped });
  return inspected.ok ? inspected.value : undefined;
}
