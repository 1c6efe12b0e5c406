import { CommandError } from '../../errors.ts';
import { buildStreamCommand, type Deployment, DUMP, HELPER, PSQL, READ_VERSION, RESTORE } from './deployment.ts';
import { type ProgramOptions, runProgram } from './run-program.ts';

const WAIT = '--timeout=300s';
export interface KubernetesOptions {
  readonly namespace: string;
  /** Before the name of every object: the name of the release and a hyphen, unless namePrefix is set. */
  readonly prefix: string;
  readonly secret: string;
}

/** An installation of the chart, through kubectl. */
export function openKubernetes(
  { namespace, prefix, secret }: KubernetesOptions,
  folder: string,
  signal: AbortSignal,
): Deployment {
  const kubectl = (args: readonly string[], options: Partial<ProgramOptions> = {}): Promise<string> =>
    runProgram(['kubectl', '-n', namespace, ...args], { folder, signal, ...options });
  const inPostgres = (command: readonly string[], options?: Partial<ProgramOptions>) =>
    kubectl(['exec', '-i', `${prefix}postgres-0`, '--', ...command], options);
  const readEntry = async (entry: string) => {
    const text = await kubectl(['get', 'secret', secret, '-o', `jsonpath={.data.${entry}}`]);
    if (text === '')
      throw new CommandError(`The Secret ${secret} has no entry ${entry}`, { hint: 'Name another one: --secret' });
    return Buffer.from(text, 'base64').toString();
  };
  const onStreams = async (word: 'save' | 'load', options: Partial<ProgramOptions>) => {
    const text = `${await readEntry('nats_password')}\n`;
    await kubectl(['exec', '-i', `deploy/${prefix}${HELPER}`, '--', ...buildStreamCommand(word)], { ...options, text });
  };
  let replicas: readonly { name: string; count: string }[] = [];
  const names = () =>
    kubectl([
      'get',
      'deploy',
      '-l',
      'app.kubernetes.io/part-of=agentlens',
      '-o',
      'jsonpath={range .items[*]}{.metadata.name} {.spec.replicas}{"\\n"}{end}',
    ]);
  return {
    title: `the installation ${prefix}* in the namespace ${namespace}`,
    readVersion: async () => (await kubectl(['exec', `deploy/${prefix}${HELPER}`, '--', ...READ_VERSION])).trim(),
    query: (sql) => inPostgres(PSQL, { text: sql }),
    dumpDatabase: async (toFile) => void (await inPostgres(DUMP, { toFile })),
    restoreDatabase: async (fromFile) => void (await inPostgres(RESTORE, { fromFile })),
    saveStreams: (toFile) => onStreams('save', { toFile }),
    loadStreams: (fromFile) => onStreams('load', { fromFile }),
    readSecretKey: () => readEntry('secret_key'),
    writeSecretKey: async (key) => {
      const patch = JSON.stringify({ stringData: { secret_key: key } });
      await kubectl(['patch', 'secret', secret, '--patch-file', '/dev/stdin'], { text: patch });
    },
    stopServices: async () => {
      const lines = (await names())
        .trim()
        .split('\n')
        .map((line) => line.split(' '));
      replicas = lines
        .map(([name = '', count = '1']) => ({ name, count }))
        .filter(({ name }) => name.startsWith(prefix));
      for (const { name } of replicas) {
        if (name !== `${prefix}${HELPER}`) await kubectl(['scale', 'deploy', name, '--replicas=0']);
      }
    },
    startServices: async () => {
      await kubectl(['rollout', 'restart', 'deploy', `${prefix}${HELPER}`]);
      for (const { name, count } of replicas) await kubectl(['scale', 'deploy', name, `--replicas=${count}`]);
      for (const { name } of replicas) await kubectl(['rollout', 'status', 'deploy', name, WAIT]);
    },
  };
}
