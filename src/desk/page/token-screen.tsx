/** @jsxImportSource preact */
import { useState } from 'preact/hooks'
import type { DeskLanguage } from '../language.ts'
import { canSignIn, signInAddress } from '../live/session.ts'

interface TokenScreenProps {
  language: DeskLanguage
  problem: string | null
  isBusy: boolean
  onToken(token: string): void
}

export function TokenScreen({ language, problem, isBusy, onToken }: TokenScreenProps) {
  const { words } = language
  const [typed, setTyped] = useState('')

  function submit(event: Event): void {
    event.preventDefault()
    const token = typed.trim()
    if (token !== '') onToken(token)
  }

  return (
    <main class="entry">
      <h1 tabIndex={-1}>{words.desk}</h1>
      {canSignIn() && (
        <p>
          <a class="button main" href={signInAddress()}>
            {words.signIn}
          </a>
        </p>
      )}
      <form onSubmit={submit}>
        <label>
          {words.token}
          <input
            type="password"
            dir="ltr"
            value={typed}
            onInput={({ currentTarget }) => setTyped(currentTarget.value)}
            autocomplete="off"
            spellcheck={false}
            aria-describedby="hint"
            required
          />
        </label>
        <p id="hint" class="muted">
          {words.tokenHint}
        </p>
        <div role="alert">{problem !== null && <p class="problem">{problem}</p>}</div>
        <button type="submit" class="main" aria-busy={isBusy}>
          {words.open}
        </button>
      </form>
      <p class="muted">
        <code dir="ltr">passes token create --help</code>
      </p>
    </main>
  )
}
