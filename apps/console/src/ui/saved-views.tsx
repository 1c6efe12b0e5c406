import { useQueryClient } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { visible } from '../../../../libs/contracts/src/visible.ts';
import { client } from '../api/client.ts';
import type { SavedView } from '../api/model.ts';
import { useRead } from '../live-data/live-store.ts';
import { parseSearch, stringifySearch } from '../url/search.ts';
import { Act } from './act.tsx';
import { Dialog } from './dialog.tsx';
import { FailureLine } from './failure-line.tsx';
import { Field, useRejection } from './field.tsx';
import { Icon } from './icon.tsx';
import { Menu } from './menu.tsx';
import { toast, toastError } from './toast.tsx';

const MANAGE = 'manage';

/** Menu of the saved views of a list, shared by the people of the tenant. */
export function SavedViews({ page }: { page: SavedView['page'] }) {
  const search = useSearch({ strict: false }) as Readonly<Record<string, unknown>>;
  const navigate = useNavigate();
  const [managing, setManaging] = useState(false);
  const views = useRead(['saved-views', page], (signal) => client.listSavedViews({ query: { page }, signal })).data
    ?.views;
  // What is open on the page is no part of its filter.
  const query = stringifySearch({ ...search, at: undefined, id: undefined });
  const current = views?.find((view) => view.query === query);
  const choose = (id: string) => {
    const view = views?.find((one) => one.id === id);
    if (view === undefined) setManaging(true);
    else void navigate({ to: '.', search: () => parseSearch(view.query) });
  };
  return (
    <>
      <Menu
        label={`View${current === undefined ? '' : ` ${visible(current.name)}`}: saved views`}
        className={current === undefined ? 'chip' : 'chip on'}
        choices={[
          ...(views ?? []).map(({ id, name, updatedBy }) => ({ id, name: visible(name), hint: visible(updatedBy) })),
          { id: MANAGE, name: 'Save or delete views…' },
        ]}
        {...(current === undefined ? {} : { selected: current.id })}
        onChoose={choose}
      >
        View {current !== undefined && <b>{visible(current.name)}</b>}
        <Icon name="down" size={12} />
      </Menu>
      {managing && <ManageViews page={page} query={query} views={views ?? []} onClose={() => setManaging(false)} />}
    </>
  );
}

interface ManageViewsProps {
  readonly page: SavedView['page'];
  readonly query: string;
  readonly views: readonly SavedView[];
  readonly onClose: () => void;
}

function ManageViews({ page, query, views, onClose }: ManageViewsProps) {
  const queries = useQueryClient();
  const [name, setName] = useState('');
  const rejection = useRejection();
  const replaces = views.some((view) => view.name === name.trim());
  const refresh = () => queries.invalidateQueries({ queryKey: ['saved-views'] });
  const save = async (event?: FormEvent) => {
    event?.preventDefault();
    rejection.clear();
    try {
      await client.setSavedView({ body: { page, name: name.trim(), query } });
      await refresh();
      toast(`View “${name.trim()}” saved`);
      onClose();
    } catch (error) {
      rejection.set(error);
    }
  };
  const remove = async (view: SavedView) => {
    try {
      await client.deleteSavedView({ params: { id: view.id } });
      await refresh();
    } catch (error) {
      toastError('Not deleted', error);
    }
  };
  return (
    <Dialog
      title="Saved views"
      open
      onClose={onClose}
      acts={
        <>
          <button type="button" className="b" onClick={onClose}>
            Close
          </button>
          <Act scope="review" kind="pri" disabled={name.trim() === ''} onPress={() => void save()}>
            {replaces ? 'Replace view' : 'Save view'}
          </Act>
        </>
      }
    >
      <form className="kd" onSubmit={(event) => void save(event)}>
        <Field
          label="Save the current filter as"
          wrong={rejection.at('name')}
          hint={
            replaces
              ? 'A view with this name exists. Saving replaces it for everyone.'
              : 'Everyone of this tenant sees it.'
          }
        >
          {(input) => (
            <input
              {...input}
              placeholder="Failed today"
              value={name}
              maxLength={80}
              onChange={(event) => setName(event.target.value)}
            />
          )}
        </Field>
        <FailureLine>{rejection.besides('name')}</FailureLine>
        {views.length > 0 && (
          <ul className="views" aria-label="Views of this page">
            {views.map((view) => (
              <li key={view.id} className="row">
                <span className="clip">{visible(view.name)}</span>
                <span className="t3 ml clip">{visible(view.updatedBy)}</span>
                <Act
                  scope="review"
                  kind="quiet danger"
                  onPress={() => void remove(view)}
                  label={`Delete view ${view.name}`}
                >
                  Delete
                </Act>
              </li>
            ))}
          </ul>
        )}
      </form>
    </Dialog>
  );
}
