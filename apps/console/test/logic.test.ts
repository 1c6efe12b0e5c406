import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { visible } from '../../../libs/contracts/src/visible.ts';
import { callInMessage, inOneLine, isRedacted } from '../src/approvals/call-in-message.ts';
import { limitsFor } from '../src/breakers/limits.ts';
import { deciderWords, pathsHint } from '../src/decisions/decider.ts';
import { age, countdown, csvLine, duration, money, moneyCell, shortId } from '../src/figures/figures.ts';
import { FrameReader } from '../src/live-data/sse.ts';
import { EventContents, type Stretch, stretchesOf } from '../src/run/event-contents.ts';
import { costWords, measuredText } from '../src/run/measured.ts';
import { detailOf } from '../src/run/payload-text.ts';
import { folded } from '../src/run/rows.ts';
import { scaleOf } from '../src/run/scale.ts';
import { storyOf, wouldHave } from '../src/run/story.ts';
import { coveredWords } from '../src/run/tree.ts';
import { runQuery, tagFilters } from '../src/runs/run-filter.ts';
import { projectionOf } from '../src/spend/projection.ts';
import { bounds, wider } from '../src/time/range.ts';
import { parseExact } from '../src/ui/exact-json.ts';
import { linesOf, sizeOf } from '../src/ui/json-lines.ts';
import { knowing, parseSearch, stringifySearch, toggled } from '../src/url/search.ts';

void describe('tags of runs', () => {
  const tags = ['project=shop', 'project=blog', 'branch=main', 'nightly', 'a,b'].map((value) => ({ value, runs: 2 }));
  const labels = (tag?: string) =>
    tagFilters(tag === undefined ? {} : { tag }, { tags }).map(({ name, tag: chosen, choices }) =>
      chosen === undefined
        ? `${name}: ${choices.map((choice) => choice.name).join(' ')}`
        : `${name} ${choice(choices)}`,
    );
  const choice = (choices: readonly { readonly name: string }[]) => choices[0]?.name;

  void it('have a filter of their own for the repository and the branch', () => {
    assert.deepEqual(labels(), ['Repository: shop blog', 'Branch: main', 'Tag: nightly']);
    assert.deepEqual(labels('project=shop,nightly'), ['Repository shop', 'Branch: main', 'Tag nightly']);
    assert.deepEqual(tagFilters({ tag: 'branch=main' }, undefined).length, 1);
  });

  void it('narrow down: each further one is asked for with those before', () => {
    const [, branch] = tagFilters({ tag: 'project=shop' }, { tags });
    const tag = branch?.next('branch=main');
    assert.equal(tag, 'project=shop,branch=main');
    assert.equal(runQuery({ tag: String(tag) }).tagsAll, tag);
    assert.equal(tagFilters({ tag: String(tag) }, { tags })[0]?.next(undefined), 'branch=main');
  });
});

void describe('figures', () => {
  void it('write money with the digits that matter', () => {
    assert.deepEqual([money(4.817), money(1204), money(0), money(0.0021)], ['$4.82', '$1,204.00', '$0.00', '$0.0021']);
    assert.deepEqual([moneyCell(0.041), moneyCell(41.2), moneyCell(0)], ['0.041', '41.20', '0']);
  });

  void it('write spans of time the shorter the coarser', () => {
    assert.deepEqual(
      [duration(84), duration(4100), duration(762_000), duration(360_000), duration(4_320_000)],
      ['84 ms', '4.1 s', '12m 42s', '6m', '1h 12m'],
    );
    assert.deepEqual([countdown(108_000), countdown(-5), age(31 * 60_000)], ['1m 48s', '0s', '31 min']);
  });

  void it('show an id whole, or the beginning and the end of a long one, and what is invisible in it', () => {
    assert.deepEqual(['support-bot-044', '01a21778-8cc5-78b5-bc76-8fe8d0e6f40b', 'a\u202eb'].map(shortId), [
      'support-bot-044',
      '01a21778…d0e6f40b',
      'a\\u202eb',
    ]);
  });
});

void describe('links', () => {
  void it('hold lists as commas and drop what is empty', () => {
    const text = stringifySearch({ status: 'failed,lost', agent: 'a b', q: undefined, tag: '' });
    assert.equal(text, '?status=failed,lost&agent=a%20b');
    assert.deepEqual(parseSearch(text), { status: 'failed,lost', agent: 'a b' });
  });

  void it('drop names that the page does not know', () => {
    assert.deepEqual(knowing('status')({ status: 'failed', javascript: 'x' }), { status: 'failed' });
  });

  void it('add a value to a list and take it away again', () => {
    assert.equal(toggled('a', 'b'), 'a,b');
    assert.equal(toggled('a', 'a'), undefined);
  });

  void it('keep a relative range relative until it is asked for', () => {
    assert.deepEqual(bounds({ range: '1h' }, 3_600_000), { from: '1970-01-01T00:00:00.000Z' });
    assert.equal(wider('24h'), '7d');
  });
});

void describe('frames of a stream', () => {
  void it('are read across the pieces they come in', () => {
    const reader = new FrameReader();
    assert.deepEqual(reader.read('event: alert\nid: 7\nda'), []);
    assert.deepEqual(reader.read('ta: {"a":1}\n\n'), [{ event: 'alert', id: '7', data: '{"a":1}' }]);
  });
});

void describe('the scale of a timeline', () => {
  const spans = [
    { startMs: 0, endMs: 1_000 },
    { startMs: 60_000, endMs: 61_000 },
  ];

  void it('runs from 0 to 1 and never backwards', () => {
    const { at } = scaleOf(spans, 0, 61_000, true);
    const places = Array.from({ length: 62 }, (_, second) => at(second * 1_000));
    assert.deepEqual([places[0], Math.round((places.at(-1) ?? 0) * 1e9) / 1e9], [0, 1]);
    assert.ok(places.every((place, index) => index === 0 || place >= (places[index - 1] ?? 0)));
  });

  void it('closes an idle gap, and says how much time it left out', () => {
    const { at, cuts } = scaleOf(spans, 0, 61_000, true);
    assert.deepEqual(
      cuts.map(({ cutMs }) => cutMs),
      [59_000],
    );
    assert.ok(at(1_000) > 0.4);
    assert.deepEqual(scaleOf(spans, 0, 61_000, false).cuts, []);
  });
});

void describe('the story of a run', () => {
  const at = (second: number) => `2026-03-01T12:00:${String(second).padStart(2, '0')}.000Z`;
  const event = (kind: string, callId: string, second: number, more: object = {}) =>
    ({ type: 'event', at: at(second), id: `${kind}${callId}`, kind, callId, name: 'search', ...more }) as never;
  const decision = (callId: string, second: number, verdict: string, more: object = {}) =>
    ({
      ...{ type: 'decision', at: at(second), id: `d${callId}`, callId, kind: 'tool.before', name: 'search', verdict },
      ...{ effect: verdict === 'BLOCK' ? 'block' : 'allow', inputsDigest: 'x', ...more },
    }) as never;

  void it('makes one step of the question, the call and its end', () => {
    const steps = storyOf(
      [decision('c1', 1, 'ALLOW'), event('tool.called', 'c1', 2), event('tool.completed', 'c1', 4)],
      true,
    );
    assert.deepEqual(
      steps.map(({ state, startMs, endMs }) => [state, (endMs ?? 0) - startMs]),
      [['done', 3_000]],
    );
  });

  void it('knows a call that never ran, one that failed and one that is under way', () => {
    const entries = [
      decision('c1', 1, 'BLOCK'),
      event('tool.called', 'c2', 2),
      event('tool.completed', 'c2', 3, { isError: true }),
      event('tool.called', 'c3', 4),
    ];
    assert.deepEqual(
      storyOf(entries, false).map(({ state }) => state),
      ['blocked', 'failed', 'running'],
    );
  });

  void it('ends a call without events at the decision on its result, as the model gateway asks about it', () => {
    const gateway = [decision('c1', 1, 'ALLOW'), decision('c1', 3, 'ALLOW', { kind: 'tool.after' })];
    const [step] = storyOf(gateway, false);
    assert.deepEqual([step?.state, (step?.endMs ?? 0) - (step?.startMs ?? 0)], ['done', 2_000]);
    const refused = [decision('c2', 1, 'ALLOW'), decision('c2', 3, 'BLOCK', { kind: 'tool.after' })];
    assert.deepEqual(
      storyOf(refused, false).map(({ state }) => state),
      ['blocked'],
    );
    const reported = [...gateway, event('tool.called', 'c1', 2), event('tool.completed', 'c1', 4, { isError: true })];
    assert.deepEqual(
      storyOf(reported, false).map(({ state, startMs, endMs }) => [state, (endMs ?? 0) - startMs]),
      [['failed', 3_000]],
    );
  });

  void it('names the opening of the breaker in the agent, and stops there', () => {
    const tripped = { type: 'event', id: 'b', at: '2026-11-26T03:00:00.000Z', kind: 'custom', name: 'breaker.tripped' };
    assert.deepEqual(
      storyOf([tripped] as never, false).map(({ kind, name }) => [kind, name]),
      [['breaker', 'Breaker opened in the agent']],
    );
  });

  void it('describes a call by its decision if no event has its arguments', () => {
    const entries = [
      decision('c1', 1, 'BLOCK', { summary: 'rm -rf dist' }),
      decision('c2', 2, 'ALLOW', { summary: 'of the decision' }),
      event('tool.called', 'c2', 3),
    ];
    const called = {
      id: 'tool.calledc2',
      sessionId: 'r',
      timestamp: at(3),
      payload: { args: { query: 'of the event' } },
    };
    const contents = { of: (entry?: { id: string }) => (entry?.id === called.id ? called : undefined) };
    assert.deepEqual(
      storyOf(entries, true).map((step) => detailOf(step, contents as never)),
      ['rm -rf dist', 'of the event'],
    );
  });

  void it('folds equal calls that follow one another, and no others', () => {
    const entries = ['c1', 'c2', 'c3', 'c4', 'c5', 'c6'].map((id, index) =>
      decision(id, index, 'BLOCK', { inputsDigest: index < 3 ? 'x' : id }),
    );
    assert.deepEqual(
      folded(storyOf(entries, true)).map(({ steps }) => steps.length),
      [3, 1, 1, 1],
    );
  });

  void it('knows a call that a human is asked about, and one that was judged only after it ran', () => {
    const asked = decision('c1', 1, 'BLOCK', { effect: 'ask', reason: 'approval', approvalId: 'a1' });
    const alert = (status: string) =>
      ({ type: 'alert', at: at(2), id: 'a1', kind: 'approval', moment: 'opened', status }) as never;
    const stateWith = (...more: never[]) => storyOf([asked, ...more], false).map(({ state }) => state);
    assert.deepEqual([stateWith(alert('pending')), stateWith(alert('denied'))], [['waiting'], ['blocked']]);
    assert.deepEqual(storyOf([decision('c2', 1, 'BLOCK', { kind: 'tool.after' })], false), []);
  });

  void it('says that a rule in shadow would have stopped a call only where it was allowed', () => {
    const steps = storyOf(
      [
        decision('c1', 1, 'ALLOW', { wouldHave: 'block' }),
        decision('c2', 2, 'BLOCK', { wouldHave: 'terminate' }),
        decision('c3', 3, 'ALLOW'),
      ],
      true,
    );
    assert.deepEqual(steps.map(wouldHave), [true, false, false]);
  });
});

void describe('the limits of a breaker', () => {
  void it('are the most specific ones: of the run, the agent, the tenant, or the defaults', () => {
    const limits = (maxTokens: number) => ({ maxTokens }) as never;
    const of = (scope: string, scopeId: string, maxTokens: number) =>
      ({ scope, scopeId, limits: limits(maxTokens) }) as never;
    const tokens = (whose: { runId?: string; agentId: string }, ...known: never[]) =>
      limitsFor(whose, { defaults: limits(1), limits: known } as never).maxTokens;
    const all = [of('run', 'r', 4), of('agent', 'a', 3), of('tenant', 't', 2)];
    assert.deepEqual(
      [
        tokens({ runId: 'r', agentId: 'a' }, ...all),
        tokens({ runId: 'other', agentId: 'a' }, ...all),
        tokens({ agentId: 'a' }, ...all),
        tokens({ agentId: 'other' }, ...all),
        tokens({ agentId: 'a' }),
      ],
      [4, 3, 3, 2, 1],
    );
  });
});

void describe('what the events of a run say', () => {
  const told = (place: number) =>
    ({ type: 'event', runId: 'r', id: `e${place}`, at: `t${place}`, place, kind: 'tool.called' }) as never;
  const said = (place: number) => ({ sessionId: 'r', id: `e${place}`, timestamp: `t${place}`, payload: {} }) as never;
  /** @returns the stretches that were read, and how to wait until nothing more is on its way */
  const reading = (answer: () => readonly never[]) => {
    const stretches: Stretch[] = [];
    const words = new EventContents(async (stretch, enough) => {
      stretches.push(stretch);
      enough(answer());
    });
    const next = () =>
      new Promise<void>((resolve) => {
        const leave = words.subscribe(() => {
          if (words.state().busy) return;
          leave();
          resolve();
        });
      });
    return { words, stretches, next };
  };

  void it('is read for what is looked at, once, and not for what was scrolled past', async () => {
    const { words, stretches, next } = reading(() => [said(100), said(101)]);
    const known = next();
    words.want([told(1), told(2)]);
    words.want([told(101), told(100)]);
    await known;
    assert.deepEqual(stretches, [{ runId: 'r', from: 't100', to: 't101', kinds: ['tool.called'] }]);
    assert.ok(words.of(told(100)));
    assert.equal(words.of(told(1)), undefined);
    const more = next();
    words.want([told(100), told(2)]);
    await more;
    assert.deepEqual(stretches[1], { runId: 'r', from: 't2', to: 't2', kinds: ['tool.called'] });
  });

  void it('is read on its own where a long way lies between', () => {
    assert.deepEqual(
      stretchesOf([told(1), told(40), told(400)]).map((stretch) => stretch.length),
      [2, 1],
    );
  });

  void it('is loaded again after a failed read, on request', async () => {
    let fails = true;
    const { words, stretches, next } = reading(() => {
      if (fails) throw new Error('away');
      return [said(1)];
    });
    const failed = next();
    words.want([told(1)]);
    await failed;
    assert.match(String(words.state().error), /away/);
    words.want([told(1)]);
    assert.equal(stretches.length, 1);
    fails = false;
    words.retry();
    const known = next();
    words.want([told(1)]);
    await known;
    assert.equal(stretches.length, 2);
    assert.ok(words.of(told(1)));
  });
});

void describe('what a rule measured', () => {
  void it('stands beside its limit, in the unit that is known', () => {
    assert.deepEqual(
      [
        measuredText(6, 5, 'calls'),
        measuredText(4.26, 4, 'USD'),
        measuredText(42.5, 30, '%'),
        measuredText(1e6, 3, ''),
      ],
      ['6 of 5 calls', '$4.26 of $4.00', '42.5 % of 30 %', '1,000,000 of 3'],
    );
  });
});

void describe('a budget', () => {
  const budget = { period: 'day', limitUsd: 10 } as const;
  const noon = Date.parse('2026-03-01T12:00:00Z');

  void it('will be spent before its day ends at the rate so far', () => {
    const { courseUsd, spentAtMs } = projectionOf(budget, { periodStart: '2026-03-01', spentUsd: 8 }, noon);
    assert.equal(courseUsd, 16);
    assert.equal(spentAtMs, noon + 3 * 3_600_000);
  });

  void it('says nothing early in a period, where a rate means nothing', () => {
    const early = Date.parse('2026-03-01T00:05:00Z');
    assert.equal(projectionOf(budget, { periodStart: '2026-03-01', spentUsd: 1 }, early).courseUsd, undefined);
  });
});

void describe('JSON as lines', () => {
  void it('opens three levels and shows how much is in the rest', () => {
    const texts = linesOf({ a: { b: { c: { d: 1 } } } }, new Set()).map(({ text }) => text);
    assert.ok(texts.includes('{ 1 key }'));
  });

  void it('lays out no more of a big list than was asked for', () => {
    const lines = linesOf(
      Array.from({ length: 10_000 }, (_, at) => at),
      new Set(['']),
    );
    assert.ok(lines.length < 600);
    assert.ok(lines.some(({ text }) => text === '9500 more'));
  });

  void it('stops measuring at a limit', () => {
    assert.ok(
      sizeOf(
        Array.from({ length: 1_000 }, () => 'x'.repeat(1_000)),
        5_000,
      ) < 10_000,
    );
  });
});

void describe('text that must not deceive', () => {
  void it('keeps the digits of a number, as lines and when it is written again', () => {
    const text = '{"a":9007199254740993,"b":[1e400,1.50],"c":"1.50","d":7}';
    const value = parseExact(text);
    assert.equal(JSON.stringify(value), text);
    const texts = linesOf(value, new Set()).map((line) => line.text);
    assert.ok(['9007199254740993', '1e400', '1.50', '"1.50"', '7'].every((one) => texts.includes(one)));
    assert.equal(parseExact('{"cut":1'), undefined);
  });

  void it('shows what turns it around or cannot be seen', () => {
    assert.equal(visible('pay \u202E001\u200B\u0000\u{E0041}'), 'pay \\u202e001\\u200b\\u0000\\u{e0041}');
    const usual = 'zwölf\n\tمرحبا 👩‍👩‍👧 \u200Cمی‌خواهم';
    assert.equal(visible(usual), usual);
  });
});

void describe('a call in an approval', () => {
  void it('is read from its message, and kept as text where it was cut', () => {
    const told = callInMessage('Agent a asks to call pay with {"amount":412.5,"card":"[credit_card]"}');
    assert.equal(inOneLine(told), 'amount 412.5, card [credit_card]');
    const reversed = callInMessage('Agent a asks to call pay with {"to\u202e":"ann\u2066"}');
    assert.equal(inOneLine(reversed), 'to\\u202e ann\\u2066');
    assert.equal(inOneLine(callInMessage('Agent a asks to call pay with {"to":"\u202e…')), '{"to":"\\u202e…');
    assert.ok(isRedacted(told.args?.card));
    assert.deepEqual(callInMessage('Agent a asks to call pay with {"amount":41…'), {
      args: undefined,
      text: '{"amount":41…',
    });
  });
});

void describe('who decided', () => {
  void it('is the evaluator, with the reason why it was asked, or the gateway', () => {
    assert.equal(deciderWords({ by: 'evaluator' }), 'At the evaluator');
    const counted = deciderWords({ by: 'evaluator', asked: 'counted', askedForRule: 'r' });
    assert.equal(counted, 'At the evaluator: a rule counts the call');
    assert.equal(deciderWords({ by: 'gateway', book: 'v1' }), 'At the gateway, rules as of version');
    assert.equal(deciderWords({ by: 'gateway' }), 'At the gateway, because the evaluator did not answer');
  });

  void it('has a hint if gateways decide nothing', () => {
    const none = { from: '2026-03-01T12:00:00.000Z', gateway: 0, evaluator: 0, unanswered: 0, asked: [] };
    assert.equal(pathsHint(none), 'No decisions.');
    assert.match(pathsHint({ ...none, evaluator: 5 }) ?? '', /unset AGENTLENS_DECISION_PATH/);
    assert.equal(pathsHint({ ...none, gateway: 1, evaluator: 5 }), undefined);
    const asked = [{ reason: 'first', why: '', decisions: 5 } as const];
    assert.equal(pathsHint({ ...none, evaluator: 5, asked: [...asked] }), undefined);
  });
});

void describe('a run tree', () => {
  const run = (id: string, status: 'running' | 'succeeded') => ({ id, status });

  void it('counts each run once, and says if there are more', () => {
    const whole = { runs: [run('a', 'running'), run('b', 'succeeded')], truncated: false };
    assert.equal(coveredWords([whole]), '2 runs, 1 running');
    const part = { runs: [run('b', 'succeeded'), run('c', 'running')], truncated: true };
    assert.equal(coveredWords([whole, part]), 'at least 3 runs, 2 running');
    assert.equal(coveredWords([{ runs: [run('a', 'succeeded')], truncated: false }]), '1 run, 0 running');
  });

  void it('has a minimum cost if a call has no price, and an unknown one if none has', () => {
    assert.equal(costWords({ costUsd: 1.5, unpricedCalls: 0 }), moneyCell(1.5));
    assert.equal(costWords({ costUsd: 1.5, unpricedCalls: 2 }), `≥ ${moneyCell(1.5)}`);
    assert.equal(costWords({ costUsd: 0, unpricedCalls: 2 }), 'unknown');
  });
});

void describe('an exported line', () => {
  void it('quotes what CSV needs quoted, and keeps texts from being formulas', () => {
    assert.equal(csvLine(['a', 'b,c', 'say "x"', 1.5, undefined]), 'a,"b,c","say ""x""",1.5,\r\n');
    assert.equal(csvLine(['=SUM(A1)', '-1', '@x', -1]), "'=SUM(A1),'-1,'@x,-1\r\n");
    assert.equal(csvLine(['\uff1dSUM(A1)', ' =1', 'a;=1', 'a; b']), `'\uff1dSUM(A1),' =1,"a;'=1","a; b"\r\n`);
    assert.equal(csvLine(['one\n=1', '\tx']), `"one\n'=1","'\tx"\r\n`);
  });
});
