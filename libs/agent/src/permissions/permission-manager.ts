import { AgentError } from '../core/agent-error.ts';
import { inputHashOf, isPlainObject, type Json } from '../core/json.ts';
import type { Principal, Roles } from '../security/roles.ts';
import type { Tool } from '../tools/tool.ts';
import type { ToolRegistry } from '../tools/tool-registry.ts';
import {
  appliesTo,
  type CompiledRule,
  evaluate,
  inOrder,
  isFloor,
  type RuleVerdict,
  type WhoAsks,
} from './evaluator.ts';
import { type CheckedCall, compileMatcher } from './matchers.ts';
import { normalPath } from './paths.ts';
import type { PermissionRule } from './rule.ts';
import { readRulesFile, writeRulesFile } from './rules-file.ts';
import { readShellCommand } from './shell-command.ts';
import { refusePrefix } from '@agentlens/shell';

export interface PermissionManagerOptions {
  /** Provides categories, commands and paths of tools. Default: the pipeline's registry. */
  readonly tools?: ToolRegistry;
  readonly rules?: readonly PermissionRule[];
  /** Who may change rules later; the rules given here belong to the owner. */
  readonly roles?: Roles;
}

export interface PermissionCheck extends RuleVerdict {
  /** Binds a human's answer to what was shown. */
  readonly inputHash: string;
}

export interface CheckOptions {
  readonly tool?: Tool;
  /** Files the call would touch, if the host has resolved them. */
  readonly paths?: readonly string[];
}

interface RuleBook {
  rules: readonly CompiledRule[];
  made: number;
}

/** Denies of a parent, which apply to its children in addition to their own rules. */
interface ParentFloor {
  readonly manager: PermissionManager;
  readonly who: WhoAsks;
}

/** Decides about tool calls by rules. Pure: no questions, waiting or I/O. */
export class PermissionManager {
  readonly #tools: ToolRegistry | undefined;
  readonly #roles: Roles | undefined;
  #book: RuleBook = { rules: [], made: 0 };
  #parent: ParentFloor | null = null;

  constructor(options: PermissionManagerOptions = {}) {
    this.#tools = options.tools;
    for (const rule of options.rules ?? []) this.#add(rule);
    this.#roles = options.roles;
  }

  /** @throws AgentError `invalid_config`, `session_write_failed` (the file cannot be read) */
  static async loadFromFile(
    path: string,
    options: Omit<PermissionManagerOptions, 'rules'> = {},
  ): Promise<PermissionManager> {
    return new PermissionManager({ ...options, rules: await readRulesFile(path) });
  }

  /** Rules with functions cannot be written. @throws AgentError `invalid_config` */
  saveToFile(path: string): Promise<void> {
    return writeRulesFile(path, this.rules);
  }

  get rules(): readonly PermissionRule[] {
    return this.#book.rules.map(({ rule }) => rule);
  }

  /** Replaces a rule with the same id. @throws AgentError `invalid_config`, `forbidden` */
  addRule(rule: PermissionRule, { by }: { readonly by?: Principal } = {}): void {
    this.#roles?.check(by, 'rule.edit', rule.id);
    this.#add(rule);
  }

  /** Remembers a human's answer; anyone who may answer may also store the answer. */
  remember(rule: PermissionRule): void {
    this.#add(rule);
  }

  #add(rule: PermissionRule): void {
    checkRule(rule);
    const matches = compileMatcher(rule.matcher, rule.decision);
    const others = this.#book.rules.filter((other) => other.rule.id !== rule.id);
    this.#book.rules = [...others, { rule, matches, order: this.#book.made++ }].sort(inOrder);
  }

  addRules(rules: readonly PermissionRule[], options: { readonly by?: Principal } = {}): void {
    for (const rule of rules) this.addRule(rule, options);
  }

  removeRule(id: string, { by }: { readonly by?: Principal } = {}): boolean {
    this.#roles?.check(by, 'rule.edit', id);
    const before = this.#book.rules.length;
    this.#book.rules = this.#book.rules.filter(({ rule }) => rule.id !== id);
    return this.#book.rules.length < before;
  }

  /** Adds a rule for one session, such as a remembered answer. */
  addSessionRule(sessionId: string, rule: PermissionRule, options: { readonly by?: Principal } = {}): void {
    this.addRule({ ...rule, id: `${rule.id} @${sessionId}`, scope: { kind: 'session', sessionId } }, options);
  }

  clearSessionRules(sessionId: string): void {
    this.#book.rules = this.#book.rules.filter(
      ({ rule: { scope } }) => !((scope.kind === 'session' || scope.kind === 'user') && scope.sessionId === sessionId),
    );
  }

  check(toolName: string, input: Json, who: WhoAsks, options: CheckOptions = {}): PermissionCheck {
    const tool = options.tool ?? this.#tools?.get(toolName);
    const command = tool?.commandOf?.(input) ?? (tool === undefined ? commandIn(toolName, input) : undefined);
    const call: CheckedCall = {
      ...{ toolName, input, category: tool?.category },
      command: command === undefined ? undefined : readShellCommand(command),
      paths: options.paths ?? tool?.pathsOf?.(input)?.filter(isText).map(normalPath) ?? [],
    };
    const rules = this.#book.rules.filter(({ rule }) => appliesTo(rule.scope, who));
    const inherited = this.#parentFloor();
    const whenUnknown = tool?.requiresPermission === false ? 'allow' : 'ask-user';
    return { ...evaluate([...inherited, ...rules], call, whenUnknown), inputHash: inputHashOf(toolName, input) };
  }

  /** These rules plus the denies of a parent, for sub-agents, which never get more than their parents. */
  withFloorOf(manager: PermissionManager, who: WhoAsks): PermissionManager {
    const child = new PermissionManager({ tools: this.#tools });
    child.#book = this.#book;
    child.#parent = { manager, who };
    return child;
  }

  /** Rules that name a tool or category that does not exist; probably a typo. */
  lint(tools: ToolRegistry): string[] {
    const names = new Set(tools.listTools());
    const categories = new Set(tools.listTools().map((name) => tools.getCategory(name)));
    return this.rules.flatMap(({ id, matcher }) => {
      if (matcher.kind === 'tool-name' && !names.has(matcher.name)) return [`rule "${id}": no tool "${matcher.name}"`];
      if (matcher.kind === 'tool-category' && !categories.has(matcher.category))
        return [`rule "${id}": no tool of the category "${matcher.category}"`];
      return [];
    });
  }

  #floor(who: WhoAsks): readonly CompiledRule[] {
    const own = this.#book.rules.filter(({ rule }) => isFloor(rule) && appliesTo(rule.scope, who));
    return [...this.#parentFloor(), ...own];
  }

  #parentFloor(): readonly CompiledRule[] {
    return this.#parent === null ? [] : this.#parent.manager.#floor(this.#parent.who);
  }
}

function commandIn(toolName: string, input: Json): string | undefined {
  return toolName === 'bash' && isPlainObject(input) && typeof input.command === 'string' ? input.command : undefined;
}

/** An input that was not parsed may hold anything in place of a path. */
function isText(path: unknown): path is string {
  return typeof path === 'string';
}

function checkRule({ id, matcher, decision }: PermissionRule): void {
  if (id === '') throw new AgentError('invalid_config', 'a rule needs an id');
  if (matcher.kind !== 'command-prefix' || decision !== 'allow') return;
  for (const prefix of matcher.prefixes) {
    const why = refusePrefix(prefix.trim().split(/\s+/).filter(Boolean));
    if (why !== null) throw new AgentError('invalid_config', `rule "${id}" cannot allow "${prefix}": ${why}`);
  }
}
