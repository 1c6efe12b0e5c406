import { createEgressClient, type EgressClient } from '@agentlens/egress';
import { AgentError } from '../core/agent-error.ts';
import {
  environmentSecrets,
  type HostHttp,
  type HttpRequest,
  type HttpResponse,
  Secret,
  type SecretSource,
} from './host.ts';

export interface HttpHostOptions {
  /** Allowed host names; `*.example.com` allows every name below it. */
  readonly allow: readonly string[];
  /** Allowed networks that are not public, as CIDR. */
  readonly networks?: readonly string[];
  readonly secrets?: SecretSource;
}

const METHODS = ['GET', 'POST', 'PUT'] as const;
type Method = (typeof METHODS)[number];

/**
 * HTTP for tools: listed hosts only, public addresses only (checked on connect), no redirects, a timeout and a size
 * limit. Inserts secrets into requests and removes them from responses.
 */
export class HttpHost implements HostHttp {
  readonly #client: EgressClient;
  readonly #allow: readonly string[];
  readonly #secrets: SecretSource;

  constructor({ allow, networks = [], secrets = environmentSecrets }: HttpHostOptions) {
    this.#client = createEgressClient({ allow: [...networks] });
    this.#allow = allow.map((name) => name.toLowerCase());
    this.#secrets = secrets;
  }

  async send({ method, url, headers = {}, body, timeoutMs, signal }: HttpRequest): Promise<HttpResponse> {
    signal?.throwIfAborted();
    this.#checkHost(url);
    if (!isMethod(method)) throw new AgentError('invalid_input', `the method must be one of ${METHODS.join(', ')}`);
    const used = new Map<string, string>();
    const filled: Record<string, string> = {};
    for (const [name, value] of Object.entries(headers)) filled[name] = await this.#fill(value, used);
    const result = await this.#client.send({
      ...{ method, url, headers: filled },
      ...(body === undefined ? {} : { body }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    });
    signal?.throwIfAborted();
    if (result.kind === 'refused') throw new AgentError('denied_by_host', result.reason);
    if (result.kind === 'unreachable') throw new AgentError('tool_failed', `no answer: ${result.reason}`);
    const clean = (text: string) => withoutSecrets(text, used);
    const cleaned = Object.fromEntries(Object.entries(result.headers).map(([name, value]) => [name, clean(value)]));
    return { status: result.status, headers: cleaned, body: clean(result.body) };
  }

  close(): Promise<void> {
    return this.#client.close();
  }

  #checkHost(url: string): void {
    const host = URL.parse(url)?.hostname.toLowerCase();
    if (host === undefined) throw new AgentError('invalid_input', 'the address is not a URL');
    const allowed = this.#allow.some((name) => (name.startsWith('*.') ? host.endsWith(name.slice(1)) : host === name));
    if (!allowed) throw new AgentError('denied_by_host', `the host ${host} is not on this agent's list`);
  }

  async #fill(value: string | Secret, used: Map<string, string>): Promise<string> {
    if (!(value instanceof Secret)) return value;
    const found = await this.#secrets(value.name);
    if (found === undefined || found === '') throw new AgentError('invalid_config', `unknown secret ${value.name}`);
    used.set(value.name, found);
    return found;
  }
}

function isMethod(method: string): method is Method {
  return METHODS.some((known) => known === method);
}

/** A server may echo what it was sent. */
function withoutSecrets(text: string, used: ReadonlyMap<string, string>): string {
  let cleaned = text;
  for (const [name, value] of used) cleaned = cleaned.replaceAll(value, `[secret ${name}]`);
  return cleaned;
}
