import { useNavigate } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { Dialog as AriaDialog, Modal, ModalOverlay } from 'react-aria-components';
import { client } from '../api/client.ts';
import { useRead } from '../live-data/live-store.ts';
import { Icon } from '../ui/icon.tsx';
import { openable } from '../ui/opened.ts';
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
}

export function Palette() {
  return palette.use() === true ? <OpenPalette /> : null;
}

const MOST = 6;

function OpenPalette() {
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const groups = useHits(text.trim());
  const hits = groups.flatMap((group) => group.hits);
  const choose = (hit: Hit | undefined) => {
    palette.close();
    hit?.go();
  };
  return (
    <ModalOverlay className="scrim top-third" isOpen onOpenChange={(open) => !open && palette.close()} isDismissable>
      <Modal className="dlg pal">
        <AriaDialog className="dlg-in" aria-label="Search and run">
          <div className="q">
            <Icon name="search" size={16} />
            <input
              // The palette is opened to type in.
              // biome-ignore lint/a11y/noAutofocus: see above
              autoFocus
              role="combobox"
              aria-expanded="true"
              aria-controls="pal-list"
              aria-activedescendant={hits[at] === undefined ? undefined : `pal-${hits[at].id}`}
              aria-label="Pages, ids and acts"
              placeholder="A page, an agent, a rule, a run id, an act"
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
                    <span className="clip">{hit.name}</span>
                    <span className="x">{hit.note}</span>
                  </div>
                ))}
              </div>
            ))}
            {hits.length === 0 && <p className="none t3">Nothing is called that. A whole run id opens the run.</p>}
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

function useHits(text: string): { name: string; hits: Hit[] }[] {
  const navigate = useNavigate();
  const agents = useRead(['agents', 'names'], (signal) => client.listAgents({ query: { limit: 100 }, signal }));
  const rules = useRead(['rules', 'all'], (signal) => client.listRules({ query: { limit: 500 }, signal }));
  return useMemo(() => {
    const has = (name: string) => name.toLowerCase().includes(text.toLowerCase());
    const pages = PAGES.flatMap((page) => (typeof page === 'string' || !has(page.name) ? [] : [page]));
    const goTo = (to: string) => () => void navigate({ to });
    const agentHits = (agents.data?.agents ?? []).filter(({ id }) => has(id)).slice(0, MOST);
    const ruleHits =
      text === '' ? [] : (rules.data?.rules ?? []).filter(({ name, id }) => has(name) || id === text).slice(0, MOST);
    const groups = [
      {
        name: 'Agents, rules and runs',
        hits: [
          ...(/^\S{6,}$/.test(text)
            ? [
                {
                  id: 'run',
                  icon: 'runs',
                  name: text,
                  note: 'open the run with this id',
                  go: goTo(`/runs/${encodeURIComponent(text)}`),
                },
              ]
            : []),
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
          .slice(0, text === '' ? 20 : MOST)
          .map(({ to, icon, name }) => ({ id: `p-${name}`, icon, name, note: '', go: goTo(to) })),
      },
      {
        name: 'Acts',
        hits: [
          ...(has('New rule')
            ? [{ id: 'new-rule', icon: 'plus', name: 'New rule', note: '', go: goTo('/guardrails/new') }]
            : []),
          ...(has('Stop everything')
            ? [{ id: 'stop', icon: 's-killed', name: 'Stop…', note: 'asks first', go: () => openStop() }]
            : []),
          ...(text === ''
            ? []
            : agentHits.slice(0, 2).flatMap(({ id }) => [
                {
                  id: `k-${id}`,
                  icon: 's-killed',
                  name: `Kill ${id}…`,
                  note: 'asks first',
                  go: () => openStop({ agentId: id, state: 'killed' }),
                },
                {
                  id: `s-${id}`,
                  icon: 'play',
                  name: `Resume ${id}…`,
                  note: 'asks first',
                  go: () => openStop({ agentId: id, state: 'running' }),
                },
              ])),
        ],
      },
    ];
    return groups.filter(({ hits }) => hits.length > 0);
  }, [text, agents.data, rules.data, navigate]);
}
