export { ApiKeyGuard } from './auth/api-key.guard.ts';
export {
  AllowQueryToken,
  type AuthenticatedRequest,
  type Caller,
  CurrentCaller,
  Public,
  SCOPES,
  type Scope,
  Scopes,
} from './auth/caller.ts';
export type { KeyCheck, KeyDirectory } from './auth/key-directory.ts';
export { loadConfig, type PlatformConfig, type ProcessName } from './config/config.ts';
export { ConfigError } from './config/config-error.ts';
export { type HealthAnswer, type HealthCheck, HealthRegistry } from './health/health-registry.ts';
export { parseOr400 } from './http/parse-or-400.ts';
export { ProblemException, type ProblemOptions } from './http/problem-exception.ts';
export { type Clock, type Platform, SERVICES, type ServiceName } from './platform.ts';
export { PlatformModule } from './platform-module.ts';
export type { SecretBox } from './secret-box.ts';
export {
  CLOCK,
  CONFIG,
  COOLDOWN_STORE,
  DATABASE,
  EGRESS_CLIENT,
  EGRESS_POLICY,
  EVENT_BUS,
  HEALTH,
  IDEMPOTENCY_STORE,
  KEY_DIRECTORY,
  LOGGER,
  QUOTA,
  SECRET_BOX,
  WINDOW_STORE,
} from './tokens.ts';
