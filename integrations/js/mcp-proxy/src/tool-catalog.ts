import type { AgentLensClient } from '@agentlens/sdk';
import { isRecord } from './json-rpc.ts';

/** The tags that a server's own words about a tool become. A server may lie: tags of the configuration come first. */
const HINTS = [
  ['destructiveHint', 'destructive'],
  ['readOnlyHint', 'read'],
  ['openWorldHint', 'open-world'],
] as const;

/** What a server says of its tools. */
export class ToolCatalog {
  readonly #server: string;
  readonly #lens: AgentLensClient;
  readonly #tags = new Map<string, readonly string[]>();

  constructor(server: string, lens: AgentLensClient) {
    this.#server = server;
    this.#lens = lens;
  }

  nameOf(tool: string): string {
    return `${this.#server}.${tool}`;
  }

  tagsOf(tool: string): readonly string[] {
    return this.#tags.get(tool) ?? [];
  }

  /** From the result of `tools/list`; the platform learns of the tools too. */
  learn(result: unknown): void {
    const tools = isRecord(result) && Array.isArray(result.tools) ? result.tools : [];
    const known = tools.filter(isRecord).flatMap(({ name, description, annotations }) => {
      if (typeof name !== 'string') return [];
      const said = isRecord(annotations) ? annotations : {};
      const tags = HINTS.filter(([hint]) => said[hint] === true).map(([, tag]) => tag);
      this.#tags.set(name, tags);
      const text = typeof description === 'string' ? { description } : {};
      return [{ name: this.nameOf(name), tags, ...text }];
    });
    if (known.length > 0) void this.#lens.registerTools(known);
  }
}
