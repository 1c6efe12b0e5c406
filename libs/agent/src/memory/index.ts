export type {
  DatabaseClient,
  DatabaseQuery,
  DatabaseRow,
  FieldCondition,
  FieldRange,
  FoundRow,
  WriteOptions,
} from './database-client.ts';
export { filteredDatabase, filteredMemory, type MemoryChange, type MemoryGate } from './filtered-memory.ts';
export { InMemoryDatabaseClient } from './in-memory-database-client.ts';
export { type ClockOption, InMemoryMemoryClient } from './in-memory-memory-client.ts';
export type {
  AppendMemory,
  FoundMemory,
  MemoryClient,
  MemoryEntry,
  ReadMemory,
  SearchMemory,
} from './memory-client.ts';
export { DATABASE, MEMORY } from './memory-client.ts';
