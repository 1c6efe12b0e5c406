import { sha256Hex } from '@agentlens/contracts/sha256';
import { isSecretName } from '@agentlens/guardrails/detectors';
import type { Settings } from '../options.ts';
import { redact } from '../redact/redact.ts';
import type { RuntimeClock } from '../runtime/runtime.ts';
import type { Decision } from '../wire/decision.ts';
import { clip, safeJson, utf8Bytes } from '../wire/safe-json.ts';
import { OpenCalls } from './open-calls.ts';
import type { RunBreaker } from './run-breaker.ts';
import type { ApprovalWait, ToolCallOptions } from './run-config.ts';
import { decisionData, errorData } from './run-events.ts';
import type { RunQuestions } from './run-questions.ts';
import type { RunStory } from './run-story.ts';

/** JSON characters of one content kept in an event. */
const MAX_CHARS = 16_000;
const START_CHARS = 4_000;
/** Larger content is not scanned, because the agent would wait for it. */
const MAX_SCANNED_CHARS = 200_000;

/**
 * What an event keeps of a call's arguments or result: the redacted value under `name`, or, if it is too long, its JSON
 * length, the beginning of the redacted JSON and its SHA-256 under `…Cut`.
 */
export function keptContent(name: 'arguments' | 'result', value: unknown): Record<string, unknown> {
  if (value === undefined) return {};
  const json = safeJson(value);
  if (json.length > MAX_SCANNED_CHARS) return { [`${name}Cut`]: { chars: json.length } };
  const redacted = redacting(JSON.parse(json));
  const text = JSON.stringify(redacted);
  if (text.length <= MAX_CHARS) return { [name]: redacted };
  return { [`${name}Cut`]: { chars: json.length, start: clip(text, START_CHARS), sha256: sha256Hex(text) } };
}

/** Redacts plain JSON: what the detectors find, and members named like a secret. */
function redacting(value: unknown): unknown {
  if (typeof value === 'string') return redact(value).text;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(redacting);
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      key,
      isSecretName(key) && member !== null ? '[secret]' : redacting(member),
    ]),
  );
}

interface ToolCallsDependencies {
  readonly settings: Settings;
  readonly clock: RuntimeClock;
  readonly story: RunStory;
  readonly breaker: RunBreaker;
  readonly questions: RunQuestions;
  readonly signal: AbortSignal;
  readonly newId: () => string;
  /** Resolves when an approval may have been decided, or after `ms`. */
  readonly nextApproval: (ms: number) => Promise<void>;
}

/** Result of a call. */
interface ReportedToolOutcome {
  readonly args: unknown;
  readonly result: unknown;
  readonly durationMs: number | undefined;
  /** Absent if it succeeded. */
  readonly error: unknown;
}

const APPROVAL_TIMEOUT_MS = 15 * 60_000;
const APPROVAL_POLL_MS = 2_000;

/** Hooks around tool calls. A call has one id from decision to result, regardless of its name in the framework. */
export class ToolCalls {
  readonly #tools: ToolCallsDependencies;
  readonly #calls = new OpenCalls();

  constructor(tools: ToolCallsDependencies) {
    this.#tools = tools;
  }

  /** A call that a person has to approve keeps its id: repeating it asks about the same approval. */
  async before(name: string, args: unknown, options: ToolCallOptions): Promise<Decision> {
    const callId = this.#calls.takeParked(name, this.#json(args)) ?? options.callId ?? this.#tools.newId();
    return this.#ask(name, args, options, callId);
  }

  async #ask(name: string, args: unknown, options: ToolCallOptions, callId: string): Promise<Decision> {
    const { settings, clock, story, questions, newId } = this.#tools;
    const json = this.#json(args);
    const startedAt = clock.elapsed();
    const { tags = [], subjects } = options;
    const oversized = json.length > settings.maxArgumentChars;
    const decision = await questions.before(
      { phase: 'tool.before', callId, args, toolName: name, toolTags: tags, subjects, oversized },
      { bytes_in: utf8Bytes(json), ...options.metrics },
    );
    const pending = decision.cause.kind === 'HITL_PENDING';
    const isRepeated = pending && this.#calls.hasAsked(callId);
    if (pending) this.#calls.park(name, json, callId);
    if (decision.verdict === 'ALLOW') {
      if (!this.#calls.useApproval(callId)) return this.#ask(name, args, options, newId());
      this.#calls.begin(name, callId);
    }
    // A human takes minutes: repeated requests are recorded once.
    if (settings.enforceMode !== 'off' && !isRepeated)
      story.tell('tool.decision', decisionData(decision, { name, tags }, clock.elapsed() - startedAt));
    return decision;
  }

  after(name: string, outcome: ReportedToolOutcome, options: ToolCallOptions): Promise<Decision> {
    const { settings, story, breaker, questions, newId } = this.#tools;
    const { args, result, durationMs, error } = outcome;
    const failed = error !== undefined;
    const callId = this.#calls.finish(name, options.callId) ?? newId();
    const { tags = [], subjects } = options;
    breaker.toolEnded(callId, failed);
    story.tell('tool.result', {
      tool: { name, ...(tags.length === 0 ? {} : { categories: tags }) },
      outcome: failed ? 'error' : 'success',
      ...{ durationMs, callId },
      ...(settings.recordContent ? { ...keptContent('arguments', args), ...keptContent('result', result) } : {}),
      ...(failed ? { error: errorData(error) } : {}),
    });
    story.nextStep();
    const [argsJson, resultJson] = [this.#json(args), this.#json(result)];
    const tooLarge = resultJson.length > settings.maxArgumentChars;
    return questions.after({
      ...{ phase: 'tool.after', callId, args, toolName: name, toolTags: tags, subjects },
      result: tooLarge ? { truncated: true, chars: resultJson.length } : result,
      cutResult: tooLarge,
      metrics: {
        bytes_in: utf8Bytes(argsJson),
        bytes_out: utf8Bytes(resultJson),
        ...(durationMs === undefined ? {} : { duration_ms: durationMs }),
        ...options.metrics,
      },
      oversized: argsJson.length > settings.maxArgumentChars,
    });
  }

  /** Polls a waiting call until a human decides, the run is stopped or the wait times out. */
  async waitForApproval(name: string, pending: Decision, wait: ApprovalWait & ToolCallOptions): Promise<Decision> {
    const { clock, signal, nextApproval } = this.#tools;
    const until = clock.elapsed() + (wait.timeoutMs ?? APPROVAL_TIMEOUT_MS);
    let decision = pending;
    while (decision.cause.kind === 'HITL_PENDING') {
      const left = until - clock.elapsed();
      if (left <= 0 || signal.aborted || wait.signal?.aborted) {
        this.#calls.park(name, this.#json(pending.args), decision.callId);
        return decision;
      }
      this.#calls.unpark(decision.callId);
      const next = nextApproval(Math.min(left, wait.pollMs ?? APPROVAL_POLL_MS));
      await (wait.signal === undefined ? next : orAborted(next, wait.signal));
      decision = await this.#ask(name, pending.args, wait, decision.callId);
    }
    return decision;
  }

  /** Not measured if no decision is requested. */
  #json(value: unknown): string {
    return this.#tools.settings.enforceMode === 'off' ? '' : safeJson(value);
  }
}

/** Resolves with whichever comes first. */
async function orAborted(next: Promise<void>, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const aborted = new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  await Promise.race([next, aborted]);
}
