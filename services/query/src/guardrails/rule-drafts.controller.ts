import type { DecisionRequest } from '@agentlens/contracts';
import { type ValidDraft, validateDraft } from '@agentlens/guardrails';
import { listRuleSummaries, type RequestOf, testRule, validateRule } from '@agentlens/operations';
import {
  type Caller,
  type Clock,
  CurrentCaller,
  FromRequest,
  port,
  ProblemException,
  Serves,
} from '@agentlens/platform';
import { Controller, Inject } from '@nestjs/common';
import { PastCallsQueries } from './past-calls.queries.ts';
import { RuleSummariesQueries } from './rule-summaries.queries.ts';
import { tryRule } from './rule-trial.ts';

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
