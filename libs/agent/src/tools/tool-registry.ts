import { type Connector, connectorTool, isConnector } from '../connectors/connector.ts';
import type { AgentContext } from '../core/agent-context.ts';
import { AgentError } from '../core/agent-error.ts';
import { ToolResult as Result, type ToolResult } from '../core/message.ts';
import type { Principal, Roles } from '../security/roles.ts';
import { runTool } from './run-tool.ts';
import type { Tool, ToolDefinition } from './tool.ts';

const NAME = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;

export interface ToolFilter {
  readonly allow?: readonly string[];
  readonly deny?: readonly string[];
}

/** The tools of one agent, by name. */
export class ToolRegistry {
  readonly #tools = new Map<string, Tool>();
  readonly #roles: Roles | undefined;

  constructor(tools: readonly (Tool | Connector)[] = [], options: { readonly roles?: Roles } = {}) {
    this.#roles = options.roles;
    for (const each of tools) this.#add(each);
  }

  /** @throws AgentError `forbidden`, `conflict` (the name is taken), `invalid_config` */
  register(added: Tool | Connector, options: { readonly by?: Principal } = {}): void {
    this.#roles?.check(options.by, 'tool.register', isConnector(added) ? added.id : added.name);
    this.#add(added);
  }

  get(name: string): Tool | undefined {
    return this.#tools.get(name);
  }

  getDefinitions(): ToolDefinition[] {
    return [...this.#tools.values()].map((tool) => tool.definition());
  }

  /**
   * Runs a tool directly, without permissions, safety or platform; for tests and for tools that use tools. In an agent
   * use `internals.tools(...)`.
   */
  async execute(name: string, input: unknown, context: AgentContext): Promise<ToolResult> {
    const tool = this.#tools.get(name);
    if (tool === undefined) return Result.error('unknown_tool', `there is no tool "${name}"`);
    const parsed = await tool.parse(input);
    if (!parsed.ok) return invalidInput(parsed.issues);
    return runTool(tool, parsed.value, context);
  }

  listTools(): string[] {
    return [...this.#tools.keys()];
  }

  getCategory(name: string): string | undefined {
    return this.#tools.get(name)?.category;
  }

  /** A registry with some of the tools. An allow list omits all other tools. */
  filtered({ allow, deny = [] }: ToolFilter): ToolRegistry {
    const kept = [...this.#tools.values()].filter(
      ({ name }) => (allow === undefined || allow.includes(name)) && !deny.includes(name),
    );
    return new ToolRegistry(kept, this.#roles === undefined ? {} : { roles: this.#roles });
  }

  #add(added: Tool | Connector): void {
    const tool = isConnector(added) ? connectorTool(added) : added;
    if (!NAME.test(tool.name))
      throw new AgentError(
        'invalid_config',
        `"${tool.name}" is not a valid tool name: use a letter, then letters, digits, _ or -`,
      );
    if (this.#tools.has(tool.name)) throw new AgentError('conflict', `the tool "${tool.name}" already exists`);
    this.#tools.set(tool.name, tool);
  }
}

export function invalidInput(issues: readonly { readonly path: string; readonly message: string }[]): ToolResult {
  return Result.error(
    'invalid_input',
    'The input does not match the schema of the tool.',
    issues.map((issue) => ({ ...issue })),
  );
}
