export { createClient } from './create-client.ts';
export { pages } from './create-client.ts';
export { ProblemError } from './create-client.ts';
export type { CallOptions, Client, ClientOptions, StreamOptions } from './types.ts';
