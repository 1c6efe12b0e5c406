import type { DecisionRequest } from '@agentlens/contracts';
import { type PastCall, type ValidDraft, validateDraft } from '@agentlens/guardrails';
import { listRuleSummaries, type RequestOf, testRule, validateRule } from '@agentlens/operations';
import {
  type Caller,
  type Clock,
  CurrentCaller,
  FromRequest,
  ProblemException,
  port,
  Serves,
} from '@agentlens/platform';
import { Controller, Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { TenantReads } from '../http/tenant-reads.ts';
import { RuleSummariesQueries } from './rule-summaries.queries.ts';
import { tryRule } from './rule-trial.ts';

const MAX_CALLS = 1_000;

/** Reads the tool calls of a run that were allowed, oldest first, from its decisions. */
@Injectable()
export class PastCallsQueries {
  constructor(private readonly reads: TenantReads) {}

  async of(tenantId: string, runId: string, before: string | undefined): Promise<PastCall[]> {
    const rows = await this.reads.read(tenantId, (db) => {
      let query = db
        .selectFrom('decisions')
        .select(['decision_id', 'call_id', 'tool_name', 'inputs_digest', 'decided_at'])
        .where('tenant_id', '=', tenantId)
        .where('run_id', '=', runId)
        .where('phase', '=', 'tool.before')
        .where('verdict', '=', 'ALLOW');
      if (before !== undefined) query = query.where(sql<boolean>`decided_at < ${before}::timestamptz`);
      return query.orderBy('decided_at', 'asc').limit(MAX_CALLS).execute();
    });
    return rows.map((row) => ({
      callKey: row.call_id ?? row.decision_id,
      toolName: row.tool_name ?? '',
      toolTags: [],
      argsHash: row.inputs_digest,
      atMs: Date.parse(row.decided_at),
      status: 'allowed' as const,
    }));
  }
}

/** Nominal deadline of a trial. A trial never waits for anything. */
const TRIAL_DEADLINE_MS = 1_000;
const NO_RUN = 'trial';

/** Validates and tries rules before they are stored. */
@Controller()
export class RuleDraftsController {
  constructor(
    private readonly summaries: RuleSummariesQueries,
    private readonly calls: PastCallsQueries,
    @Inject(port('clock')) private readonly clock: Clock,
  ) {}

  @Serves(listRuleSummaries)
  async list(@CurrentCaller() { tenantId }: Caller) {
    return { summaries: await this.summaries.list(tenantId) };
  }

  @Serves(validateRule)
  validate(@FromRequest() { body }: RequestOf<typeof validateRule>) {
    const checked = validateDraft(body ?? null);
    if (checked.ok) return { valid: true, details: [] };
    const { details = [], hint } = checked.problem;
    return { valid: false, details, ...(hint === undefined ? {} : { hint }) };
  }

  @Serves(testRule)
  async test(
    @CurrentCaller() { tenantId }: Caller,
    @FromRequest() { body: { draft, call } }: RequestOf<typeof testRule>,
  ) {
    const valid = validOr422(draft);
    const history = call.runId === undefined ? [] : await this.calls.of(tenantId, call.runId, call.before);
    const nowMs = call.before === undefined ? this.clock.now() : Date.parse(call.before);
    return tryRule(valid, { request: requestOf(tenantId, call, nowMs), history, nowMs });
  }
}

function validOr422(draft: unknown): ValidDraft {
  const checked = validateDraft(draft ?? null);
  if (checked.ok) return checked.value;
  const { details, hint } = checked.problem;
  throw new ProblemException(422, 'The draft is not a valid rule', { details, hint });
}

function requestOf(tenantId: string, call: RequestOf<typeof testRule>['body']['call'], nowMs: number): DecisionRequest {
  const { agentId, phase, toolName, toolTags, args, result, actorId, actorTags, tags, metrics, runId = NO_RUN } = call;
  return {
    ...{ tenantId, agentId, runId, phase, args, result, tags, metrics },
    ...(toolName === undefined ? {} : { tool: { name: toolName, tags: toolTags } }),
    ...(actorId === undefined ? {} : { actor: { externalId: actorId, metadata: actorTags } }),
    subjects: [],
    receivedAt: new Date(nowMs).toISOString(),
    deadlineMs: TRIAL_DEADLINE_MS,
  };
}
