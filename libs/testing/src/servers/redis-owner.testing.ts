import { startRedis } from './redis.ts';

// A process that starts a server and lives until it is killed, for the spec of what becomes of the server then.
const { url } = await startRedis();
process.send?.({ url });
process.on('message', () => undefined);
