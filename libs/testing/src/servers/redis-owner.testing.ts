import { startRedis } from './redis.ts';

// Starts a server and runs until it is killed, for the spec that checks that the server ends too.
const { url } = await startRedis();
process.send?.({ url });
process.on('message', () => undefined);
