// After `npm ci`: removes from node_modules what neither running nor testing reads, a third of its files: the headers of
// Node, which only compiling native modules needs, static libraries, and the source maps, change logs, tests, examples and
// documents of packages. Licences stay.
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const packages = fileURLToPath(new URL('../node_modules', import.meta.url));

const UNREAD = /\.([cm]?js|d\.[cm]?ts|css)\.map$|\.(a|mdx|flow)$|^(readme|changelog|history)\.md$/i;

/** `node_modules/NAME` or `node_modules/@SCOPE/NAME`. */
const PACKAGE = /[\\/]node_modules[\\/](@[^\\/]+[\\/])?[^@\\/][^\\/]*$/;
/** Directly in a package: deeper, a folder of such a name may be code. */
const UNREAD_FOLDERS = /^(tests?|__tests__|docs|examples?|bench|benchmarks?|\.github)$/;

if (existsSync(packages)) {
  for (const name of readdirSync(packages).filter((folder) => /^node-(linux|darwin|win)-/.test(folder)))
    for (const part of ['include', 'share']) rmSync(join(packages, name, part), { recursive: true, force: true });
  removeUnread(packages);
}

/** Does not follow the links to our own projects. */
function removeUnread(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && UNREAD_FOLDERS.test(entry.name) && PACKAGE.test(folder))
      rmSync(path, { recursive: true });
    else if (entry.isDirectory()) removeUnread(path);
    else if (entry.isFile() && UNREAD.test(entry.name)) rmSync(path);
  }
}
