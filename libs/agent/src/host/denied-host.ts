import { AgentError } from '../core/agent-error.ts';
import type { Host, HostFiles, HostHttp, HostShell } from './host.ts';

const deny = (what: string) => (): Promise<never> =>
  Promise.reject(new AgentError('denied_by_host', `the host of this agent gives no access to ${what}`));

export const deniedFiles: HostFiles = {
  read: deny('files'),
  write: deny('writing files'),
  list: deny('files'),
  resolve: deny('files'),
};
export const deniedShell: HostShell = { run: deny('a shell') };
export const deniedHttp: HostHttp = { send: deny('the network') };

/** The default: no files, no shell, no network. */
export const deniedHost: Host = {
  files: deniedFiles,
  shell: deniedShell,
  http: deniedHttp,
  close: () => Promise.resolve(),
};
