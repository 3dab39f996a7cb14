/** @jsxImportSource preact */
import { useDoor, useEngineState } from '../context.ts'
import { ago, clock, say } from '../language.ts'

/** Where the door is, whether the server is there, how old the list is, and what waits: to look at, not to press. */
export function StatusBar() {
  const { language } = useDoor()
  const { words, locale } = language
  const { door, connection, offlineSince, list, loading, pending, counts } = useEngineState()
  const count = (value: number) => value.toLocaleString(locale)
  const connections = {
    online: words.online,
    unknown: words.connecting,
    offline: say(words.offline, { time: offlineSince ? clock(offlineSince, language) : '' }),
  }
  return (
    <header class={`status ${connection}`}>
      <p>
        <b>
          <bdi>{door?.gate || door?.name}</bdi>
        </b>{' '}
        <span class="state">{connections[connection]}</span>
      </p>
      <p>
        {/* Signs beside the numbers: the words stand in the overview. */}
        <span>✔ {count(counts.accepted)}</span> <span>✘ {count(counts.turnedAway)}</span>{' '}
        {pending > 0 && <b>{say(words.pending, { count: count(pending) })}</b>}
      </p>
      <p>
        {loading !== null && say(words.loading, { count: count(loading) })}
        {loading === null && list === null && words.noList}
        {loading === null &&
          list !== null &&
          connection === 'offline' &&
          say(words.list, { count: count(list.size), age: ago(list.generatedAt, new Date(), language) })}
      </p>
    </header>
  )
}
