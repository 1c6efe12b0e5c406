import { STREAMS, type StreamSpec } from '@agentlens/contracts';
import {
  DiscardPolicy,
  JetStreamApiError,
  type JetStreamManager,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
} from '@nats-io/jetstream';
import { nanos } from '@nats-io/nats-core';
import type { BusLogger } from '../event-bus.ts';

interface ApplyStreamsOptions {
  /** Replicas of each stream in a NATS cluster. Default 1; an existing stream keeps its number unless this is set. */
  readonly replicas?: number;
  readonly streams?: readonly StreamSpec[];
}

const STREAM_NOT_FOUND = 10_059;
const NAME_IN_USE = 10_058;
/** Insufficient resources, insufficient storage, maximum bytes of the account. */
const NO_ROOM = new Set([10_023, 10_047, 10_028]);
/** A cluster finds no servers for the copies: they are still starting, or the text names insufficient storage. */
const NO_PEERS = 10_005;
const SMALLEST_BYTES = 64 * 1024 ** 2;

type Wanted = Partial<StreamConfig> & Pick<StreamConfig, 'name' | 'max_bytes'>;

/**
 * Creates or updates the streams of the catalog. Safe to repeat and to run concurrently. The server silently drops
 * fields that it does not support, so its answer is compared with the request.
 */
export async function applyStreams(
  manager: JetStreamManager,
  logger: BusLogger,
  options: ApplyStreamsOptions = {},
): Promise<void> {
  const smaller: Record<string, Difference> = {};
  for (const spec of options.streams ?? Object.values(STREAMS)) {
    const wanted = configOf(spec, options.replicas);
    const applied = await applyOne(manager, wanted);
    const differences = differencesOf(wanted, applied);
    const size = differences.find(({ field }) => field === 'max_bytes');
    if (size !== undefined) smaller[spec.name] = size;
    const others = differences.filter((difference) => difference !== size);
    if (others.length > 0)
      logger.warn({ stream: spec.name, differences: others }, 'NATS server changed the requested stream configuration');
  }
  // One line: a small disk makes every stream smaller, for each service at each start.
  if (Object.keys(smaller).length > 0)
    logger.warn({ streams: smaller }, 'streams hold less than configured, because NATS has too little storage');
}

function configOf(spec: StreamSpec, replicas?: number): Wanted {
  return {
    name: spec.name,
    subjects: [...spec.subjects],
    storage: StorageType.File,
    retention: RetentionPolicy.Limits,
    discard: DiscardPolicy.New,
    max_age: nanos(spec.maxAgeMs),
    max_bytes: spec.maxBytes,
    max_msgs_per_subject: spec.lastPerSubject ? 1 : -1,
    duplicate_window: nanos(spec.duplicateWindowMs),
    ...(replicas === undefined ? {} : { num_replicas: replicas }),
  };
}

/** Halves the size until the server has room for it. */
async function applyOne(manager: JetStreamManager, wanted: Wanted): Promise<StreamConfig> {
  let { max_bytes } = wanted;
  for (;;) {
    try {
      return await addOrUpdate(manager, { ...wanted, max_bytes });
    } catch (error) {
      const smaller = Math.floor(max_bytes / 2);
      if (!isWithoutRoom(error) || smaller < SMALLEST_BYTES) throw error;
      max_bytes = smaller;
    }
  }
}

function isWithoutRoom(error: unknown): boolean {
  const code = codeOf(error);
  return NO_ROOM.has(code) || (code === NO_PEERS && /insufficient storage/.test(String(error)));
}

async function addOrUpdate(manager: JetStreamManager, wanted: Wanted): Promise<StreamConfig> {
  const existing = await find(manager, wanted.name);
  if (existing && differencesOf({ ...wanted, max_bytes: existing.max_bytes }, existing).length === 0) {
    // A stream that had to be created smaller keeps its size; growing it is the operator's decision.
    if (existing.max_bytes <= wanted.max_bytes) return existing;
  }
  if (existing) return (await manager.streams.update(wanted.name, wanted)).config;
  try {
    return (await manager.streams.add(wanted)).config;
  } catch (error) {
    // Another process created it in the meantime.
    if (codeOf(error) !== NAME_IN_USE) throw error;
    return (await manager.streams.update(wanted.name, wanted)).config;
  }
}

async function find(manager: JetStreamManager, name: string): Promise<StreamConfig | undefined> {
  try {
    return (await manager.streams.info(name)).config;
  } catch (error) {
    if (codeOf(error) === STREAM_NOT_FOUND) return undefined;
    throw error;
  }
}

function codeOf(error: unknown): number {
  return error instanceof JetStreamApiError ? error.code : 0;
}

interface Difference {
  readonly field: string;
  readonly asked: unknown;
  readonly applied: unknown;
}

/** Fields whose value differs. A field that the server leaves out has its zero value. */
function differencesOf(wanted: object, applied: object): Difference[] {
  const answers = new Map(Object.entries(applied));
  const zero = (value: unknown) => value === undefined || value === 0 || value === -1;
  return Object.entries(wanted)
    .map(([field, asked]) => ({ field, asked, applied: answers.get(field) }))
    .filter(
      (one) => JSON.stringify(one.asked) !== JSON.stringify(one.applied) && !(zero(one.asked) && zero(one.applied)),
    );
}
