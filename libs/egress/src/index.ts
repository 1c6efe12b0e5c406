export type { AddressCheck, EgressClient, EgressPolicy, EgressRequest, EgressResult } from './egress.ts';
