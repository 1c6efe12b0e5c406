import { parseDocument } from 'yaml';
import { CommandError } from '../command-error.ts';
import type { Host } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { textOf } from './text-input.ts';

/** The one YAML or JSON document of a file, or of stdin for `-`. @throws CommandError that names file, line and column */
export async function documentOf(file: string, host: Host): Promise<unknown> {
  const source = await textOf(file, host);
  const document = parseDocument(source, { prettyErrors: true, uniqueKeys: true, version: '1.2' });
  const [problem] = document.errors;
  if (problem === undefined) return document.toJS({ maxAliasCount: 100 });
  const [at] = problem.linePos ?? [];
  const place = at === undefined ? file : `${file}:${at.line}:${at.col}`;
  const [message = ''] = problem.message.split(' at line ');
  throw new CommandError(`${place}: ${message}`, { exitCode: EXIT.usage });
}
