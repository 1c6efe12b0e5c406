export { createClient } from './create-client.ts';
export { pages } from './pages.ts';
export { ProblemError } from './request.ts';
export type { CallOptions, Client, ClientOptions, StreamOptions } from './types.ts';
