import { spawn } from 'node:child_process';

/**
 * Ends a process with this one, however this one ends: a shell holds the other end of a pipe that closes then. A test
 * runner that is killed would leave its servers running otherwise.
 * @returns stops watching, for a process that ended in its own time
 */
export function endWithParent(pid: number): () => void {
  const watcher = spawn('/bin/sh', ['-c', `cat >/dev/null; kill -9 ${pid} 2>/dev/null`], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  // Without a shell nothing watches, and the server lives as it did before.
  watcher.once('error', () => undefined);
  watcher.stdin.once('error', () => undefined);
  watcher.unref();
  return () => watcher.kill('SIGKILL');
}
