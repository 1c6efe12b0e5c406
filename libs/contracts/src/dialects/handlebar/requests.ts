import { z } from 'zod';
import type { AgentTool } from '../../agents.ts';
import { AGENT_PHASES } from '../../decisions.ts';
import { ClientId } from '../../ids.ts';
import { AllNames, cleanToolName, Name, Names, Numbers, RepairedId, Texts } from './tolerant.ts';

const milliseconds = z.number().positive().max(1e12);

/**
 * Both forms of a tool: `{name, description?, tags?}` at the start, `{key, ..., metadata: {metadata: [tags]}}` in an
 * update.
 */
const Tool = z
  .looseObject({
    name: Name.pipe(z.string().min(1, 'must not be empty')).meta({
      type: 'string',
      pattern: '[^\\u0000-\\u001f\\u007f]',
    }),
    description: z.string().nullish(),
    tags: Names.nullish(),
    key: Name.nullish(),
    kind: Name.nullish(),
    version: z.union([z.string(), z.number()]).nullish(),
    metadata: z.looseObject({ metadata: Names.nullish().catch(null) }).nullish(),
  })
  .transform(
    ({ name, description, tags, key, kind, version, metadata }): AgentTool => ({
      name,
      description: description ?? undefined,
      tags: tags ?? metadata?.metadata ?? [],
      key: key ?? undefined,
      kind: kind ?? undefined,
      version: version ?? undefined,
    }),
  );

const Tools = z.array(Tool).max(1_000, 'must hold at most 1000 tools');

/** `POST /v1/agents`. */
export const AgentBody = z.object({
  slug: ClientId,
  name: Name.nullish(),
  description: z.string().max(5_000).nullish(),
  tags: Names.nullish(),
  tools: Tools.nullish(),
});
export type AgentBody = z.infer<typeof AgentBody>;

/** `PUT /v1/agents/{agentId}/tools`. */
export const ToolsBody = z.object({ tools: Tools });

/** Other members, such as `group`, are kept unchanged. */
const ActorBody = z.looseObject({
  externalId: RepairedId,
  name: Name.nullish().catch(undefined),
  metadata: Texts.nullish().catch(undefined),
});

/** `POST /v1/runs/{runId}/start`. Fields after `model` are AgentLens extensions. */
export const StartBody = z.object({
  agentId: ClientId,
  sessionId: ClientId.nullish(),
  actor: ActorBody.nullish(),
  model: z.looseObject({ name: Name, provider: Name.nullish() }).nullish(),
  tags: Texts.nullish(),
  runTtlMs: milliseconds.nullish(),
  heartbeatEveryMs: milliseconds.nullish(),
  parentRunId: ClientId.nullish(),
  parentToolUseId: ClientId.nullish(),
});
export type StartBody = z.infer<typeof StartBody>;

/** End statuses of a run, including those of older clients. */
export const END_STATUSES = ['success', 'error', 'timeout', 'interrupted', 'cancelled', 'ok', 'blocked'] as const;

/** `POST /v1/runs/{runId}/end`. Fields after `status` are AgentLens extensions. */
export const EndBody = z.object({
  agentId: ClientId,
  status: z.enum(END_STATUSES, `must be one of ${END_STATUSES.join(', ')}`),
  totalSteps: z.number().int().nonnegative().max(1e9).nullish(),
  result: z.unknown().optional(),
  error: z.unknown().optional(),
});
export type EndBody = z.infer<typeof EndBody>;

/** `POST /v1/runs/{runId}/heartbeat`. The next heartbeat is due after `everyMs`. */
export const HeartbeatBody = z.object({
  agentId: ClientId,
  instanceId: ClientId.nullish(),
  everyMs: milliseconds.nullish(),
});
export type HeartbeatBody = z.infer<typeof HeartbeatBody>;

/** `POST /v1/control/{directiveId}/ack`. */
export const AcknowledgeBody = z.object({
  agentId: ClientId,
  instanceId: ClientId,
  /** Proves that the instance has the secret of its own connection; without it, the acknowledgement is only reported. */
  signature: z
    .object({
      connection: z.string().max(1_000).meta({ description: '`id` of the last event `connection`.' }),
      version: z.int().min(1).meta({ description: 'Version of the order or directive.' }),
      mac: z.string().regex(/^[0-9a-f]{64}$/, 'must be 64 hex digits'),
    })
    .nullish(),
});
export type AcknowledgeBody = z.infer<typeof AcknowledgeBody>;

/** Agent id for clients without one. Rules for every agent and orders for the run still apply. */
export const UNKNOWN_AGENT_ID = 'unknown';

const SubjectBody = z.looseObject({
  subjectType: Name,
  value: Name,
  role: Name.optional().catch(undefined),
  idSystem: Name.optional().catch(undefined),
});

const Subjects = z.array(z.unknown()).transform((items) =>
  items.flatMap((item) => {
    const subject = SubjectBody.safeParse(item);
    if (!subject.success) return [];
    const { subjectType, value, role, idSystem } = subject.data;
    return [{ subjectType, value, role, idSystem }];
  }),
);

/** Reads an invalid id, such as an empty text, as absent. */
const QuestionId = RepairedId.nullish().catch(null);

/** Replaces infinite amounts, which JSON can express; larger than any budget. */
const MAX_AMOUNT = 1e9;
const Amount = z.preprocess(
  (given) => (given === Number.POSITIVE_INFINITY ? MAX_AMOUNT : given),
  z.number().nonnegative().default(0),
);
const Estimate = z.object({ tokens: Amount.catch(0), costUsd: Amount });

/**
 * `POST /v1/runs/{runId}/evaluate`. Tolerant, because the Handlebar SDK allows the call if its request is rejected.
 * Rejects only what cannot be a request for a decision. `callId`, `estimate`, `deadlineMs` and `unread` are AgentLens
 * extensions.
 */
export const EvaluateBody = z
  .object({
    phase: z.enum(AGENT_PHASES, `must be one of ${AGENT_PHASES.join(', ')}`),
    agentId: QuestionId,
    tool: z
      .object({ name: z.string().min(1, 'must not be empty'), tags: AllNames.nullish().catch(null) })
      .transform(({ name, tags }) => ({ name: cleanToolName(name) || '?', tags: tags ?? [] }))
      .nullish(),
    args: z.unknown().optional(),
    result: z.unknown().optional(),
    actor: ActorBody.nullish().catch(null),
    tags: Texts.nullish().catch(null),
    subjects: Subjects.nullish().catch(null),
    metrics: Numbers.nullish().catch(null),
    callId: QuestionId,
    sessionId: QuestionId,
    estimate: Estimate.nullish().catch(null),
    /** The model of a call with phase `llm.before`. */
    model: z.object({ name: QuestionId, provider: QuestionId }).nullish().catch(null),
    deadlineMs: z.number().positive().nullish().catch(null),
    unread: z
      .array(z.enum(['args', 'result']))
      .nullish()
      .catch(null),
  })
  .refine(({ phase, tool }) => phase === 'llm.before' || tool != null, {
    path: ['tool'],
    message: 'must say which tool is asked about: {"name": "..."}',
  });
export type EvaluateBody = z.infer<typeof EvaluateBody>;
