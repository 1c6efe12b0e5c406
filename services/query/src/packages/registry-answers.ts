import type { NpmPackage, PythonPackage } from './served-packages.ts';

/** The document of a package that npm, pnpm and yarn read. @param base address of the platform, without a slash at the end */
export function buildPackument({ name, version, file, integrity, shasum, manifest }: NpmPackage, base: string): object {
  const dist = { tarball: `${base}/packages/${file}`, integrity, shasum };
  return {
    name,
    'dist-tags': { latest: version },
    versions: { [version]: { ...manifest, _id: `${name}@${version}`, dist } },
  };
}

/** The page of all Python packages (PEP 503). */
export function buildSimpleIndex(packages: readonly PythonPackage[]): string {
  return page(packages.map(({ name }) => `<a href="${name}/">${name}</a>`));
}

/** The page of one Python package, with the checksum in each link. Its address is three folders below `/packages`. */
export function buildSimplePage({ file, sha256, requiresPython }: PythonPackage): string {
  const python = requiresPython.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return page([`<a href="../../../${file}#sha256=${sha256}" data-requires-python="${python}">${file}</a>`]);
}

/** PEP 503: runs of `-`, `_` and `.` are the same, and case does not matter. */
export function normalizePythonName(name: string): string {
  return name.replaceAll(/[-_.]+/g, '-').toLowerCase();
}

function page(links: readonly string[]): string {
  return `<!doctype html>\n<meta name="pypi:repository-version" content="1.0">\n<title>AgentLens</title>\n${links.join('<br>\n')}\n`;
}
