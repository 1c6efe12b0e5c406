// Sets every dependency of the package in the working directory to its newest release, and installs them. A dependency
// under a name of its own, such as `ai-5`, keeps its major version.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
const newest = Object.entries(dependencies).map(([name, version]) => {
  const alias = /^npm:(.+)@(\d+)\./.exec(version);
  return alias === null ? `${name}@latest` : `${name}@npm:${alias[1]}@^${alias[2]}`;
});
execFileSync('npm', ['install', '--save-exact', '--ignore-scripts', '--no-audit', '--no-fund', ...newest], {
  stdio: 'inherit',
});
