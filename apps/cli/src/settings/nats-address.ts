import { join } from 'node:path';
import { InvalidNatsAddress } from '@agentlens/messaging';
import { CommandError, usageError } from '../command-error.ts';
import { EXIT } from '../exit-codes.ts';
import { dataFolders } from './data-folders.ts';
import type { Env } from './env.ts';
import { readTextFile } from './json-file.ts';

/** `NATS_URL`, else the server of a platform that was started here, else the usual port of this machine. */
export function natsAddress(folder: string, env: Env): string {
  if (env.NATS_URL) return env.NATS_URL;
  const noted = dataFolders(folder, env).map((data) => readTextFile(join(data, 'distributed/nats-url'))?.trim());
  return noted.find((address) => address !== undefined && address !== '') ?? 'nats://127.0.0.1:4222';
}

/** No NATS server answered at `address`, or it is no address. */
export function natsUnreachable(address: string, error: unknown): CommandError {
  if (error instanceof InvalidNatsAddress) return usageError(error.message);
  const shown = address.replace(/:[^:@/]+@/g, ':***@');
  return new CommandError(`No NATS server answers at ${shown}: ${error instanceof Error ? error.message : ''}`, {
    exitCode: EXIT.unreachable,
    hint: 'Only the distributed form has one: "npm run start:distributed". NATS_URL names another server.',
  });
}
