import type { GuardPaths, HostSettings } from '../state.ts';
import { launcherSeconds } from './launcher.ts';

/** The plugin that OpenCode loads. It asks the resident over its socket and throws to refuse a call. */
export function pluginText(paths: GuardPaths, settings: HostSettings, serve: readonly string[]): string {
  const given = {
    socket: paths.socket,
    serve,
    enforce: settings.mode === 'enforce',
    timeoutMs: launcherSeconds(settings) * 1_000,
  };
  return `// Written by "agentlens guard". Do not edit: remove it with "agentlens guard off opencode".
import { spawn } from 'node:child_process';
import { statSync } from 'node:fs';
import { request } from 'node:http';
import { dirname } from 'node:path';

const GUARD = ${JSON.stringify(given, null, 2)};

function post(event, body) {
  return new Promise((resolve, reject) => {
    const { uid, mode } = statSync(dirname(GUARD.socket));
    if (uid !== process.getuid() || (mode & 0o022) !== 0)
      throw new Error('another user owns or may change ' + dirname(GUARD.socket));
    const data = JSON.stringify(body);
    const headers = { 'content-length': Buffer.byteLength(data), 'x-guard-parent': String(process.pid) };
    const outgoing = request(
      { socketPath: GUARD.socket, method: 'POST', path: '/opencode/' + event, headers },
      (incoming) => {
        let text = '';
        incoming.setEncoding('utf8');
        incoming.on('data', (part) => { text += part; });
        incoming.on('end', () => {
          if (incoming.statusCode !== 200) return reject(new Error('the local process answered ' + incoming.statusCode));
          try { resolve(JSON.parse(text)); } catch (error) { reject(error); }
        });
        incoming.on('error', reject);
      },
    );
    const timer = setTimeout(() => outgoing.destroy(new Error('no answer in time')), GUARD.timeoutMs);
    outgoing.on('close', () => clearTimeout(timer));
    outgoing.on('error', reject);
    outgoing.end(data);
  });
}

let failedAt = 0;

async function ask(event, body) {
  try {
    return await post(event, body);
  } catch (error) {
    if (!['ENOENT', 'ECONNREFUSED', 'ECONNRESET', 'FailedToOpenSocket', 'ConnectionRefused'].includes(error?.code)) throw error;
  }
  // Every event would wait for a process that does not start.
  if (Date.now() - failedAt < 10_000) throw new Error('the local process does not start');
  const [command, ...words] = GUARD.serve;
  const child = spawn(command, words, { detached: true, stdio: 'ignore', cwd: '/' });
  child.on('error', () => undefined);
  child.unref();
  for (let tries = 0; ; tries++) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    try {
      return await post(event, body);
    } catch (error) {
      if (tries < 100) continue;
      failedAt = Date.now();
      throw error;
    }
  }
}

export const AgentLensGuard = async ({ directory }) => {
  const parents = new Map();
  const failed = new Set();
  let mcp = [];
  const above = (session) => {
    const found = [];
    for (let at = parents.get(session); at !== undefined && !found.includes(at); at = parents.get(at)) found.push(at);
    return found;
  };
  const body = (session, i, o) => ({ i, o, cwd: directory, parents: above(session), mcp });
  const report = (event, data) => ask(event, data).catch(() => undefined);
  return {
    config: async (config) => {
      mcp = Object.keys(config?.mcp ?? {});
    },
    event: async ({ event }) => {
      const { type, properties } = event;
      const info = properties?.info;
      if (type === 'session.created') {
        if (info?.parentID) parents.set(info.id, info.parentID);
        await report('created', body(info?.id, event));
      } else if (type === 'message.updated' && info?.role === 'assistant' && info?.time?.completed) {
        await report('usage', body(info.sessionID, event));
      } else if (type === 'message.part.updated' && properties?.part?.type === 'tool' && properties.part.state?.status === 'error') {
        // A tool that throws has no event after it.
        const { callID, sessionID, tool, state } = properties.part;
        if (failed.has(callID)) return;
        failed.add(callID);
        await report('failed', body(sessionID, { sessionID, tool, callID, args: state.input }, { error: state.error }));
      } else if (type === 'session.idle') {
        await report('idle', body(properties?.sessionID, { ...event, sessionID: properties?.sessionID }));
      }
    },
    'tool.execute.before': async (input, output) => {
      let answer = {};
      try {
        answer = await ask('before', body(input.sessionID, input, output));
      } catch (error) {
        if (GUARD.enforce) throw new Error('AgentLens cannot decide about this call, so it is refused: ' + (error?.message ?? error));
      }
      if (answer.deny) throw new Error(answer.deny);
      if (answer.args) output.args = answer.args;
    },
    'tool.execute.after': async (input, output) => {
      await report('after', body(input.sessionID, input, output));
    },
  };
};
`;
}
