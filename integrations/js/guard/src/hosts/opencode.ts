import {
  count,
  firstLine,
  type HookKind,
  type HostContract,
  type JsonRecord,
  type ModelUsage,
  need,
  recordOf,
  sizeOf,
  text,
  type ToolUse,
} from './host.ts';

const EVENTS: Readonly<Record<string, HookKind>> = {
  before: 'before',
  after: 'after',
  failed: 'after',
  created: 'session-start',
  usage: 'turn-end',
  idle: 'turn-end',
};

/** The plugin sends `{i, o, cwd, parents, mcp}`: the arguments of a hook, and what only the plugin knows. */
export const opencode: HostContract = {
  id: 'opencode',
  title: 'OpenCode',
  prefix: 'oc',
  binary: 'opencode',
  tested: { from: '1.18.33', before: '1.19.0' },
  events: EVENTS,
  grade: 'closed',
  holes: [
    '`--pure` and `OPENCODE_PURE` load no plugins',
    'a plugin that another plugin breaks while it loads is skipped without a message',
  ],
  changesArguments: true,

  read(name, input) {
    const kind = EVENTS[name];
    if (kind === undefined) return null;
    const i = recordOf(input.i);
    const info = recordOf(recordOf(i.properties).info);
    const own = text(i.sessionID) ?? text(recordOf(i.properties).sessionID) ?? need(info, 'id');
    // Nearest parent first; the last is the session that a person started.
    const parents = Array.isArray(input.parents) ? input.parents.filter((id) => typeof id === 'string') : [];
    const event = {
      ...{ kind, name, session: parents.at(-1) ?? own, cwd: text(input.cwd) },
      ...(parents.length === 0
        ? {}
        : { subAgent: { id: own, type: text(info.agent), parent: parents.length > 1 ? parents[0] : undefined } }),
    };
    if (name === 'usage') return { ...event, usage: usageOf(info) };
    if (kind === 'before') return { ...event, use: useOf(i, recordOf(recordOf(input.o).args), input.mcp) };
    if (kind !== 'after') return event;
    const o = recordOf(input.o);
    const use = useOf(i, recordOf(i.args), input.mcp);
    if (name === 'failed') return { ...event, use, outcome: { ok: false, error: firstLine(o.error) ?? 'failed' } };
    const { exit } = recordOf(o.metadata);
    const exitCode = typeof exit === 'number' ? exit : undefined;
    const ok = (exitCode ?? 0) === 0;
    return {
      ...event,
      use,
      outcome: {
        ok,
        exitCode,
        bytes: sizeOf(o.output ?? o.content),
        ...(ok ? {} : { error: `exit code ${exitCode}` }),
      },
    };
  },

  // The plugin throws `deny` as an error and assigns `args`.
  say(event, answer) {
    if (answer.kind === 'pass' || event.kind !== 'before') return '{}';
    return JSON.stringify(answer.kind === 'deny' ? { deny: answer.reason } : { args: answer.input });
  },
};

function useOf(i: JsonRecord, args: JsonRecord, servers: unknown): ToolUse {
  const name = need(i, 'tool');
  const server = (Array.isArray(servers) ? servers : []).find(
    (one): one is string => typeof one === 'string' && name.startsWith(`${one}_`),
  );
  const mcp = server === undefined ? undefined : { server, tool: name.slice(server.length + 1) };
  return { name, input: args, id: text(i.callID), mcp };
}

function usageOf(info: JsonRecord): ModelUsage | undefined {
  const tokens = recordOf(info.tokens);
  const cache = recordOf(tokens.cache);
  const id = text(info.id);
  if (id === undefined || info.role !== 'assistant' || recordOf(info.time).completed === undefined) return undefined;
  return {
    id,
    model: text(info.modelID),
    input: count(tokens.input),
    output: count(tokens.output) + count(tokens.reasoning),
    cacheRead: count(cache.read),
    cacheWrite: count(cache.write),
    costUsd: count(info.cost) > 0 ? count(info.cost) : undefined,
  };
}
