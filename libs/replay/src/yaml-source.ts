import { type ProblemDetail, unknownName } from '@agentlens/contracts';
import {
  type Document,
  isMap,
  isPair,
  isScalar,
  LineCounter,
  type Node,
  type ParsedNode,
  parseAllDocuments,
  visit,
} from 'yaml';
import type { z } from 'zod';

/** A problem in a file: 1-based position and path in the document (`rules.0.name`). */
export interface SourceProblem {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly path: string;
  readonly message: string;
}

/** Formats a problem: `rules/pay.yaml:7:5: rules.0.name: must not be empty`. */
export function problemText({ file, line, column, path, message }: SourceProblem): string {
  return `${file}:${line}:${column}: ${path === '' ? '' : `${path}: `}${message}`;
}

/** Content of a file. */
export interface SourceFile {
  readonly file: string;
  readonly text: string;
}

const MAX_ALIASES = 100;

/** A YAML document that knows the position of its values. */
export class YamlSource {
  readonly file: string;
  readonly value: unknown;
  /** Syntax errors. */
  readonly problems: readonly SourceProblem[];
  readonly #root: ParsedNode | null;
  readonly #lines = new LineCounter();

  constructor({ file, text }: SourceFile) {
    this.file = file;
    const options = { version: '1.2', uniqueKeys: true, merge: false, lineCounter: this.#lines } as const;
    const parsed = parseAllDocuments(text, options);
    const documents = Array.isArray(parsed) ? parsed : [];
    const [document, second] = documents;
    this.#root = document?.contents ?? null;
    const problems = documents.flatMap(({ errors }) =>
      errors.map(({ message, pos }) => this.#problem(pos[0], '', message.split(' at line ')[0] ?? message)),
    );
    if (second !== undefined) {
      problems.push(this.#problem(second.range[0], '', 'a file holds one document: remove everything after "---"'));
    }
    if (document !== undefined && problems.length === 0) problems.push(...this.#mergeKeys(document.contents));
    const [value, tooMany] = problems.length === 0 && document !== undefined ? contentsOf(document) : [null, null];
    this.value = value;
    this.problems = tooMany === null ? problems : [...problems, this.#problem(0, '', tooMany)];
  }

  /** A problem at a path or, if there is no value, at the nearest parent. */
  problemAt(path: readonly PropertyKey[], message: string): SourceProblem {
    return this.#problem(this.#offsetOf(path), path.map(String).join('.'), message);
  }

  /** Problems for details, with paths below `prefix`. */
  problemsOf(details: readonly ProblemDetail[], prefix: readonly PropertyKey[] = []): SourceProblem[] {
    return details.map(({ path, message }) =>
      this.problemAt([...prefix, ...(path === '' ? [] : path.split('.'))], message),
    );
  }

  /** Problems found by a schema; suggests the nearest of `known` for an unknown key. */
  schemaProblems(
    error: z.core.$ZodError,
    known: readonly string[],
    prefix: readonly PropertyKey[] = [],
  ): SourceProblem[] {
    return error.issues.flatMap((issue) => {
      const path = [...prefix, ...issue.path];
      if (issue.code !== 'unrecognized_keys') return [this.problemAt(path, issue.message)];
      return issue.keys.map((key) => this.problemAt([...path, key], unknownName('key', key, known)));
    });
  }

  /** 1-based line of the value at a path. */
  lineOf(path: readonly PropertyKey[]): number {
    return this.#lines.linePos(this.#offsetOf(path)).line;
  }

  #offsetOf(path: readonly PropertyKey[]): number {
    let node: unknown = this.#root;
    let offset = this.#root?.range[0] ?? 0;
    for (const key of path) {
      const next = childOf(node, key);
      if (next === undefined) break;
      offset = next.offset;
      node = next.value;
    }
    return offset;
  }

  #problem(offset: number, path: string, message: string): SourceProblem {
    const { line, col } = this.#lines.linePos(offset);
    return { file: this.file, line: Math.max(line, 1), column: Math.max(col, 1), path, message };
  }

  /** In YAML 1.1 `<<` merges maps. In 1.2 it is an ordinary key, which is not what the author intended. */
  #mergeKeys(contents: ParsedNode | null): SourceProblem[] {
    const problems: SourceProblem[] = [];
    visit(contents, {
      Pair: (_, { key }) => {
        if (isScalar(key) && key.value === '<<') {
          problems.push(
            this.#problem(key.range?.[0] ?? 0, '', 'merge keys ("<<") are not supported: write the fields out'),
          );
        }
      },
    });
    return problems;
  }
}

/** Rejects aliases that expand too much. */
function contentsOf(document: Document.Parsed): [unknown, string | null] {
  try {
    return [document.toJS({ maxAliasCount: MAX_ALIASES }), null];
  } catch (error) {
    return [null, `aliases are nested too deeply: ${error instanceof Error ? error.message : String(error)}`];
  }
}

function childOf(node: unknown, key: PropertyKey): { readonly value: unknown; readonly offset: number } | undefined {
  if (isMap(node)) {
    const pair = node.items.find(
      (item) => isPair(item) && isScalar(item.key) && String(item.key.value) === String(key),
    );
    const at = pair?.key as Node | undefined;
    return pair === undefined ? undefined : { value: pair.value, offset: at?.range?.[0] ?? 0 };
  }
  if (typeof node === 'object' && node !== null && 'items' in node && Array.isArray(node.items)) {
    const item = node.items[Number(key)] as Node | undefined;
    return item === undefined ? undefined : { value: item, offset: item.range?.[0] ?? 0 };
  }
  return undefined;
}
