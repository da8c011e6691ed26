import { Dialog } from "./dialog";

const KEYS = [
  ["/", "search"],
  ["g l", "limits"],
  ["g r", "runs"],
  ["g t", "rates"],
  ["g a", "audit"],
  ["g h", "health"],
  ["j k", "next and previous row; arrows too"],
  ["Enter", "open the row"],
  ["r", "release the slot of the row"],
  ["e", "edit the limit"],
  [".", "hold what is shown; again: live"],
  ["?", "this sheet"],
  ["Esc", "close"],
] as const;

const WORDS = [
  ["busy", "the holder has confirmed that it works"],
  ["reserved", "granted, and to be confirmed within two minutes; else the next in line gets it"],
  ["expires", "taken back then, whatever the holder does; set at the grant, never moved"],
  ["run ended, still holding", "the run is over and nobody released its slot: often right, sometimes a leak"],
  ["override", "an operator's value, which wins over the declared one until it is reset"],
  ["paused", "nothing is granted; what is held goes on"],
] as const;

export function Help({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keys and words" onClose={onClose} wide>
      <div class="help">
        <dl class="keys">
          {KEYS.map(([key, what]) => (
            <div key={key}>
              <dt>
                {key.split(" ").map((part) => (
                  <kbd key={part}>{part}</kbd>
                ))}
              </dt>
              <dd>{what}</dd>
            </div>
          ))}
        </dl>
        <dl class="words">
          {WORDS.map(([word, what]) => (
            <div key={word}>
              <dt>{word}</dt>
              <dd>{what}</dd>
            </div>
          ))}
        </dl>
      </div>
      <div class="row end">
        <button type="button" data-first onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  );
}
