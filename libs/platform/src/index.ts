import './telemetry/on-load.ts';

export { AesSecretBox } from './aes-secret-box.ts';
export { assemblePlatform } from './assemble-platform.ts';
export { apiKeyIdOf, newApiKey } from './auth/api-key.ts';
export { type ApiKey, ApiKeys, type NewApiKey } from './auth/api-keys.ts';
export { bearerOf } from './auth/bearer.ts';
export { DEFAULT_TENANT } from './auth/bootstrap-key.ts';
export { boundTo, OTHER_AGENT, requireAgent } from './auth/bound-agents.ts';
export {
  AllowQueryToken,
  type Caller,
  CurrentCaller,
  callerOf,
  Public,
  Scopes,
} from './auth/caller.ts';
export type { KeyCheck, KeyDirectory } from './auth/key-directory.ts';
export { RouteSetting, type RouteSettings } from './auth/route-config.ts';
export { comesFromHere, SessionCookies } from './auth/session-cookies.ts';
export { type StreamTicket, StreamTickets } from './auth/stream-tickets.ts';
export { loadConfig, type PlatformConfig } from './config/config.ts';
export { ConfigError } from './config/config-error.ts';
export type { ProcessName, ServiceName } from './config/process-names.ts';
export {
  advance,
  ControlBoard,
  type ControlItem,
  type ControlPosition,
  type ControlReader,
  type ControlState,
  ControlTables,
  controlStateMessage,
  formatPosition,
  graver,
  NOTHING_TOLD,
  parsePosition,
} from './control/index.ts';
export { type HealthAnswer, HealthRegistry } from './health/health-registry.ts';
export { createHttpApp, startApp } from './http/create-http-app.ts';
export { isDatabaseAway } from './http/database-away.ts';
export { EVENT_STREAM_HEADERS, EventStream, frameText, type StreamFrame } from './http/event-stream.ts';
export { parseOr400 } from './http/parse-or-400.ts';
export { ProblemFilter } from './http/problem.filter.ts';
export { ProblemException } from './http/problem-exception.ts';
export { FromRequest } from './http/read-request.ts';
export { routeOf, Serves } from './http/serves.ts';
export { listen, shutDown, shutDownOnSignal } from './lifecycle/serve.ts';
export { createLogger } from './log/create-logger.ts';
export { BusTransport, Consumes, HandlesCommand } from './messages/message-handlers.ts';
export { ensureBootstrapKey, ensurePlatformKey, openPlatform } from './open-platform.ts';
export type { Clock, Platform } from './platform.ts';
export { PlatformModule } from './platform-module.ts';
export { explain, providersOf, runService, type ServiceModule } from './run-service.ts';
export type { SecretBox } from './secret-box.ts';
export { mapInSlices, nextSlice, readInSlices } from './time-slices.ts';
export {
  BREAKER_STORE,
  BUDGET_STORE,
  CALL_HISTORY,
  CLOCK,
  CONFIG,
  CONTROL_BOARD,
  COOLDOWN_STORE,
  DATABASE,
  EGRESS_CLIENT,
  EGRESS_POLICY,
  EVALUATION_TALLY,
  EVENT_BUS,
  HEALTH,
  IDEMPOTENCY_STORE,
  KEY_DIRECTORY,
  LOGGER,
  PRESENCE,
  QUOTA,
  RUN_CONTEXTS,
  SECRET_BOX,
  WINDOW_STORE,
} from './tokens.ts';
export { withDeadline } from './with-deadline.ts';
