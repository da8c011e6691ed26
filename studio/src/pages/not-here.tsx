import { Link } from "../core/router";
import { Empty } from "../parts/basics";

export function NotHere() {
  return (
    <Empty title="There is no such page" isPage>
      <p>
        <Link to="/limits">See the limits</Link>
      </p>
    </Empty>
  );
}
