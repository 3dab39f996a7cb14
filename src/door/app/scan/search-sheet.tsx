/** @jsxImportSource preact */
import { useEffect, useState } from 'preact/hooks'
import type { Candidate } from '../../../core/rules/door/outcome.ts'
import { useDoor } from '../door-context.ts'
import { Sheet } from './sheet.tsx'
import type { Scanning } from './use-scanning.ts'

/** About as many as a screen with a keyboard shows. */
const MOST = 20

/** Finds a person in the list by name, or evaluates a typed code. */
export function SearchSheet({ scanning, onClose }: { scanning: Scanning; onClose(): void }) {
  const { engine, language } = useDoor()
  const { words } = language
  const [text, setText] = useState('')
  const [found, setFound] = useState<Candidate[] | null>(null)

  useEffect(() => {
    let isOver = false
    const wanted = text.trim()
    const search = wanted === '' ? Promise.resolve(null) : engine.search(wanted, MOST)
    search.then((candidates) => {
      if (!isOver) setFound(candidates)
    })
    return () => {
      isOver = true
    }
  }, [engine, text])

  async function check(event: Event): Promise<void> {
    event.preventDefault()
    const payload = text.trim()
    if (payload === '') return
    onClose()
    await scanning.evaluate({ payload, method: 'typed' })
  }

  async function choose(passId: string): Promise<void> {
    onClose()
    await scanning.evaluate({ passId, method: 'chosen' })
  }

  return (
    <Sheet title={words.search} closeLabel={words.close} onClose={onClose}>
      <div role="status">{found?.length === 0 && <p>{words.nobody}</p>}</div>
      {found && found.length > 0 && <Candidates candidates={found} onChoose={choose} />}
      <form onSubmit={check}>
        <label>
          {words.searchField}
          <input
            value={text}
            // With the focus on the heading, a typed name would be taken for a scanned code.
            autofocus
            autocomplete="off"
            autocapitalize="off"
            spellcheck={false}
            enterkeyhint="go"
            onInput={({ currentTarget }) => setText(currentTarget.value)}
          />
        </label>
        <button type="submit" class="main">
          {words.check}
        </button>
      </form>
    </Sheet>
  )
}

/** Passes to choose from, with the properties that distinguish them. */
export function Candidates({
  candidates,
  onChoose,
}: {
  candidates: readonly (Pick<Candidate, 'passId' | 'label' | 'externalPassId'> & Partial<Candidate>)[]
  onChoose(passId: string): void
}) {
  return (
    <ul class="candidates">
      {candidates.map(({ passId, label, externalPassId, templateName }) => (
        <li key={passId}>
          <button type="button" onClick={() => onChoose(passId)}>
            <bdi>{label}</bdi>
            <small>
              <bdi>{[templateName, externalPassId].filter(Boolean).join(' · ')}</bdi>
            </small>
          </button>
        </li>
      ))}
    </ul>
  )
}
