import { ResourceKey } from '../core/resource-map.ts';
import type { DatabaseClient } from './database-client.ts';
import type { MemoryClient } from './memory-client.ts';

/** Tools find the agent's memory with `context.getResource(MEMORY)`. */
export const MEMORY = ResourceKey<MemoryClient>('memory');
export const DATABASE = ResourceKey<DatabaseClient>('database');
