/** Injection tokens of the ports; `PlatformModule.forService` provides them to one service's module. */
export const EVENT_BUS = Symbol('EVENT_BUS');
export const QUOTA = Symbol('QUOTA');
export const IDEMPOTENCY_STORE = Symbol('IDEMPOTENCY_STORE');
export const DATABASE = Symbol('DATABASE');
export const CLOCK = Symbol('CLOCK');
export const SECRET_BOX = Symbol('SECRET_BOX');
export const LOGGER = Symbol('LOGGER');
/** Connected SDK instances; see Presence. */
export const PRESENCE = Symbol('PRESENCE');
/** Context that runs reported at their start; see RunContexts. */
export const RUN_CONTEXTS = Symbol('RUN_CONTEXTS');
/** Counts of run trees; see RunTrees. */
export const RUN_TREES = Symbol('RUN_TREES');
/** Orders and directives in force, in memory (ingest and guardrail-evaluator only); see ControlBoard. */
export const CONTROL_BOARD = Symbol('CONTROL_BOARD');
/** Reports progress and readiness; see HealthRegistry. */
export const HEALTH = Symbol('HEALTH');
/** Checks API keys; see KeyDirectory. */
export const KEY_DIRECTORY = Symbol('KEY_DIRECTORY');
/** Configuration of the process. */
export const CONFIG = Symbol('CONFIG');
