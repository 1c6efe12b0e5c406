export { createClient, pages } from './create-client.ts';
export { ProblemError } from './problem-error.ts';
export type { CallOptions, Client, ClientOptions, StreamOptions } from './types.ts';
