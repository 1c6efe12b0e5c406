import type { Finding } from './finding.ts';

/** Whether this command and the platform are of one minor version: the API may differ between two. */
export function checkVersion(ours: string, platform: string): Finding {
  const minor = (version: string) => version.split('.').slice(0, 2).join('.');
  if (minor(ours) === minor(platform)) return { check: 'version', result: 'ok', what: `both are ${minor(ours)}` };
  return {
    check: 'version',
    result: 'warning',
    what: `this command is ${ours}, the platform is ${platform}`,
    advice: `Use the command of that version: npx @agentlens/cli@${platform}`,
  };
}
