import { describe, expect, it } from '@jest/globals';
import { type PipelineStage, runStages } from './stages.ts';

interface Refusal {
  readonly why: string;
}

/** Stages that write down what happens to them. */
function stagesOf(log: string[]) {
  const note = (text: string) => () => void log.push(text);
  const passes = (name: string): PipelineStage<object, Refusal> => ({
    run: () => {
      log.push(name);
      return undefined;
    },
  });
  const holds = (name: string): PipelineStage<object, Refusal> => ({
    run: () => {
      log.push(name);
      return (refusal) => note(`${name} released after ${refusal?.why ?? 'none'}`)();
    },
  });
  const refuses = (why: string): PipelineStage<object, Refusal> => ({ run: () => ({ why }) });
  const later = (stage: PipelineStage<object, Refusal>): PipelineStage<object, Refusal> => ({
    run: async (work) => {
      await Promise.resolve();
      return stage.run(work);
    },
  });
  const fails: PipelineStage<object, Refusal> = { run: () => Promise.reject(new Error('failed')) };
  return { passes, holds, refuses, later, fails };
}

describe('runStages', () => {
  const log: string[] = [];
  const { passes, holds, refuses, later, fails } = stagesOf(log);

  function run(...stages: PipelineStage<object, Refusal>[]): Promise<Refusal | undefined> {
    log.length = 0;
    return runStages(stages, {});
  }

  it('runs the stages in order, whether they wait or not', async () => {
    expect(await run(passes('a'), later(passes('b')), passes('c'))).toBeUndefined();
    expect(log).toEqual(['a', 'b', 'c']);
  });

  it('runs synchronous stages before it yields', async () => {
    const done = run(passes('a'), holds('b'), later(passes('c')));
    expect(log).toEqual(['a', 'b']);
    await done;
  });

  it('ends with the first result', async () => {
    expect(await run(passes('a'), later(refuses('full')), passes('b'))).toEqual({ why: 'full' });
    expect(log).toEqual(['a']);
  });

  it('releases in reverse order what the stages acquired, with the result', async () => {
    await run(holds('a'), later(holds('b')), passes('c'));
    expect(log).toEqual(['a', 'b', 'c', 'b released after none', 'a released after none']);
    await run(holds('a'), holds('b'), refuses('full'), holds('c'));
    expect(log).toEqual(['a', 'b', 'b released after full', 'a released after full']);
  });

  it('releases everything if a stage or a release fails', async () => {
    await expect(run(holds('a'), fails)).rejects.toThrow('failed');
    expect(log).toEqual(['a', 'a released after none']);
    const breaks: PipelineStage<object, Refusal> = {
      run: () => () => {
        throw new Error('cannot release');
      },
    };
    await expect(run(holds('a'), breaks, passes('b'))).rejects.toThrow('cannot release');
    expect(log).toEqual(['a', 'b', 'a released after none']);
  });
});
