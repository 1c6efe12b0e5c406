import { DEFAULT_BREAKER_LIMITS } from '@agentlens/guardrails/breaker';
import type { LocalRules } from './guard/local-rules.ts';
import type { Runtime } from './runtime/runtime.ts';
import { SINK_DEFAULTS, type SinkOptions } from './sink/event-queue.ts';
import type { BreakerLimits } from './wire/contract.ts';
import type { AgentIdentity, AgentMessage, ToolInfo } from './wire/model.ts';

export interface Logger {
  warn(message: string): void;
  /** Useful information at the start; not a problem. */
  info?(message: string): void;
}

export interface AgentLensOptions {
  /** An API key with the scopes `ingest` and `decide`. */
  readonly apiKey: string;
  /** The platform's address, such as `https://agentlens.example.com`. */
  readonly baseUrl: string;
  readonly agent: AgentIdentity;
  readonly tools?: readonly ToolInfo[];
  /**
   * `enforce` (default): refused calls do not run. `shadow`: every call runs, and what would have been refused is
   * recorded. `off`: no decisions; results are still recorded.
   */
  readonly enforceMode?: 'enforce' | 'shadow' | 'off';
  /** What a call gets if no decision can be made in time: `open` (default) allows it, `closed` ends the run. */
  readonly failMode?: 'open' | 'closed';
  /** Longest wait for any server response, in ms. Default 1000. */
  readonly deadlineMs?: number;
  /** Limits set on the platform for this agent take precedence. `false`: no breaker in this process. */
  readonly breaker?: Partial<BreakerLimits> | false;
  /** Decides stateless rules without the server. Without it, the server is asked whenever a rule applies. */
  readonly rules?: LocalRules;
  /**
   * How to receive orders: by stream (with polling as a fallback), by polling, or not at all. Default: what the runtime
   * supports.
   */
  readonly control?: 'stream' | 'poll' | 'off';
  /** Interval between heartbeats of each run, in ms; 0 sends none. Default 30 000. */
  readonly heartbeatMs?: number;
  /** Changes a message before it is recorded and sent to the model. Must not throw; called once per message. */
  readonly redactMessage?: (message: AgentMessage) => AgentMessage;
  /**
   * If false, the events of a run count and distinguish messages and time calls, but contain no contents; rules still
   * receive arguments and results. Default true; arguments and results are redacted.
   */
  readonly recordContent?: boolean;
  /** Arguments with more JSON characters are not sent. Default 200 000. */
  readonly maxArgumentChars?: number;
  /** What happens to a call whose arguments are too large to check. Default `block`. */
  readonly onOversized?: 'block' | 'allow';
  /** How long `end` and `shutdown` wait for events to be delivered, in ms. Default 5000. */
  readonly drainMs?: number;
  readonly sink?: Partial<SinkOptions>;
  readonly logger?: Logger;
  /** Replaces parts of the runtime: a test clock, another HTTP client, AsyncLocalStorage on an edge runtime. */
  readonly runtime?: Partial<Runtime>;
}

export interface Settings extends Required<Omit<AgentLensOptions, 'breaker' | 'rules' | 'redactMessage' | 'runtime'>> {
  /** Null: no breaker in this process. */
  readonly breaker: BreakerLimits | null;
  /** The limits are the platform's defaults, which a tenant can disable. */
  readonly isDefaultBreaker: boolean;
  readonly rules: LocalRules | null;
  readonly redactMessage: ((message: AgentMessage) => AgentMessage) | null;
  readonly sink: SinkOptions;
}

/**
 * Logs each cause once to standard error, because standard output belongs to the agent. Causes that differ only in
 * numbers count as one.
 */
function consoleLogger(): Logger {
  const warned = new Set<string>();
  const once = (message: string) => {
    const cause = message.replace(/\d+/g, '#');
    if (warned.has(cause)) return;
    warned.add(cause);
    console.warn(message);
  };
  return { warn: once, info: once };
}

/** Applies the defaults to checked options. */
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

/** Drops undefined members: a limit that is not configured gets its default, not "no limit". */
function given<T extends object>(some: Partial<T> | undefined): Partial<T> {
  return Object.fromEntries(Object.entries(some ?? {}).filter(([, value]) => value !== undefined)) as Partial<T>;
}
