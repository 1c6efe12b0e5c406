export * from './ingest/index.ts';
export * from './operation.ts';
export { INGEST_OPERATIONS, OPERATIONS, type Operations, PROBE_OPERATIONS, QUERY_OPERATIONS } from './operations.ts';
export * from './parameters.ts';
export * from './probes.ts';
export * from './query/index.ts';
export * from './query/stream.operations.ts';
export * from './stream-access.ts';
