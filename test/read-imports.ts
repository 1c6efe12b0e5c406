import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

const STATEMENT = /^(import|export)\s+(type\s+)?([^;']*?)\s*from\s*'([^']+)'/gm;

interface Statement {
  readonly kind: string;
  /** `*`, or the names that are taken: as they are called here, and where they come from. */
  readonly names: '*' | ReadonlyMap<string, string>;
  readonly target: string;
}

interface Sources {
  readonly '@agentlens/source'?: string;
}

/** Follows the value imports of a tree of packages, file by file. Types cost nothing at run time and are left out. */
export class Imports {
  readonly #root: string;
  readonly #entries = new Map<string, string>();
  readonly #statements = new Map<string, readonly Statement[]>();

  /** @param root folder of the repository; `libs` and `services` hold its packages */
  constructor(root: string) {
    this.#root = root;
    for (const group of ['libs', 'services']) {
      for (const name of readdirSync(join(root, group))) this.#readManifest(`${group}/${name}`);
    }
  }

  /**
   * Files that a reader comes to who follows the code from `from`. A name that comes through the index of a package leads
   * to the file that defines it, not to all that the index exports.
   */
  reach(from: readonly string[]): Set<string> {
    const seen = new Set(from);
    const open = [...from];
    for (let file = open.pop(); file !== undefined; file = open.pop()) {
      for (const next of this.#next(file)) {
        if (seen.has(next)) continue;
        seen.add(next);
        open.push(next);
      }
    }
    return seen;
  }

  /** Files that a module imports values from, by itself: a package is its index. */
  targets(file: string): string[] {
    return this.#read(file).flatMap(({ names, target }) => (names === '*' || names.size > 0 ? [target] : []));
  }

  #next(file: string): string[] {
    return this.#read(file).flatMap(({ names, target }) => {
      if (names === '*' || !isIndex(target)) return names === '*' || names.size > 0 ? [target] : [];
      return [...names.values()].map((name) => this.#definition(target, name) ?? target);
    });
  }

  #definition(index: string, name: string): string | undefined {
    for (const { kind, names, target } of this.#read(index)) {
      if (kind !== 'export') continue;
      if (names === '*') {
        const inside = this.#defines(target, name) ? target : this.#definition(target, name);
        if (inside !== undefined) return inside;
      } else if (names.has(name)) {
        return isIndex(target) ? this.#definition(target, names.get(name) ?? name) : target;
      }
    }
    return undefined;
  }

  #defines(file: string, name: string): boolean {
    const text = readFileSync(join(this.#root, file), 'utf8');
    return new RegExp(`^export (abstract |async )*(class|function|const|let)\\*? ${name}\\b`, 'm').test(text);
  }

  #read(file: string): readonly Statement[] {
    const known = this.#statements.get(file);
    if (known !== undefined) return known;
    const text = readFileSync(join(this.#root, file), 'utf8');
    const found = [...text.matchAll(STATEMENT)].flatMap(([, kind = '', isType, what = '', from = '']) => {
      const target = isType === undefined ? this.#resolve(file, from) : undefined;
      return target === undefined ? [] : [{ kind, names: readNames(what), target }];
    });
    this.#statements.set(file, found);
    return found;
  }

  #resolve(file: string, from: string): string | undefined {
    // `#sha256` differs by package, so it is kept under the folder that says it.
    const named = from.startsWith('#') ? `${file.split('/').slice(0, 2).join('/')}${from}` : from;
    const target = from.startsWith('.') ? normalize(join(dirname(file), from)) : this.#entries.get(named);
    return target !== undefined && existsSync(join(this.#root, target)) ? target : undefined;
  }

  #readManifest(folder: string): void {
    const path = join(this.#root, folder, 'package.json');
    if (!existsSync(path)) return;
    const {
      name,
      exports = {},
      imports = {},
    } = JSON.parse(readFileSync(path, 'utf8')) as {
      name: string;
      exports?: Record<string, Sources>;
      imports?: Record<string, { node?: Sources }>;
    };
    const named: [string, Sources | undefined][] = [
      ...Object.entries(exports).map(([entry, to]): [string, Sources] => [join(name, entry), to]),
      ...Object.entries(imports).map(([entry, { node }]): [string, Sources | undefined] => [`${folder}${entry}`, node]),
    ];
    for (const [entry, to] of named) {
      const source = to?.['@agentlens/source'];
      if (source !== undefined) this.#entries.set(entry, normalize(join(folder, source)));
    }
  }
}

const isIndex = (file: string) => file.endsWith('/index.ts');

/** `{ a, type B, c as d }` are the values `a` and `d`. */
function readNames(what: string): Statement['names'] {
  const inBraces = /\{([\s\S]*)\}/.exec(what)?.[1];
  if (inBraces === undefined) return '*';
  const values = inBraces.split(',').flatMap((each) => {
    const [name = '', alias = name] = each.trim().split(/\s+as\s+/);
    return name === '' || name.startsWith('type ') ? [] : [[alias, name] as const];
  });
  return new Map(values);
}
