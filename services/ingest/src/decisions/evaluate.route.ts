import {
  type DecisionBody,
  type DecisionExtras,
  type DecisionRequest,
  decisionBody,
  decisionBodyWithExtras,
  EvaluateBody,
  type PriceBook,
  readPlainQuestion,
  UNKNOWN_AGENT_ID,
} from '@agentlens/contracts';
import {
  type Answered,
  DecisionGateway,
  GatewayMetrics,
  KnownRuns,
  OwnRuns,
  placeRun,
  TreeLimiter,
  transportable,
} from '@agentlens/decisions';
import { evaluateCall } from '@agentlens/operations/ingest';
import {
  type Caller,
  type Clock,
  callerOf,
  nextSlice,
  PriceBooks,
  parseOr400,
  port,
  routeOf,
} from '@agentlens/platform';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { DecideQuota } from '../admission/quotas.ts';
import { questionKeyOf } from '../http/events-request.ts';
import { readRunId } from '../http/read-body.ts';
import { inexactlyReadArgs } from './written-args.ts';

const DEADLINE_MS = 1_000;
/** Minimum deadline. In less time nothing can be evaluated. */
const MIN_DEADLINE_MS = 50;
/**
 * Maximum deadline, for an agent that prefers waiting to continuing undecided, for example if a person has to approve.
 */
const MAX_DEADLINE_MS = 10_000;

/** Each pass over a larger body gets its own turn of the event loop. */
const LARGE_BODY_BYTES = 200_000;
/** Contents with more values than a request may have are left out, and the question is answered without them. */
const CONTENTS = ['args', 'result'] as const;

interface EvaluateRequest {
  readonly Params: { readonly runId: string };
  readonly Body: unknown;
}

/**
 * Answers "may this happen?", asked twice per tool call: one parse, one request over the bus, one answer. A plain
 * Fastify route, because the agent waits for it and what Nest does around each controller call costs as much as deciding.
 */
@Injectable()
export class EvaluateRoute implements OnModuleInit {
  constructor(
    @Inject(HttpAdapterHost) private readonly host: HttpAdapterHost,
    @Inject(DecisionGateway) private readonly gateway: DecisionGateway,
    @Inject(DecideQuota) private readonly quota: DecideQuota,
    @Inject(KnownRuns) private readonly runs: KnownRuns,
    @Inject(TreeLimiter) private readonly trees: TreeLimiter,
    @Inject(OwnRuns) private readonly ownRuns: OwnRuns,
    @Inject(GatewayMetrics) private readonly metrics: GatewayMetrics,
    @Inject(PriceBooks) private readonly prices: PriceBooks,
    @Inject(port('clock')) private readonly clock: Clock,
  ) {}

  onModuleInit(): void {
    const settings = { checksKeys: true, takesLargeBodies: true, keepsText: true, mayLeaveOut: CONTENTS };
    this.host.httpAdapter.getInstance<FastifyInstance>().route<EvaluateRequest>({
      ...routeOf(evaluateCall, settings),
      handler: (request, reply) => this.evaluate(request, reply),
    });
  }

  private async evaluate(
    request: FastifyRequest<EvaluateRequest>,
    reply: FastifyReply,
  ): Promise<DecisionBody | (DecisionBody & DecisionExtras)> {
    const startedAt = performance.now();
    const caller = callerOf(request);
    const runId = readRunId(request.params.runId);
    const question = readPlainQuestion(request.body) ?? parseOr400(EvaluateBody, request.body);
    await this.ownRuns.require(caller, runId, question.agentId);
    const receivedAtMs = this.clock.now();
    const receivedAt = new Date(receivedAtMs).toISOString();
    const requestId = questionKeyOf(request.headers['idempotency-key']);
    const asking = {
      ...requestOf(question),
      estimate: credibleEstimate(question, this.prices.of(caller.tenantId), receivedAtMs),
      tenantId: caller.tenantId,
      askedBy: caller.keyId,
      runId,
      requestId,
      receivedAt,
      keepsArguments: caller.keepsArguments,
      asksAgain: caller.asksAgain,
    };
    const bodyBytes = Number(request.headers['content-length'] ?? Number.POSITIVE_INFINITY);
    if (bodyBytes > LARGE_BODY_BYTES) await nextSlice();
    const leftOut = request.leftOutOfBody ?? [];
    const written = leftOut.includes('args') ? undefined : inexactlyReadArgs(request.bodyText ?? '');
    if (bodyBytes > LARGE_BODY_BYTES) await nextSlice();
    const unsent = [...(question.unread ?? []), ...CONTENTS.filter((part) => leftOut.includes(part))];
    const inForm = (whole: DecisionRequest) => transportable(whole, bodyBytes, unsent, written);
    const { decision, by } = await this.#decision(caller, asking, inForm);
    void reply.header('x-agentlens-decided-by', by);
    this.metrics.answered((performance.now() - startedAt) / 1000, decision.verdict);
    return knowsExtras(question) ? decisionBodyWithExtras(decision) : decisionBody(decision);
  }

  async #decision(
    { keyId, eventsPerSecond, decisionFailMode: failMode = 'allow', decisionPath: path, treeLimits }: Caller,
    asking: DecisionRequest,
    inForm: (whole: DecisionRequest) => DecisionRequest | null,
  ): Promise<Answered> {
    const mayAsk = this.quota.take(keyId, eventsPerSecond);
    const request = inForm(
      mayAsk ? await placeRun({ runs: this.runs, trees: this.trees }, asking, treeLimits) : asking,
    );
    if (request === null) return { decision: this.gateway.tooLarge(asking), by: 'gateway' };
    if (mayAsk) return this.gateway.decide(request, { failMode, path });
    return { decision: this.gateway.overQuota(request), by: 'gateway' };
  }
}

function requestOf(
  question: EvaluateBody,
): Omit<DecisionRequest, 'tenantId' | 'askedBy' | 'runId' | 'requestId' | 'receivedAt'> {
  const { phase, agentId, tool, args, result, actor, tags, subjects, metrics, callId } = question;
  const { sessionId, deadlineMs } = question;
  return {
    phase,
    agentId: agentId || UNKNOWN_AGENT_ID,
    tool: tool ?? undefined,
    args,
    result,
    actor:
      actor == null
        ? undefined
        : { externalId: actor.externalId, name: actor.name ?? undefined, metadata: actor.metadata ?? undefined },
    tags: tags ?? {},
    subjects: subjects ?? [],
    metrics: metrics ?? {},
    callId: callId ?? undefined,
    sessionId: sessionId ?? undefined,
    deadlineMs: Math.max(MIN_DEADLINE_MS, Math.min(deadlineMs ?? DEADLINE_MS, MAX_DEADLINE_MS)),
  };
}

/** Tokens of a call that is estimated at nothing, to find out whether its model has a price. */
const SAMPLE_TOKENS = 1_000;

/** The estimate of the client. An estimate of 0 USD for a model that has a price is replaced by that price. */
function credibleEstimate(
  { estimate, model }: EvaluateBody,
  prices: PriceBook,
  atMs: number,
): DecisionRequest['estimate'] {
  if (estimate == null || estimate.costUsd > 0 || model?.name == null) return estimate ?? undefined;
  const usage = { inputTokens: estimate.tokens > 0 ? estimate.tokens : SAMPLE_TOKENS, outputTokens: 0 };
  const quote = prices.quote({ model: model.name, provider: model.provider ?? undefined, usage, atMs });
  return 'costUsd' in quote && quote.costUsd > 0 ? { ...estimate, costUsd: quote.costUsd } : estimate;
}

/** A client that sends our extensions gets our extensions; a client without them gets exactly the fields it knows. */
function knowsExtras({ callId, estimate, deadlineMs }: EvaluateBody): boolean {
  return callId != null || estimate != null || deadlineMs != null;
}
