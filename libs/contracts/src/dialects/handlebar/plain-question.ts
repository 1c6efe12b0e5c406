import { AGENT_PHASES, type AgentPhase, TOOL_NAME_CHARS } from '../../decisions.ts';
import { EvaluateBody } from './requests.ts';
import { NAME_CHARS, TEXT_CHARS } from './tolerant.ts';

type Member<Name extends keyof EvaluateBody> = EvaluateBody[Name];
/** The members that a question seldom has. Their schemas read everything; none of them rejects. */
const { agentId, callId, sessionId, actor, tags, subjects, metrics, estimate, model, deadlineMs, unread } =
  EvaluateBody.shape;

/**
 * Fast path for a question that needs no tolerance, which is almost every one. Returns undefined if the schema has to
 * read it. A property test compares the two.
 */
export function readPlainQuestion(body: unknown): EvaluateBody | undefined {
  if (!isRecord(body)) return undefined;
  const { phase } = body;
  if (!isPhase(phase)) return undefined;
  const tool = body.tool == null ? body.tool : readTool(body.tool);
  if (tool === undefined && (body.tool !== undefined || phase !== 'llm.before')) return undefined;
  if (tool === null && phase !== 'llm.before') return undefined;
  return {
    phase,
    agentId: isPlainIdOrNone(body.agentId) ? body.agentId : agentId.parse(body.agentId),
    tool,
    args: body.args,
    result: body.result,
    actor: isNone(body.actor) ? body.actor : actor.parse(body.actor),
    tags: isNone(body.tags) || arePlain(body.tags, isPlainText) ? body.tags : tags.parse(body.tags),
    subjects: isNone(body.subjects) || isEmpty(body.subjects) ? body.subjects : subjects.parse(body.subjects),
    metrics: isNone(body.metrics) || arePlain(body.metrics, isAmount) ? body.metrics : metrics.parse(body.metrics),
    callId: isPlainIdOrNone(body.callId) ? body.callId : callId.parse(body.callId),
    sessionId: isPlainIdOrNone(body.sessionId) ? body.sessionId : sessionId.parse(body.sessionId),
    estimate: isNone(body.estimate) ? body.estimate : estimate.parse(body.estimate),
    model: isNone(body.model) ? body.model : model.parse(body.model),
    deadlineMs: isNone(body.deadlineMs) ? body.deadlineMs : deadlineMs.parse(body.deadlineMs),
    unread: isNone(body.unread) ? body.unread : unread.parse(body.unread),
  };
}

function isPhase(value: unknown): value is AgentPhase {
  return AGENT_PHASES.some((phase) => phase === value);
}

function readTool(value: unknown): NonNullable<Member<'tool'>> | undefined {
  if (!isRecord(value)) return undefined;
  const { name, tags: given } = value;
  if (!isPlainName(name, TOOL_NAME_CHARS)) return undefined;
  if (given == null) return { name, tags: [] };
  if (!Array.isArray(given) || !given.every((tag) => isPlainName(tag, NAME_CHARS) || tag === '')) return undefined;
  return { name, tags: given as string[] };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isNone(value: unknown): value is null | undefined {
  return value == null;
}

function isEmpty(value: unknown): value is never[] {
  return Array.isArray(value) && value.length === 0;
}

function isPlainIdOrNone(value: unknown): value is string | null | undefined {
  return value == null || isPlainName(value, NAME_CHARS);
}

/** Whether every name and value of an object can be stored as they are. */
function arePlain<T>(members: unknown, isPlainValue: (value: unknown) => value is T): members is Record<string, T> {
  if (!isRecord(members)) return false;
  for (const name in members) {
    if (name === '__proto__' || name === 'constructor') return false;
    if (!isPlainName(name, NAME_CHARS) || !isPlainValue(members[name])) return false;
  }
  return true;
}

function isAmount(value: unknown): value is number {
  return Number.isFinite(value);
}

function isPlainText(value: unknown): value is string {
  return value === '' || isPlainName(value, TEXT_CHARS);
}

const FIRST_PRINTABLE = 0x20;
const DELETE = 0x7f;
const FIRST_SURROGATE = 0xd800;
const LAST_SURROGATE = 0xdfff;

/** Text that needs no repair. Leaves text outside of the basic plane to the schema. */
function isPlainName(value: unknown, most: number): value is string {
  if (typeof value !== 'string' || value.length === 0 || value.length > most) return false;
  for (let index = 0; index < value.length; index++) {
    const code = value.charCodeAt(index);
    if (code < FIRST_PRINTABLE || code === DELETE) return false;
    if (code >= FIRST_SURROGATE && code <= LAST_SURROGATE) return false;
  }
  return true;
}
