import type { DefineCommand } from '../../context.ts';
import { usageError } from '../../errors.ts';

interface SettingsPlace {
  /** `https://agentlens.example.com/gw/anthropic`, with agent and run if they are given. */
  readonly base: (connection: string) => string;
  readonly connection: string | undefined;
}

const KEY = '<key of agentlens gateway key>';

/** What each client needs: its variables, with their values. Codex needs a file. */
const CLIENTS: Readonly<Record<string, (place: SettingsPlace) => readonly (readonly [string, string])[]>> = {
  'claude-code': ({ base, connection = 'anthropic' }) => [
    ['ANTHROPIC_BASE_URL', base(connection)],
    ['ANTHROPIC_AUTH_TOKEN', KEY],
  ],
  anthropic: ({ base, connection = 'anthropic' }) => [
    ['ANTHROPIC_BASE_URL', base(connection)],
    ['ANTHROPIC_API_KEY', KEY],
  ],
  openai: ({ base, connection = 'openai' }) => [
    ['OPENAI_BASE_URL', `${base(connection)}/v1`],
    ['OPENAI_API_KEY', KEY],
  ],
  gemini: ({ base, connection = 'gemini' }) => [
    ['GOOGLE_GEMINI_BASE_URL', base(connection)],
    ['GEMINI_API_KEY', KEY],
  ],
};

const NAMES = [...Object.keys(CLIENTS), 'codex'].join(', ');

/** Codex reads its provider from `~/.codex/config.toml`. An own provider speaks HTTP, the built-in one websockets. */
function codexSettings(baseUrl: string): string {
  return [
    '# in ~/.codex/config.toml; the key in the environment: export AGENTLENS_MODEL_KEY=...',
    'model_provider = "agentlens"',
    '',
    '[model_providers.agentlens]',
    'name = "AgentLens"',
    `base_url = ${JSON.stringify(baseUrl)}`,
    'env_key = "AGENTLENS_MODEL_KEY"',
    'wire_api = "responses"',
  ].join('\n');
}

/** Prints the settings that lead a client through the gateway. */
export const printClientSettings: DefineCommand = (command, context) => {
  command
    .argument('<client>', NAMES)
    .option('--connection <name>', 'the connection; default: that of the dialect')
    .option('--agent <name>', 'the agent, if the key is not bound to one')
    .option('--run <id>', 'the run; default: one per conversation')
    .action((client, { connection, agent, run }) => {
      const { url } = context.connection();
      const path = [agent === undefined ? [] : ['agent', agent], run === undefined ? [] : ['run', run]].flat();
      const base = (name: string) => [`${url}/gw/${name}`, ...path.map(encodeURIComponent)].join('/');
      if (client === 'codex') {
        const settings = codexSettings(`${base(connection ?? 'openai')}/v1`);
        context.output.print({ 'config.toml': settings, AGENTLENS_MODEL_KEY: KEY }, () => settings);
        return;
      }
      const settings = Object.hasOwn(CLIENTS, client) ? CLIENTS[client] : undefined;
      if (settings === undefined) {
        throw usageError(`There is no client ${JSON.stringify(client)}.`, `Use one of ${NAMES}.`);
      }
      const pairs = settings({ base, connection });
      context.output.print(Object.fromEntries(pairs), () =>
        pairs.map(([name, value]) => `export ${name}=${value === KEY ? `'${value}'` : value}`).join('\n'),
      );
    });
};
