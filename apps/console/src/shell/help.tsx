import { Dialog } from '../ui/dialog.tsx';
import { openable } from '../ui/opened.ts';

const help = openable<true>();

export function openHelp(): void {
  help.open(true);
}

const KEYS: readonly (readonly [string, string])[] = [
  ['?', 'These keys'],
  ['Ctrl K', 'Search pages, ids and acts'],
  ['/', 'Filter the list'],
  ['g n · g r · g a · g d · g s', 'Go to Now, Runs, Approvals, Decisions, Spend'],
  ['j · k', 'Next, previous row'],
  ['Enter', 'Open the row'],
  ['x', 'Select the row'],
  ['[ · ]', 'Previous, next run of the list'],
  ['← · →', 'Close, open a branch of a tree'],
  ['b · e', 'Next blocked call, next error of a run'],
  ['1 · 2 · 3', 'Timeline, transcript, log of a run'],
  ['+ · - · 0', 'Zoom the timeline'],
  ['c', 'Close or open idle gaps'],
  ['a · d', 'Approve or deny the call that is shown; both ask first'],
  ['l', 'Pause or go on with live updates'],
  ['y', 'Copy the link'],
  ['Esc', 'Close'],
];

export function Help() {
  const open = help.use() === true;
  return (
    <Dialog
      title="Keys"
      open={open}
      onClose={help.close}
      wide
      acts={
        <button type="button" className="b" onClick={help.close}>
          Close
        </button>
      }
    >
      <dl className="keys">
        {KEYS.map(([key, does]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      <p className="hint">Letters work while no field is being typed in. Killing has no single key.</p>
    </Dialog>
  );
}
