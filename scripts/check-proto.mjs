// Checks the published contract: lint, format, no breaking change since the last commit that touched it, and matching
// generated types.
import { spawnSync } from 'node:child_process';
import { tools } from './tools.mjs';

const git = (...args) => spawnSync('git', args, { encoding: 'utf8' });
const { env } = tools();
const failures = [];
/** Vendored files, which are not formatted here. */
const VENDORED = ['--exclude-path', 'proto/opentelemetry'];

check('buf lint', ['buf', 'lint']);
check('buf format (fix with: npm run tools buf format -- -w proto/agentlens)', [
  'buf',
  'format',
  '-d',
  '--exit-code',
  ...VENDORED,
]);
const base = git('rev-parse', '--verify', '--quiet', process.env.PROTO_BASE ?? 'HEAD~1').stdout.trim();
if (base && git('ls-tree', '--name-only', base, 'buf.yaml').stdout.trim()) {
  check(`buf breaking against ${base.slice(0, 9)}`, ['buf', 'breaking', '--against', `.git#ref=${base}`]);
}
check('buf generate', ['buf', 'generate']);
check('buf generate for OTLP', ['buf', 'generate', '--template', 'buf.gen.otlp.yaml']);
const changed = git(
  'status',
  '--porcelain',
  '--',
  'libs/contracts/src/generated',
  'libs/otlp/src/generated',
).stdout.trim();
if (changed) failures.push(`generated types differ from proto/; run "npm run proto:generate" and commit:\n${changed}`);

if (failures.length > 0) {
  console.error(failures.join('\n'));
  process.exit(1);
}
console.log('proto: lint, format, breaking and generated types are valid');

function check(name, [command, ...args]) {
  const run = spawnSync(command, args, { encoding: 'utf8', env, shell: process.platform === 'win32' });
  if (run.status !== 0) failures.push(`${name} failed:\n${run.stdout}${run.stderr}${run.error?.message ?? ''}`);
}
