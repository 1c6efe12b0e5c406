export type { AddressCheck, EgressClient, EgressPolicy, EgressRequest, EgressResult } from './egress.ts';
export { createEgressClient } from './egress-client.ts';
export { refuseAddress } from './refuse-address.ts';
export type { ResolveName } from './resolve-name.ts';
