import { Link } from '@tanstack/react-router';
import { Empty } from '../ui/faces.tsx';
import { Page } from './page.tsx';

export function NotFoundPage() {
  return (
    <Page name="none" title="Not found">
      <div className="pad">
        <Empty
          title="Page not found."
          act={
            <Link className="b" to="/">
              Go to Now
            </Link>
          }
        >
          Check the address, or use the navigation or the search.
        </Empty>
      </div>
    </Page>
  );
}
