import type { IncomingHttpHeaders } from 'node:http';
import { ClientId, mayDo } from '@agentlens/contracts';
import { findClient, type GatewayPath } from '@agentlens/model-api';
import { bearerOf, type Caller, type KeyDirectory } from '@agentlens/platform';
import { RefusedCall } from '../refused-call.ts';

/** Who calls. */
export interface ModelCaller {
  readonly caller: Caller;
  /** Kept to check the key again while an answer is open. */
  readonly key: string;
  readonly agentId: string;
  /** Absent: the run of the conversation. */
  readonly runId: string | undefined;
  readonly sessionId: string | undefined;
}

const AGENT_HEADER = 'x-agentlens-agent';
const RUN_HEADER = 'x-agentlens-run';
const SESSION_HEADER = 'x-agentlens-session';

/** Finds the tenant, the agent and the run of a request, before its body is read. @throws RefusedCall */
export async function identifyCaller(
  keys: KeyDirectory,
  headers: IncomingHttpHeaders,
  url: string,
  path: GatewayPath,
): Promise<ModelCaller> {
  const key = readKey(headers, url);
  const caller = await acceptedCaller(keys, key);
  const client = findClient(headers);
  const agentId = findAgent(caller, path.agent ?? headerId(headers, AGENT_HEADER), client?.agent);
  const runId = path.run ?? headerId(headers, RUN_HEADER) ?? client?.session;
  return { caller, key, agentId, runId: requireId(runId, 'run'), sessionId: headerId(headers, SESSION_HEADER) };
}

/** @throws RefusedCall */
async function acceptedCaller(keys: KeyDirectory, key: string): Promise<Caller> {
  const check = await keys.check(key);
  if (check.kind === 'unavailable') {
    throw new RefusedCall('unavailable', 'keys_unavailable', 'API keys cannot be checked now. Send the request again.');
  }
  if (check.kind === 'refused') {
    throw new RefusedCall('unauthorized', `key_${check.reason}`, `The AgentLens API key is ${check.reason}.`);
  }
  if (mayDo(check.caller.scopes, ['model'])) return check.caller;
  throw new RefusedCall('forbidden', 'scope_missing', 'This AgentLens API key lacks the scope "model".');
}

/** @param known agent of a client that names itself */
function findAgent({ agents }: Caller, named: string | undefined, known: string | undefined): string {
  const only = agents?.length === 1 ? agents[0] : undefined;
  const isKnownAllowed = known !== undefined && (agents === undefined || agents.includes(known));
  const agentId = requireId(named ?? only ?? (isKnownAllowed ? known : undefined), 'agent');
  if (agentId === undefined) {
    const how = `Add "/agent/<name>" to the base URL, send ${AGENT_HEADER}, or use a key that is bound to one agent.`;
    throw new RefusedCall('invalid', 'agent_missing', `The request names no agent. ${how}`);
  }
  if (agents === undefined || agents.includes(agentId)) return agentId;
  throw new RefusedCall('forbidden', 'other_agent', 'This AgentLens API key is bound to other agents.');
}

function headerId(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' && value !== '' ? requireId(value, name) : undefined;
}

function requireId(id: string | undefined, what: string): string | undefined {
  if (id === undefined || ClientId.safeParse(id).success) return id;
  throw new RefusedCall('invalid', 'invalid_id', `The ${what} must be 1 to 256 printable characters.`);
}

/** Where SDKs put their key. */
const KEY_HEADERS = ['x-api-key', 'api-key', 'x-goog-api-key'] as const;

const HOW = 'Send an AgentLens API key with the scope "model" as the key of your SDK.';

/** The key of a request. @throws RefusedCall if there is none, or if there are two different ones */
function readKey(headers: IncomingHttpHeaders, url: string): string {
  const sent = new Set<string>();
  const bearer = bearerOf({ headers });
  if (bearer !== undefined) sent.add(bearer);
  for (const name of KEY_HEADERS) {
    const value = headers[name];
    if (typeof value === 'string' && value.trim() !== '') sent.add(value.trim());
  }
  const query = url.includes('?') ? new URLSearchParams(url.slice(url.indexOf('?') + 1)).getAll('key') : [];
  for (const value of query) sent.add(value);
  const [key, another] = sent;
  if (key === undefined) throw new RefusedCall('unauthorized', 'key_missing', `Authentication required. ${HOW}`);
  if (another === undefined) return key;
  const message = 'The request has two different keys. Send one: SDKs take it from their environment variable.';
  throw new RefusedCall('invalid', 'two_keys', message);
}
