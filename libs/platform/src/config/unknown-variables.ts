import { nearestName } from '@agentlens/contracts';
import { ConfigError } from './config-error.ts';

const PREFIX = 'AGENTLENS_';

/** Kubernetes sets such variables for every service named `agentlens-...`. */
const SERVICE_LINK = /_(SERVICE_(HOST|PORT)(_\w+)?|PORT_\d+_(TCP|UDP)(_(PROTO|PORT|ADDR))?)$/;

/** And `..._PORT`, which differs from a setting by its value only. */
const BARE_LINK = /^(tcp|udp|sctp):\/\//;

/** A misspelt setting would be ignored in silence, so every AGENTLENS_* name must be known. */
export function refuseUnknownVariables(
  env: Readonly<Record<string, string | undefined>>,
  known: readonly string[],
): void {
  const unknown = Object.keys(env).filter(
    (name) => name.startsWith(PREFIX) && !known.includes(name) && !CLIENT_VARIABLES.includes(name),
  );
  const isLink = (name: string) =>
    SERVICE_LINK.test(name) || (name.endsWith('_PORT') && BARE_LINK.test(env[name] ?? ''));
  const mistakes = unknown.filter((name) => !isLink(name));
  if (mistakes.length === 0) return;
  const lines = mistakes.map((name) => `${name} is not known. Did you mean ${meantBy(name, known)}?`);
  throw new ConfigError(`Unknown environment variables:\n  ${lines.join('\n  ')}`);
}

/** Read by SDKs and the command line, and often set in the same shell. */
const CLIENT_VARIABLES: readonly string[] = [
  'AGENTLENS_AGENT_ID',
  'AGENTLENS_API_KEY',
  'AGENTLENS_API_URL',
  'AGENTLENS_DEADLINE_MS',
  'AGENTLENS_ENFORCE',
  'AGENTLENS_FAIL_MODE',
  'AGENTLENS_PROFILE',
  'AGENTLENS_SERVER_URL',
  'AGENTLENS_URL',
];

/** What all names begin with says nothing of which one was meant. */
function meantBy(name: string, known: readonly string[]): string {
  const names = [...CLIENT_VARIABLES, ...known].filter((one) => one.startsWith(PREFIX));
  const nearest = nearestName(
    name.slice(PREFIX.length),
    names.map((one) => one.slice(PREFIX.length)),
  );
  return `${PREFIX}${nearest ?? ''}`;
}
