import { ProblemError } from '@agentlens/client';
import { visible, visibleJson } from '@agentlens/contracts/visible';
import { runStdio } from '@agentlens/mcp/stdio';
import type { DefineCommand } from '../context.ts';
import { usageError } from '../errors.ts';
import { documentOf } from '../parse.ts';
import { chooseKey, interruptible } from '../platform-client.ts';

export const api: DefineCommand = (command, context) => {
  command
    .argument('<method>', 'get, post, put or delete')
    .argument('<path>', 'like /api/runs?limit=5')
    .option('--body <file>', 'JSON or YAML body; "-" reads stdin')
    .addHelpText(
      'after',
      '\nPrints the response as it is, with control and direction characters escaped. For all routes, see GET /openapi.json',
    )
    .action(async (method, path, { body: file }) => {
      if (!path.startsWith('/')) throw usageError(`The path must start with "/": /${path}`);
      const sent = file === undefined ? undefined : JSON.stringify(await documentOf(file, context.host));
      const options = context.clientOptions(context.connection());
      const key = await chooseKey(options);
      const answer = await interruptible(options)(options.connection.url + path, {
        method: method.toUpperCase(),
        headers: {
          authorization: `Bearer ${key}`,
          'user-agent': options.userAgent,
          ...(sent === undefined ? {} : { 'content-type': 'application/json' }),
        },
        body: sent,
        signal: AbortSignal.timeout(options.timeoutMs),
      });
      const text = await answer.text();
      const body = parsed(text);
      // The same JSON value; its characters cannot steer a terminal.
      const shown = typeof body === 'string' && body === text ? visible(text) : visibleJson(text);
      context.host.stdout.write(shown.endsWith('\n') ? shown : `${shown}\n`);
      if (!answer.ok) throw new ProblemError(answer, body);
    });
};

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

export const mcp: DefineCommand = (command, context) => {
  command
    .addHelpText('after', '\nMCP clients start this command themselves. For client configuration, see docs/mcp.md.')
    .action(async () => {
      const { host } = context;
      const options = context.clientOptions(context.connection());
      await runStdio({
        url: options.connection.url,
        key: await chooseKey(options),
        signal: host.signal,
        fetch: interruptible(options),
        onError: (error) => host.stderr.write(`${error.message}\n`),
      });
    });
};
