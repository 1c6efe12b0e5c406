import { buildNpmInstall, buildNpx, buildPipInstall } from '@agentlens/contracts/packages';
import type { KeyNote } from './key-note.ts';
import type { Standalone } from './start-standalone.ts';

/** The text that the terminal shows when the platform is ready: addresses, keys, and commands to paste. */
export function banner({
  address,
  dataDir,
  key,
  platformKey,
  signInLink,
}: Pick<Standalone, 'address' | 'dataDir' | 'key' | 'platformKey' | 'signInLink'>): string {
  return `
AgentLens is ready.

  Address   ${address}
  Console   ${signInLink ?? address}${signInLink === undefined ? '' : '\n            (signs this browser in; valid once, within an hour)'}
  API key   ${describe(key, ADMIN)}
  Tenants   ${describe(platformKey, TENANTS)}
  Data      ${dataDir}

Try it. A rule that pauses "my-agent" when half of its calls fail, five failed calls, and the result:

${samples(address, key)}
Guard a coding agent, or an agent of yours (packages: ${address}/packages/):

  ${buildNpx('cli', address)} guard setup
  ${buildNpmInstall(['sdk'], address)}
  ${buildPipInstall(address)}

Stop with Ctrl-C; the data stays. To see a demo: npm run demo
`;
}

interface KeyText {
  readonly variable: string;
  readonly does: string;
}

const ADMIN: KeyText = { variable: 'AGENTLENS_BOOTSTRAP_KEY', does: 'admin of tenant "default"' };
const TENANTS: KeyText = {
  variable: 'AGENTLENS_PLATFORM_KEY',
  does: 'creates further tenants, cannot read their data',
};

function describe(key: KeyNote, { variable, does }: KeyText): string {
  switch (key.kind) {
    case 'made':
      return `${key.key}\n            (${does}, created now and kept in ${key.file})`;
    case 'found':
      return `in ${key.file}`;
    case 'given':
      return `the one in ${variable}`;
    case 'lost':
      return (
        `created at an earlier start, but ${key.file} is missing.\n            ` +
        `To use a new one: ${variable}=$(node libs/platform/dist/new-key.js) npm start`
      );
  }
}

/** The shell expression for the key, which keeps it out of the terminal's history. */
function usable(key: KeyNote): string {
  return 'key' in key ? `$(cat ${key.file})` : '$AGENTLENS_BOOTSTRAP_KEY';
}

const AGENT_ID = 'my-agent';
const RULE = {
  name: 'Half of its calls fail',
  agentId: AGENT_ID,
  conditionType: 'error_rate_threshold',
  conditionConfig: { threshold: 50, windowMinutes: 5, of: 'calls', minEvents: 5 },
  actionType: 'pause_agent',
  actionConfig: { message: 'Paused by my first rule' },
};
const FAILURE = {
  sessionId: 'run-1',
  agentId: AGENT_ID,
  eventType: 'tool_error',
  payload: { callId: 'c1', toolName: 'search', error: 'timeout', durationMs: 900 },
};
const FAILURES = ['c1', 'c2', 'c3', 'c4', 'c5'].map((callId) => ({
  ...FAILURE,
  payload: { ...FAILURE.payload, callId },
}));

function samples(address: string, key: KeyNote): string {
  const post = (path: string, body: object): string =>
    `curl -sS ${address}${path} -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' \\\n` +
    `  -d '${JSON.stringify(body)}'; echo\n`;
  const get = (path: string): string => `curl -sS ${address}${path} -H "Authorization: Bearer $KEY"; echo\n`;
  return [
    `KEY=${usable(key)}\n`,
    post('/api/guardrails', RULE),
    post('/api/events', { events: FAILURES }),
    get(`/api/agents/${AGENT_ID}`),
    get('/api/guardrails/history'),
  ].join('\n');
}
