export { type Clock, type Platform, SERVICES, type ServiceName } from './platform.ts';
export type { SecretBox } from './secret-box.ts';
export {
  CLOCK,
  COOLDOWN_STORE,
  DATABASE,
  EGRESS_CLIENT,
  EGRESS_POLICY,
  EVENT_BUS,
  HEALTH,
  IDEMPOTENCY_STORE,
  LOGGER,
  QUOTA,
  SECRET_BOX,
  WINDOW_STORE,
} from './tokens.ts';
