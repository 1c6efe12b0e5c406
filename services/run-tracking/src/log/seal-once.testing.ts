import { openDatabase } from '@agentlens/database';
import { openSigner } from '@agentlens/log';
import { SealingStore } from './sealing-store.ts';

// A sealer in a process of its own, for tests that kill it: seals what waits in the database of DATABASE_URL.
const database = openDatabase({ url: process.env.DATABASE_URL ?? '', role: 'run-tracking' });
const signer = openSigner(Buffer.alloc(32, 5));
const store = new SealingStore({ database, signer, origin: 'test', instance: 'child' });
await store.openLogs();
await store.sealSome(Date.parse('2026-03-01T13:00:00.000Z'));
await database.close();
