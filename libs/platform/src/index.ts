import './telemetry/on-load.ts';

export { assemblePlatform } from './assemble-platform.ts';
export { apiKeyHash, apiKeyIdOf, bearerOf, newApiKey } from './auth/api-key.ts';
export { type ApiKey, ApiKeys, type NewApiKey } from './auth/api-keys.ts';
export { DEFAULT_TENANT } from './auth/bootstrap-key.ts';
export {
  browserSessionOf,
  comesFromHere,
  SESSION_LIFE_MS,
  SessionCookies,
  type StreamTicket,
  StreamTickets,
} from './auth/browser-sessions.ts';
export type { KeyCheck, KeyDirectory } from './auth/cached-key-directory.ts';
export {
  AllowQueryToken,
  boundTo,
  type Caller,
  CurrentCaller,
  callerOf,
  OTHER_AGENT,
  Public,
  requireAgent,
  type SignedInPerson,
  Scopes,
} from './auth/caller.ts';
export { RouteSetting, type RouteSettings } from './auth/route-config.ts';
export { type EnvironmentProvider, loadConfig, type PlatformConfig } from './config/config.ts';
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
  parsePosition,
  START_POSITION,
  stateOfRun,
} from './control/index.ts';
export { DecisionMetrics } from './decisions/decision-metrics.ts';
export {
  beyondEffect,
  type DecisionOutcome,
  decisionOf,
  orderedOutcome,
  ruledOutcome,
} from './decisions/decision-outcome.ts';
export { DecisionPublisher, keptCall } from './decisions/decision-publisher.ts';
export { type HealthAnswer, HealthRegistry } from './health/health-registry.ts';
export { LoopProgress } from './health/loop-progress.ts';
export { createHttpApp, startApp } from './http/create-http-app.ts';
export { isDatabaseAway } from './http/database-away.ts';
export { EVENT_STREAM_HEADERS, EventStream, frameText, type StreamFrame } from './http/event-stream.ts';
export { ProblemFilter } from './http/problem.filter.ts';
export { ProblemException, parseOr400 } from './http/problem-exception.ts';
export { FromRequest } from './http/read-request.ts';
export { routeOf, Serves } from './http/serves.ts';
export { listen, shutDown, shutDownOnSignal } from './lifecycle/serve.ts';
export { createLogger } from './log/create-logger.ts';
export { BusTransport, Consumes, HandlesCommand } from './messages/message-handlers.ts';
export { ensureBootstrapKey, ensurePlatformKey, openPlatform } from './open-platform.ts';
export type { Clock, Platform } from './platform.ts';
export { PriceBooks } from './prices/price-books.ts';
export { explain, providersOf, runService, type ServiceModule } from './run-service.ts';
export type { SecretBox } from './secret-box.ts';
export { AesSecretBox } from './secret-box.ts';
export { port, portProviders } from './service-ports.ts';
export { AnnouncedReads, type SettingsReader, TenantSettingsCache } from './settings/tenant-settings-cache.ts';
export { type PipelineStage, type Release, runStages } from './stages.ts';
export { mapInSlices, nextSlice, readInSlices, runInSlices } from './time-slices.ts';
export { withDeadline } from './with-deadline.ts';
