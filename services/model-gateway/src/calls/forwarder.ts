import type { OpenedAnswer } from '@agentlens/egress';
import { AnswerMeter, type ModelRefusal, pickAnswerHeaders, writeRefusal, writeStopFrame } from '@agentlens/model-api';
import type { AnswerRules } from '../answers/answer-rules.ts';
import type { CallOutcome, GatewayCall } from '../gateway-call.ts';
import { readAnswer } from '../providers/compression.ts';
import { findUnusable, findWrongKey } from '../providers/unusable-answer.ts';
import { Stopped } from '../stopped.ts';
import type { AnswerTools } from '../tools/answer-tools.ts';
import type { AdmittedCall } from './admission.ts';
import { type AnswerWriter, ClientGone } from './answer-writer.ts';
import { GrowingReservation } from './growing-reservation.ts';
import type { OpenAnswers } from './open-answers.ts';
import { PassedAnswer } from './passed-answer.ts';
import type { FailedAttempt, OpenedCall, ProviderAttempts } from './provider-attempts.ts';

/** Of a whole call, also if its fallback answers. */
const TOTAL_MS = 60 * 60_000;

/** Well below the time that a reservation is held. */
const RENEW_MS = 4 * 60_000;

type Admitted = Pick<AdmittedCall, 'ancestors' | 'estimate' | 'grow' | 'renew' | 'reprice'>;

/** How a call ended, with the connection that answered. */
export interface ForwardedCall {
  readonly call: GatewayCall;
  readonly outcome: CallOutcome;
  readonly failed: FailedAttempt | undefined;
}

interface ForwarderDependencies {
  readonly attempts: Pick<ProviderAttempts, 'open'>;
  readonly openAnswers: Pick<OpenAnswers, 'add'>;
  readonly rules: Pick<AnswerRules, 'concern' | 'require' | 'note'>;
  readonly tools: Pick<AnswerTools, 'holds' | 'decide' | 'note'>;
}

/** Sends a call to its provider and its answer to the client, byte for byte. */
export class Forwarder {
  readonly #parts: ForwarderDependencies;

  constructor(parts: ForwarderDependencies) {
    this.#parts = parts;
  }

  /**
   * Resolves when the answer has ended. The caller of this method ends the response to the client.
   *
   * @param left aborted when the client leaves
   */
  async forward(
    call: GatewayCall,
    admitted: Admitted,
    writer: AnswerWriter,
    own: Readonly<Record<string, string>>,
    left: AbortSignal,
  ): Promise<ForwardedCall> {
    const ending = new AbortController();
    const end = (error: Error) => ending.abort(error);
    const onLeft = () => end(new ClientGone('the client left'));
    left.addEventListener('abort', onLeft, { once: true });
    if (left.aborted) onLeft();
    const late = setTimeout(() => end(new Error('the answer took longer than an hour')), TOTAL_MS);
    const stop = (refusal: ModelRefusal) => end(new Stopped(refusal));
    const forget = this.#parts.openAnswers.add({ call, ancestors: admitted.ancestors, stop });
    try {
      return await this.#exchange(call, admitted, writer, own, { signal: ending.signal, stop });
    } finally {
      forget();
      clearTimeout(late);
      left.removeEventListener('abort', onLeft);
    }
  }

  async #exchange(
    first: GatewayCall,
    admitted: Admitted,
    writer: AnswerWriter,
    headers: Readonly<Record<string, string>>,
    ending: { readonly signal: AbortSignal; readonly stop: (refusal: ModelRefusal) => void },
  ): Promise<ForwardedCall> {
    const { signal, stop } = ending;
    if (signal.aborted) return { call: first, failed: undefined, outcome: notSent(first, writer, headers, signal) };
    const growing = new GrowingReservation(admitted, signal, stop);
    const renewing = setInterval(() => growing.renew(), RENEW_MS);
    try {
      const { call, opened, estimate, failed } = await this.#parts.attempts.open(first, admitted, signal);
      if (failed !== undefined) growing.repriced(estimate);
      const own = failed === undefined ? headers : { ...headers, 'x-agentlens-connection': call.connection.name };
      return { call, failed, outcome: await this.#pass(call, opened, growing, writer, own, signal) };
    } finally {
      clearInterval(renewing);
      await growing.end();
    }
  }

  async #pass(
    call: GatewayCall,
    opened: OpenedCall['opened'],
    growing: GrowingReservation,
    writer: AnswerWriter,
    own: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<CallOutcome> {
    const meter = new AnswerMeter(call.api, call.request.inputTokens);
    if (opened.kind === 'ended') return endedEarly(call, writer, own, opened.reason, meter);
    if (opened.kind !== 'answered') return unanswered(call, writer, own, opened);
    const { status, headers, body } = opened;
    const unusable = findUnusable(call.connection, status);
    if (unusable !== undefined) {
      body.destroy();
      return refuse(call, writer, own, unusable);
    }
    const encoding = headers['content-encoding'];
    const chunks = readAnswer(body, typeof encoding === 'string' ? encoding : undefined);
    const isStream = isEventStream(call, String(headers['content-type'] ?? ''));
    const head = () => writer.head(status, { ...pickAnswerHeaders(headers), ...own });
    // An answer that is no stream may still be refused as a whole.
    if (isStream) {
      head();
      writer.flushHead();
    }
    const write = async (bytes: Uint8Array | string) => {
      if (!writer.hasHead) head();
      await writer.write(bytes, signal);
    };
    try {
      if (status >= 400) {
        for await (const chunk of chunks) {
          // Once the head is out, nothing can be refused any more.
          const wrongKey = writer.hasHead
            ? undefined
            : findWrongKey(call.connection, status, Buffer.from(chunk).toString());
          if (wrongKey !== undefined) {
            body.destroy();
            return refuse(call, writer, own, wrongKey);
          }
          await write(chunk);
        }
        if (!writer.hasHead) head();
        return { kind: 'provider_error', status };
      }
      const { rules, tools } = this.#parts;
      const open = new PassedAnswer({ call, meter, growing, rules, tools, write, signal });
      await (isStream ? open.passStream(chunks) : open.passWhole(chunks));
      if (!writer.hasHead) head();
      return { kind: 'completed', status, answer: meter.end() };
    } catch (error) {
      body.destroy();
      return endedInside(call, writer, own, signal.aborted ? signal.reason : error, meter);
    }
  }
}

/** Some servers do not say that they stream, and clients read the stream all the same. */
function isEventStream({ request }: GatewayCall, contentType: string): boolean {
  return /^text\/event-stream/i.test(contentType) || (request.streamed && !/json/i.test(contentType));
}

/** The call ended before a request was sent, so that it costs nothing. */
function notSent(
  call: GatewayCall,
  writer: AnswerWriter,
  own: Readonly<Record<string, string>>,
  { reason }: AbortSignal,
): CallOutcome {
  if (reason instanceof Stopped) return refuse(call, writer, own, reason.refusal);
  if (!(reason instanceof ClientGone)) throw reason;
  return { kind: 'failed', refusal: { kind: 'unavailable', code: 'client_gone', message: 'The client left.' } };
}

/** Nothing reached the client yet. */
function endedEarly(
  call: GatewayCall,
  writer: AnswerWriter,
  own: Readonly<Record<string, string>>,
  error: unknown,
  meter: AnswerMeter,
): CallOutcome {
  if (error instanceof ClientGone) return { kind: 'client_gone', answer: meter.end() };
  if (error instanceof Stopped) {
    writeWhole(call, writer, own, error.refusal);
    return { kind: 'stopped', refusal: error.refusal, answer: meter.end() };
  }
  throw error;
}

/** The answer was open. */
async function endedInside(
  call: GatewayCall,
  writer: AnswerWriter,
  own: Readonly<Record<string, string>>,
  error: unknown,
  meter: AnswerMeter,
): Promise<CallOutcome> {
  const answer = meter.end();
  if (error instanceof ClientGone) {
    // One that only reads too slowly must not take what it got for the whole answer.
    writer.cut();
    return { kind: 'client_gone', answer };
  }
  if (!(error instanceof Stopped)) {
    writer.cut();
    return { kind: 'upstream_cut', answer };
  }
  if (!writer.hasHead) {
    writeWhole(call, writer, own, error.refusal);
  } else if (call.request.streamed) {
    await writer.write(writeStopFrame(call.api, error.refusal, call.id, meter.progress)).catch(() => writer.cut());
  } else {
    writer.cut();
  }
  return { kind: 'stopped', refusal: error.refusal, answer };
}

function unanswered(
  call: GatewayCall,
  writer: AnswerWriter,
  own: Readonly<Record<string, string>>,
  { kind, reason }: Exclude<OpenedAnswer, { kind: 'answered' }>,
): CallOutcome {
  const { name } = call.connection;
  const message = `The provider of the connection "${name}" did not answer: ${reason}.`;
  const refusedKind = kind === 'late' ? 'provider_timeout' : 'provider_unreachable';
  return refuse(call, writer, own, { kind: refusedKind, code: refusedKind, message });
}

function refuse(
  call: GatewayCall,
  writer: AnswerWriter,
  own: Readonly<Record<string, string>>,
  refusal: ModelRefusal,
): CallOutcome {
  writeWhole(call, writer, own, refusal);
  return { kind: 'failed', refusal };
}

function writeWhole(
  { connection, api, id }: GatewayCall,
  writer: AnswerWriter,
  own: Readonly<Record<string, string>>,
  refusal: ModelRefusal,
): void {
  const { status, headers, body } = writeRefusal(connection.dialect, refusal, id, api);
  writer.head(status, { ...headers, ...own });
  writer.write(body).catch(() => writer.cut());
}
