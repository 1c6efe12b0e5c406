import { type ConnectionDialect, TRIAL_PROVIDER } from '@agentlens/contracts';
import type { EgressClient } from '@agentlens/egress';

const TIMEOUT_MS = 10_000;

interface StoredConnection {
  readonly dialect: ConnectionDialect;
  readonly baseUrl: string;
  readonly credential: string | undefined;
}

export interface ConnectionTest {
  readonly works: boolean;
  readonly status: number | null;
  readonly message: string;
}

/** Lists the models of the provider. The answer is not passed on: an error of a provider may quote the key. */
export async function testConnection(
  egress: EgressClient,
  { dialect, baseUrl, credential }: StoredConnection,
): Promise<ConnectionTest> {
  if (baseUrl === TRIAL_PROVIDER)
    return { works: true, status: null, message: 'The built-in trial provider needs no key' };
  const result = await egress.send({
    url: dialect === 'anthropic' ? `${baseUrl}/v1/models` : `${baseUrl}/models`,
    method: 'GET',
    headers: authorize(dialect, credential),
    timeoutMs: TIMEOUT_MS,
  });
  if (result.kind !== 'answered')
    return { works: false, status: null, message: `The provider was not reached: ${result.reason}` };
  const { status } = result;
  return { works: status >= 200 && status < 300, status, message: describe(status) };
}

function authorize(dialect: ConnectionDialect, credential: string | undefined): Record<string, string> {
  const version: Record<string, string> = dialect === 'anthropic' ? { 'anthropic-version': '2023-06-01' } : {};
  if (credential === undefined) return version;
  return dialect === 'anthropic'
    ? { ...version, 'x-api-key': credential }
    : { ...version, authorization: `Bearer ${credential}` };
}

function describe(status: number): string {
  if (status >= 200 && status < 300) return 'The provider accepts the key';
  if (status === 401 || status === 403) return `The provider rejects the key (${status})`;
  if (status === 404) return 'The address answers, but has no list of models (404)';
  return `The provider answered ${status}`;
}
