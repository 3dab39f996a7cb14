/** @jsxImportSource preact */
import { useState } from 'preact/hooks'
import type { Pass } from '../../core/contract/passes.ts'
import { isUuidText } from '../../core/uuid.ts'
import { ApiRejection } from '../live/desk-api.ts'
import { problemOf } from '../live/problems.ts'
import { useDesk } from './desk-context.ts'
import { Foreign, More } from './parts.tsx'

/** The maximum number of passes to choose from. */
const MAX_FOUND = 20

interface Found {
  items: Pick<Pass, 'id' | 'label' | 'externalPassId'>[]
  /** The number of passes that match, listed or not. */
  total: number
}

/** Finds a pass with the API's search, or by its id. */
export function PassSearch() {
  const { api, scopes, language, onTokenRejected } = useDesk()
  const { words } = language
  const [typed, setTyped] = useState('')
  const [found, setFound] = useState<Found | null>(null)
  const [problem, setProblem] = useState<string | null>(null)
  if (!scopes.includes('passes:read')) return null

  async function search(event: Event): Promise<void> {
    event.preventDefault()
    const text = typed.trim()
    if (text === '') return setFound(null)
    setProblem(null)
    try {
      const passes: Found = isUuidText(text)
        ? { items: [await api.passes.get({ params: { id: text } })], total: 1 }
        : await api.passes.list({ query: { search: text, limit: MAX_FOUND } })
      if (passes.items.length === 1) return show(passes.items[0]!.id)
      setFound(passes)
    } catch (error) {
      if (error instanceof ApiRejection && error.status === 401) return onTokenRejected()
      if (error instanceof ApiRejection && error.status === 404) return setFound({ items: [], total: 0 })
      setProblem(error instanceof ApiRejection ? problemOf(error, words).text : words.noAnswer)
    }
  }

  function show(id: string): void {
    setFound(null)
    setTyped('')
    location.hash = `pass=${id}`
  }

  return (
    <search>
      <form onSubmit={search}>
        <label>
          {words.searchField}
          <input
            type="search"
            dir="auto"
            value={typed}
            onInput={({ currentTarget }) => setTyped(currentTarget.value)}
          />
        </label>
        <button type="submit">{words.search}</button>
      </form>
      <div role="status">
        {problem !== null && <p class="problem">{problem}</p>}
        {found?.total === 0 && <p>{words.noPass}</p>}
        {found && <More shown={found.items.length} total={found.total} />}
      </div>
      {found !== null && found.items.length > 0 && (
        <ul class="found">
          {found.items.map(({ id, label, externalPassId }) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the key that opens the link also causes a click.
            <li key={id} onClick={() => setFound(null)}>
              <a href={`#pass=${id}`}>
                <Foreign>{label}</Foreign> · <Foreign>{externalPassId}</Foreign>
              </a>
            </li>
          ))}
        </ul>
      )}
    </search>
  )
}
