import {
  type AnsweredCall,
  type AnswerMeter,
  FrameScanner,
  HeldAnswer,
  mayHoldCalls,
  type ProviderFrame,
  readWholeAnswer,
  type ToolVerdict,
} from '@agentlens/model-api';
import type { AnswerRules } from '../answers/answer-rules.ts';
import type { AnswerTools } from '../tools/answer-tools.ts';
import type { GatewayCall } from '../gateway-call.ts';
import type { GrowingReservation } from './growing-reservation.ts';
import { Stopped } from '../stopped.ts';

/** A whole answer beyond this is passed on, and its usage counted. */
const MAX_WHOLE_BYTES = 32 * 1024 * 1024;
/** A held stream is silent for the client. Shorter than the patience of any client. */
const KEEP_ALIVE_MS = 10_000;
const COMMENT = ': keep-alive\n\n';
/** Google's client for Python fails at comments, and reads over blank lines. */
const BLANK = '\r\n';

interface PassedAnswerDependencies {
  readonly call: GatewayCall;
  readonly meter: AnswerMeter;
  readonly growing: GrowingReservation;
  readonly rules: Pick<AnswerRules, 'concern' | 'require' | 'note'>;
  readonly tools: Pick<AnswerTools, 'holds' | 'decide' | 'note'>;
  readonly write: (bytes: Uint8Array | string) => Promise<void>;
  /** Aborted when the answer ends from here. */
  readonly signal: AbortSignal;
}

/** The provider ended its stream inside a tool call. */
class IncompleteAnswer extends Error {
  override readonly name = 'IncompleteAnswer';
}

/** Passes one answer on: meters it, holds tool calls that have to be decided, and changes nothing else. */
export class PassedAnswer {
  readonly #parts: PassedAnswerDependencies;
  readonly #held: HeldAnswer;
  readonly #verdicts = new Map<string, ToolVerdict>();

  constructor(parts: PassedAnswerDependencies) {
    this.#parts = parts;
    const { call, tools } = parts;
    this.#held = new HeldAnswer(call.api, (name) => tools.holds(call, name));
  }

  /** Frames are passed on as soon as they are complete, so that an answer can end between two of them. */
  async passStream(chunks: AsyncIterable<Uint8Array>): Promise<void> {
    const { call, write } = this.#parts;
    const scanner = new FrameScanner();
    let isRead = true;
    for await (const chunk of chunks) {
      if (!isRead) {
        await write(chunk);
        continue;
      }
      await this.#passFrames(scanner.push(chunk));
      if (!scanner.isOverfull) continue;
      if (this.#held.isHolding || call.request.tools.length > 0) throw tooLarge();
      isRead = false;
      await write(scanner.rest());
    }
    await this.#passFrames([scanner.end()]);
    const { isHolding, isComplete } = this.#held;
    if (isHolding && !isComplete) throw new IncompleteAnswer('the stream ended inside a tool call');
    this.#noteOthers(this.#held.calls);
    const { meter, rules } = this.#parts;
    await rules.note(call, meter.end());
  }

  async #passFrames(frames: readonly ProviderFrame[]): Promise<void> {
    const { call, meter, growing, signal } = this.#parts;
    let passed: Uint8Array[] = [];
    for (const frame of frames) {
      meter.frame(frame);
      if (call.addedUsage && isUsageOnly(frame)) continue;
      const free = this.#held.push(frame);
      if (free !== undefined) passed.push(free.raw);
      if (this.#held.isOverfull) throw tooLarge();
      if (this.#held.isUnread) this.#requireNoHeldTools();
      if (!this.#held.isHolding || !this.#held.isComplete) continue;
      await this.#writeAll(passed);
      passed = [...(await this.#release())];
    }
    const reserved = growing.streamed(meter.outputTokens);
    if (reserved !== undefined) await this.#keptAlive(() => reserved);
    signal.throwIfAborted();
    await this.#writeAll(passed);
  }

  async #release(): Promise<readonly Uint8Array[]> {
    const { isSigned } = this.#held;
    const verdicts = await this.#keptAlive(() => this.#decide(this.#held.calls, isSigned));
    return this.#held.release(verdicts);
  }

  /** A call that was decided is not asked about again. */
  async #decide(calls: readonly AnsweredCall[], isSigned: boolean): Promise<ReadonlyMap<string, ToolVerdict>> {
    const { call, tools, signal } = this.#parts;
    const open = calls.filter(({ key }) => !this.#verdicts.has(key));
    for (const [key, verdict] of await tools.decide(call, open, isSigned, signal)) this.#verdicts.set(key, verdict);
    return this.#verdicts;
  }

  async #keptAlive<T>(work: () => Promise<T>): Promise<T> {
    const { call, write } = this.#parts;
    // A client that left ends the work by its signal.
    const timer = setInterval(() => {
      write(call.api === 'generate' ? BLANK : COMMENT).catch(() => clearInterval(timer));
    }, KEEP_ALIVE_MS);
    try {
      return await work();
    } finally {
      clearInterval(timer);
    }
  }

  /** An answer that is no stream of events. If it may call tools, or rules decide it, it is passed on when it is complete. */
  async passWhole(chunks: AsyncIterable<Uint8Array>): Promise<void> {
    const { call, meter, rules, signal, write } = this.#parts;
    const isHeld = call.request.tools.length > 0 || rules.concern(call);
    const kept: Uint8Array[] = [];
    let bytes = 0;
    for await (const chunk of chunks) {
      bytes += chunk.length;
      if (bytes <= MAX_WHOLE_BYTES) kept.push(chunk);
      else if (isHeld) throw tooLarge();
      if (!isHeld) await write(chunk);
    }
    if (bytes > MAX_WHOLE_BYTES) return;
    const whole = Buffer.concat(kept);
    meter.whole(whole);
    if (!isHeld) return;
    await rules.require(call, meter.end(), signal);
    await write(await this.#decideWhole(whole));
  }

  async #decideWhole(whole: Buffer): Promise<Uint8Array | string> {
    const { call, tools } = this.#parts;
    const text = whole.toString();
    const answer = readWholeAnswer(call.api, text);
    if (answer === undefined) {
      if (mayHoldCalls(call.api, text)) this.#requireNoHeldTools();
      return whole;
    }
    if (!answer.calls.some(({ name }) => tools.holds(call, name))) {
      this.#noteOthers(answer.calls);
      return whole;
    }
    const verdicts = await this.#decide(answer.calls, answer.isSigned);
    const isUnchanged = [...verdicts.values()].every(({ kind }) => kind === 'allow');
    return isUnchanged ? whole : answer.rewrite(verdicts);
  }

  #noteOthers(calls: readonly AnsweredCall[]): void {
    const { call, tools } = this.#parts;
    tools.note(
      call,
      calls.filter(({ key }) => !this.#verdicts.has(key)),
    );
  }

  /** What cannot be read here may be a tool call for the parser of the client. */
  #requireNoHeldTools(): void {
    const { call, tools } = this.#parts;
    if (!this.#held.isHolding && !call.request.tools.some((name) => tools.holds(call, name))) return;
    const message = 'AgentLens stopped this answer: it is not valid JSON, so that its tool calls cannot be checked.';
    throw new Stopped({ kind: 'policy', code: 'answer_unreadable', message });
  }

  async #writeAll(pieces: readonly Uint8Array[]): Promise<void> {
    const [only] = pieces;
    if (only !== undefined) await this.#parts.write(pieces.length === 1 ? only : Buffer.concat(pieces));
  }
}

/** The chunk that a stream of chat completions has only if its usage is asked for. */
function isUsageOnly({ data }: ProviderFrame): boolean {
  return data !== undefined && /"usage":\s*\{/.test(data) && /"choices":\s*\[\s*\]/.test(data);
}

function tooLarge(): Stopped {
  const message = 'AgentLens stopped this answer: it is too large to be checked.';
  return new Stopped({ kind: 'policy', code: 'answer_too_large', message });
}
