/** Something wrong in a file, where it stands (both count from 1) and as a path into the document (`rules.0.name`). */
export interface SourceProblem {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly path: string;
  readonly message: string;
}

/** `rules/pay.yaml:7:5: rules.0.name: must not be empty`. */
export function problemText({ file, line, column, path, message }: SourceProblem): string {
  return `${file}:${line}:${column}: ${path === '' ? '' : `${path}: `}${message}`;
}
