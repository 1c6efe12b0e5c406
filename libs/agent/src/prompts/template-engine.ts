import type { PlainData } from './plain-data.ts';
import type { EngineName } from './prompt-store.ts';

/** Renders templates of one syntax. Values are data: what looks like syntax in them stays text. */
export interface TemplateEngine {
  readonly name: EngineName;
  /** The variables a template reads, by their first names, sorted. @throws AgentError `template_invalid` */
  variables(text: string): Promise<string[]>;
  /** `missing` names what is not in the data: an error is thrown by the store. @throws AgentError `template_invalid`, `template_limit` */
  render(text: string, data: PlainData): Promise<string>;
}
