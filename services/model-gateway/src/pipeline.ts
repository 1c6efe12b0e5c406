import type { IncomingHttpHeaders } from 'node:http';
import { timeOrderedId } from '@agentlens/contracts';
import {
  AnswerMeter,
  type Endpoint,
  type GatewayPath,
  pickQuery,
  type ReadModelRequest,
  readConversation,
  readModelRequest,
  readToolResults,
  spliceMember,
  UnreadableObject,
} from '@agentlens/model-api';
import type { Clock, ControlBoard, PriceBooks } from '@agentlens/platform';
import type { ConversationRuns } from './callers/conversation-runs.ts';
import type { ModelCaller } from './callers/identify.ts';
import type { Admission } from './calls/admission.ts';
import type { AnswerWriter } from './calls/answer-writer.ts';
import { writeCalled, writeEnded } from './calls/call-report.ts';
import type { CallEstimates } from './calls/estimate.ts';
import type { ForwardedCall, Forwarder } from './calls/forwarder.ts';
import { type CallOutcome, findAnswer, type GatewayCall } from './gateway-call.ts';
import { type Connection, type Connections, requireModel } from './connections/connections.ts';
import type { ModelCallMetrics } from './model-call-metrics.ts';
import type { CallEvent } from './records/call-events.ts';
import type { CallRecorder } from './records/call-recorder.ts';
import { RefusedCall } from './refused-call.ts';
import type { ResultQuestions } from './tools/result-questions.ts';

type ModelEndpoint = Extract<Endpoint, { kind: 'model' }>;

/** A request whose key, path and size were accepted. */
export interface AcceptedRequest {
  readonly caller: ModelCaller;
  readonly connection: Connection;
  readonly endpoint: ModelEndpoint;
  readonly path: GatewayPath;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

interface PipelineDependencies {
  readonly admission: Admission;
  readonly board: Pick<ControlBoard, 'stateOf'>;
  readonly clock: Clock;
  readonly connections: Pick<Connections, 'findFallback'>;
  readonly estimates: CallEstimates;
  readonly forwarder: Forwarder;
  readonly metrics: ModelCallMetrics;
  readonly prices: Pick<PriceBooks, 'of'>;
  readonly recorder: CallRecorder;
  readonly results: ResultQuestions;
  readonly runs: ConversationRuns;
}

/** How long a response stays open for the record of its call, so that a client that got its end finds the record. */
const RECORD_WAIT_MS = 250;

/** A call from its body to its record: read, place, decide results and the call, reserve, forward and meter, settle and record. */
export class ModelCallPipeline {
  readonly #parts: PipelineDependencies;

  constructor(parts: PipelineDependencies) {
    this.#parts = parts;
  }

  /** @throws RefusedCall before anything was sent */
  async run(request: AcceptedRequest, writer: AnswerWriter, left: AbortSignal): Promise<void> {
    const { recorder, results, admission, forwarder, metrics, estimates } = this.#parts;
    if (recorder.isFull) {
      const message = 'Model calls cannot be recorded now. Send the request again later.';
      throw new RefusedCall('unavailable', 'records_full', message);
    }
    const call = await this.#place(request);
    await results.require(call, call.results);
    const admitted = await admission.require(call, left);
    void recorder.recordCall(writeCalled(call));
    const own = {
      'x-agentlens-call': call.id,
      'x-agentlens-run': writeHeader(call.runId),
      'x-agentlens-decision': admitted.decision.id,
      ...(call.model === call.request.model ? {} : { 'x-agentlens-model': writeHeader(call.model) }),
    };
    const forwarded = await forwarder.forward(call, admitted, writer, own, left).catch((error: unknown) => {
      // The call has to end in each case: its reservation would stay, and the provider may bill it.
      void recorder.recordCall(this.#writeEnded(endedByError(call, error), undefined));
      throw error;
    });
    const { outcome, failed, call: answered } = forwarded;
    const { dialect, provider } = answered.connection;
    const answer = findAnswer(outcome);
    metrics.ended(dialect, outcome.kind);
    if (failed !== undefined) metrics.fellBack(dialect, outcome.kind);
    if (answer !== undefined) {
      metrics.metered(answer.usageSource);
      const { tenantId, agentId, model } = call;
      if (outcome.kind === 'completed') {
        estimates.answered(
          { tenantId, agentId, model, provider, request: call.request },
          answer.usage.outputTokens ?? 0,
        );
      }
    }
    const firstByteMs = writer.firstByteAtMs === undefined ? undefined : writer.firstByteAtMs - call.startedAtMs;
    if (firstByteMs !== undefined) metrics.answered(dialect, firstByteMs);
    const recorded = recorder.recordCall(this.#writeEnded(forwarded, firstByteMs));
    await withinTime(Promise.all([recorded, this.#noteResponse(answered, answer?.responseId)]), RECORD_WAIT_MS);
    writer.end();
  }

  #writeEnded(forwarded: ForwardedCall, firstByteMs: number | undefined): CallEvent {
    const { clock, prices } = this.#parts;
    return writeEnded(forwarded, firstByteMs, clock.now(), prices.of(forwarded.call.tenantId));
  }

  /** Only answers of Responses can be continued by their id. */
  async #noteResponse(call: GatewayCall, responseId: string | undefined): Promise<void> {
    if (call.api !== 'responses' || responseId === undefined) return;
    const { tenantId, agentId, connection, runId } = call;
    await this.#parts.runs.noteResponse({ tenantId, agentId, connection: connection.name }, responseId, runId);
  }

  /** Reads the body and finds the run. @throws RefusedCall */
  async #place(accepted: AcceptedRequest): Promise<GatewayCall> {
    const { caller: modelCaller, connection, endpoint, url, headers } = accepted;
    const { caller, key, agentId, sessionId } = modelCaller;
    const { tenantId, keyId } = caller;
    const { clock, runs } = this.#parts;
    const startedAtMs = clock.now();
    const { read, results } = readStrictly(endpoint, accepted.body);
    const { previousResponseId } = read;
    const place = { tenantId, agentId, connection: connection.name };
    const continued = previousResponseId === undefined ? undefined : await runs.continued(place, previousResponseId);
    const runId =
      modelCaller.runId ??
      continued ??
      (await runs.find(tenantId, keyId, readConversation(accepted.body, read.scanned)));
    await runs.requireOwn(caller, runId, agentId);
    const model = this.#parts.board.stateOf(tenantId, agentId, runId).modelOverride?.model ?? read.request.model;
    requireModel(connection, model);
    // Another provider does not know the response that is continued.
    const fallback =
      previousResponseId === undefined
        ? await this.#parts.connections.findFallback(tenantId, connection, model)
        : undefined;
    return {
      id: timeOrderedId(startedAtMs),
      caller,
      key,
      tenantId,
      agentId,
      runId,
      sessionId,
      connection,
      fallback,
      api: endpoint.api,
      path: endpoint.path.replace('{model}', encodeURIComponent(model)),
      query: pickQuery(url),
      headers,
      request: read.request,
      results,
      model,
      startedAtMs,
      body: splicedBody(endpoint, accepted.body, read, model),
      addedUsage: read.lacksStreamUsage,
    };
  }
}

/** @throws RefusedCall that names the member */
function readStrictly({ api, addressed }: ModelEndpoint, body: Buffer) {
  try {
    const read = readModelRequest(api, body, addressed);
    return { read, results: readToolResults(api, body, read.scanned) };
  } catch (error) {
    if (!(error instanceof UnreadableObject)) throw error;
    const { member, message } = error;
    const subject = member === undefined ? 'The body' : `"${member}"`;
    throw new RefusedCall('invalid', 'unreadable_body', `${subject} ${message}.`);
  }
}

/** The bytes of the client, with another model or the wish for usage where the gateway needs them. */
function splicedBody(
  { api, addressed }: ModelEndpoint,
  sent: Buffer,
  read: ReadModelRequest,
  model: string,
): Uint8Array {
  // The address names the model. A body that repeats it is refused with another one.
  if (addressed !== undefined) return sent;
  if (model === read.request.model && !read.lacksStreamUsage) return sent;
  if (model === read.request.model) return withUsage(sent, read);
  const renamed = spliceMember(sent, read.scanned, 'model', model);
  return read.lacksStreamUsage ? withUsage(renamed, readModelRequest(api, renamed)) : renamed;
}

function withUsage(body: Uint8Array, { scanned, streamOptions }: ReadModelRequest): Uint8Array {
  return spliceMember(body, scanned, 'stream_options', { ...streamOptions, include_usage: true });
}

/** A header carries ASCII only. Clients may name a run in any language. */
function writeHeader(text: string): string {
  return text.toWellFormed().replace(/[^\x20-\x7e]+/gu, encodeURIComponent);
}

function endedByError(call: GatewayCall, error: unknown): ForwardedCall {
  const outcome: CallOutcome =
    error instanceof RefusedCall
      ? { kind: 'failed', refusal: error.refusal }
      : { kind: 'upstream_cut', answer: new AnswerMeter(call.api, call.request.inputTokens).end() };
  return { call, outcome, failed: undefined };
}

async function withinTime(work: Promise<unknown>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work, late]);
  clearTimeout(timer);
}
