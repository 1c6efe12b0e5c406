import {
  ClientId,
  type Directive,
  EndBody,
  HeartbeatBody,
  type OverTreeLimit,
  type Problem,
  runEnded,
  runStarted,
  StartBody,
} from '@agentlens/contracts';
import { KnownRuns, OwnRuns, TreeLimiter } from '@agentlens/decisions';
import { endRun, sendAuditEvents, sendHeartbeat, startRun } from '@agentlens/operations/ingest';
import {
  type Caller,
  type Clock,
  ControlBoard,
  type ControlState,
  CurrentCaller,
  controlStateMessage,
  parseOr400,
  port,
  requireAgent,
  Serves,
  stateOfRun,
} from '@agentlens/platform';
import type { RunContext } from '@agentlens/state';
import { Body, Controller, Inject, Param, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Listeners } from '../control/listeners.ts';
import { EventIngestor } from '../event-ingestor.ts';
import type { EventOutcome } from '../http/answers.ts';
import { eventsOf, idempotencyKeyOf } from '../http/events-request.ts';
import { readBody, readRunId } from '../http/read-body.ts';
import { BATCH_ROUTE } from '../http/unread-refusals.ts';
import { handlebar } from '../intake/dialect.ts';
import { RunParents } from '../intake/run-parents.ts';
import { Heartbeats } from './heartbeats.ts';

/** Returned at a run's start and with every heartbeat; the object is always present. */
interface LockdownAnswer {
  readonly lockdown: {
    readonly active: boolean;
    readonly reason?: string;
    /** Our extensions: the state that applies, and the id to acknowledge. */
    readonly kind?: 'paused' | 'killed';
    readonly lockdownId?: string;
  };
  readonly modelOverride?: NonNullable<Directive['modelOverride']>['model'];
}

interface RunPlace {
  readonly tenantId: string;
  readonly agentId: string;
  readonly runId: string;
  readonly ancestors: string[];
}

function lockdownAnswer(controlState: ControlState): LockdownAnswer {
  const { kind, because, modelOverride } = controlState;
  const reason = because?.ancestor === undefined ? (because?.reason ?? kind) : controlStateMessage(controlState);
  const lockdown =
    kind === 'none' ? { active: false } : { active: true, reason, kind, ...(because && { lockdownId: because.id }) };
  return { lockdown, ...(modelOverride && { modelOverride: modelOverride.model }) };
}

/** The result of an event that was rejected, or stored with a notice. */
interface AuditResult {
  readonly index: number;
  readonly status: number;
  readonly id?: string;
  readonly error: Problem;
}

/** Answer to audit events. Older clients read only the status. */
export interface AuditAnswer {
  readonly accepted: number;
  readonly rejected: number;
  /** Only if there is something to report. */
  readonly results?: readonly AuditResult[];
}

function auditAnswer(outcomes: readonly EventOutcome[]): AuditAnswer {
  const results = outcomes.flatMap((outcome, index) => remarkOn(outcome, index) ?? []);
  const accepted = outcomes.filter(({ ok }) => ok).length;
  const answer = { accepted, rejected: outcomes.length - accepted };
  return results.length === 0 ? answer : { ...answer, results };
}

function remarkOn(outcome: EventOutcome, index: number): AuditResult | undefined {
  const placed = (path: string) => (path === '' ? `events.${index}` : `events.${index}.${path}`);
  if (!outcome.ok) {
    const { status, error, details } = outcome.refusal;
    const where = details.map(({ path, message }) => ({ path: placed(path), message }));
    return { index, status, error: { error, status, details: where } };
  }
  if (outcome.notices === undefined || outcome.notices.length === 0) return undefined;
  const details = outcome.notices.map(({ path, message }) => ({ path: placed(path), message }));
  return { index, status: 202, id: outcome.id, error: { error: 'Kept with a remark', status: 202, details } };
}

type StartAnswer = LockdownAnswer & {
  readonly runId: string;
  /** For a run that named a parent: the ancestors whose orders apply to it, nearest first. */
  readonly lineage?: { readonly ancestors: readonly string[] };
};

/** The lifecycle of a run as its agent reports it. Every call may arrive twice, late, or in any order. */
@Controller()
export class ProtocolRunsController {
  constructor(
    @Inject(EventIngestor) private readonly ingestor: EventIngestor,
    @Inject(ControlBoard) private readonly board: ControlBoard,
    @Inject(Heartbeats) private readonly heartbeats: Heartbeats,
    @Inject(KnownRuns) private readonly runs: KnownRuns,
    @Inject(TreeLimiter) private readonly trees: TreeLimiter,
    @Inject(OwnRuns) private readonly ownRuns: OwnRuns,
    @Inject(RunParents) private readonly parents: RunParents,
    @Inject(Listeners) private readonly listeners: Listeners,
    @Inject(port('clock')) private readonly clock: Clock,
  ) {}

  @Serves(startRun, { checksKeys: true })
  async start(
    @CurrentCaller() caller: Caller,
    @Param('runId') runIdText: string,
    @Body() body: unknown,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<StartAnswer> {
    const runId = readRunId(runIdText);
    const sent = readBody(StartBody, body);
    await this.ownRuns.require(caller, runId, sent.agentId);
    await this.ingestor.admit(caller, 1, reply);
    const start = await this.#withOwnParent(caller, runId, sent);
    await this.ingestor.record(caller.tenantId, runStarted(runId, start));
    await this.runs.started(caller.tenantId, runId, contextOf(start));
    const { tenantId, treeLimits } = caller;
    const ancestors = await this.runs.ancestors(tenantId, runId);
    const overTreeLimit = await this.trees.started({ tenantId, runId, ancestors }, treeLimits);
    const { agentId } = start;
    return {
      runId,
      ...lockdownAnswer(await this.#stateOf({ tenantId, agentId, runId, ancestors }, overTreeLimit)),
      ...(sent.parentRunId == null ? {} : { lineage: { ancestors } }),
    };
  }

  /** Leaves out a parent that does not count for the key: see `RunParents`. */
  async #withOwnParent({ tenantId, agents }: Caller, runId: string, start: StartBody): Promise<StartBody> {
    const { parentRunId } = start;
    if (parentRunId == null) return start;
    const named = { tenantId, runId, parentRunId };
    if (!(await this.parents.counts(named, agents))) return { ...start, parentRunId: null, parentToolUseId: null };
    await this.parents.note(named);
    return start;
  }

  @Serves(endRun, { checksKeys: true })
  async end(
    @CurrentCaller() caller: Caller,
    @Param('runId') runIdText: string,
    @Body() body: unknown,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<{ runId: string; status: string }> {
    const runId = readRunId(runIdText);
    const end = readBody(EndBody, body);
    await this.ownRuns.require(caller, runId, end.agentId);
    await this.ingestor.admit(caller, 1, reply);
    await this.ingestor.record(caller.tenantId, runEnded(runId, end));
    return { runId, status: end.status };
  }

  /** Answers with the orders against the run, so that a client without a stream learns about them too. */
  @Serves(sendHeartbeat, { checksKeys: true })
  async heartbeat(
    @CurrentCaller() caller: Caller,
    @Param('runId') runIdText: string,
    @Body() body: unknown,
  ): Promise<LockdownAnswer & { runId: string }> {
    const runId = readRunId(runIdText);
    const { tenantId } = caller;
    const { agentId, instanceId, everyMs } = readBody(HeartbeatBody, body);
    await this.ownRuns.require(caller, runId, agentId);
    const at = new Date(this.clock.now()).toISOString();
    this.heartbeats.add(tenantId, { runId, agentId, at, ...(everyMs == null ? {} : { everyMs }) });
    if (instanceId != null) this.listeners.touch({ tenantId, agentId, instanceId });
    const ancestors = await this.runs.ancestors(tenantId, runId);
    const overTreeLimit = await this.trees.running({ tenantId, runId, ancestors }, caller.treeLimits);
    return { runId, ...lockdownAnswer(await this.#stateOf({ tenantId, agentId, runId, ancestors }, overTreeLimit)) };
  }

  /** The state of a run that `agentId` starts or keeps alive, and that another agent may have started. */
  async #stateOf(run: RunPlace, overTreeLimit: OverTreeLimit | undefined): Promise<ControlState> {
    const starter = await this.runs.agentOf(run.tenantId, run.runId);
    return stateOfRun(this.board, {
      ...{ ...run, overTreeLimit, receivedAt: new Date(this.clock.now()).toISOString() },
      ...(starter === undefined ? {} : { startedAs: { agentId: starter } }),
    });
  }

  /** Valid events are accepted regardless of the rest of the batch, because older clients drop a rejected batch. */
  @Serves(sendAuditEvents, BATCH_ROUTE)
  async events(
    @CurrentCaller() caller: Caller,
    @Body() body: unknown,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<AuditAnswer> {
    const agentId = parseOr400(ClientId, (body as { agentId?: unknown } | null | undefined)?.agentId, 'agentId');
    requireAgent(caller, agentId);
    const key = idempotencyKeyOf(request.headers['idempotency-key']);
    const events = eventsOf(body);
    await this.ingestor.admit(caller, events.length, reply);
    const outcomes = await this.ingestor.take(caller, {
      events,
      key,
      dialect: handlebar(agentId),
      partial: true,
    });
    const answer = auditAnswer(outcomes);
    if (answer.rejected > 0) void reply.status(207);
    return answer;
  }
}

function contextOf({ agentId, sessionId, actor, tags, parentRunId }: StartBody): RunContext {
  return {
    agentId,
    parentRunId: parentRunId ?? undefined,
    sessionId: sessionId ?? undefined,
    actor:
      actor == null
        ? undefined
        : { externalId: actor.externalId, name: actor.name ?? undefined, metadata: actor.metadata ?? undefined },
    tags: tags ?? undefined,
  };
}
