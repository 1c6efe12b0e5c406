import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { Dialog as AriaDialog, Modal, ModalOverlay } from 'react-aria-components';
import { visible, visibleName } from '../../../../libs/contracts/src/visible.ts';
import { client } from '../api/client.ts';
import { isSearchable } from '../api/searchable.ts';
import { shortId } from '../figures/figures.ts';
import { useRead } from '../live-data/live-store.ts';
import { shortClock } from '../time/zone.ts';
import { Icon } from '../ui/icon.tsx';
import { openable } from '../ui/opened.ts';
import { useSettled } from '../ui/use-settled.ts';
import { PAGES } from './nav.tsx';
import { openStop } from './stop.tsx';

const palette = openable<true>();

export function openPalette(): void {
  palette.open(true);
}

interface Hit {
  readonly id: string;
  readonly icon: string;
  readonly name: string;
  readonly note: string;
  readonly go: () => void;
  /** The palette stays open. */
  readonly stays?: boolean;
}

export function Palette() {
  return palette.use() === true ? <OpenPalette /> : null;
}

const MAX_HITS = 6;
/** Events that contain a text; those of one run are one hit. */
const MAX_TEXTS = 50;

function OpenPalette() {
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const found = useFound(text.trim());
  const groups = [...useHits(text.trim()), ...found.groups.filter((group) => group.hits.length > 0)];
  const hits = groups.flatMap((group) => group.hits);
  const choose = (hit: Hit | undefined) => {
    if (hit?.stays !== true) palette.close();
    hit?.go();
  };
  return (
    <ModalOverlay className="scrim top-third" isOpen onOpenChange={(open) => !open && palette.close()} isDismissable>
      <Modal className="dlg pal">
        <AriaDialog className="dlg-in" aria-label="Search">
          <div className="q">
            <Icon name="search" size={16} />
            <input
              // Typing starts at once.
              // biome-ignore lint/a11y/noAutofocus: see above
              autoFocus
              role="combobox"
              aria-expanded="true"
              aria-controls="pal-list"
              aria-activedescendant={hits[at] === undefined ? undefined : `pal-${hits[at].id}`}
              aria-label="Search"
              placeholder="Part of an id, or a text in a prompt, argument or result"
              value={text}
              onChange={(event) => {
                setText(event.target.value);
                setAt(0);
              }}
              onKeyDown={(event) => {
                if (event.key === 'ArrowDown') setAt((now) => Math.min(hits.length - 1, now + 1));
                else if (event.key === 'ArrowUp') setAt((now) => Math.max(0, now - 1));
                else if (event.key === 'Enter') choose(hits[at]);
                else return;
                event.preventDefault();
              }}
            />
          </div>
          <div id="pal-list" role="listbox" aria-label="Found" className="pal-list">
            {groups.map((group) => (
              <div key={group.name} role="group" aria-label={group.name}>
                <h4>{group.name}</h4>
                {group.hits.map((hit) => (
                  <div
                    key={hit.id}
                    id={`pal-${hit.id}`}
                    role="option"
                    aria-selected={hit === hits[at]}
                    tabIndex={-1}
                    className={`ph ${hit === hits[at] ? 'on' : ''}`}
                    onPointerDown={() => choose(hit)}
                  >
                    <Icon name={hit.icon} size={14} />
                    <span className="clip">{visible(hit.name)}</span>
                    <span className="x">{hit.note}</span>
                  </div>
                ))}
              </div>
            ))}
            {hits.length === 0 && (
              <p className="none t3" role="status">
                {found.busy ? 'Searching…' : `Nothing found for "${visible(text)}".`}
              </p>
            )}
          </div>
          <div className="ft">
            <span>
              <kbd>↑</kbd> <kbd>↓</kbd> choose
            </span>
            <span>
              <kbd>Enter</kbd> open
            </span>
            <span>
              <kbd>Esc</kbd> close
            </span>
          </div>
        </AriaDialog>
      </Modal>
    </ModalOverlay>
  );
}

const SETTLE_MS = 200;
const SEARCHED_RANGE = '30d';

/** Runs by a part of their id, anything by its id, and events by a text in their contents. */
function useFound(text: string): { readonly groups: readonly { name: string; hits: Hit[] }[]; readonly busy: boolean } {
  const navigate = useNavigate();
  const settled = useSettled(text, SETTLE_MS);
  const enabled = isSearchable(settled);
  const runs = useQuery({
    queryKey: ['search', 'runs', settled],
    queryFn: ({ signal }) =>
      client.listRuns({ query: { search: settled, range: SEARCHED_RANGE, limit: MAX_HITS }, signal }),
    enabled,
  });
  const ids = useQuery({
    queryKey: ['search', 'ids', settled],
    queryFn: ({ signal }) => client.searchById({ query: { id: settled }, signal }),
    enabled: enabled && !settled.includes(' '),
  });
  const texts = useInfiniteQuery({
    queryKey: ['search', 'text', settled],
    queryFn: ({ pageParam, signal }) =>
      client.searchText({ query: { text: settled, limit: MAX_TEXTS, to: pageParam }, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ searchedFrom }) => searchedFrom,
    // Numbers alone would match counts and prices.
    enabled: enabled && /\p{L}/u.test(settled),
  });
  const openRun =
    (id: string, search: object = {}) =>
    () =>
      void navigate({ to: '/runs/$id', params: { id }, search: search });
  const runHits = (runs.data?.runs ?? []).map(
    ({ id, agentId, startedAt }): Hit => ({
      id: `run-${id}`,
      icon: 'runs',
      name: id,
      note: `${visibleName(agentId)}, ${shortClock(startedAt)}`,
      go: openRun(id),
    }),
  );
  const known = new Set((runs.data?.runs ?? []).map(({ id }) => id));
  const idHits = (ids.data?.hits ?? []).flatMap(({ kind, id, name, runId, agentId }): Hit[] => {
    const to =
      kind === 'run'
        ? { to: '/runs/$id', params: { id } }
        : kind === 'rule'
          ? { to: '/guardrails/$id', params: { id } }
          : kind === 'alert'
            ? { to: '/alerts', search: { id } }
            : kind === 'budget'
              ? { to: '/spend', search: { budget: id } }
              : kind === 'delivery'
                ? { to: '/deliveries', search: { id } }
                : kind === 'conversation'
                  ? { to: '/runs', search: { session: id, range: SEARCHED_RANGE } }
                  : runId === undefined
                    ? { to: '/agents/$id', params: { id: agentId ?? id } }
                    : {
                        to: '/runs/$id',
                        params: { id: runId },
                        search: kind === 'decision' ? { step: `decision ${id}` } : {},
                      };
    if (kind === 'run' && known.has(id)) return [];
    return [{ id: `${kind}-${id}`, icon: 'file', name: name ?? id, note: kind, go: () => void navigate(to) }];
  });
  const pages = texts.data?.pages ?? [];
  // The end of a page belongs to the next one too.
  const found = new Map(
    pages.flatMap(({ hits }) => hits.map((hit) => [`text-${hit.eventId}-${hit.at}`, hit] as const)),
  );
  const byRun = Map.groupBy(found, ([, { runId }]) => runId);
  const textHits = [...byRun].flatMap(([runId, [first, ...others]]): Hit[] => {
    if (first === undefined) return [];
    const [id, { eventId, callId, excerpt, agentId, at }] = first;
    const more = others.length === 0 ? '' : ` and ${others.length} more`;
    const note = `${visibleName(agentId)}, run ${shortId(runId)}, ${shortClock(at)}${more}`;
    return [{ id, icon: 'term', name: excerpt, note, go: openRun(runId, { step: callId ?? `event ${eventId}` }) }];
  });
  const searchedFrom = pages.at(-1)?.searchedFrom;
  if (searchedFrom !== undefined) {
    const name = texts.isFetchingNextPage ? 'Searching…' : `Search before ${shortClock(searchedFrom)}`;
    const go = () => void texts.fetchNextPage();
    textHits.push({ id: 'text-earlier', icon: 'search', name, note: '', go, stays: true });
  }
  const reach = searchedFrom === undefined ? '' : ` (searched back to ${shortClock(searchedFrom)})`;
  return {
    groups: [
      { name: 'Runs', hits: runHits },
      { name: 'Ids', hits: idHits },
      { name: `In prompts, answers, arguments and results${reach}`, hits: textHits },
    ],
    busy: enabled && (runs.isFetching || texts.isFetching || settled !== text),
  };
}

function useHits(text: string): { name: string; hits: Hit[] }[] {
  const navigate = useNavigate();
  const agents = useRead(['agents', 'names'], (signal) => client.listAgents({ query: { limit: 100 }, signal }));
  const rules = useRead(['rules', 'all'], (signal) => client.listRules({ query: { limit: 500 }, signal }));
  return useMemo(() => {
    const has = (name: string) => name.toLowerCase().includes(text.toLowerCase());
    const pages = PAGES.flatMap((page) => (typeof page === 'string' || !has(page.name) ? [] : [page]));
    const goTo = (to: string) => () => void navigate({ to });
    const agentHits = (agents.data?.agents ?? []).filter(({ id }) => has(id)).slice(0, MAX_HITS);
    const ruleHits =
      text === ''
        ? []
        : (rules.data?.rules ?? []).filter(({ name, id }) => has(name) || id === text).slice(0, MAX_HITS);
    const groups = [
      {
        name: 'Agents and rules',
        hits: [
          ...(text === ''
            ? []
            : agentHits.map(({ id }) => ({
                id: `a-${id}`,
                icon: 'agents',
                name: id,
                note: 'agent',
                go: goTo(`/agents/${encodeURIComponent(id)}`),
              }))),
          ...ruleHits.map(({ id, name, mode }) => ({
            id: `r-${id}`,
            icon: 'rules',
            name,
            note: mode,
            go: goTo(`/guardrails/${id}`),
          })),
        ],
      },
      {
        name: 'Pages',
        hits: pages
          .slice(0, text === '' ? 20 : MAX_HITS)
          .map(({ to, icon, name }) => ({ id: `p-${name}`, icon, name, note: '', go: goTo(to) })),
      },
      {
        name: 'Actions',
        hits: [
          ...(has('New rule')
            ? [{ id: 'new-rule', icon: 'plus', name: 'New rule', note: '', go: goTo('/guardrails/new') }]
            : []),
          ...(has('Stop')
            ? [{ id: 'stop', icon: 's-killed', name: 'Stop…', note: 'with confirmation', go: () => openStop() }]
            : []),
          ...(text === ''
            ? []
            : agentHits.slice(0, 2).flatMap(({ id }) => [
                {
                  id: `k-${id}`,
                  icon: 's-killed',
                  name: `Kill ${id}…`,
                  note: 'with confirmation',
                  go: () => openStop({ agentId: id, state: 'killed' }),
                },
                {
                  id: `s-${id}`,
                  icon: 'play',
                  name: `Resume ${id}…`,
                  note: 'with confirmation',
                  go: () => openStop({ agentId: id, state: 'running' }),
                },
              ])),
        ],
      },
    ];
    return groups.filter(({ hits }) => hits.length > 0);
  }, [text, agents.data, rules.data, navigate]);
}
