// Runs one of the agents as its users do: with the two variables of OpenTelemetry, and where its model is.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { AGENTS, HERE, pythonOf } from './environments.mjs';

const DEADLINE_MS = 120_000;

/**
 * @param {string} name one of AGENTS
 * @param {{modelUrl: string, endpoint: string, headers?: string, env?: Record<string, string>}} to
 * @returns {Promise<string>} what the agent printed
 */
export function runAgent(name, { modelUrl, endpoint, headers = '', env = {} }) {
  const agent = AGENTS[name];
  const program = join(HERE, 'agents', agent.program);
  const command = agent.python === undefined ? process.execPath : pythonOf(agent.python);
  const child = spawn(command, [program], {
    cwd: join(HERE, 'agents'),
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
      ...(headers === '' ? {} : { OTEL_EXPORTER_OTLP_HEADERS: headers }),
      OTEL_SERVICE_NAME: name,
      OTEL_NODE_RESOURCE_DETECTORS: 'env',
      OPENAI_BASE_URL: `${modelUrl}/v1`,
      OPENAI_API_KEY: 'none',
      ANTHROPIC_BASE_URL: modelUrl,
      ANTHROPIC_API_KEY: 'none',
      ...agent.env,
      ...env,
    },
  });
  let printed = '';
  for (const output of [child.stdout, child.stderr]) output.on('data', (text) => (printed += text));
  const deadline = setTimeout(() => child.kill('SIGKILL'), DEADLINE_MS);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      clearTimeout(deadline);
      if (code === 0) resolve(printed);
      else reject(new Error(`${name} ended with ${code}:\n${printed}`));
    });
  });
}
