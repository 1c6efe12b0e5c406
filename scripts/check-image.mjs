// Builds one image with buildah, if it is installed (no engine, no daemon). Starts it far enough to see that it runs,
// not as root, and requires its configuration.
//   node scripts/check-image.mjs [--service=ingest] [--base=node:24-slim]
// Without a registry, pass your own base: any image with Node 24.9 or newer, npm and a shell.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { report } from './deploy-rules/report.mjs';

const root = join(import.meta.dirname, '..');
const { values } = parseArgs({
  options: { service: { type: 'string', default: 'ingest' }, base: { type: 'string', default: 'node:24-slim' } },
});

// With this storage driver, layers are whole copies, so the storage is deleted after the check unless it was provided.
const own = process.env.BUILDAH_ROOT;
const storage = own ?? mkdtempSync(join(tmpdir(), 'agentlens-image-'));
const env = { ...process.env, STORAGE_DRIVER: 'vfs', BUILDAH_ISOLATION: 'chroot' };

function buildah(...args) {
  const places = ['--root', join(storage, 'root'), '--runroot', join(storage, 'run')];
  return spawnSync('buildah', [...places, ...args], { encoding: 'utf8', env, cwd: root, maxBuffer: 2 ** 26 });
}

function lastLines({ stdout, stderr }) {
  return `${stdout}\n${stderr}`.trim().split('\n').slice(-12).join('\n    ');
}

/** Returns the problems of the image. */
function imageProblems(image) {
  const dockerfile = join('deploy', 'docker', 'Dockerfile');
  const options = ['--build-arg', `SERVICE=${values.service}`, '--build-arg', `BASE=${values.base}`];
  const build = buildah('build', '--file', dockerfile, '--tag', image, ...options, '.');
  if (build.status !== 0) return [`the build failed:\n    ${lastLines(build)}`];
  const from = buildah('from', image);
  if (from.status !== 0) return [`could not create a container: ${lastLines(from)}`];
  const container = from.stdout.trim();
  const user = buildah('run', container, '--', 'node', '-p', 'process.getuid()');
  const start = buildah('run', container, '--', 'sh', '-c', 'exec node services/$SERVICE/dist/main.js');
  const migrate = buildah('run', container, '--', 'node', 'libs/platform/dist/setup.js');
  buildah('rm', container);
  return [
    ...(user.stdout.trim() === '10001' ? [] : [`runs as user ${user.stdout.trim()}, not 10001 ${user.stderr}`]),
    ...(asksForServers(start) ? [] : [`the service did not start:\n    ${lastLines(start)}`]),
    ...(asksForServers(migrate) ? [] : [`the migration did not start:\n    ${lastLines(migrate)}`]),
  ];
}

/** The service loads everything before it reads the configuration, so this error means that no module is missing. */
function asksForServers({ status, stdout, stderr }) {
  return status !== 0 && /needs NATS_URL/.test(stdout + stderr);
}

try {
  if (spawnSync('buildah', ['--version']).status !== 0) {
    console.log('deploy/docker/Dockerfile: skipped, buildah is not installed');
  } else if (buildah('pull', '--policy', 'missing', values.base).status !== 0) {
    console.log(`deploy/docker/Dockerfile: skipped, cannot fetch ${values.base}`);
  } else {
    const image = `localhost/agentlens/${values.service}:check`;
    report('deploy/docker/Dockerfile', imageProblems(image), `built and started ${values.service} on ${values.base}`);
  }
} finally {
  if (own === undefined) rmSync(storage, { recursive: true, force: true });
}
