import { existsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { LlmResponse } from '@agentlens/sdk';
import { responseOf } from './model-response.ts';
import type { ContentBlock, Usage } from './shapes.ts';

interface Answer {
  readonly model: string;
  readonly usage: Usage;
  readonly blocks: readonly ContentBlock[];
  /** It has all its blocks, and the usage of its end. */
  readonly isComplete: boolean;
}

/**
 * The model's answers in a sub-agent's transcript. The framework's messages contain only some of them, with the usage of
 * the beginning. The transcript has one line per content block, written every 100 ms, and may be read between two lines
 * of one answer. From an API that begins answers without `stop_reason: null`, a line that is written before the end of
 * its answer has the usage of the beginning, and no reason to stop.
 */
export class SubAgentTranscript {
  readonly #path: string | undefined;
  readonly #home: string | undefined;
  readonly #seen = new Set<string>();
  #open: readonly [id: string, answer: Answer][] = [];
  #offset = 0;
  #rest = '';

  /** `transcript` is the path of the main agent's. */
  constructor(transcript: string | undefined, agentId: string) {
    const folder = transcript?.replace(/\.jsonl$/, '');
    this.#path =
      folder === undefined || !/^[\w-]+$/.test(agentId) ? undefined : `${folder}/subagents/agent-${agentId}.jsonl`;
    // ~/.claude/projects/FOLDER/SESSION.jsonl: the framework creates the last three only with its first line.
    this.#home = transcript === undefined ? undefined : dirname(dirname(dirname(transcript)));
  }

  /** False where the framework runs on another machine. */
  get isHere(): boolean {
    return this.#path !== undefined && this.#home !== undefined && existsSync(this.#home);
  }

  /** The complete answers since the last time; none where the framework runs on another machine. */
  async read(): Promise<readonly LlmResponse[]> {
    const answers = new Map(this.#open);
    for (const line of await this.#lines()) {
      const { id, model = 'unknown', usage, content, stop_reason } = messageOf(line) ?? {};
      // An answer that others follow has ended, even if no line of it has a reason to stop.
      for (const [other, answer] of answers) if (other !== id) answers.set(other, { ...answer, isComplete: true });
      if (id === undefined || usage === undefined || this.#seen.has(id)) continue;
      const more = Array.isArray(content) ? (content as ContentBlock[]) : [];
      const blocks = [...(answers.get(id)?.blocks ?? []), ...more];
      answers.set(id, { model, usage, blocks, isComplete: stop_reason != null });
    }
    this.#open = [...answers].filter(([, { isComplete }]) => !isComplete);
    const complete = [...answers].filter(([, { isComplete }]) => isComplete);
    for (const [id] of complete) this.#seen.add(id);
    return complete.map(([, { model, usage, blocks }]) => responseOf(model, usage, blocks));
  }

  async #lines(): Promise<readonly string[]> {
    if (this.#path === undefined) return [];
    let text: string;
    try {
      await using file = await open(this.#path);
      const { size } = await file.stat();
      const { buffer, bytesRead } = await file.read(Buffer.alloc(Math.max(0, size - this.#offset)), {
        position: this.#offset,
      });
      this.#offset += bytesRead;
      text = buffer.toString('utf8', 0, bytesRead);
    } catch {
      // Not on this machine: what it would tell is part of the usage at the end of the turn.
      return [];
    }
    const lines = `${this.#rest}${text}`.split('\n');
    this.#rest = lines.pop() ?? '';
    return lines;
  }
}

interface TranscriptMessage {
  readonly id?: string;
  readonly model?: string;
  readonly content?: unknown;
  readonly usage?: Usage;
  readonly stop_reason?: string | null;
}

function messageOf(line: string): TranscriptMessage | undefined {
  try {
    const { type, message } = JSON.parse(line) as { readonly type?: string; readonly message?: { role?: string } };
    return type === 'assistant' && message?.role === 'assistant' ? (message as TranscriptMessage) : undefined;
  } catch {
    return undefined;
  }
}
