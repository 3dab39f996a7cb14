/** @jsxImportSource preact */

import { useEffect, useState } from 'preact/hooks'
import { badgeOf } from '../../../core/rules/door/outcome.ts'
import { reasonCodes } from '../../../core/rules/redemption/scan-reasons.ts'
import type { Decision, GateCount } from '../../engine/engine.ts'
import { now, useDoor, useEngineState } from '../door-context.ts'
import { say } from '../language.ts'
import { GateSheet, Sheet } from './sheets.tsx'
import { OwnZoneLine } from './zone-line.tsx'
import { ZoneSheet } from './zone-sheets.tsx'

export function Overview({ onClose }: { onClose(): void }) {
  const { engine, language } = useDoor()
  const { words, number, ago } = language
  const state = useEngineState()
  const { door, counts, list, pending, recent, isPersistent, connection } = state
  const gates = useGates()
  const [view, setView] = useState<'facts' | 'gate' | 'zone' | 'leave'>('facts')
  const [isEnding, setEnding] = useState(false)
  // Show that the door is ending. This takes a while, because pending scans are uploaded first.
  const end = () => {
    if (isEnding) return
    setEnding(true)
    void engine.forget()
  }

  const names = [door?.projectName, door?.gate, door?.name].filter((name) => name)
  const title = names.map((name) => say('{name}', { name: name! })).join(' · ')

  if (view === 'gate') return <GateSheet gate={door?.gate ?? ''} onDone={() => setView('facts')} onClose={onClose} />
  if (view === 'zone') return <ZoneSheet onDone={() => setView('facts')} onClose={onClose} />
  if (view === 'leave') {
    return (
      <Sheet title={words.leaveQuestion} onClose={onClose}>
        {pending > 0 && <p>{say(words.pending, { count: number(pending) })}</p>}
        <button type="button" class="main" aria-busy={isEnding} onClick={end}>
          {words.leave}
        </button>
      </Sheet>
    )
  }
  return (
    <Sheet title={title} onClose={onClose}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard */}
      <section class="scrolls" tabIndex={0} aria-label={words.overview}>
        <OwnZoneLine />
        <dl>
          <Fact label={words.accepted} value={number(counts.accepted)} />
          <Fact label={words.turnedAway} value={number(counts.turnedAway)} />
          {counts.left > 0 && <Fact label={words.letOut} value={number(counts.left)} />}
        </dl>
        {gates && gates.length > 0 && (
          <>
            <h3>{words.gates}</h3>
            <dl>
              {gates.map(({ gate, accepted }) => (
                <Fact key={gate} label={gate ?? '–'} value={number(accepted)} />
              ))}
            </dl>
          </>
        )}
        <p>
          {list === null
            ? words.noList
            : say(words.list, { count: number(list.size), age: ago(list.generatedAt, now(state)) })}
        </p>
        {pending > 0 && <p>{say(words.pending, { count: number(pending) })}</p>}
        {isPersistent === false && <p>{words.notPersistent}</p>}
        <h3>{words.recent}</h3>
        <ul class="recent">
          {recent.map((decision) => (
            <Recent key={decision.externalRef} decision={decision} />
          ))}
        </ul>
      </section>
      <div class="actions">
        {connection === 'offline' && (
          <button type="button" onClick={() => engine.retry()}>
            {words.tryAgain}
          </button>
        )}
        <button type="button" onClick={() => setView('gate')}>
          {words.changeGate}
        </button>
        {(state.zones.length > 0 || door?.movement) && (
          <button type="button" onClick={() => setView('zone')}>
            {words.zones.change}
          </button>
        )}
        <button type="button" onClick={() => setView('leave')}>
          {words.leave}
        </button>
      </div>
    </Sheet>
  )
}

/** The refresh interval while the overview is open, in milliseconds. */
const GATES_MS = 10_000

function useGates(): readonly GateCount[] | undefined {
  const { engine } = useDoor()
  const isOnline = useEngineState().connection === 'online'
  const [gates, setGates] = useState<readonly GateCount[]>()
  useEffect(() => {
    let isOver = false
    const load = async () => {
      const found = isOnline ? await engine.gates() : undefined
      if (!isOver) setGates(found)
    }
    void load()
    const timer = setInterval(load, GATES_MS)
    return () => {
      isOver = true
      clearInterval(timer)
    }
  }, [engine, isOnline])
  return gates
}

function Fact({ label, value }: { label: string; value: string }) {
  return (
    <div>
      <dt>
        <bdi>{label}</bdi>
      </dt>
      <dd>{value}</dd>
    </div>
  )
}

function Recent({ decision }: { decision: Decision }) {
  const { words, clock } = useDoor().language
  const { tone, sign, word } = badgeOf(decision)
  return (
    <li>
      <span class={`mark ${tone}`} data-sign={sign} /> <time dateTime={decision.readAt}>{clock(decision.readAt)}</time>{' '}
      <b>
        <bdi>{decision.label ?? decision.payload}</bdi>
      </b>{' '}
      {words.verdicts[decision.isUndone ? 'undone' : word]}
      {decision.conflict !== null && (
        <em> {say(words.conflict, { reason: words.verdicts[reasonCodes[decision.conflict]] })}</em>
      )}
    </li>
  )
}
