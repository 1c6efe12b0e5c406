import type { StackShape } from '../harness/stack.ts';
import { measureLoad } from './measure-load.ts';
import { TEN_RULES } from './rule-drafts.ts';
import { Stage } from './stage.ts';

const WARM_UP_SECONDS = 4;

/** Platforms by shape, started on first use and kept until the end. */
export class Stages {
  private readonly root: string;
  private readonly nodeOptions: readonly string[];
  private readonly progress: (text: string) => void;
  private readonly kept = new Map<StackShape, Promise<Stage>>();
  private readonly opened: Promise<Stage>[] = [];

  constructor(root: string, nodeOptions: readonly string[], progress: (text: string) => void) {
    this.root = root;
    this.nodeOptions = nodeOptions;
    this.progress = progress;
  }

  shared(shape: StackShape): Promise<Stage> {
    const present = this.kept.get(shape);
    if (present !== undefined) return present;
    const opening = this.warm(shape);
    this.kept.set(shape, opening);
    return opening;
  }

  fresh(shape: StackShape): Promise<Stage> {
    this.progress(`starting the platform (${shape})`);
    const opening = Stage.open({ shape, root: this.root, nodeOptions: this.nodeOptions });
    this.opened.push(opening);
    return opening;
  }

  /**
   * Stops all running platforms, including those that scenarios opened themselves. New ones can be opened afterwards.
   */
  async close(): Promise<void> {
    this.kept.clear();
    for (const opening of this.opened.splice(0)) {
      const stage = await opening.catch(() => undefined);
      await stage?.close();
    }
  }

  /** Warms up first, because production runs compiled code and the first seconds are not of interest. */
  private async warm(shape: StackShape): Promise<Stage> {
    const stage = await this.fresh(shape);
    this.progress(`warming up (${shape})`);
    await stage.setRules(TEN_RULES);
    const plan = { scenario: 'warm-up', variant: '', batchSize: 50, concurrency: 16, seconds: WARM_UP_SECONDS };
    await measureLoad(stage, plan);
    await stage.forgetEvents();
    return stage;
  }
}
