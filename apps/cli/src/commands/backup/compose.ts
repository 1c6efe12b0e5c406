import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { usageError } from '../../errors.ts';
import { buildStreamCommand, type Deployment, DUMP, HELPER, PSQL, READ_VERSION, RESTORE } from './deployment.ts';
import { type ProgramOptions, runProgram } from './run-program.ts';

/** All services but the helper, and the edge. */
const SERVICES = [
  'edge',
  'ingest',
  'model-gateway',
  'query',
  'action-dispatcher',
  'guardrail-evaluator',
  'run-tracking',
];

/** The deployment of the docker-compose.yml in `folder`. */
export function openCompose(folder: string, signal: AbortSignal): Deployment {
  if (!existsSync(join(folder, 'docker-compose.yml'))) {
    throw usageError(
      `There is no docker-compose.yml in ${folder}`,
      'Run it in the folder of AgentLens, or name a namespace: --namespace agentlens',
    );
  }
  const compose = (args: readonly string[], options: Partial<ProgramOptions> = {}): Promise<string> =>
    runProgram(['docker', 'compose', ...args], { folder, signal, ...options });
  const inPostgres = (command: readonly string[], options?: Partial<ProgramOptions>) =>
    compose(['exec', '-T', 'postgres', ...command], options);
  const inHelper = (command: readonly string[], options?: Partial<ProgramOptions>) =>
    compose(['exec', '-T', HELPER, ...command], options);
  const secret = (name: string) => join(folder, '.secrets', name);
  const onStreams = async (word: 'save' | 'load', options: Partial<ProgramOptions>) => {
    const text = `${(await readFile(secret('nats_password'), 'utf8')).trim()}\n`;
    await inHelper(buildStreamCommand(word), { ...options, text });
  };
  return {
    title: `the Compose deployment in ${folder}`,
    readVersion: async () => (await inHelper(READ_VERSION)).trim(),
    query: (sql) => inPostgres(PSQL, { text: sql }),
    dumpDatabase: async (toFile) => void (await inPostgres(DUMP, { toFile })),
    restoreDatabase: async (fromFile) => void (await inPostgres(RESTORE, { fromFile })),
    saveStreams: (toFile) => onStreams('save', { toFile }),
    loadStreams: (fromFile) => onStreams('load', { fromFile }),
    readSecretKey: () => readFile(secret('secret_key'), 'utf8'),
    // In place, because containers mount the file itself.
    writeSecretKey: (key) => writeFile(secret('secret_key'), key),
    stopServices: async () => void (await compose(['stop', ...SERVICES])),
    startServices: async () => {
      await compose(['restart', HELPER]);
      // Without waiting for each other: on a busy machine a service may take longer than its health check allows.
      await compose(['up', '--detach', '--no-deps', '--no-build', '--no-recreate', ...SERVICES]);
    },
  };
}
