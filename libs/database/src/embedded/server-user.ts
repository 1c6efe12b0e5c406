import { execFile } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';

/** Who the server runs as; given to `spawn`. */
export interface ServerUser {
  readonly uid: number;
  readonly gid: number;
}

const run = promisify(execFile);
const OTHERS_EXECUTE = 0o001;
const GROUP_EXECUTE = 0o010;
const OWNER_EXECUTE = 0o100;

/**
 * Postgres refuses to run as root. As root we run it as `postgres` where the machine has that user, else as `nobody`,
 * so that nothing has to be added to the machine; anybody else runs it as themselves (undefined).
 */
export async function serverUser(): Promise<ServerUser | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  for (const name of ['postgres', 'nobody']) {
    const user = await lookUp(name);
    if (user !== undefined) return user;
  }
  throw new Error(
    'Postgres does not run as root, and this machine has neither a user "postgres" nor "nobody" to run it as. ' +
      'Start AgentLens as an ordinary user, or set DATABASE_URL.',
  );
}

async function lookUp(name: string): Promise<ServerUser | undefined> {
  try {
    const [uid, gid] = await Promise.all([run('id', ['-u', name]), run('id', ['-g', name])]);
    return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
  } catch {
    return undefined;
  }
}

/** Whether the user can reach what lies in this folder, e.g. not below `/root` with its usual mode 0700. */
export async function canEnter(folder: string, user: ServerUser | undefined): Promise<boolean> {
  if (user === undefined) return true;
  const { mode, uid, gid } = await stat(folder);
  const bit = uid === user.uid ? OWNER_EXECUTE : gid === user.gid ? GROUP_EXECUTE : OTHERS_EXECUTE;
  if ((mode & bit) === 0) return false;
  const parent = dirname(folder);
  return parent === folder || canEnter(parent, user);
}
