import { ResourceKey } from '../core/resource-map.ts';
import type { DatabaseClient } from './database-client.ts';
import type { MemoryClient } from './memory-client.ts';

/** Where tools find the agent's memory: `context.getResource(MEMORY)`. */
export const MEMORY = ResourceKey<MemoryClient>('memory');
export const DATABASE = ResourceKey<DatabaseClient>('database');
