export type {
  Host,
  HostFiles,
  HostHttp,
  HostShell,
  HttpRequest,
  HttpResponse,
  ReadFile,
  ShellResult,
  ShellRun,
} from './host.ts';
export { deniedHost, environmentSecrets, Secret, type SecretSource, secret } from './host.ts';
export type { HttpHostOptions } from './http-host.ts';
export { type LocalHostOptions, type LocalShellOptions, localHost } from './local-host.ts';
export { type MemoryHost, type MemoryHostOptions, memoryHost } from './memory-host.ts';
