import {
  type Alert,
  type ApprovalCall,
  COMMANDS,
  type DecisionRequest,
  type EndedCall,
  type EventBatch,
  sha256Hex,
} from '@agentlens/contracts';
import { visibleJson, visibleName } from '@agentlens/contracts/visible';
import { type Ask, type CallIdentity, type DecisionBook, redactDeep, redactJson } from '@agentlens/guardrails';
import type { EventBus } from '@agentlens/messaging';
import type { EndedCalls } from './ended-calls.ts';
import type { Deadline } from './state-circuit.ts';

/** Maximum size of the text of one part. Quoted and together with the other part it still fits into a message. */
const MAX_TEXT_BYTES = 300_000;

const REASONS = {
  too_large: 'the call is larger than the platform takes in',
  unreadable: 'the call holds values that cannot be shown, such as infinite numbers or very deep nesting',
} as const;

/** The call as shown to a reviewer: complete and redacted, or a part of it with the reason. */
export function callOf({ args, result, phase, unread, writtenArgs }: DecisionRequest): ApprovalCall {
  const argsText = typeof writtenArgs === 'string' ? redactJson(writtenArgs) : textOf(args);
  const resultText = phase === 'tool.after' ? textOf(result) : undefined;
  const reasons = [unread?.args, resultText === undefined ? undefined : unread?.result].flatMap((part) =>
    part === undefined ? [] : [REASONS[part.reason]],
  );
  if (writtenArgs === null) reasons.push(REASONS.too_large);
  const parts = [argsText, resultText ?? ''].map((text) => text.slice(0, maxChars(text)));
  if (parts[0] !== argsText || parts[1] !== (resultText ?? '')) reasons.push(REASONS.too_large);
  return {
    arguments: parts[0] ?? '',
    ...(resultText === undefined ? {} : { result: parts[1] }),
    ...(reasons[0] === undefined ? {} : { cut: reasons[0] }),
  };
}

function textOf(value: unknown): string {
  return JSON.stringify(redactDeep(value ?? null));
}

function maxChars(text: string): number {
  const bytes = Buffer.byteLength(JSON.stringify(text));
  return bytes <= MAX_TEXT_BYTES ? text.length : Math.floor((text.length * MAX_TEXT_BYTES) / bytes);
}

/** Number of characters of the arguments shown in the message. */
const SHOWN = 500;

/**
 * Returns the approval of exactly this call, and opens one if there is none. `refused` means that this call cannot have
 * one, for example because another agent requested it; that is an answer, not an outage.
 * @throws Error if no approval could be requested
 */
export async function resolveApproval(
  bus: Pick<EventBus, 'request'>,
  request: DecisionRequest,
  ask: Ask,
  identity: CallIdentity,
  deadline: Deadline,
): Promise<Alert | 'refused'> {
  const { tenantId, agentId, runId, callId, requestId, askedBy, asksAgain, args } = request;
  const toolName = toolOf(request);
  const command = { ...COMMANDS.resolveApproval, deadlineMs: Math.max(1, Math.floor(deadline.leftMs)) };
  const argsHash = hashShown(request, identity, ask);
  const also = ask.also.map(({ id, meaningVersion }) => ({ ruleId: id, ruleVersion: meaningVersion }));
  const answer = await bus.request(command, {
    ...{ tenantId, agentId, title: titleFor(ask), expiresInSeconds: ask.expiresInSeconds },
    binding: {
      ...{ runId, callId, toolName, argsHash, ruleId: ask.ruleId, ruleVersion: ask.ruleVersion },
      ...(also.length === 0 ? {} : { also }),
    },
    ...(requestId === undefined ? {} : { requestId }),
    ...(askedBy === undefined ? {} : { askedBy }),
    ...(asksAgain === undefined ? {} : { asksAgain }),
    message: `Agent ${visibleName(agentId)} asks to call ${visibleName(toolName)} with ${shown(args)}`,
    call: callOf(request),
  });
  if (answer.ok) return answer.value;
  if (answer.problem.status < 500) return 'refused';
  throw new Error(`requesting the approval of a call failed: ${answer.problem.error}`);
}

/** Reports that a call has ended, so that its approval cannot be used for another call. */
export async function spendApproval(
  ended: Pick<EndedCalls, 'report'>,
  request: DecisionRequest,
  identity: CallIdentity,
): Promise<void> {
  const { tenantId, runId, callId } = request;
  const call = { runId, callId, toolName: toolOf(request), argsHash: exactHash(request, identity) };
  const deadlineMs = Math.max(1, Math.min(COMMANDS.spendApprovals.deadlineMs, Math.floor(request.deadlineMs)));
  await ended.report(tenantId, [call], deadlineMs);
}

interface ReportedResultsDependencies {
  readonly ended: Pick<EndedCalls, 'report'>;
  readonly rules: { readonly decisions: Pick<DecisionBook, 'asksPeople'> };
}

/**
 * Does the same for results that arrive as events, because agents need not ask about a result that no rule inspects.
 */
export class ReportedResults {
  readonly #parts: ReportedResultsDependencies;

  constructor(parts: ReportedResultsDependencies) {
    this.#parts = parts;
  }

  async spend({ tenantId, events }: EventBatch): Promise<void> {
    const { ended, rules } = this.#parts;
    if (!rules.decisions.asksPeople(tenantId)) return;
    const calls = events.flatMap(({ kind, runId, callId }): EndedCall[] =>
      kind === 'tool.completed' && callId !== undefined ? [{ runId, callId }] : [],
    );
    if (calls.length > 0) await ended.report(tenantId, calls, COMMANDS.spendApprovals.deadlineMs);
  }
}

function toolOf({ tool, phase }: DecisionRequest): string {
  return tool?.name ?? phase;
}

/** Names the further rules, so that a reviewer sees in a notice too what one answer covers. */
function titleFor({ title, also }: Ask): string {
  const names = also.map(({ name }) => `"${visibleName(name)}"`);
  return names.length === 0 ? title : `${title} (also required by ${names.join(', ')})`;
}

function exactHash({ exactArgs }: DecisionRequest, { argsHash }: CallIdentity): string {
  return exactArgs === undefined ? argsHash : sha256Hex(`${argsHash} ${exactArgs}`);
}

/** What a person approves: the call, and its result if a rule is about it. */
function hashShown(request: DecisionRequest, identity: CallIdentity, { readsResult }: Ask): string {
  const hash = exactHash(request, identity);
  const { resultHash } = identity;
  return readsResult && resultHash !== undefined ? sha256Hex(`${hash} result ${resultHash}`) : hash;
}

/** Redacts before cutting, so that no partial secret remains. The text goes to people, who may keep or forward it. */
function shown(args: unknown): string {
  const text = visibleJson(JSON.stringify(redactDeep(args ?? {})));
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}...` : text;
}
