import { parseArgs } from 'node:util';
import type { AgentLensOptions } from '@agentlens/sdk';
import { type PinMode, pinsFile } from './pins.ts';

export const USAGE = `Guards the tools of an MCP server.

  agentlens-mcp --server <name> --agent <slug> -- <command> [argument…]
  agentlens-mcp --server <name> --agent <slug> --listen 127.0.0.1:3410 --upstream https://…
  agentlens-mcp accept --server <name> [name@hash…]  accepts definitions that wait; without a name it shows them

  --server <name>        the server's name in rules: its tools are <name>.<tool>
  --agent <slug>         the agent that these calls are counted to
  --tag <tool>=<a,b>     tags that rules select, besides what the server says of its tools; may be repeated
  --env <NAME>           a variable that the server gets, besides PATH, HOME and the like; may be repeated
  --no-wait              answer at once that a human has to approve, instead of waiting for him
  --fail-mode <mode>     what an undecided call gets: open (default) or closed
  --pin <mode>           tools, prompts and instructions that are new or changed: off, warn (default) or quarantine,
                         which hides and refuses them until a person accepts them
  --pins <file>          where accepted definitions are kept
  --listen <host:port>   serve streamable HTTP instead of starting a server
  --upstream <url>       where that server answers
  --allow-origin <url>   a web page's origin that may call, besides this machine's own; may be repeated

  AGENTLENS_API_KEY      a key with the scopes ingest and decide
  AGENTLENS_URL          where the platform answers; default http://127.0.0.1:3400
`;

export interface ProxyCommand {
  readonly server: string;
  readonly tags: Readonly<Record<string, readonly string[]>>;
  readonly environment: readonly string[];
  readonly pin: { readonly mode: PinMode; readonly file: string };
  readonly waits: boolean;
  readonly lens: AgentLensOptions;
  readonly how:
    | { readonly kind: 'stdio'; readonly command: readonly [string, ...string[]] }
    | {
        readonly kind: 'http';
        readonly host: string;
        readonly port: number;
        readonly upstream: URL;
        readonly origins: readonly string[];
      };
}

/** @throws Error saying what is wrong with the command line or the environment, and what would be right */
export function readCommand(args: readonly string[], env: Readonly<Record<string, string | undefined>>): ProxyCommand {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      server: { type: 'string' },
      agent: { type: 'string' },
      tag: { type: 'string', multiple: true },
      env: { type: 'string', multiple: true },
      pin: { type: 'string' },
      pins: { type: 'string' },
      'no-wait': { type: 'boolean' },
      'fail-mode': { type: 'string' },
      listen: { type: 'string' },
      upstream: { type: 'string' },
      'allow-origin': { type: 'string', multiple: true },
    },
  });
  const server = needed(values.server, '--server <name>');
  const slug = needed(values.agent, '--agent <slug>');
  const apiKey = needed(env.AGENTLENS_API_KEY, 'the variable AGENTLENS_API_KEY');
  const failMode = values['fail-mode'];
  if (failMode !== undefined && failMode !== 'open' && failMode !== 'closed')
    throw new Error(`--fail-mode must be open or closed, not ${failMode}`);
  return {
    server,
    tags: Object.fromEntries((values.tag ?? []).map((given) => tagsOf(server, given))),
    pin: { mode: pinMode(values.pin), file: values.pins ?? pinsFile(server, env) },
    environment: (values.env ?? []).map((name) => variable(name, env)),
    waits: values['no-wait'] !== true,
    lens: { apiKey, baseUrl: env.AGENTLENS_URL || 'http://127.0.0.1:3400', agent: { slug }, failMode },
    how: howOf(positionals, values.listen, values.upstream, values['allow-origin'] ?? []),
  };
}

function howOf(
  [program, ...args]: readonly string[],
  listen: string | undefined,
  upstream: string | undefined,
  origins: readonly string[],
): ProxyCommand['how'] {
  if (listen === undefined && upstream === undefined)
    return { kind: 'stdio', command: [needed(program, "-- and the server's command"), ...args] };
  const [, host = '127.0.0.1', port] = /^(?:(.+):)?(\d+)$/.exec(needed(listen, '--listen <host:port>')) ?? [];
  if (port === undefined) throw new Error(`--listen must be <host:port> or <port>, not ${listen}`);
  const url = needed(upstream, '--upstream <url>');
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new Error('--upstream must be an http(s) URL');
  return { kind: 'http', host, port: Number(port), upstream: new URL(url), origins };
}

function tagsOf(server: string, given: string): [string, string[]] {
  const [, tool, tags] = /^([^=]+)=(.+)$/.exec(given) ?? [];
  if (tool === undefined || tags === undefined) throw new Error(`--tag must be <tool>=<a,b>, not ${given}`);
  return [`${server}.${tool}`, tags.split(',')];
}

function pinMode(given = 'warn'): PinMode {
  if (given !== 'off' && given !== 'warn' && given !== 'quarantine')
    throw new Error(`--pin must be off, warn or quarantine, not ${given}`);
  return given;
}

function variable(name: string, env: Readonly<Record<string, string | undefined>>): string {
  if (/^AGENTLENS_/i.test(name)) throw new Error(`--env ${name}: the server that is guarded gets no key of AgentLens`);
  if (env[name] === undefined)
    throw new Error(`--env ${name}: this variable is not set; give its name, without a value`);
  return name;
}

function needed(value: string | undefined, what: string): string {
  if (value === undefined || value === '') throw new Error(`missing: ${what}`);
  return value;
}
