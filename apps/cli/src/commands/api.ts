import { ProblemError } from '@agentlens/client';
import { usageError } from '../command-error.ts';
import type { CommandFile } from '../command-file.ts';
import { documentOf } from '../parse/document.ts';
import { chooseKey, interruptible } from '../platform-client.ts';

export const define: CommandFile['define'] = (command, context) => {
  command
    .argument('<method>', 'get, post, put or delete')
    .argument('<path>', 'like /api/runs?limit=5')
    .option('--body <file>', 'JSON or YAML to send; "-" reads stdin')
    .addHelpText('after', '\nPrints the answer as it came. Every route: GET /openapi.json')
    .action(async (method, path, { body: file }) => {
      if (!path.startsWith('/')) throw usageError(`The path must begin with "/": /${path}`);
      const body = file === undefined ? undefined : JSON.stringify(await documentOf(file, context.host));
      const options = context.clientOptions(context.connection());
      const key = await chooseKey(options);
      const answer = await interruptible(options)(options.connection.url + path, {
        method: method.toUpperCase(),
        headers: {
          authorization: `Bearer ${key}`,
          'user-agent': options.userAgent,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        body,
        signal: AbortSignal.timeout(options.timeoutMs),
      });
      const text = await answer.text();
      context.host.stdout.write(text.endsWith('\n') ? text : `${text}\n`);
      if (!answer.ok) throw new ProblemError(answer, parsed(text));
    });
};

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
