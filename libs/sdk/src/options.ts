import { DEFAULT_BREAKER_LIMITS } from '@agentlens/guardrails/breaker';
import type { LocalRules } from './guard/local-rules.ts';
import type { Runtime } from './runtime/runtime.ts';
import { SINK_DEFAULTS, type SinkOptions } from './sink/event-sink.ts';
import type { BreakerLimits } from './wire/contract.ts';
import type { AgentIdentity, AgentMessage, ToolInfo } from './wire/model.ts';

export interface Logger {
  warn(message: string): void;
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
  /** False: messages are counted and told apart, their content never leaves the process. Default true. */
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
  readonly breaker: BreakerLimits | null;
  readonly rules: LocalRules | null;
  readonly redactMessage: ((message: AgentMessage) => AgentMessage) | null;
  readonly sink: SinkOptions;
}

const SILENT: Logger = { warn: () => undefined };

/** Options with their defaults. Only what a programmer got wrong throws, and it says which option. */
export function settingsOf(options: AgentLensOptions, background: boolean): Settings {
  mustBe(typeof options.apiKey === 'string' && options.apiKey !== '', 'apiKey', 'a non-empty string');
  mustBe(isHttpUrl(options.baseUrl), 'baseUrl', 'an http(s) URL');
  mustBe(typeof options.agent?.slug === 'string' && options.agent.slug !== '', 'agent.slug', 'a non-empty string');
  const { deadlineMs = 1000, heartbeatMs = 30_000, drainMs = 5_000, maxArgumentChars = 200_000 } = options;
  mustBe(deadlineMs > 0 && Number.isFinite(deadlineMs), 'deadlineMs', 'a positive number');
  mustBe(heartbeatMs >= 0 && Number.isFinite(heartbeatMs), 'heartbeatMs', '0 or a positive number');
  mustBe(drainMs >= 0 && Number.isFinite(drainMs), 'drainMs', '0 or a positive number');
  const sink = { ...SINK_DEFAULTS, ...options.sink };
  mustBe(Number.isInteger(sink.maxQueue) && sink.maxQueue > 0, 'sink.maxQueue', 'a positive whole number');
  mustBe(Number.isInteger(sink.batchSize) && sink.batchSize > 0, 'sink.batchSize', 'a positive whole number');
  return {
    apiKey: options.apiKey,
    baseUrl: options.baseUrl,
    agent: options.agent,
    tools: options.tools ?? [],
    enforceMode: oneOf(options.enforceMode, ['enforce', 'shadow', 'off'], 'enforceMode'),
    failMode: oneOf(options.failMode, ['open', 'closed'], 'failMode'),
    onOversized: oneOf(options.onOversized, ['block', 'allow'], 'onOversized'),
    control: options.control ?? (background ? 'stream' : 'off'),
    breaker: options.breaker === false ? null : { ...DEFAULT_BREAKER_LIMITS, ...options.breaker },
    rules: options.rules ?? null,
    redactMessage: options.redactMessage ?? null,
    recordContent: options.recordContent ?? true,
    logger: options.logger ?? SILENT,
    ...{ deadlineMs, heartbeatMs, drainMs, maxArgumentChars, sink },
  };
}

function mustBe(holds: boolean, option: string, what: string): void {
  if (!holds) throw new TypeError(`AgentLens.init: ${option} must be ${what}`);
}

function oneOf<T extends string>(value: T | undefined, known: readonly [T, ...T[]], option: string): T {
  if (value === undefined) return known[0];
  mustBe(known.includes(value), option, known.join(' or '));
  return value;
}

function isHttpUrl(text: unknown): boolean {
  if (typeof text !== 'string' || !URL.canParse(text)) return false;
  return ['http:', 'https:'].includes(new URL(text).protocol);
}
