import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { CommandContext, DefineCommand } from '../../context.ts';
import { CommandError, usageError } from '../../errors.ts';
import { openCompose } from './compose.ts';
import type { Deployment } from './deployment.ts';
import { openKubernetes } from './kubernetes.ts';
import { countRows, FILES, type Manifest, readManifest, writeManifest } from './manifest.ts';

const HELP = `
Without --namespace it is the Compose deployment of this folder, with --namespace an installation of the Helm chart. Both with
their own Postgres and NATS: for servers elsewhere, use the snapshots of their provider.`;

export const backup: DefineCommand = (command, context) => {
  command
    .argument('<folder>', 'a new or empty folder')
    .option('--namespace <name>', 'of the installation in Kubernetes')
    .option('--prefix <text>', 'before the names of its objects', 'agentlens-')
    .option('--secret <name>', 'its Secret', 'agentlens')
    .addHelpText('after', HELP)
    .action(async (target, options) => {
      const { output, host } = context;
      const deployment = chooseDeployment(context, options);
      const folder = await makeFolder(resolve(host.folder, target));
      const version = await deployment.readVersion();
      const createdAt = new Date(host.nowMs()).toISOString();
      // Streams first: what is stored after their snapshot is delivered again after a restore, and counts once.
      output.note(`Saving the streams of ${deployment.title}.`);
      await deployment.saveStreams(join(folder, FILES.streams));
      output.note('Saving the database.');
      const rows = await countRows(deployment);
      await deployment.dumpDatabase(join(folder, FILES.database));
      await writeFile(join(folder, FILES.key), await deployment.readSecretKey(), { mode: 0o600 });
      const manifest = await writeManifest(folder, { version, createdAt, rows });
      output.print(
        manifest,
        () => `Saved ${describe(manifest)} in ${folder}.\nIt has the secret key: keep it like a password.`,
      );
    });
};

export const restore: DefineCommand = (command, context) => {
  command
    .argument('<folder>', 'a folder that "agentlens backup" wrote')
    .option('--namespace <name>', 'of the installation in Kubernetes')
    .option('--prefix <text>', 'before the names of its objects', 'agentlens-')
    .option('--secret <name>', 'its Secret', 'agentlens')
    .addHelpText('after', `${HELP}\nThe installation must have the version of the backup; upgrade it afterwards.`)
    .action(async (source, options) => {
      const { output, host } = context;
      const deployment = chooseDeployment(context, options);
      const folder = resolve(host.folder, source);
      const manifest = await readManifest(folder);
      const version = await deployment.readVersion();
      if (version !== manifest.version) {
        throw new CommandError(`The backup is of version ${manifest.version}, the installation of ${version}`, {
          hint: `Install version ${manifest.version}, restore, then upgrade`,
        });
      }
      await context.confirm(`Replace the data of ${deployment.title} with the backup of ${manifest.createdAt}?`);
      await replaceData(context, { deployment, folder });
      const rows = await countRows(deployment);
      const missing = findMissing(manifest, rows);
      output.print({ ...manifest, restored: rows, missing }, () => `Restored ${describe({ ...manifest, rows })}.`);
      if (missing.length > 0) {
        throw new CommandError('Some tables have fewer rows than the backup', { details: missing });
      }
    });
};

async function replaceData(
  { output }: CommandContext,
  { deployment, folder }: { deployment: Deployment; folder: string },
): Promise<void> {
  const key = await readFile(join(folder, FILES.key), 'utf8');
  output.note('Stopping the services.');
  await deployment.stopServices();
  output.note('Restoring the database.');
  await deployment.restoreDatabase(join(folder, FILES.database));
  await deployment.writeSecretKey(key);
  output.note('Restoring the streams.');
  await deployment.loadStreams(join(folder, FILES.streams));
  output.note('Starting the services.');
  await deployment.startServices();
}

/** Services may have added rows since; none of the backup may be missing. */
function findMissing({ rows }: Manifest, restored: Readonly<Record<string, number>>): string[] {
  return Object.entries(rows)
    .filter(([table, count]) => (restored[table] ?? 0) < count)
    .map(([table, count]) => `${table}: ${restored[table] ?? 0} of ${count}`);
}

function describe({ version, rows }: Pick<Manifest, 'version' | 'rows'>): string {
  const total = Object.values(rows).reduce((sum, count) => sum + count, 0);
  return `${total} rows of ${Object.keys(rows).length} tables, streams and key of version ${version}`;
}

async function makeFolder(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  if ((await readdir(folder)).length > 0)
    throw usageError(`${folder} is not empty`, 'Name a new folder for each backup');
  return folder;
}

interface DeploymentOptions {
  readonly namespace?: string | undefined;
  readonly prefix: string;
  readonly secret: string;
}

/** The deployment that the options name: an installation of the chart, else the Compose deployment of this folder. */
function chooseDeployment({ host }: CommandContext, options: DeploymentOptions): Deployment {
  const { namespace, prefix, secret } = options;
  return namespace === undefined
    ? openCompose(host.folder, host.signal)
    : openKubernetes({ namespace, prefix, secret }, host.folder, host.signal);
}
