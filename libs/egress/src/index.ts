export type { AddressCheck, EgressClient, EgressPolicy, EgressRequest, EgressResult } from './egress.ts';
export { createEgressClient, type EgressClientOptions } from './egress-client.ts';
export type { ResolveName } from './guarded-connector.ts';
export { refuseAddress } from './refuse-address.ts';
