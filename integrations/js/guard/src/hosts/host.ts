/** The coding agents that have a translator. The id is also the default agent slug on the platform. */
export const HOST_IDS = [
  'claude-code',
  'codex',
  'gemini-cli',
  'qwen-code',
  'copilot-cli',
  'kimi-code',
  'opencode',
] as const;
export type HostId = (typeof HOST_IDS)[number];

export type JsonRecord = Readonly<Record<string, unknown>>;

/** A tool call as the host names it. */
export interface ToolUse {
  readonly name: string;
  readonly input: JsonRecord;
  /** Absent on hosts that do not identify calls. */
  readonly id?: string;
  readonly mcp?: { readonly server: string; readonly tool: string };
}

export interface ToolOutcome {
  readonly ok: boolean;
  /** First line of the host's error text. */
  readonly error?: string;
  readonly exitCode?: number;
  readonly durationMs?: number;
  /** Size of the result, which itself stays on this machine. */
  readonly bytes?: number;
}

export type HookKind =
  | 'session-start'
  | 'prompt'
  | 'before'
  | 'after'
  | 'sub-agent-start'
  | 'sub-agent-end'
  | 'turn-end'
  | 'session-end'
  | 'settings-change';

/** One hook input in host-independent form. */
export interface HookEvent {
  readonly kind: HookKind;
  /** The host's own name of the event. */
  readonly name: string;
  readonly session: string;
  readonly subAgent?: {
    readonly id: string;
    readonly type?: string;
    /** The sub-agent that started this one; absent if the session itself did. */
    readonly parent?: string;
    readonly toolUseId?: string;
  };
  readonly cwd?: string;
  /** The file in which the host records this session or sub-agent. */
  readonly transcript?: string;
  readonly model?: string;
  readonly use?: ToolUse;
  readonly outcome?: ToolOutcome;
  /** A model call that the host reports as an event. */
  readonly usage?: ModelUsage;
}

/** Tokens of one model call. `id` is the host's id of the message, so that it counts once. */
export interface ModelUsage {
  readonly id: string;
  readonly model?: string;
  /** Without cached tokens. */
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  /** The part of `cacheWrite` that is kept for an hour, which costs more. */
  readonly cacheWriteHour?: number;
  /** `fast`, `priority`, `batch`: the price differs from the standard one. */
  readonly tier?: string;
  /** Cost as the host computes it, in USD. */
  readonly costUsd?: number;
}

export interface Refusal {
  readonly kind: 'deny';
  readonly reason: string;
  readonly stop: boolean;
}

export type HookAnswer =
  /** Nothing is said: the host's own permissions apply. */
  { readonly kind: 'pass' } | Refusal | { readonly kind: 'change'; readonly input: JsonRecord };

export const PASS: HookAnswer = { kind: 'pass' };

/** What happens to a call when the hook itself fails, in enforce mode. */
export type Grade = 'closed' | 'closed except for the timeout of the host' | 'open';

export interface HostContract {
  readonly id: HostId;
  readonly title: string;
  /** Prefix of run ids. */
  readonly prefix: string;
  readonly binary: string;
  /** Versions against which the contract was proven: from (inclusive) and before (exclusive). */
  readonly tested: { readonly from: string; readonly before: string };
  /** Hook events to install, by the host's names. */
  readonly events: Readonly<Record<string, HookKind>>;
  readonly grade: Grade;
  /** Cases that stay open in enforce mode, in words for a person. */
  readonly holes: readonly string[];
  /** Whether the host replaces arguments with those of the answer. */
  readonly changesArguments: boolean;
  /**
   * Where the host records sessions, if its hooks do not say it: files of this name below a folder of the home and a
   * folder with the id of the session.
   */
  readonly transcripts?: { readonly folder: string; readonly name: string };
  /** @returns null for an event without meaning for the platform @throws ContractError */
  readonly read: (event: string, input: JsonRecord) => HookEvent | null;
  /** The text the hook prints; empty for "no opinion". Members that a host does not know make its answer invalid. */
  readonly say: (event: HookEvent, answer: HookAnswer) => string;
  /**
   * Whether the hook says this refusal by exit code 2 and the reason on standard error as well. Hosts run hooks through
   * a shell; a shell that prints a line makes the output unreadable, and the call would run.
   */
  readonly refusesByExit?: (event: HookEvent, answer: Refusal) => boolean;
}

/** A hook input lacks what the contract of its host promises. */
export class ContractError extends Error {
  override readonly name = 'ContractError';
}

export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** @throws ContractError unless the member is a text with content */
export function need(input: JsonRecord, member: string): string {
  const value = input[member];
  if (typeof value === 'string' && value !== '') return value;
  throw new ContractError(`the hook input has no "${member}"`);
}

export function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

export function count(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : 0;
}

export function recordOf(value: unknown): JsonRecord {
  return isRecord(value) ? value : {};
}

const MAX_ERROR_CHARS = 200;

/** First line of an error text, short enough for a list. */
export function firstLine(value: unknown): string | undefined {
  const line = text(value)?.split('\n', 1)[0]?.trim();
  return line === undefined || line === '' ? undefined : line.slice(0, MAX_ERROR_CHARS);
}

/** Exit code in the texts that hosts write: "Exit code 3", "Exit Code: 3", "exited with code: 3". */
export function exitCodeIn(value: unknown): number | undefined {
  const found = /\b(?:exit(?:ed with)?[ _]code|exit status):? ?(\d{1,3})\b/i.exec(text(value) ?? '')?.[1];
  return found === undefined ? undefined : Number(found);
}

export function sizeOf(value: unknown): number {
  const whole = typeof value === 'string' ? value : JSON.stringify(value ?? '');
  return Buffer.byteLength(whole);
}
