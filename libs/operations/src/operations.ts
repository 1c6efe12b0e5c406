import * as ingest from './ingest/index.ts';
import type { Operation } from './operation.ts';
import * as probes from './probes.ts';
import * as query from './query/index.ts';

type Declared = typeof query & typeof ingest;

/** Every operation by its id. */
export type Operations = {
  readonly [Id in keyof Declared as Declared[Id] extends Operation ? Id : never]: Declared[Id];
};

/** Operations of the query service. */
export const QUERY_OPERATIONS = operationsOf(query);

/** Operations of the ingest gateway, at the same public address. */
export const INGEST_OPERATIONS = operationsOf(ingest);

/** Every public route for clients. */
export const OPERATIONS: readonly Operation[] = [...QUERY_OPERATIONS, ...INGEST_OPERATIONS];

/** Routes of every process. */
export const PROBE_OPERATIONS = operationsOf(probes);

function operationsOf(declared: Readonly<Record<string, unknown>>): readonly Operation[] {
  return Object.values(declared).filter(isOperation);
}

function isOperation(value: unknown): value is Operation {
  return typeof value === 'object' && value !== null && 'method' in value && 'path' in value && 'response' in value;
}
