import type { PlainData } from './plain-data.ts';
import type { EngineName } from './prompt-store.ts';

/** Renders templates of one syntax. Template syntax inside a value stays text. */
export interface TemplateEngine {
  readonly name: EngineName;
  /** The variables a template reads, by their first names, sorted. @throws AgentError `template_invalid` */
  variables(text: string): Promise<string[]>;
  /**
   * `missing` lists absent variables; the store throws the error. @throws AgentError `template_invalid`,
   * `template_limit`
   */
  render(text: string, data: PlainData): Promise<string>;
}
