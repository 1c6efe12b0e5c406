import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { HostId } from '../hosts/host.ts';
import { SCRIPTED_MODEL } from './model-server.ts';

/** A folder that stands in for the home of a user, with a project in it. */
export interface Stage {
  readonly home: string;
  readonly project: string;
  readonly modelUrl: string;
  /** Path of each binary, or its name on the PATH. */
  readonly binary: string;
}

export interface HostRun {
  readonly output: string;
}

/** Name of the shell tool and of its argument on each host. */
export const SHELL_TOOLS: Readonly<Record<HostId, string>> = {
  'claude-code': 'Bash',
  codex: 'exec_command',
  'gemini-cli': 'run_shell_command',
  'qwen-code': 'run_shell_command',
  'copilot-cli': 'bash',
  'kimi-code': 'Bash',
  opencode: 'bash',
};

/** Arguments with which a model of this host runs a command. */
export function shellInput(id: HostId, command: string): Readonly<Record<string, unknown>> {
  switch (id) {
    case 'codex':
      return { cmd: command };
    case 'qwen-code':
      return { command, is_background: false, description: 'd' };
    case 'copilot-cli':
      return { command, description: 'd', mode: 'sync' };
    case 'claude-code':
    case 'gemini-cli':
    case 'kimi-code':
    case 'opencode':
      return { command, description: 'd' };
  }
}

/** A port on which nothing listens: everything but loopback fails at once. */
const DEAD_PROXY = 'http://127.0.0.1:9';

/** Environment of a host whose model is on loopback and that reaches nothing else. */
export function stageEnv(id: HostId, { home, modelUrl }: Stage, base: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const own: NodeJS.ProcessEnv = {
    PATH: base.PATH,
    HOME: home,
    USER: base.USER ?? 'dev',
    TERM: 'dumb',
    CI: 'true',
    XDG_CONFIG_HOME: join(home, '.config'),
    XDG_STATE_HOME: join(home, '.local/state'),
    XDG_DATA_HOME: join(home, '.local/share'),
    XDG_CACHE_HOME: join(home, '.cache'),
    HTTP_PROXY: DEAD_PROXY,
    HTTPS_PROXY: DEAD_PROXY,
    http_proxy: DEAD_PROXY,
    https_proxy: DEAD_PROXY,
    NO_PROXY: '127.0.0.1,localhost',
    no_proxy: '127.0.0.1,localhost',
    DO_NOT_TRACK: '1',
  };
  switch (id) {
    case 'claude-code':
      return {
        ...own,
        ANTHROPIC_BASE_URL: modelUrl,
        ANTHROPIC_API_KEY: 'sk-ant-scripted',
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        DISABLE_AUTOUPDATER: '1',
        IS_SANDBOX: '1',
      };
    case 'codex':
      return { ...own, CODEX_HOME: join(home, '.codex'), SCRIPTED_KEY: 'scripted' };
    case 'gemini-cli':
      return {
        ...own,
        GEMINI_API_KEY: 'scripted',
        GOOGLE_GEMINI_BASE_URL: modelUrl,
        GEMINI_MODEL: 'gemini-2.5-pro',
        GEMINI_CLI_TRUST_WORKSPACE: 'true',
        GEMINI_TELEMETRY_ENABLED: 'false',
      };
    case 'qwen-code':
      return { ...own, OPENAI_API_KEY: 'scripted', OPENAI_BASE_URL: modelUrl, OPENAI_MODEL: SCRIPTED_MODEL };
    case 'copilot-cli':
      return {
        ...own,
        COPILOT_OFFLINE: 'true',
        COPILOT_PROVIDER_BASE_URL: modelUrl,
        COPILOT_PROVIDER_TYPE: 'openai',
        COPILOT_PROVIDER_API_KEY: 'scripted',
        COPILOT_MODEL: SCRIPTED_MODEL,
        COPILOT_AUTO_UPDATE: 'false',
      };
    case 'kimi-code':
      return { ...own, KIMI_CODE_HOME: join(home, '.kimi-code'), KIMI_CODE_NO_AUTO_UPDATE: '1' };
    case 'opencode':
      return {
        ...own,
        OPENCODE_DISABLE_AUTOUPDATE: '1',
        OPENCODE_DISABLE_MODELS_FETCH: '1',
        OPENCODE_CONFIG_CONTENT: JSON.stringify({
          $schema: 'https://opencode.ai/config.json',
          model: `scripted/${SCRIPTED_MODEL}`,
          small_model: `scripted/${SCRIPTED_MODEL}`,
          permission: { '*': 'allow' },
          provider: {
            scripted: {
              npm: '@ai-sdk/openai-compatible',
              options: { baseURL: modelUrl, apiKey: 'scripted' },
              models: {
                [SCRIPTED_MODEL]: { name: SCRIPTED_MODEL, tool_call: true, limit: { context: 200_000, output: 8_000 } },
              },
            },
          },
        }),
      };
  }
}

/** Words that make a host work on a prompt without a terminal and without asking. */
export function stageWords(id: HostId, { modelUrl }: Stage, prompt: string): string[] {
  switch (id) {
    case 'claude-code':
      return ['-p', prompt, '--dangerously-skip-permissions'];
    case 'codex': {
      const provider = `{name="scripted", base_url=${JSON.stringify(modelUrl)}, wire_api="responses", env_key="SCRIPTED_KEY"}`;
      const options = [
        '-c',
        'model_provider="scripted"',
        '-c',
        `model_providers.scripted=${provider}`,
        '-c',
        'model="gpt-5.5"',
      ];
      return ['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', ...options, prompt];
    }
    case 'gemini-cli':
      return ['--yolo', '-p', prompt];
    case 'qwen-code':
      return ['--yolo', '--auth-type', 'openai', '-p', prompt];
    case 'copilot-cli':
      return ['-p', prompt, '--allow-all-tools', '--no-color'];
    case 'kimi-code':
      return ['-p', prompt];
    case 'opencode':
      return ['run', prompt];
  }
}

/** Writes what a host needs in its home before it starts without a terminal. */
export function prepareHome(id: HostId, { home, project, modelUrl }: Stage): void {
  mkdirSync(home, { recursive: true });
  mkdirSync(project, { recursive: true });
  for (const [name, content] of HOME_FILES[id] ?? []) {
    const path = join(home, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, typeof content === 'function' ? content(modelUrl) : `${JSON.stringify(content, null, 2)}\n`);
  }
}

/** Kimi Code reads its models from its configuration only. */
function kimiConfig(modelUrl: string): string {
  return `default_model = "scripted"
telemetry = false

[providers.scripted]
type = "openai"
base_url = ${JSON.stringify(modelUrl)}
api_key = "scripted"

[models.scripted]
provider = "scripted"
model = "${SCRIPTED_MODEL}"
max_context_size = 200000
`;
}

const OPENCODE_PLUGIN = { '@opencode-ai/plugin': '1.18.33' };

const OPENCODE_LOCK = {
  lockfileVersion: 3,
  packages: { '': { dependencies: OPENCODE_PLUGIN }, 'node_modules/@opencode-ai/plugin': { version: '1.18.33' } },
};

/** JSON, or a text in which the address of the model stands. */
type HomeFile = readonly [name: string, content: object | ((modelUrl: string) => string)];

/** What keeps a first start without a terminal from asking or downloading. */
const HOME_FILES: Readonly<Partial<Record<HostId, readonly HomeFile[]>>> = {
  'claude-code': [['.claude.json', { hasCompletedOnboarding: true }]],
  'gemini-cli': [
    [
      '.gemini/settings.json',
      { security: { auth: { selectedType: 'gemini-api-key' } }, privacy: { usageStatisticsEnabled: false } },
    ],
  ],
  // Qwen Code adds this to a file without it, which is a change of its own.
  'qwen-code': [['.qwen/settings.json', { $version: 4 }]],
  'kimi-code': [['.kimi-code/config.toml', kimiConfig]],
  // OpenCode installs the types of plugins unless they are there.
  opencode: [
    ['.config/opencode/package.json', { dependencies: OPENCODE_PLUGIN }],
    ['.config/opencode/package-lock.json', OPENCODE_LOCK],
    [
      '.config/opencode/node_modules/@opencode-ai/plugin/package.json',
      { name: '@opencode-ai/plugin', version: '1.18.33' },
    ],
  ],
};

const RUN_MS = 120_000;

/** Runs a host on a prompt until it ends. */
export function runHost(
  id: HostId,
  stage: Stage,
  prompt: string,
  { env = process.env }: { env?: NodeJS.ProcessEnv } = {},
): Promise<HostRun> {
  return new Promise((resolve, reject) => {
    const child = spawn(stage.binary, stageWords(id, stage, prompt), {
      cwd: stage.project,
      env: stageEnv(id, stage, env),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    const add = (part: Buffer) => {
      output += part.toString();
    };
    child.stdout.on('data', add);
    child.stderr.on('data', add);
    const timer = setTimeout(() => child.kill('SIGKILL'), RUN_MS);
    child.once('error', reject);
    child.once('close', () => {
      clearTimeout(timer);
      resolve({ output });
    });
  });
}
