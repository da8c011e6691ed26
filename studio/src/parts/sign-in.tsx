import { useEffect, useState } from "preact/hooks";
import { get, me, token, Trouble } from "../api/client";
import type { Whoami } from "../api/types";
import { line } from "../core/live";
import { useStore } from "../core/store";
import { Dialog } from "./dialog";

/** Asks for a token when the server wants one. It stays in this tab, and goes with it. */
export function SignIn() {
  const { state } = useStore(line);
  const [isDismissed, setDismissed] = useState(false);
  const isOut = state === "signed out";
  useEffect(() => {
    if (!isOut) setDismissed(false);
  }, [isOut]);
  return isOut && !isDismissed ? <Ask onClose={() => setDismissed(true)} /> : null;
}

function Ask({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState("");
  const [wrong, setWrong] = useState("");
  const enter = async (event: Event) => {
    event.preventDefault();
    const before = token.get();
    token.set(text.trim());
    try {
      me.set(await get<Whoami>("/v1/whoami"));
      onClose();
    } catch (error) {
      token.set(before);
      setWrong(error instanceof Trouble ? error.message : String(error));
    }
  };
  return (
    <Dialog title="This server wants a token" onClose={onClose}>
      <form class="stack" onSubmit={enter}>
        <label class="field">
          <span>Token</span>
          <input
            type="password"
            data-first
            autocomplete="off"
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        </label>
        <p class="faint">
          It is kept in this tab only. One is made on the server by{" "}
          <code class="mono">maitred token create NAME --role operate</code>.
        </p>
        {wrong ? <p class="warn" role="alert">Not taken: {wrong}</p> : null}
        <div class="row end">
          <button type="button" onClick={onClose}>
            Not now
          </button>
          <button type="submit" class="primary" disabled={!text.trim()}>
            Sign in
          </button>
        </div>
      </form>
    </Dialog>
  );
}
