import { visible, visibleName } from '@agentlens/contracts/visible';
import { changedName, changeWords, noticeWords } from '@agentlens/guardrails';
import type { Incident } from '@agentlens/operations';

/** The facts of an incident as a Markdown document. */
export function incidentText(incident: Omit<Incident, 'markdown'>): string {
  const { from, to, changes, refusals, approvals, notices, costs } = incident;
  return [
    `# Incident, ${clock(from)} to ${clock(to)} (UTC)`,
    section('Changes', ['At', 'What', 'Of', 'By', 'Did', 'Reason'], changes.map(changeCells)),
    section(
      'Refused calls',
      ['Refused by', 'Calls', 'Runs', 'Users', 'First', 'Last', 'Judged', 'For example'],
      refusals.map(refusalCells),
    ),
    section(
      'Approvals and alerts',
      ['At', 'Title', 'Agent', 'Run', 'Status', 'By', 'Reason'],
      approvals.map(({ createdAt, title, agentId, runId, status, decidedBy, acknowledgedBy, reason }) => [
        ...[clock(createdAt), title, agentId, runId ?? '', status, decidedBy ?? acknowledgedBy ?? '', reason ?? ''],
      ]),
    ),
    section(
      'Notices',
      ['At', 'Receiver', 'About', 'Result'],
      notices.map(({ at, receiver, event, status, about, result }) => [
        ...[clock(at), receiver, noticeWords({ event, status, agentId: about }), result],
      ]),
    ),
    section(
      'Costs',
      ['Agent', 'USD', 'Events', 'Decisions', 'Blocked'],
      costs.map(({ agentId, costUsd, events, decisions, blocked }) => [
        ...[agentId, costUsd.toFixed(2), String(events), String(decisions), String(blocked)],
      ]),
    ),
  ].join('\n\n');
}

function changeCells(change: Incident['changes'][number]): string[] {
  const { changedAt, kind, targetId, actor, reason, after } = change;
  const name = changedName(change) ?? targetId;
  const of = kind.startsWith('rule.') && typeof after?.version === 'number' ? `${name}, v${after.version}` : name;
  return [
    ...[clock(changedAt), kind, of, actor?.person ?? actor?.keyName ?? ''],
    ...[kind.endsWith('.created') && !kind.startsWith('rule.') ? '' : changeWords(change).join('; '), reason ?? ''],
  ];
}

function refusalCells(group: Incident['refusals'][number]): string[] {
  const { ruleName, ruleId, ruleVersion, reason, calls, runs, actors, firstAt, lastAt, right, wrong, newest } = group;
  const by = ruleName ?? ruleId ?? reason ?? 'unknown';
  const example = newest[0] === undefined ? '' : `${newest[0].toolName ?? 'model call'} ${newest[0].arguments}`;
  const judged = right + wrong === 0 ? '' : `${wrong} wrong, ${right} right`;
  return [
    ...[ruleVersion === undefined ? by : `${by}, v${ruleVersion}`, String(calls), String(runs), String(actors)],
    ...[clock(firstAt), clock(lastAt), judged, example],
  ];
}

function section(title: string, heads: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return `## ${title}\n\nNone.`;
  const line = (cells: readonly string[]) => `| ${cells.map(cell).join(' | ')} |`;
  return [`## ${title}`, '', line(heads), `|${heads.map(() => '---').join('|')}|`, ...rows.map(line)].join('\n');
}

/** What agents and people wrote must not become markup. */
function cell(text: string): string {
  return visible(text.replaceAll(/\s+/g, ' '))
    .trim()
    .replaceAll(/[\\`*_[\]<>|#]/g, (mark) => `\\${mark}`);
}

function clock(at: string): string {
  return visibleName(at.slice(0, 19).replace('T', ' '));
}
