import { type Command, forEachChild, type ParsedScript, type SyntaxNode, type TestExpression, type Word } from 'unbash';
import { baseName } from './programs.ts';
import { readWord } from './words.ts';

/** Tests that take the name of a variable, with a subscript that is evaluated. */
const NAME_TESTS = new Set(['-v', '-R']);
const NUMBER_TESTS = new Set(['-eq', '-ne', '-lt', '-le', '-gt', '-ge']);
/** Builtins whose words may name a variable. */
const NAMING = new Set(
  'unset read declare typeset local export readonly mapfile readarray getopts let test [ wait printf'.split(' '),
);
/** A subscript or text that would run a command if a shell evaluated it. */
const RUNS_WHEN_EVALUATED = /\[.*[$`]|`|\$\(/;

/**
 * Whether a script makes the shell evaluate a text as code in a place that looks like data: the subscript of a variable
 * that a word names, the value of a variable in arithmetic, a prompt expansion.
 */
export function evaluatesText(script: ParsedScript): boolean {
  const suspicious = suspiciousNames(script);
  let found = false;
  const visit = (node: SyntaxNode): void => {
    found ||= evaluates(node, suspicious);
    if (!found) forEachChild(node, visit);
  };
  visit(script);
  return found;
}

function evaluates(node: SyntaxNode, suspicious: ReadonlySet<string>): boolean {
  switch (node.type) {
    case 'ParameterExpansion': {
      const { prefix, operation, parameter } = node;
      // `${x@P}` expands the value as a prompt, `${!x}` takes it for a name.
      if (operation?.type === 'Transform') return /P/.test(operation.operand.value);
      if (operation?.type === 'Names') return false;
      return prefix === '!' && suspicious.has(parameter);
    }
    // Quotes do not hold inside of arithmetic.
    case 'ArithmeticExpansion':
      return holdsQuotedCommand(node.text);
    case 'ArithmeticCommand':
      return holdsQuotedCommand(node.body);
    case 'TestCommand':
      return testEvaluates(node.expression, suspicious);
    case 'ArithmeticWord':
      return node.value.split(/\W+/).some((name) => suspicious.has(name));
    case 'Command':
      return commandEvaluates(node);
    default:
      return false;
  }
}

function holdsQuotedCommand(text: string): boolean {
  return text.includes("'") && RUNS_WHEN_EVALUATED.test(text.slice(text.indexOf("'")));
}

function testEvaluates(expression: TestExpression, suspicious: ReadonlySet<string>): boolean {
  switch (expression.type) {
    case 'TestUnary':
      return NAME_TESTS.has(expression.operator) && namesCode(expression.operand);
    case 'TestBinary':
      return (
        NUMBER_TESTS.has(expression.operator) &&
        [expression.left, expression.right].some(
          (word) => namesCode(word, false) || suspicious.has(word.value.replace(/^\$\{?|\}$/g, '')),
        )
      );
    case 'TestLogical':
      return expression.operands.some((operand) => testEvaluates(operand, suspicious));
    case 'TestNot':
      return testEvaluates(expression.operand, suspicious);
    case 'TestGroup':
      return testEvaluates(expression.expression, suspicious);
  }
}

/** Whether a word that names a variable may hold code. @param unknown what an unknown word counts as */
function namesCode(word: Word, unknown = true): boolean {
  const text = readWord(word);
  return text === null ? unknown : RUNS_WHEN_EVALUATED.test(text);
}

function commandEvaluates(command: Command): boolean {
  const name = command.name === undefined ? null : readWord(command.name);
  if (name === null || !NAMING.has(baseName(name))) return false;
  const args = command.args.map((arg) => (arg.type === 'Word' ? arg : undefined));
  const texts = args.map((arg) => (arg === undefined ? '' : readWord(arg)));
  // These name a variable behind an option, and print or compare everything else.
  if (name === 'printf' || name === 'test' || name === '[' || name === 'wait') {
    const option = name === 'wait' ? /^-p/ : /^-v|^-R/;
    const at = texts.findIndex((text) => text !== null && option.test(text));
    if (at === -1 || (name === 'printf' && at > 0)) return false;
    const attached = texts[at]?.slice(2) ?? '';
    const named = attached === '' ? texts[at + 1] : attached;
    return named === null || RUNS_WHEN_EVALUATED.test(named ?? '');
  }
  return texts.some((text) => text !== null && RUNS_WHEN_EVALUATED.test(text));
}

/** Variables whose value the script does not fix to a number or to a word without code. */
function suspiciousNames(script: ParsedScript): ReadonlySet<string> {
  const names = new Set<string>();
  const visit = (node: SyntaxNode): void => {
    if (node.type === 'Assignment' && !isHarmlessValue(node.value)) names.add(node.name);
    if (node.type === 'For' && (node.wordlist ?? []).some((word) => !isHarmlessWord(word))) names.add(node.name.value);
    if (node.type === 'Command' && node.name !== undefined && /^(?:read|mapfile|readarray)$/.test(node.name.value))
      for (const arg of node.args) if (arg.type === 'Word' && /^\w+$/.test(arg.value)) names.add(arg.value);
    forEachChild(node, visit);
  };
  visit(script);
  return names;
}

function isHarmlessValue(value: Word | { readonly type: 'ArrayValue'; readonly elements: readonly Word[] }): boolean {
  return value.type === 'ArrayValue' ? value.elements.every(isHarmlessWord) : isHarmlessWord(value);
}

function isHarmlessWord(word: Word): boolean {
  const text = readWord(word);
  if (text !== null) return !RUNS_WHEN_EVALUATED.test(text);
  // Arithmetic gives a number.
  const parts = word.parts ?? [];
  return parts.length > 0 && parts.every(({ type }) => type === 'ArithmeticExpansion' || type === 'Literal');
}
