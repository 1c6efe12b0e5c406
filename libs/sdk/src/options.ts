import { DEFAULT_BREAKER_LIMITS } from '@agentlens/guardrails/breaker';
import type { LocalRules } from './guard/local-rules.ts';
import type { Runtime } from './runtime/runtime.ts';
import { SINK_DEFAULTS, type SinkOptions } from './sink/sink-options.ts';
import type { BreakerLimits } from './wire/contract.ts';
import type { AgentIdentity, AgentMessage, ToolInfo } from './wire/model.ts';

export interface Logger {
  warn(message: string): void;
  /** What is worth knowing at the start; nothing is wrong. */
  info?(message: string): void;
}

export interface AgentLensOptions {
  /** An API key with the scopes `ingest` and `decide`. */
  readonly apiKey: string;
  /** Where the platform answers, such as `https://agentlens.example.com`. */
  readonly baseUrl: string;
  readonly agent: AgentIdentity;
  readonly tools?: readonly ToolInfo[];
  /**
   * `enforce` (default): a refused call does not happen. `shadow`: every call happens, and what would have been
   * refused is recorded. `off`: nobody is asked; results are still recorded.
   */
  readonly enforceMode?: 'enforce' | 'shadow' | 'off';
  /** What a call gets that nobody could decide in time: `open` (default) allows it, `closed` ends the run. */
  readonly failMode?: 'open' | 'closed';
  /** Longest wait for any answer of the server, ms. Default 1000. */
  readonly deadlineMs?: number;
  /** What the platform sets for this agent wins over these. `false`: no breaker in this process. */
  readonly breaker?: Partial<BreakerLimits> | false;
  /** Decides without the server what needs no state; without it the server is asked whenever a rule applies. */
  readonly rules?: LocalRules;
  /** How to hear of orders: over a stream (falling back to asking), or not at all. Default: what the runtime can. */
  readonly control?: 'stream' | 'poll' | 'off';
  /** Between signs of life of each run, ms; 0 sends none. Default 30 000. */
  readonly heartbeatMs?: number;
  /** Changes a message before it is recorded and before it goes to the model. Must not throw; it is asked once each. */
  readonly redactMessage?: (message: AgentMessage) => AgentMessage;
  /**
   * False: messages are counted and told apart, calls are timed, and their contents are not in the events of the run (rules
   * are still asked about arguments and results). Default true; arguments and results of calls are redacted.
   */
  readonly recordContent?: boolean;
  /** Arguments with more characters of JSON than this are not sent. Default 200 000. */
  readonly maxArgumentChars?: number;
  /** What happens to a call whose arguments are too large to be checked. Default `block`. */
  readonly onOversized?: 'block' | 'allow';
  /** How long `end` and `shutdown` wait for events to arrive, ms. Default 5000. */
  readonly drainMs?: number;
  readonly sink?: Partial<SinkOptions>;
  readonly logger?: Logger;
  /** Replaces parts of the machine: a clock in tests, another HTTP client, AsyncLocalStorage at an edge. */
  readonly runtime?: Partial<Runtime>;
}

export interface Settings extends Required<Omit<AgentLensOptions, 'breaker' | 'rules' | 'redactMessage' | 'runtime'>> {
  /** Null: no breaker in this process. */
  readonly breaker: BreakerLimits | null;
  /** Its limits are the platform's defaults, which a tenant can turn off. */
  readonly isDefaultBreaker: boolean;
  readonly rules: LocalRules | null;
  readonly redactMessage: ((message: AgentMessage) => AgentMessage) | null;
  readonly sink: SinkOptions;
}

/** Warnings go where people look, each cause once; numbers tell no causes apart. Standard output is the agent's own. */
function consoleLogger(): Logger {
  const told = new Set<string>();
  const once = (message: string) => {
    const cause = message.replace(/\d+/g, '#');
    if (told.has(cause)) return;
    told.add(cause);
    console.warn(message);
  };
  return { warn: once, info: once };
}

/** Options that were checked, with their defaults. */
export function settingsOf(options: AgentLensOptions, background: boolean): Settings {
  return {
    apiKey: options.apiKey,
    baseUrl: options.baseUrl,
    agent: options.agent,
    tools: options.tools ?? [],
    enforceMode: options.enforceMode ?? 'enforce',
    failMode: options.failMode ?? 'open',
    deadlineMs: options.deadlineMs ?? 1_000,
    breaker: options.breaker === false ? null : { ...DEFAULT_BREAKER_LIMITS, ...given(options.breaker) },
    isDefaultBreaker: options.breaker === undefined,
    rules: options.rules ?? null,
    control: options.control ?? (background ? 'stream' : 'off'),
    heartbeatMs: options.heartbeatMs ?? 30_000,
    redactMessage: options.redactMessage ?? null,
    recordContent: options.recordContent ?? true,
    maxArgumentChars: options.maxArgumentChars ?? 200_000,
    onOversized: options.onOversized ?? 'block',
    drainMs: options.drainMs ?? 5_000,
    sink: { ...SINK_DEFAULTS, ...given(options.sink) },
    logger: options.logger ?? consoleLogger(),
  };
}

/** Without what is undefined: a limit that is not configured is the default one, not none. */
function given<T extends object>(some: Partial<T> | undefined): Partial<T> {
  return Object.fromEntries(Object.entries(some ?? {}).filter(([, value]) => value !== undefined)) as Partial<T>;
}
