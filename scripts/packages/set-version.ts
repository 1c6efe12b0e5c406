// The places in which this repository names its version.

/** Files that name old versions on purpose, or that a command renders. */
const HISTORY =
  /^(CHANGELOG\.md|RELEASE\.md|docs\/(adr|releases)\/|apps\/console\/built\/|deploy\/kubernetes\/overlays\/)/;
export const TEXT = /\.(md|mjs|ts|tsx|py|toml|yaml|yml)$/;

/**
 * Where texts name the version of this release. The first group comes before it, the second after it.
 *
 * @param version the version that the texts name now
 */
const placesInTexts = (version: string): readonly RegExp[] => {
  const now = version.replaceAll('.', '\\.');
  return [
    new RegExp(`(/packages/[a-z_-]+-)${now}(\\.tgz|-py3-none-any\\.whl)`, 'g'),
    new RegExp(`(agentlens/[a-z*-]+:)${now}(?![0-9.])()`, 'g'),
    new RegExp(`(IMAGE_TAG=)${now}(?![0-9.])()`, 'g'),
  ];
};

/** Files in which one line is the version. */
const LINES: Readonly<Record<string, RegExp>> = {
  'deploy/helm/agentlens/Chart.yaml': /^((?:version|appVersion): )\S+()$/gm,
  'python/pyproject.toml': /^(version = ")[^"]+(")$/gm,
  'python/src/agentlens/_version.py': /^(VERSION = ")[^"]+(")$/gm,
  'libs/contracts/src/packages.ts': /^(export const RELEASE = ')[^']+(';)$/gm,
};

/** Returns the text of one file with the new version; the same text if the file does not name it. */
export function setVersion(file: string, text: string, from: string, to: string): string {
  if (HISTORY.test(file)) return text;
  if (file.endsWith('package-lock.json')) return setInLock(text, from, to);
  if (file.endsWith('package.json')) return setInPackage(text, from, to);
  const line = LINES[file];
  const withLine = line === undefined ? text : text.replace(line, `$1${to}$2`);
  if (!TEXT.test(file)) return withLine;
  return placesInTexts(from).reduce((current, place) => current.replace(place, `$1${to}$2`), withLine);
}

function setInPackage(text: string, from: string, to: string): string {
  const { name } = JSON.parse(text) as { name?: string };
  const own = isOurs(name) ? text.replace(`"version": "${from}"`, `"version": "${to}"`) : text;
  return own.replaceAll(new RegExp(`("@agentlens/[a-z-]+": "\\^?)${from.replaceAll('.', '\\.')}"`, 'g'), `$1${to}"`);
}

const KINDS = ['dependencies', 'devDependencies', 'peerDependencies', 'optionalDependencies'] as const;

interface Entry extends Partial<Record<(typeof KINDS)[number], Record<string, string>>> {
  name?: string;
  version?: string;
}

/** A lockfile repeats name, version and dependencies of each workspace. */
function setInLock(text: string, from: string, to: string): string {
  const lock = JSON.parse(text) as Entry & { packages: Record<string, Entry> };
  if (isOurs(lock.name) && lock.version === from) lock.version = to;
  for (const [path, entry] of Object.entries(lock.packages)) {
    const inTree = !path.includes('node_modules/') && (isOurs(entry.name) || path === '');
    if (inTree && entry.version === from) entry.version = to;
    for (const kind of KINDS) {
      const ranges = entry[kind] ?? {};
      for (const [name, range] of Object.entries(ranges)) {
        const isNow = name.startsWith('@agentlens/') && range.replace('^', '') === from;
        if (isNow) ranges[name] = range.replace(from, to);
      }
    }
  }
  return `${JSON.stringify(lock, null, 2)}\n`;
}

const isOurs = (name: string | undefined) => name === 'agentlens' || (name?.startsWith('@agentlens/') ?? false);

/** `## 0.2.0 (unreleased)` becomes `## 0.2.0, 2026-11-28`. */
export function dateChangelog(text: string, version: string, day: string): string {
  const heading = `## ${version} (unreleased)`;
  if (!text.includes(heading)) throw new Error(`CHANGELOG.md has no section "${heading}"`);
  return text.replace(heading, `## ${version}, ${day}`);
}
