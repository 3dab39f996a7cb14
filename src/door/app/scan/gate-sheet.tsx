/** @jsxImportSource preact */
import { useState } from 'preact/hooks'
import type { GateFailure } from '../../engine/engine.ts'
import { useDoor } from '../door-context.ts'
import { say } from '../language.ts'
import { Sheet } from './sheet.tsx'

/** Moves this door to another gate, which needs the server. */
export function GateSheet({ gate, onDone, onClose }: { gate: string; onDone(): void; onClose(): void }) {
  const { engine, language } = useDoor()
  const { words } = language
  const [text, setText] = useState(gate)
  const [isBusy, setBusy] = useState(false)
  const [failure, setFailure] = useState<GateFailure | null>(null)

  async function save(event: Event): Promise<void> {
    event.preventDefault()
    const wanted = text.trim()
    if (wanted === '' || isBusy) return
    setBusy(true)
    const failed = await engine.moveTo(wanted)
    setBusy(false)
    setFailure(failed)
    if (!failed) onDone()
  }

  return (
    <Sheet title={words.changeGate} closeLabel={words.close} onClose={onClose}>
      <div role="alert">
        {failure && <p class="problem">{say(words.claim.failures[failure.code], { message: failure.message })}</p>}
      </div>
      <form onSubmit={save}>
        <label>
          {words.gate}
          <input autofocus value={text} maxLength={100} onInput={({ currentTarget }) => setText(currentTarget.value)} />
        </label>
        <button type="submit" class="main" aria-busy={isBusy}>
          {words.save}
        </button>
      </form>
    </Sheet>
  )
}
