/** Version of this release. A test compares it with package.json. */
export const RELEASE = '0.2.0';

/** Address that documents use: the one that `npm start` prints by default. */
export const DEFAULT_PLATFORM = 'http://127.0.0.1:3400';

/** Packages for JavaScript, without their scope `@agentlens/`. */
export type JavaScriptPackage =
  | 'adk'
  | 'agent'
  | 'ai-sdk'
  | 'claude-agent'
  | 'cli'
  | 'langchain'
  | 'log-verify'
  | 'mastra'
  | 'mcp-proxy'
  | 'openai-agents'
  | 'sdk'
  | 'strands'
  | 'voltagent';

/**
 * Returns what npm, pnpm and yarn install and `npx` runs: the file on the platform, in its version. A name alone would
 * be looked up in the public registry, where anybody could register it. If the packages are published one day, only
 * this function and the next change.
 *
 * @param platform address of the platform, without a slash at the end
 */
export function findPackage(name: JavaScriptPackage, platform: string, version: string = RELEASE): string {
  return `${platform}/packages/${name}-${version}.tgz`;
}

/** Returns what pip and uv install. Both read name and version from the name of the file. */
export function findWheel(platform: string, version: string = RELEASE): string {
  return `${platform}/packages/agentlens_guard-${version}-py3-none-any.whl`;
}

/** Command that runs a package without installing it. */
export function buildNpx(name: JavaScriptPackage, platform: string, version: string = RELEASE): string {
  return `npx ${findPackage(name, platform, version)}`;
}

/**
 * Command that installs packages; pnpm and yarn take the same addresses after `add`.
 *
 * @param where `-g` installs commands for all projects
 */
export function buildNpmInstall(names: readonly JavaScriptPackage[], platform: string, where: '' | '-g ' = ''): string {
  return `npm install ${where}${names.map((name) => findPackage(name, platform)).join(' ')}`;
}

/** Command that installs the Python package; `uv pip install` and `uv add` take the same address. */
export function buildPipInstall(platform: string): string {
  return `pip install ${findWheel(platform)}`;
}
