import { globMatchesFolded } from '../patterns/names.ts';

/** Tool of a call, with case-folded name and tags. */
export interface FoldedTool {
  readonly name?: string;
  readonly tags: readonly string[];
}

interface Selecting {
  /** Case-folded. If absent, the rule selects any tool and calls without a tool. */
  readonly tools?: readonly string[];
  readonly toolTagsAll?: readonly string[];
  readonly toolTagsAny?: readonly string[];
}

/**
 * Finds the rules that select a tool. Each rule is indexed by its most selective criterion: a name, the prefix or
 * suffix of a glob, or a tag. Globs that begin and end with `*` (and have no tags) are all tried; give such rules a tag
 * instead.
 */
export class ToolIndex<R extends { readonly selects: Selecting }> {
  readonly #everything: R[] = [];
  readonly #byName = new Map<string, R[]>();
  readonly #byTag = new Map<string, R[]>();
  readonly #byPrefix = new Map<string, R[]>();
  readonly #bySuffix = new Map<string, R[]>();
  readonly #prefixLengths: readonly number[];
  readonly #suffixLengths: readonly number[];
  readonly #openGlobs: R[] = [];

  constructor(rules: readonly R[]) {
    for (const rule of rules) this.#put(rule);
    this.#prefixLengths = lengthsOf(this.#byPrefix);
    this.#suffixLengths = lengthsOf(this.#bySuffix);
  }

  /** Returns each selecting rule once, in no particular order. */
  selecting(tool: FoldedTool): R[] {
    const candidates = [...this.#everything];
    if (tool.name !== undefined) this.#named(tool.name, candidates);
    for (const tag of tool.tags) candidates.push(...(this.#byTag.get(tag) ?? []));
    return [...new Set(candidates)].filter(({ selects }) => selectsTool(selects, tool));
  }

  #named(name: string, candidates: R[]): void {
    candidates.push(...(this.#byName.get(name) ?? []), ...this.#openGlobs);
    for (const length of this.#prefixLengths) {
      if (length <= name.length) candidates.push(...(this.#byPrefix.get(name.slice(0, length)) ?? []));
    }
    for (const length of this.#suffixLengths) {
      if (length <= name.length) candidates.push(...(this.#bySuffix.get(name.slice(-length)) ?? []));
    }
  }

  #put(rule: R): void {
    const { tools, toolTagsAll, toolTagsAny } = rule.selects;
    const tags = toolTagsAll === undefined ? toolTagsAny : toolTagsAll.slice(0, 1);
    if (tools?.some((glob) => glob.startsWith('*') && glob.endsWith('*')) !== false && tags !== undefined) {
      for (const tag of tags) listIn(this.#byTag, tag).push(rule);
    } else if (tools === undefined) this.#everything.push(rule);
    else for (const glob of tools) this.#listFor(glob).push(rule);
  }

  #listFor(glob: string): R[] {
    const star = glob.indexOf('*');
    if (star < 0) return listIn(this.#byName, glob);
    if (star > 0) return listIn(this.#byPrefix, glob.slice(0, star));
    const suffix = glob.slice(glob.lastIndexOf('*') + 1);
    return suffix === '' ? this.#openGlobs : listIn(this.#bySuffix, suffix);
  }
}

function lengthsOf(map: ReadonlyMap<string, unknown>): number[] {
  return [...new Set([...map.keys()].map(({ length }) => length))];
}

/** Reference predicate for the index: returns true if the selector includes the tool. */
export function selectsTool({ tools, toolTagsAll, toolTagsAny }: Selecting, { name, tags }: FoldedTool): boolean {
  if (tools !== undefined && (name === undefined || !tools.some((glob) => globMatchesFolded(glob, name)))) return false;
  if (toolTagsAll?.every((tag) => tags.includes(tag)) === false) return false;
  return toolTagsAny?.some((tag) => tags.includes(tag)) !== false;
}

function listIn<R>(map: Map<string, R[]>, key: string): R[] {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made: R[] = [];
  map.set(key, made);
  return made;
}
