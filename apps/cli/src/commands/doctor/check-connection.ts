import { CommandError } from '../../command-error.ts';
import { EXIT } from '../../exit-codes.ts';
import { interruptible, type PlatformClientOptions } from '../../platform-client.ts';
import type { Finding } from './finding.ts';

const check = 'connection';

/** Whether AgentLens, and not something else, answers at the address. */
export async function checkConnection(options: PlatformClientOptions): Promise<Finding> {
  const { url, urlSource } = options.connection;
  const fail = (what: string, advice: string): Finding => {
    return { check, result: 'failed', what, advice, exitCode: EXIT.unreachable };
  };
  const setBy = `The address comes from ${urlSource}.`;
  try {
    const startedMs = performance.now();
    const signal = AbortSignal.timeout(options.timeoutMs);
    const answer = await interruptible(options)(`${url}/api/health`, { signal });
    const tookMs = Math.round(performance.now() - startedMs);
    const text = await answer.text();
    const type = answer.headers.get('content-type') ?? 'no content type';
    if (!type.startsWith('application/json')) {
      const what = `${url} answered ${answer.status} with ${type}: this is not the API of AgentLens`;
      return fail(
        what,
        `${setBy} Another program or a sign-in page of a proxy answers there; is a path prefix missing?`,
      );
    }
    if (answer.status === 503) {
      return fail(`${url} answers, but its database does not: ${text}`, 'Look at the log of the platform.');
    }
    if (!answer.ok) return fail(`${url}/api/health answered ${answer.status}`, `${setBy} Look at the proxy before it.`);
    return { check, result: 'ok', what: `${url} answers in ${tookMs} ms (from ${urlSource})` };
  } catch (error) {
    if (error instanceof CommandError)
      return fail(error.message, `${setBy} Start the platform, or correct the address.`);
    if (error instanceof Error && error.name === 'TimeoutError') {
      const what = `${url} did not answer within ${options.timeoutMs / 1_000} s`;
      return fail(what, `${setBy} A firewall that drops packets looks like this.`);
    }
    throw error;
  }
}
