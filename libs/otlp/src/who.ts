import { cleanName, NAME_CHARS } from '@agentlens/contracts';
import { firstText, objectAt, unpacked } from './attributes.ts';
import type { Attributes, OtlpSpan } from './span.ts';

const UNKNOWN_SERVICE = 'unknown_service';
const MAX_TAGS = 100;

/** Agent, run, session, end user and tags of a span. Names are cleaned so that they can be stored. */
export interface Who {
  readonly agentId: string;
  readonly agentVersion: string | undefined;
  readonly runId: string;
  readonly sessionId: string | undefined;
  readonly actorId: string | undefined;
  readonly tags: string[] | undefined;
}

/** The user's own id takes precedence over one that a framework generates for each conversation. */
const SESSION = [
  'session.id',
  'ai.telemetry.metadata.sessionId',
  'langfuse.session.id',
  'traceloop.association.properties.session_id',
  'traceloop.association.properties.thread_id',
  'mastra.metadata.sessionId',
  'langsmith.metadata.session_id',
  'langsmith.trace.session_id',
];
const GENERATED_SESSION = ['gen_ai.conversation.id'];
const USER = [
  'user.id',
  'enduser.id',
  'ai.telemetry.metadata.userId',
  'langfuse.user.id',
  'traceloop.association.properties.user_id',
  'mastra.metadata.userId',
  'langsmith.metadata.user_id',
];
const TAGS = ['tag.tags', 'ai.telemetry.metadata.tags', 'langsmith.span.tags', 'langfuse.trace.tags'];
const ENVIRONMENT = ['deployment.environment.name', 'deployment.environment'];
const AGENT_NAME = [
  'gen_ai.agent.name',
  'agent.name',
  'ai.telemetry.functionId',
  'gen_ai.workflow.name',
  'traceloop.workflow.name',
];

/** @param agentId from the request's header, for tools that cannot set a resource attribute */
export function whoOf(
  { traceId, attributes, resource }: Pick<OtlpSpan, 'traceId' | 'attributes' | 'resource'>,
  agentId: string | undefined,
): Who {
  const of = resource.attributes;
  const metadata = objectAt(attributes, 'metadata');
  const either = (names: readonly string[]) => firstText(attributes, names) ?? firstText(of, names);
  return {
    agentId: agentOf(resource, agentId),
    agentVersion: id(firstText(attributes, ['gen_ai.agent.version']) ?? firstText(of, ['service.version'])),
    runId: id(either(['agentlens.run.id'])) ?? traceId,
    sessionId:
      id(either(SESSION)) ??
      id(metadata.session_id) ??
      id(metadata.thread_id) ??
      id(firstText(attributes, GENERATED_SESSION)),
    actorId: id(either(USER)) ?? id(metadata.user_id),
    tags: tagsOf(attributes, of, metadata.tags),
  };
}

/** Returns the agent's own name; undefined for spans that merely have the kind of an agent. */
export function ownNameOf(attributes: Attributes): string | undefined {
  return id(firstText(attributes, ['gen_ai.agent.name', 'agent.name', 'ai.telemetry.functionId']));
}

/** Returns the display name of the agent's run. */
export function agentNameOf({ attributes, name }: OtlpSpan): string | undefined {
  const ownName = id(firstText(attributes, AGENT_NAME));
  if (ownName !== undefined) return ownName;
  const inGraph = id(objectAt(attributes, 'metadata').lc_agent_name);
  if (inGraph !== undefined) return inGraph;
  return attributes.get('openinference.span.kind') === 'AGENT' ? id(name) : undefined;
}

/** @param agentId from the request's header */
export function agentOf({ attributes }: OtlpSpan['resource'], agentId: string | undefined): string {
  return id(firstText(attributes, ['agentlens.agent.id'])) ?? id(agentId) ?? serviceName(attributes);
}

export function serviceName(resource: Attributes): string {
  const name = id(firstText(resource, ['service.name']));
  return name === undefined || name.startsWith(UNKNOWN_SERVICE) ? UNKNOWN_SERVICE : name;
}

function tagsOf(attributes: Attributes, resource: Attributes, inMetadata: unknown): string[] | undefined {
  const environment = id(firstText(resource, ENVIRONMENT));
  const sent = [...TAGS.map((name) => attributes.get(name)), inMetadata].flatMap(textsOf);
  const tags = new Set([...sent, ...(environment === undefined ? [] : [`env:${environment}`])]);
  return tags.size === 0 ? undefined : [...tags].slice(0, MAX_TAGS);
}

/** Accepts a list, a list as JSON text, or comma-separated text (LangSmith). */
function textsOf(value: unknown): readonly string[] {
  const known = unpacked(value);
  const items = typeof known === 'string' ? known.split(',') : known;
  return Array.isArray(items) ? items.map((item) => id(item)).filter((item) => item !== undefined) : [];
}

function id(value: unknown): string | undefined {
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string') return undefined;
  const clean = cleanName(text.trim(), NAME_CHARS);
  return clean === '' ? undefined : clean;
}
