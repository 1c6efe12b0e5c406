export type { AddressCheck, EgressClient, EgressPolicy, EgressRequest, EgressResult } from './egress.ts';
export { createEgressClient } from './egress-client.ts';
export { createMailConnector } from './guarded-socket.ts';
export { refuseAddress } from './refuse-address.ts';
export type { ResolveName } from './resolve-name.ts';
export {
  createStreamingClient,
  type OpenedAnswer,
  type StreamingClient,
  type StreamingRequest,
  type StreamingTimeouts,
} from './streaming-client.ts';
