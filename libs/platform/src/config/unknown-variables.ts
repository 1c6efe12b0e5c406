import { ConfigError } from './config-error.ts';

/** Kubernetes makes such variables for every service named `agentlens-...`; nobody wrote them. */
const SERVICE_LINK = /_(SERVICE_(HOST|PORT)(_\w+)?|PORT(_\d+_(TCP|UDP)(_(PROTO|PORT|ADDR))?)?)$/;

/** A misspelt setting would be ignored in silence, so every AGENTLENS_* name must be known. */
export function refuseUnknownVariables(
  env: Readonly<Record<string, string | undefined>>,
  known: readonly string[],
): void {
  const unknown = Object.keys(env).filter(
    (name) => name.startsWith('AGENTLENS_') && !known.includes(name) && !CLIENT_VARIABLES.includes(name),
  );
  const mistakes = unknown.filter((name) => !SERVICE_LINK.test(name));
  if (mistakes.length === 0) return;
  const lines = mistakes.map((name) => `${name} is not known. Did you mean ${nearest(name, known)}?`);
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

function nearest(name: string, known: readonly string[]): string {
  const byDistance = known.map((candidate) => ({ candidate, distance: editDistance(name, candidate) }));
  byDistance.sort((a, b) => a.distance - b.distance);
  return byDistance[0]?.candidate ?? name;
}

/** Levenshtein distance, one row at a time. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, change));
    }
    row = next;
  }
  return row[b.length] ?? Math.max(a.length, b.length);
}
